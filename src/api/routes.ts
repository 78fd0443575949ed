import * as z from "zod";
import { checked } from "../session/command.ts";
import { refuse } from "../session/problems.ts";
import { pageOfList, pageQuery } from "../session/paging.ts";
import { json } from "./answers.ts";
import { consoleRoutes } from "./console.ts";
import type { Authorized, RequestContext } from "./context.ts";
import { isConfigured, presentedCredential } from "./credentials.ts";
import { describeAgent, describeModels, describeTeam, missingSecrets } from "./descriptions.ts";
import { devPrincipal } from "./development.ts";
import { readQuery } from "./query.ts";
import { teamOperation } from "./route.ts";
import type { Route } from "./route.ts";
import { sessionRoutes } from "./session-routes.ts";

/** Every route there is; `test/api/access.test.ts` walks this table. */

/** Whether the team's secrets are there; names them only to who has a key. */
async function ready(context: RequestContext): Promise<Response> {
  const { router, request, env } = context;
  const missing = [...(isConfigured(env) ? [] : ["LIMPET_ADMIN_KEY"]), ...missingSecrets(router, env)];
  const status = missing.length === 0 ? 200 : 503;
  const credential = presentedCredential(request);
  if (credential !== null) await router.authenticate(context, credential);
  const named = credential !== null || devPrincipal(context) !== null;
  const answer = json({ ready: status === 200, ...(named && { missing_secrets: missing }) }, status);
  if (status === 503) answer.headers.set("Retry-After", "60");
  return answer;
}

const listQuery = z.strictObject(pageQuery);
const noQuery = z.strictObject({});

/** A description of the team: any credential may read it. */
const description = (path: string, describe: (context: Authorized) => unknown): Route => ({
  method: "GET",
  path,
  scope: "any",
  tokens: true,
  handle: (context) => {
    checked(noQuery, readQuery(context.url.searchParams, {}));
    return json(describe(context));
  },
});

/** A list that the team's config holds whole. */
const listing = (
  path: string,
  items: (context: Authorized) => readonly unknown[] | Promise<readonly unknown[]>,
): Route => ({
  method: "GET",
  path,
  scope: "any",
  tokens: true,
  handle: async (context) => {
    const query = checked(listQuery, readQuery(context.url.searchParams, { limit: "integer" }));
    return json(pageOfList(await items(context), [path, context.router.team.revision], query));
  },
});

export const routes: readonly Route[] = [
  { method: "GET", path: "/healthz", scope: "open", handle: () => json({ ok: true }) },
  { method: "GET", path: "/readyz", scope: "open", handle: ready },
  ...consoleRoutes,
  description("/v1/capabilities", ({ router }) => describeTeam(router)),
  listing("/v1/agents", ({ router }) =>
    router.team.agents
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .map((agent) => describeAgent(router, agent)),
  ),
  description("/v1/agents/:agent", ({ router, path }) => {
    const agent = router.team.agents.find(({ name }) => name === path["agent"]);
    const known = router.team.agents.map(({ name }) => name);
    return agent === undefined
      ? refuse("unknown_agent", `Known agents: ${known.join(", ")}.`, { meta: { agents: known } })
      : describeAgent(router, agent);
  }),
  listing("/v1/models", describeModels),
  teamOperation("GET", "/v1/sessions", "list_sessions", {
    limit: "integer",
    status: "list",
    metadata: "pairs",
    created_after: "time",
    updated_before: "time",
  }),
  ...sessionRoutes,
  teamOperation("GET", "/v1/grants", "list_grants", { limit: "integer" }),
  teamOperation("DELETE", "/v1/grants/:grant", "revoke_grant"),
  teamOperation("DELETE", "/v1/memory/:subject", "forget_subject"),
  teamOperation("POST", "/v1/keys", "create_key"),
  teamOperation("GET", "/v1/keys", "list_keys", { limit: "integer" }),
  teamOperation("GET", "/v1/keys/:key", "get_key"),
  teamOperation("PATCH", "/v1/keys/:key", "edit_key"),
  teamOperation("DELETE", "/v1/keys/:key", "revoke_key"),
];
