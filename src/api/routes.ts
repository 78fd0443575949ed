import { refuse } from "../agent/problem.ts";
import { json } from "./answers.ts";
import { consoleRoutes } from "./console.ts";
import type { RequestContext } from "./context.ts";
import { devPrincipal, isConfigured, presentedCredential } from "./credentials.ts";
import { describeAgent, describeModels, describeTeam, missingSecrets } from "./descriptions.ts";
import { teamOperation } from "./route.ts";
import type { Route } from "./route.ts";
import { sessionRoutes } from "./session-routes.ts";

/** Every route there is (AP-11); `test/api/access.test.ts` walks this table. */

/** Whether the team's secrets are there; names them only to who has a key (CF-20, AP-11). */
async function ready(context: RequestContext): Promise<Response> {
  const { router, request, env } = context;
  const missing = [...(isConfigured(env) ? [] : ["LIMPET_ADMIN_KEY"]), ...missingSecrets(router, env)];
  const status = missing.length === 0 ? 200 : 503;
  const credential = presentedCredential(request);
  if (credential !== null) await router.authenticator.authenticate(context, credential);
  else if (devPrincipal(context) === null) return json({ ready: status === 200 }, status);
  return json({ ready: status === 200, missing_secrets: missing }, status);
}

export const routes: readonly Route[] = [
  { method: "GET", path: "/healthz", scope: "open", handle: () => json({ ok: true }) },
  { method: "GET", path: "/readyz", scope: "open", handle: ready },
  ...consoleRoutes,
  {
    method: "GET",
    path: "/v1/capabilities",
    scope: "any",
    tokens: true,
    handle: ({ router }) => json(describeTeam(router)),
  },
  {
    method: "GET",
    path: "/v1/agents",
    scope: "any",
    tokens: true,
    handle: ({ router }) =>
      json({
        data: router.team.agents.map((agent) => describeAgent(router, agent)),
        next_cursor: null,
        prev_cursor: null,
      }),
  },
  {
    method: "GET",
    path: "/v1/agents/:agent",
    scope: "any",
    tokens: true,
    handle: ({ router, path }) => {
      const agent = router.team.agents.find(({ name }) => name === path["agent"]);
      const known = router.team.agents.map(({ name }) => name);
      return agent === undefined
        ? refuse("unknown_agent", `Known agents: ${known.join(", ")}.`, { meta: { agents: known } })
        : json(describeAgent(router, agent));
    },
  },
  {
    method: "GET",
    path: "/v1/models",
    scope: "any",
    tokens: true,
    handle: ({ router }) => json({ data: describeModels(router), next_cursor: null, prev_cursor: null }),
  },
  teamOperation("GET", "/v1/sessions", "list_sessions", {
    limit: "integer",
    status: "list",
    metadata: "pairs",
    created_after: "time",
    updated_before: "time",
  }),
  ...sessionRoutes,
  teamOperation("POST", "/v1/keys", "create_key"),
  teamOperation("GET", "/v1/keys", "list_keys", { limit: "integer" }),
  teamOperation("GET", "/v1/keys/:key", "get_key"),
  teamOperation("PATCH", "/v1/keys/:key", "edit_key"),
  teamOperation("DELETE", "/v1/keys/:key", "revoke_key"),
];
