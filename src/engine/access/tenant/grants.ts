import * as z from "zod";
import { grantLifeMs } from "../../../agent/calls/grants.ts";
import type { GrantsUpdate, GrantsReport } from "../../../agent/calls/grants.ts";
import { cursorBindingOf, pageClause, pageOf, pageQueryFields, readCursor } from "../../../session/paging.ts";
import type { Page } from "../../../session/paging.ts";
import { refuse } from "../../../session/problems.ts";
import type { Grant } from "../../../agent/state/session.ts";
import type { DatabaseRow, Tables } from "../database.ts";
import { isBuried, withoutKey } from "../once.ts";
import type { OnceResult, Once } from "../once.ts";

/** Stores a tenant's grants: those of its sessions, and those of its agents, which hold in all sessions. */

/** Query of `GET /grants`. */
export const listGrantsSchema = z.strictObject({
  session: z.string().max(64).optional().describe("The id of the session in which the grant was given."),
  agent: z.string().max(64).optional().describe("The agent that may use the grant."),
  ...pageQueryFields,
});
export const grantReferenceSchema = z.strictObject({ grant: z.string().max(64) });

/** Grant as the API shows it. Times are milliseconds since the epoch. */
export interface GrantInfo extends Grant {
  /** Session in which the grant was given. */
  readonly session: string;
  readonly expires_at: number | null;
}

const toGrantInfo = (row: DatabaseRow): GrantInfo => {
  const at = Number(row["at"]);
  const scope = row["scope"] === "agent" ? "agent" : "session";
  return {
    id: String(row["id"]),
    scope,
    session: String(row["session"]),
    agent: String(row["agent"]),
    tool: String(row["tool"]),
    pattern: String(row["pattern"]),
    by: String(row["given_by"]),
    at,
    expires_at: scope === "agent" ? at + grantLifeMs : null,
  };
};

const grantOf = (row: DatabaseRow): Grant => {
  const { session: _, expires_at: __, ...grant } = toGrantInfo(row);
  return grant;
};

/** Stores a session's grants, each once, and returns the session's update; a revoked grant stays revoked. */
export function exchangeGrants(
  tables: Tables,
  { session, createdAt, grants }: GrantsReport,
  now: number,
): GrantsUpdate {
  const ids = grants.map(({ id }) => id);
  const known = tables.read(
    "SELECT id, revoked FROM grants WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify(ids),
  );
  const fresh = grants.filter(({ id }) => !known.some((row) => row["id"] === id));
  if (fresh.length > 0)
    tables.write((all) => {
      // A late report does not restore the grants of a deleted session.
      const isOver = isBuried(all, session, createdAt);
      for (const { id, scope, agent, tool, pattern, by, at } of fresh) {
        if (scope === "session" && isOver) continue;
        all(
          `INSERT OR IGNORE INTO grants (id, session, scope, agent, tool, pattern, given_by, at, revoked)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)`,
          id,
          session,
          scope,
          agent,
          tool,
          pattern,
          by,
          at,
        );
      }
      all("DELETE FROM grants WHERE scope = 'agent' AND at < ?", now - grantLifeMs);
    });
  const agents = tables.read(
    "SELECT * FROM grants WHERE scope = 'agent' AND revoked = 0 AND at >= ? ORDER BY at, id",
    now - grantLifeMs,
  );
  return {
    agents: agents.map(grantOf),
    revoked: known.filter((row) => row["revoked"] !== 0).map((row) => String(row["id"])),
  };
}

/** Lists the valid grants of a tenant, the newest first. */
export function listGrants(
  tables: Tables,
  tenant: string,
  query: z.output<typeof listGrantsSchema>,
  now: number,
): Page<GrantInfo> {
  const { cursor, limit, session = "*", agent = "*" } = query;
  const binding = cursorBindingOf({ grants: tenant, session, agent });
  const position = readCursor(cursor, binding);
  const page = pageClause(position, "at", true, limit);
  const rows = tables.read(
    `SELECT * FROM grants WHERE revoked = 0 AND (scope = 'session' OR at >= ?)
       AND ? IN ('*', session) AND ? IN ('*', agent) ${page.where} ${page.tail}`,
    now - grantLifeMs,
    session,
    agent,
    ...page.values,
  );
  return pageOf(rows, { position, column: "at", limit, binding }, toGrantInfo);
}

/** Revokes a grant: sessions that know it learn so within 30 seconds, at their next call that it would cover. */
export const revokeGrant = (tables: Tables, id: string, once: Once = withoutKey(tables)): OnceResult<null> =>
  once((all) => {
    const revoked = all("UPDATE grants SET revoked = 1 WHERE id = ? AND revoked = 0 RETURNING id", id);
    return revoked.length === 0 ? refuse("not_found", "There is no such grant.") : null;
  });
