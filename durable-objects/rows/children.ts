import type { ChildRecord } from "../../src/agent/state/child.ts";
import type { TransactionContext } from "../../src/agent/transaction/draft.ts";
import { blobOf, rowJson, valuesOf } from "./encode.ts";

/** Keeps rows of called threads, which remain when the threads have left the live state. */

/** Number of children that a caller may see at once. */
const mostShownChildren = 64;

const readRecords = (sql: SqlStorage, query: string, ...values: SqlStorageValue[]): readonly ChildRecord[] =>
  valuesOf(sql, blobOf.child, query, ...values) as readonly ChildRecord[];

export const childReaderOf = (sql: SqlStorage): TransactionContext["children"] => ({
  record: (id) => readRecords(sql, "SELECT id, json FROM children WHERE id = ?", id)[0] ?? null,
  of: (caller) =>
    readRecords(
      sql,
      "SELECT id, json FROM children WHERE caller = ? ORDER BY n DESC LIMIT ?",
      caller,
      mostShownChildren,
    ),
});

export const writeChildren = (sql: SqlStorage, records: readonly ChildRecord[]): void => {
  for (const record of new Map(records.map((each) => [each.id, each])).values()) {
    const json = rowJson(sql, blobOf.child(record.id), JSON.stringify(record));
    sql.exec(
      `INSERT INTO children VALUES (?, (SELECT ifnull(max(n), 0) + 1 FROM children), ?, ?)
        ON CONFLICT (id) DO UPDATE SET json = excluded.json`,
      record.id,
      record.parent.thread,
      json,
    );
  }
};
