import * as z from "zod";
import type { ToolChange } from "../../../agent/hooks/servers.ts";
import type { ServerTool } from "../../../agent/state/session.ts";
import type { Json } from "../../../chat/message.ts";
import { pageOfList, pageQueryFields } from "../../../session/paging.ts";
import type { Page } from "../../../session/paging.ts";
import { refuse } from "../../../session/problems.ts";
import type { RunQuery, Tables } from "../database.ts";

/** Stores the approved state of the tools of MCP servers, so that a server cannot change them unnoticed. */

/** Result of asking a server for its tools. */
export interface ServerSighting {
  readonly server: string;
  /** Tools with their hashes; null if the server could not be used. */
  readonly tools: readonly { readonly name: string; readonly hash: string }[] | null;
  readonly state: "connected" | "failed" | "auth_needed";
  readonly error: string | null;
  /** Hashes of `mcp.lock.json`; null if the lock does not name the server. */
  readonly lock: Readonly<Record<string, string>> | null;
  /** Whether new tools may be used at once. */
  readonly allowNew: boolean;
}

/** Tools of a list with what was said of them then, and the settings that decide with the approvals today. */
export type ToolCheck = Pick<ServerSighting, "server" | "lock" | "allowNew"> & {
  readonly tools: readonly Pick<ServerTool, "name" | "hash" | "quarantined">[];
};

/** Pins of a server above which those of the tools that it no longer offers are deleted, since it may name ever new ones. */
const mostPins = 1_000;

/** Stores the hashes of tools that count as approved until an administrator says otherwise. */
const addPins = (
  all: RunQuery,
  server: string,
  fresh: NonNullable<ServerSighting["tools"]>,
  offered: NonNullable<ServerSighting["tools"]>,
): void => {
  for (const { name, hash } of fresh)
    all(
      "INSERT OR IGNORE INTO tool_pins (server, tool, hash, approved) VALUES (?, ?, ?, 0)",
      server,
      name,
      hash,
    );
  if (fresh.length === 0) return;
  all(
    `DELETE FROM tool_pins WHERE server = ?1 AND approved = 0 AND tool NOT IN (SELECT value FROM json_each(?2))
     AND (SELECT count(*) FROM tool_pins WHERE server = ?1) > ${mostPins}`,
    server,
    JSON.stringify(offered.map(({ name }) => name)),
  );
};

/** Returns the approved hashes: under a lock only those of an administrator, otherwise the first list, too. */
const pinsOf = (
  tables: Tables,
  { server, lock }: Pick<ServerSighting, "server" | "lock">,
): ReadonlyMap<string, string> =>
  new Map(
    tables
      .read(
        "SELECT tool, hash FROM tool_pins WHERE server = ? AND approved >= ?",
        server,
        lock === null ? 0 : 1,
      )
      .map(({ tool, hash }) => [String(tool), String(hash)]),
  );

/** Returns whether any session of the tenant has read the server's list, even an empty one. */
const isListed = (tables: Tables, server: string): boolean =>
  tables.read("SELECT server FROM mcp_servers WHERE server = ? AND tools >= 0", server).length > 0;

const findChanges = (
  tools: NonNullable<ServerSighting["tools"]>,
  pins: ReadonlyMap<string, string>,
  { lock, allowNew }: Pick<ServerSighting, "lock" | "allowNew">,
): readonly ToolChange[] =>
  tools.flatMap(({ name, hash }): ToolChange[] => {
    const own = pins.get(name);
    const locked = lock === null || !Object.hasOwn(lock, name) ? undefined : lock[name];
    if (hash === own || hash === locked) return [];
    if (own === undefined && locked === undefined && allowNew) return [];
    return [{ tool: name, pinned: locked ?? own ?? null, found: hash }];
  });

/** Records the state of a server as a session found it; returns its tools that nobody has approved in this form. */
export const recordSighting = (
  tables: Tables,
  sighting: ServerSighting,
  now: number,
): readonly ToolChange[] => {
  const { server, tools, state, error, lock } = sighting;
  const pins = pinsOf(tables, sighting);
  const isFirst = lock === null && !isListed(tables, server);
  const changes = tools === null || isFirst ? [] : findChanges(tools, pins, sighting);
  const changed = new Set(changes.map(({ tool }) => tool));
  const fresh =
    lock === null ? (tools ?? []).filter(({ name }) => !pins.has(name) && !changed.has(name)) : [];
  tables.write((all) => {
    all(
      `INSERT INTO mcp_servers (server, state, error, tools, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (server)
       DO UPDATE SET state = excluded.state, error = excluded.error, at = excluded.at,
         tools = iif(excluded.tools < 0, tools, excluded.tools)`,
      server,
      state,
      error,
      tools === null ? -1 : tools.length,
      now,
    );
    if (tools === null) return;
    addPins(all, server, fresh, tools);
    all("DELETE FROM tool_changes WHERE server = ?", server);
    for (const { tool, pinned, found } of changes)
      all(
        "INSERT INTO tool_changes (server, tool, pinned, found) VALUES (?, ?, ?, ?)",
        server,
        tool,
        pinned,
        found,
      );
  });
  return changes;
};

const hash = z.string().regex(/^[0-9a-f]{64}$/, "invalid_value: a hash has 64 hex digits");

/** Query of `GET /mcp`. */
export const listServersSchema = z.strictObject(pageQueryFields);

export const approveServerSchema = z.strictObject({
  name: z.string().max(64),
  tools: z
    .record(z.string().max(64), hash)
    .optional()
    .describe("The hashes to approve by tool; if absent, every change found."),
});

/** Name of a server that the tenant's sessions have used. */
export const serverReferenceSchema = approveServerSchema.pick({ name: true });

/** Refuses a server that no session of the tenant has used. */
export const requireServer = (all: RunQuery, name: string): void => {
  const known = all("SELECT server FROM mcp_servers WHERE server = ?", name);
  if (known.length === 0) refuse("not_found", "No session of this tenant has used such an MCP server.");
};

const changesOf = (all: RunQuery, server: string): readonly ToolChange[] =>
  all("SELECT tool, pinned, found FROM tool_changes WHERE server = ? ORDER BY tool", server).map(
    ({ tool, pinned, found }) => ({
      tool: String(tool),
      pinned: pinned === null ? null : String(pinned),
      found: String(found),
    }),
  );

/**
 * Returns whether the tools of an earlier list are approved otherwise than they were then, or a quarantined one has
 * another form in the newest list.
 */
export const hasNewApprovals = (tables: Tables, check: ToolCheck): boolean => {
  const newest = new Map(changesOf(tables.read, check.server).map(({ tool, found }) => [tool, found]));
  const changes = findChanges(check.tools, pinsOf(tables, check), check);
  const pins = new Map(changes.map(({ tool, pinned }) => [tool, pinned]));
  return check.tools.some(
    ({ name, hash, quarantined }) =>
      pins.get(name) !== quarantined?.pinned || (quarantined !== undefined && newest.get(name) !== hash),
  );
};

/** Lists the servers that a tenant's sessions have used, with the changes found. */
export const listServers = (tables: Tables, query: z.output<typeof listServersSchema>): Page<object> => {
  const servers = tables
    .read("SELECT server, state, error, tools, at FROM mcp_servers")
    .map(({ server, state, error, tools, at }) => {
      const changes = changesOf(tables.read, String(server));
      const isQuarantined = state === "connected" && changes.length > 0;
      return {
        name: String(server),
        state: isQuarantined ? "quarantined" : String(state),
        ...(Number(tools) < 0 ? {} : { tools: Number(tools) }),
        ...(error === null ? {} : { error: String(error) }),
        changes: changes.map((each) => ({ ...each })),
        checked_at: Number(at),
      };
    });
  return pageOfList(servers, ({ name }) => name, "mcp", query);
};

/** Approves changes that were found; a hash that was not found is refused, since nobody can have reviewed it. */
export const approveServer = (all: RunQuery, { name, tools }: z.output<typeof approveServerSchema>): Json => {
  requireServer(all, name);
  const changes = changesOf(all, name);
  const wrong = Object.entries(tools ?? {}).find(
    ([tool, wanted]) => !changes.some((each) => each.tool === tool && each.found === wanted),
  );
  if (wrong !== undefined)
    refuse("conflict", `The server does not offer ${wrong[0]} with this hash now; read GET /v1/mcp again.`);
  const approved = changes.filter(({ tool }) => tools === undefined || Object.hasOwn(tools, tool));
  for (const { tool, found } of approved) {
    all(
      "INSERT OR REPLACE INTO tool_pins (server, tool, hash, approved) VALUES (?, ?, ?, 1)",
      name,
      tool,
      found,
    );
    all("DELETE FROM tool_changes WHERE server = ? AND tool = ?", name, tool);
  }
  return { approved: approved.map(({ tool, found }) => ({ tool, hash: found })) };
};
