import * as z from "zod";
import { getTenantObject } from "../engine/access/names.ts";
import { createPinnedServers } from "../engine/tools/pinned-servers.ts";
import type { TenantServerStore } from "../engine/tools/pinned-servers.ts";
import { parseParams } from "../session/define-operation.ts";
import { refuse } from "../session/problems.ts";
import { jsonResponse } from "./answers.ts";
import type { AuthorizedContext } from "./context.ts";
import { readCommandBody } from "./route.ts";

/** Asks an MCP server for its tools on behalf of a tenant, as the next run of a session would. */

const connectMs = 20_000;

const noSandbox = (): never => {
  throw new Error("there is no sandbox without a session");
};

/** Asks a server, records its tools, and answers with those that are approved. */
export const connectServer = async (context: AuthorizedContext): Promise<Response> => {
  const { router, objects, principal, path } = context;
  const name = path["name"] ?? "";
  parseParams(z.strictObject({}), await readCommandBody(context, () => true));
  const known = router.team.mcp_servers.map((server) => server.name);
  if (!known.includes(name))
    refuse("not_found", `The team has no MCP server of this name. It has: ${known.join(", ") || "none"}.`);
  const tenant = getTenantObject(objects.TenantObject, principal);
  const { tenant: owner, jurisdiction } = principal;
  const store: TenantServerStore = {
    sawServer: (sighting) => tenant.sawServer(sighting),
    hasNewApprovals: (check) => tenant.hasNewApprovals(check),
    authorizeServer: (asked) =>
      tenant.authorizeServer({ ...asked, address: { tenant: owner, jurisdiction } }),
  };
  const servers = createPinnedServers(router.servers, store, { session: null, interactive: () => true });
  const outside = { signal: AbortSignal.timeout(connectMs), sandbox: noSandbox, keep: null };
  const answer = await servers.list(name, [], outside);
  if (!answer.ok) {
    const { state, reason, login } = answer;
    return jsonResponse({ name, state, error: reason, ...(login === undefined ? {} : { url: login }) });
  }
  const { tools, changes, omitted } = answer;
  return jsonResponse({
    name,
    state: changes.length === 0 ? "connected" : "quarantined",
    tools: tools.filter(({ quarantined }) => quarantined === undefined).map((tool) => tool.name),
    changes: changes.map((change) => {
      const found = tools.find((tool) => tool.name === change.tool);
      return { ...change, description: found?.description ?? "", parameters: found?.schema ?? null };
    }),
    ...(omitted.length === 0 ? {} : { error: omitted.join("; ") }),
  });
};
