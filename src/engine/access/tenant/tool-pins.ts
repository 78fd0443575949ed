import * as z from "zod";
import type { ToolChange } from "../../../agent/hooks/servers.ts";
import type { Json } from "../../../chat/message.ts";
import { refuse } from "../../../session/problems.ts";
import type { RunQuery, Tables } from "../database.ts";

/** This file keeps what was approved of the tools of MCP servers, so that a server cannot change them unseen. */

/** Says what became of asking a server for its tools. */
export interface ServerSighting {
  readonly server: string;
  /** Lists the tools with their hashes; null if the server could not be used. */
  readonly tools: readonly { readonly name: string; readonly hash: string }[] | null;
  readonly state: "connected" | "failed" | "auth_needed";
  readonly error: string | null;
  /** Holds the hashes of `mcp.lock.json`; null if the lock does not name the server. */
  readonly lock: Readonly<Record<string, string>> | null;
  /** Lets tools that are new be used at once. */
  readonly allowNew: boolean;
}

/** Reads what counts as approved: under a lock only what an administrator approved, else a first list, too. */
const pinsOf = (tables: Tables, { server, lock }: ServerSighting): ReadonlyMap<string, string> =>
  new Map(
    tables
      .read(
        "SELECT tool, hash FROM tool_pins WHERE server = ? AND approved >= ?",
        server,
        lock === null ? 0 : 1,
      )
      .map(({ tool, hash }) => [String(tool), String(hash)]),
  );

/** Tells whether any session of the tenant has read the server's list, be it one without tools. */
const isListed = (tables: Tables, server: string): boolean =>
  tables.read("SELECT server FROM mcp_servers WHERE server = ? AND tools >= 0", server).length > 0;

const findChanges = (
  tools: NonNullable<ServerSighting["tools"]>,
  pins: ReadonlyMap<string, string>,
  { lock, allowNew }: ServerSighting,
): readonly ToolChange[] =>
  tools.flatMap(({ name, hash }): ToolChange[] => {
    const own = pins.get(name);
    const locked = lock === null || !Object.hasOwn(lock, name) ? undefined : lock[name];
    if (hash === own || hash === locked) return [];
    if (own === undefined && locked === undefined && allowNew) return [];
    return [{ tool: name, pinned: locked ?? own ?? null, found: hash }];
  });

/** Records what a session saw of a server; returns the tools that nobody has approved as they are now. */
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
    for (const { name, hash } of fresh)
      all(
        "INSERT OR IGNORE INTO tool_pins (server, tool, hash, approved) VALUES (?, ?, ?, 0)",
        server,
        name,
        hash,
      );
    if (tools === null) return;
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

export const listServersSchema = z.strictObject({});

export const approveServerSchema = z.strictObject({
  name: z.string().max(64),
  tools: z
    .record(z.string().max(64), hash)
    .optional()
    .describe("The hashes to approve by tool; absent: every change that was found."),
});

/** Names a server that the tenant's sessions have asked. */
export const serverReferenceSchema = approveServerSchema.pick({ name: true });

/** Refuses a server that nobody of the tenant has asked. */
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

/** Lists the servers that a tenant's sessions have asked, and what they found changed. */
export const listServers = (tables: Tables): Json => ({
  data: tables
    .read("SELECT server, state, error, tools, at FROM mcp_servers ORDER BY server")
    .map(({ server, state, error, tools, at }) => {
      const changes = changesOf((...query) => tables.read(...query), String(server));
      const isQuarantined = state === "connected" && changes.length > 0;
      return {
        name: String(server),
        state: isQuarantined ? "quarantined" : String(state),
        ...(Number(tools) < 0 ? {} : { tools: Number(tools) }),
        ...(error === null ? {} : { error: String(error) }),
        changes: changes.map((each) => ({ ...each })),
        checked_at: new Date(Number(at)).toISOString(),
      };
    }),
});

/** Approves what was found changed; a hash that was not found is refused, since nobody can have looked at it. */
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
