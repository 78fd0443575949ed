import * as z from "zod";
import type { Ask } from "../../../agent/state/ask.ts";
import { cursorBindingOf, pageClause, pageOf, pageQueryFields, readCursor } from "../../../session/paging.ts";
import type { Page } from "../../../session/paging.ts";
import type { DatabaseRow, RunQuery, Tables } from "../database.ts";

/** This file keeps what a tenant's sessions wait for people to answer. */

/** Defines the query of `GET /asks`, which lists open asks only: a session lists its others. */
export const listAsksSchema = z.strictObject({
  status: z.literal("open").default("open"),
  kind: z.enum(["question", "approval", "client_tool", "authorization", "budget"]).optional(),
  ...pageQueryFields,
});

/** Describes an ask with the session that waits for its answer. */
type ListedAsk = Ask & { readonly session: string };

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

const toListedAsk = (row: DatabaseRow): ListedAsk => ({
  session: String(row["session"]),
  ...(JSON.parse(String(row["json"])) as Ask),
});

/** Lists the open asks of a tenant, the oldest first; one that has expired is open no more, whoever said so yet. */
export function listAsks(
  tables: Tables,
  tenant: string,
  query: z.output<typeof listAsksSchema>,
  now: number,
): Page<ListedAsk> {
  const { cursor, limit, kind = null } = query;
  const binding = cursorBindingOf({ asks: tenant, kind });
  const position = readCursor(cursor, binding);
  const page = pageClause(position, "opened_at", false, limit);
  const rows = tables.read(
    `SELECT * FROM open_asks WHERE expires_at > ?1 AND ifnull(?2, json ->> 'kind') = json ->> 'kind'
       ${page.where} ${page.tail}`,
    now,
    kind,
    ...page.values,
  );
  return pageOf(rows, { position, column: "opened_at", limit, binding }, toListedAsk);
}
