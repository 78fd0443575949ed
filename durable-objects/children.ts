import type { Moment } from "../src/agent/draft.ts";
import type { ChildRecord } from "../src/agent/child.ts";
import { pageClause } from "../src/agent/paging.ts";
import type { From, PagedRow } from "../src/agent/paging.ts";
import { loadBlob, pieceLength, writeBlob } from "./rows.ts";

/** Rows of called threads: what stays of them when they have left the live state. */

interface Row extends Record<string, SqlStorageValue> {
  readonly id: string;
  readonly json: string;
}

const blobOf = (id: string): string => `child:${id}`;

/** Children that a caller may see at once. */
const mostShown = 64;

const recordsOf = (sql: SqlStorage, query: string, ...values: SqlStorageValue[]): readonly ChildRecord[] =>
  sql
    .exec<Row>(query, ...values)
    .toArray()
    .map(({ id, json }) => JSON.parse(json === "" ? (loadBlob(sql, blobOf(id)) ?? "") : json) as ChildRecord);

export const childrenOf = (sql: SqlStorage): Moment["children"] => ({
  record: (id) => recordsOf(sql, "SELECT id, json FROM children WHERE id = ?", id)[0] ?? null,
  of: (caller) =>
    recordsOf(
      sql,
      "SELECT id, json FROM children WHERE caller = ? ORDER BY started DESC LIMIT ?",
      caller,
      mostShown,
    ),
});

/** The called threads of a session, whoever called them, the newest first. */
export const pageOfChildren = (sql: SqlStorage, { position, limit }: From): readonly PagedRow[] => {
  const { where, values, tail } = pageClause(position, "-started", false, limit - 1);
  return sql
    .exec<PagedRow>(`SELECT -started AS at, id, json FROM children WHERE 1 ${where} ${tail}`, ...values)
    .toArray()
    .map((row) => ({ ...row, json: row.json === "" ? (loadBlob(sql, blobOf(row.id)) ?? "") : row.json }));
};

export const writeChildren = (sql: SqlStorage, records: readonly ChildRecord[]): void => {
  for (const record of new Map(records.map((each) => [each.id, each])).values()) {
    const json = JSON.stringify(record);
    const long = json.length > pieceLength;
    if (long) writeBlob(sql, blobOf(record.id), json);
    sql.exec(
      "INSERT INTO children VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET json = excluded.json",
      record.id,
      record.parent.thread,
      record.started_at,
      long ? "" : json,
    );
  }
};
