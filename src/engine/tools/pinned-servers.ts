import type { ServerAnswer } from "../../agent/hooks/servers.ts";
import type { ServerTool } from "../../agent/state/session.ts";
import type { Json } from "../../chat/message.ts";
import type { AuthorizationAnswer, AuthorizeServer } from "../../tools/egress/server-authorization.ts";
import type { ServerSighting, ToolCheck } from "../access/tenant/tool-pins.ts";
import type { ServerAuthorization } from "../access/tenant/logins.ts";
import type { TenantStores } from "../access/rpc.ts";
import type { ServerReach, Servers } from "./servers.ts";
import { firstCharacters } from "../../chat/text.ts";

/** Connects a session with its tenant's data about MCP servers: the approved tools, and tokens. */

type Sighting = Omit<ServerSighting, "lock" | "allowNew">;

const hashesOf = (tools: readonly ServerTool[]): NonNullable<Sighting["tools"]> =>
  tools.map(({ name, hash }) => ({ name, hash }));

const judgedOf = (tools: readonly ServerTool[]): ToolCheck["tools"] =>
  tools.map(({ name, hash, quarantined }) => ({ name, hash, ...(quarantined && { quarantined }) }));

const sightingOf = (answer: ServerAnswer): Sighting => {
  const { server } = answer;
  if (!answer.ok) return { server, tools: null, state: answer.state, error: answer.reason };
  const error = answer.omitted.length === 0 ? null : firstCharacters(answer.omitted.join("; "), 2_000);
  return { server, tools: hashesOf(answer.tools), state: "connected", error };
};

/** Tenant's data about its servers. */
export interface TenantServerStore {
  readonly sawServer: TenantStores["sawServer"];
  readonly hasNewApprovals: TenantStores["hasNewApprovals"];
  readonly authorizeServer: (asked: Omit<ServerAuthorization, "address">) => Promise<AuthorizationAnswer>;
}

/** Access to servers on behalf of a tenant. */
interface PinnedServers {
  readonly list: (
    name: string,
    over: readonly Json[],
    outside: Omit<Parameters<Servers["list"]>[2], keyof Pick<ServerReach, "authorize">>,
  ) => Promise<ServerAnswer>;
  /** Returns whether a list has to be fetched anew for its tools to be judged as today. */
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
  { sawServer, hasNewApprovals, authorizeServer }: TenantServerStore,
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
      const pins = new Map(seen.map(({ tool, pinned }) => [tool, pinned]));
      const tools = answer.tools.map((tool) => {
        const pinned = pins.get(tool.name);
        return pinned === undefined ? tool : { ...tool, quarantined: { pinned } };
      });
      return { ...answer, tools, changes: seen };
    },
    hasNewApprovals: (server, kept) => hasNewApprovals({ server, tools: judgedOf(kept), ...pinning(server) }),
  };
};
