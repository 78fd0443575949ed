import type { Host } from "../../src/driver/host.ts";
import { jsonOf } from "../rows/encode.ts";

type StreamedItem = Parameters<Host["itemGrew"]>[0];

/** Open streamed items: their text so far for late watchers, and now and then a row each, so that a crash leaves what was shown. */
export interface OpenItems {
  readonly grow: Host["itemGrew"];
  readonly close: Host["itemsClosed"];
  /** An item as far as it was shown, also if a lost isolate showed it. */
  readonly find: (id: string) => StreamedItem | null;
  readonly open: () => readonly StreamedItem[];
  /** The session is gone, and its rows: the next one of its name has no item yet. */
  readonly forget: () => void;
}

const writeEveryMs = 250;

/** Characters of an item in its row, which JSON may make six times as long. */
const maxStoredLength = 250_000;

export const createOpenItems = (sql: SqlStorage, now: () => number): OpenItems => {
  const open = new Map<string, StreamedItem>();
  const seen = new Map<string, number>();
  let rows: Set<string> | null = null;
  /** Items that have a row, those of a lost isolate included. */
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
      if (last === undefined || now() - last < writeEveryMs) return;
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
