import * as z from "zod";
import { askKinds } from "../../../agent/state/ask.ts";
import type { Ask } from "../../../agent/state/ask.ts";
import { cursorBindingOf, pageClause, pageOf, pageQueryFields, readCursor } from "../../../session/paging.ts";
import type { Page } from "../../../session/paging.ts";
import { refuseScope } from "../../../session/problems.ts";
import { answerScopeOf } from "../../../session/rpc.ts";
import type { Principal } from "../../../session/rpc.ts";
import type { DatabaseRow, RunQuery, Tables } from "../database.ts";

/** Stores the open asks of a tenant's sessions. */

/** Query of `GET /asks`, which lists open asks only: a session lists its others. */
export const listAsksSchema = z.strictObject({
  status: z.literal("open").default("open").describe("Only open asks are listed."),
  kind: z.enum(askKinds).optional().describe("The kind of the asks."),
  ...pageQueryFields,
});

/** Ask with the session that waits for its answer, and that session's title for callers who may read sessions. */
type ListedAsk = Ask & { readonly session: string; readonly session_title: string | null };

/** Replaces the open asks of a session; an ask does not change while it is open. */
export function keepAsks(all: RunQuery, session: string, asks: readonly Ask[]): void {
  const ids = JSON.stringify(asks.map(({ id }) => id));
  all("DELETE FROM open_asks WHERE session = ? AND id NOT IN (SELECT value FROM json_each(?))", session, ids);
  for (const ask of asks)
    all(
      "INSERT OR IGNORE INTO open_asks (session, id, opened_at, expires_at, json) VALUES (?, ?, ?, ?, ?)",
      session,
      ask.id,
      ask.opened_at,
      ask.expires_at,
      JSON.stringify(ask),
    );
}

const toListedAsk =
  ({ scopes }: Principal) =>
  (row: DatabaseRow): ListedAsk => {
    const title = scopes.includes("sessions:read") ? row["session_title"] : null;
    return {
      session: String(row["session"]),
      session_title: title === null ? null : String(title),
      ...(JSON.parse(String(row["json"])) as Ask),
    };
  };

/** Returns the requested kinds that the caller may answer. */
const listedKinds = ({ scopes }: Principal, kind: Ask["kind"] | undefined): readonly Ask["kind"][] => {
  if (kind === undefined) return askKinds.filter((each) => scopes.includes(answerScopeOf(each)));
  const scope = answerScopeOf(kind);
  return scopes.includes(scope) ? [kind] : refuseScope(scope);
};

/**
 * Lists the open asks of a tenant that the caller may answer, the oldest first; an expired ask is omitted even if
 * its session has not closed it yet.
 */
export function listAsks(
  tables: Tables,
  principal: Principal,
  query: z.output<typeof listAsksSchema>,
  now: number,
): Page<ListedAsk> {
  const { cursor, limit } = query;
  const listed = JSON.stringify(listedKinds(principal, query.kind));
  const binding = cursorBindingOf({ asks: principal.tenant, listed });
  const position = readCursor(cursor, binding);
  const page = pageClause(position, "opened_at", false, limit);
  const rows = tables.read(
    `SELECT *, (SELECT title FROM sessions WHERE sessions.id = session AND status <> 'idle') AS session_title
       FROM open_asks WHERE expires_at > ? AND json ->> 'kind' IN (SELECT value FROM json_each(?))
       ${page.where} ${page.tail}`,
    now,
    listed,
    ...page.values,
  );
  return pageOf(rows, { position, column: "opened_at", limit, binding }, toListedAsk(principal));
}
