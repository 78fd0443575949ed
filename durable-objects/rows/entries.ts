import type { EntryChange, EntryHead, EntryReader } from "../../src/agent/state/records.ts";
import type { Json } from "../../src/chat/message.ts";

/**
 * Rows of the shared stores are read when they are needed and written one by one. A session that is being created has no
 * tables yet.
 */

export const entriesOf = (sql: SqlStorage, isStored: () => boolean): EntryReader => ({
  entry: (store, key) => {
    if (!isStored()) return null;
    const [row] = sql
      .exec<{ revision: number; json: string }>(
        "SELECT revision, json FROM entries WHERE store = ? AND key = ?",
        store,
        key,
      )
      .toArray();
    return row === undefined ? null : { value: JSON.parse(row.json) as Json, revision: row.revision };
  },
  heads: (store) =>
    isStored()
      ? sql
          .exec<EntryHead & Record<string, SqlStorageValue>>(
            "SELECT key, revision, size, head FROM entries WHERE store = ? ORDER BY key",
            store,
          )
          .toArray()
      : [],
});

export const writeEntries = (sql: SqlStorage, changes: readonly EntryChange[]): void => {
  const newest = new Map(changes.map((change) => [`${change.store} ${change.key}`, change]));
  for (const { store, key, revision, size, head, json } of newest.values()) {
    if (json === null) sql.exec("DELETE FROM entries WHERE store = ? AND key = ?", store, key);
    else
      sql.exec(
        "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?)",
        store,
        key,
        revision,
        size,
        head,
        json,
      );
  }
};
