import type { ServerAnswer, ToolChange } from "../../agent/hooks/servers.ts";
import type { ServerTool } from "../../agent/state/session.ts";
import type { Json } from "../../chat/message.ts";
import type { AuthorizationAnswer, AuthorizeServer } from "../../tools/egress/server-authorization.ts";
import type { ServerSighting } from "../access/tenant/tool-pins.ts";
import type { ServerAuthorization } from "../access/tenant/logins.ts";
import type { TenantStores } from "../access/rpc.ts";
import type { ServerReach, Servers } from "./servers.ts";
import { firstCharacters } from "../../chat/text.ts";

/** Connects a session with its tenant's data about MCP servers: the approved tools, and tokens. */

type Sighting = Omit<ServerSighting, "lock" | "allowNew">;

const hashesOf = (tools: readonly ServerTool[]): NonNullable<Sighting["tools"]> =>
  tools.map(({ name, hash }) => ({ name, hash }));

const sightingOf = (answer: ServerAnswer): Sighting => {
  const { server } = answer;
  if (!answer.ok) return { server, tools: null, state: answer.state, error: answer.reason };
  const error = answer.omitted.length === 0 ? null : firstCharacters(answer.omitted.join("; "), 2_000);
  return { server, tools: hashesOf(answer.tools), state: "connected", error };
};

/** Returns what was approved of each tool that is not that; null if nothing was. */
const pinsOf = (changes: readonly ToolChange[]): ReadonlyMap<string, string | null> =>
  new Map(changes.map(({ tool, pinned }) => [tool, pinned]));

/** Tenant's data about its servers. */
export interface TenantServerStore {
  readonly sawServer: TenantStores["sawServer"];
  readonly checkTools: TenantStores["checkTools"];
  readonly authorizeServer: (asked: Omit<ServerAuthorization, "address">) => Promise<AuthorizationAnswer>;
}

/** Access to servers on behalf of a tenant. */
interface PinnedServers {
  readonly list: (
    name: string,
    over: readonly Json[],
    outside: Omit<Parameters<Servers["list"]>[2], keyof Pick<ServerReach, "authorize">>,
  ) => Promise<ServerAnswer>;
  /** Returns whether the tools of a list are approved otherwise than when it was fetched. */
  readonly hasNewApprovals: (name: string, tools: readonly ServerTool[]) => Promise<boolean>;
  /** Obtains the tenant's tokens for a server. */
  readonly authorize: (server: string) => AuthorizeServer;
}

/** Who requests tokens: a session or nobody in particular (null), with or without a person who can sign in. */
interface TokenAsker {
  readonly session: string | null;
  readonly interactive: () => boolean;
}

/** Returns the function that obtains a tenant's tokens by server. */
export const createAuthorizer =
  (authorizeServer: TenantServerStore["authorizeServer"], { session, interactive }: TokenAsker) =>
  (server: string): AuthorizeServer =>
  (request) =>
    authorizeServer({ server, session, interactive: interactive(), request }).catch(() => ({
      kind: "failure",
      reason: "the tenant's credentials could not be read",
    }));

/**
 * Wraps the servers for a tenant and one of its sessions, or for an administrator: a tool that nobody has approved
 * in its current form is quarantined.
 */
export const createPinnedServers = (
  { list, pinning }: Pick<Servers, "list" | "pinning">,
  { sawServer, checkTools, authorizeServer }: TenantServerStore,
  asker: TokenAsker,
): PinnedServers => {
  const authorize = createAuthorizer(authorizeServer, asker);
  return {
    authorize,
    list: async (name, over, outside) => {
      const answer = await list(name, over, { ...outside, authorize: authorize(name) });
      const seen = await sawServer({ ...sightingOf(answer), ...pinning(name) }).catch(() => null);
      if (!answer.ok) return answer;
      if (seen === null) {
        const reason = "the approvals of its tools could not be read";
        return { server: name, ok: false, state: "failed", reason };
      }
      const pins = pinsOf(seen);
      const tools = answer.tools.map((tool) => {
        const pinned = pins.get(tool.name);
        return pinned === undefined ? tool : { ...tool, quarantined: { pinned } };
      });
      return { ...answer, tools, changes: seen };
    },
    hasNewApprovals: async (server, kept) => {
      const changes = await checkTools({ server, tools: hashesOf(kept), ...pinning(server) });
      const pins = pinsOf(changes);
      return kept.some(({ name, quarantined }) => pins.get(name) !== quarantined?.pinned);
    },
  };
};
