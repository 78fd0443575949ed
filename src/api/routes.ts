import * as z from "zod";
import { parseParams } from "../session/define-operation.ts";
import { refuse } from "../session/problems.ts";
import { pageOfList, pageQueryFields } from "../session/paging.ts";
import { jsonResponse } from "./answers.ts";
import { documentRoutes } from "./assets.ts";
import { consoleRoutes } from "./console.ts";
import type { AuthorizedContext } from "./context.ts";
import {
  describeAgent,
  describeModels,
  describeTeam,
  explainPermission,
  resetCooldowns,
} from "./descriptions.ts";
import { connectServer } from "./mcp.ts";
import { oauthRoutes } from "./oauth.ts";
import { readQuery } from "./query.ts";
import { answerReady } from "./ready.ts";
import { directoryRoute } from "./route.ts";
import type { Route } from "./route.ts";
import { sessionRoutes } from "./session-routes.ts";

/** Table of all routes; `test/api/access.test.ts` tests each of them. */

export const listQuery = z.strictObject(pageQueryFields);
const noQuery = z.strictObject({});

/** Defines a route that describes the team; any credential may read it. */
const descriptionRoute = (path: string, describe: (context: AuthorizedContext) => unknown): Route => ({
  method: "GET",
  path,
  scope: "any",
  tokens: true,
  handle: (context) => {
    parseParams(noQuery, readQuery(context.url.searchParams, {}));
    return jsonResponse(describe(context));
  },
});

/** Defines a route for a complete list from the team's config. */
const listRoute = <T>(
  path: string,
  items: (context: AuthorizedContext) => readonly T[] | Promise<readonly T[]>,
  idOf: (item: T) => string,
): Route => ({
  method: "GET",
  path,
  scope: "any",
  tokens: true,
  handle: async (context) => {
    const query = parseParams(listQuery, readQuery(context.url.searchParams, {}));
    const list = [path, context.router.team.revision];
    return jsonResponse(pageOfList(await items(context), idOf, list, query));
  },
});

export const routes: readonly Route[] = [
  { method: "GET", path: "/healthz", scope: "open", handle: () => jsonResponse({ ok: true }) },
  { method: "GET", path: "/readyz", scope: "open", handle: answerReady },
  ...documentRoutes,
  ...consoleRoutes,
  ...oauthRoutes,
  descriptionRoute("/v1/capabilities", ({ router }) => describeTeam(router)),
  listRoute(
    "/v1/agents",
    ({ router }) => router.team.agents.map((agent) => describeAgent(router, agent)),
    ({ name }) => String(name),
  ),
  descriptionRoute("/v1/agents/:agent", ({ router, path }) => {
    const agent = router.team.agents.find(({ name }) => name === path["agent"]);
    const known = router.team.agents.map(({ name }) => name);
    return agent === undefined
      ? refuse("unknown_agent", `Known agents: ${known.join(", ")}.`, { meta: { agents: known } })
      : describeAgent(router, agent);
  }),
  listRoute("/v1/models", describeModels, ({ provider, model }) => `${String(provider)}/${String(model)}`),
  ...["/v1/models/cooldowns", "/v1/models/cooldowns/:provider"].map((path): Route => ({
    method: "DELETE",
    path,
    scope: "admin",
    handle: resetCooldowns,
  })),
  directoryRoute("GET", "/v1/sessions", "list_sessions", {
    status: "list",
    metadata: "pairs",
    created_after: "time",
    updated_before: "time",
  }),
  directoryRoute("GET", "/v1/usage", "list_usage"),
  directoryRoute("GET", "/v1/asks", "list_asks"),
  directoryRoute("GET", "/v1/audit", "list_audit"),
  ...sessionRoutes,
  directoryRoute("GET", "/v1/grants", "list_grants"),
  directoryRoute("DELETE", "/v1/grants/:grant", "revoke_grant"),
  { method: "POST", path: "/v1/permissions/explain", scope: "admin", handle: explainPermission },
  directoryRoute("DELETE", "/v1/memory/:subject", "forget_subject"),
  directoryRoute("GET", "/v1/mcp", "list_mcp_servers"),
  { method: "POST", path: "/v1/mcp/:name/connect", scope: "admin", handle: connectServer },
  directoryRoute("POST", "/v1/mcp/:name/approve", "approve_mcp_server", {}, true),
  directoryRoute("DELETE", "/v1/mcp/:name/login", "forget_mcp_login"),
  directoryRoute("POST", "/v1/keys", "create_key"),
  directoryRoute("GET", "/v1/keys", "list_keys"),
  directoryRoute("GET", "/v1/keys/:key", "get_key"),
  directoryRoute("PATCH", "/v1/keys/:key", "edit_key"),
  directoryRoute("DELETE", "/v1/keys/:key", "revoke_key"),
];
