import type { Moment } from "../src/agent/draft.ts";
import type { ChildRecord } from "../src/agent/child.ts";
import { loadBlob, pieceLength, writeBlob } from "./rows.ts";

/** Rows of called threads: what stays of them when they have left the live state. */

interface Row extends Record<string, SqlStorageValue> {
  readonly id: string;
  readonly json: string;
}

const blobOf = (id: string): string => `child:${id}`;

/** Children that a caller may see at once. */
const mostShown = 64;

/** A child's JSON; a long one stands in pieces. */
export const childJson = (sql: SqlStorage, { id, json }: Pick<Row, "id" | "json">): string =>
  json === "" ? (loadBlob(sql, blobOf(id)) ?? "") : json;

const recordsOf = (sql: SqlStorage, query: string, ...values: SqlStorageValue[]): readonly ChildRecord[] =>
  sql
    .exec<Row>(query, ...values)
    .toArray()
    .map((row) => JSON.parse(childJson(sql, row)) as ChildRecord);

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
