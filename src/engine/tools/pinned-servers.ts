import type { ServerAnswer } from "../../agent/hooks/servers.ts";
import type { ServerSighting } from "../access/tenant/tool-pins.ts";
import type { TenantStores } from "../access/rpc.ts";
import type { Servers } from "./servers.ts";

/** This file compares what a server offers with what its tenant or the team's lock has approved. */

type Sighting = Omit<ServerSighting, "lock" | "allowNew">;

const sightingOf = (answer: ServerAnswer): Sighting => {
  const { server } = answer;
  if (!answer.ok) return { server, tools: null, state: answer.state, error: answer.reason };
  const tools = answer.tools.map(({ name, hash }) => ({ name, hash }));
  const error = answer.omitted.length === 0 ? null : answer.omitted.join("; ").slice(0, 2_000);
  return { server, tools, state: "connected", error };
};

/** Wraps the listing of servers: a tool that nobody has approved as it is now comes back quarantined. */
export const createPinnedServers = (
  { list, pinning }: Pick<Servers, "list" | "pinning">,
  sawServer: TenantStores["sawServer"],
): Pick<Servers, "list"> => ({
  list: async (name, connection, outside) => {
    const answer = await list(name, connection, outside);
    const seen = await sawServer({ ...sightingOf(answer), ...pinning(name) }).catch(() => null);
    if (!answer.ok) return answer;
    if (seen === null) {
      const reason = "what was approved of its tools could not be read";
      return { server: name, ok: false, state: "failed", reason };
    }
    const changed = new Set(seen.map(({ tool }) => tool));
    const tools = answer.tools.map((tool) =>
      changed.has(tool.name) ? { ...tool, quarantined: true as const } : tool,
    );
    return { ...answer, tools, changes: seen };
  },
});
