import type { Host } from "../../src/driver/host.ts";
import { jsonOf } from "../rows/encode.ts";
import { isRecent } from "../waits.ts";

type StreamedItem = Parameters<Host["itemGrew"]>[0];

/** Holds the text of open streamed items for late watchers, and stores it now and then in case of a crash. */
export interface OpenItems {
  readonly grow: Host["itemGrew"];
  readonly close: Host["itemsClosed"];
  /** Returns an item as far as it was shown, even by a lost isolate. */
  readonly find: (id: string) => StreamedItem | null;
  readonly open: () => readonly StreamedItem[];
  /** Forgets all items, since the session and its rows were deleted and the next session of its name has none yet. */
  readonly forget: () => void;
}

const writeEveryMs = 250;

/** Most characters of an item in its row, which JSON may make six times as long. */
const maxStoredLength = 250_000;

export const createOpenItems = (sql: SqlStorage, now: () => number): OpenItems => {
  const open = new Map<string, StreamedItem>();
  const seen = new Map<string, number>();
  let rows: Set<string> | null = null;
  /** Returns the items that have a row, including those of a lost isolate. */
  const withRow = (): Set<string> =>
    (rows ??= new Set(
      sql
        .exec<{ id: string }>("SELECT id FROM items")
        .toArray()
        .map(({ id }) => id),
    ));
  return {
    grow: (item) => {
      open.set(item.id, item);
      const last = seen.get(item.id);
      if (last === undefined) seen.set(item.id, now());
      if (last === undefined || isRecent(last, now(), writeEveryMs)) return;
      seen.set(item.id, now());
      withRow().add(item.id);
      const text = item.text.slice(0, maxStoredLength);
      sql.exec("INSERT OR REPLACE INTO items VALUES (?, ?)", item.id, JSON.stringify({ ...item, text }));
    },
    close: (ids) => {
      for (const id of ids) {
        open.delete(id);
        seen.delete(id);
        if (withRow().delete(id)) sql.exec("DELETE FROM items WHERE id = ?", id);
      }
    },
    find: (id) => {
      const [stored] = open.has(id) ? [] : jsonOf(sql, "SELECT json FROM items WHERE id = ?", id);
      return open.get(id) ?? (stored as StreamedItem | undefined) ?? null;
    },
    open: () => [...open.values()],
    forget: () => {
      open.clear();
      seen.clear();
      rows = new Set();
    },
  };
};
