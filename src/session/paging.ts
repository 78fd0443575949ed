import * as z from "zod";
import { utf8Length } from "../chat/tokens.ts";
import { sha256Hex } from "../sandbox/sha256.ts";
import { jsonFromBase64Url, jsonToBase64Url } from "../sandbox/base64.ts";
import { refuse } from "./problems.ts";

/** Schema for a whole number, which may come as text, because queries hold only texts. */
export const wholeNumberSchema = (min: number, max: number) =>
  z.preprocess(
    (value) => (typeof value === "string" && /^-?\d{1,16}$/.test(value) ? Number(value) : value),
    z.int().min(min).max(max),
  );

/** Schema for the number of rows that a list may be asked for. */
export const limitSchema = (most: number, standard: number) => wholeNumberSchema(1, most).default(standard);

/** Most rows of a page. */
export const mostRows = 200;

export const limitSentence = "How many rows a page has at most.";
export const cursorSentence = "The `next_cursor` or `prev_cursor` of another page.";

/** Query fields that every list takes. */
export const pageQueryFields = {
  limit: limitSchema(mostRows, 50).describe(limitSentence),
  cursor: z.string().max(1024).optional().describe(cursorSentence),
};

type KeysetValue = string | number | null;

/** What a cursor names: the row at which a page begins or ends. */
export interface PagePosition {
  readonly at: KeysetValue;
  readonly id: string;
  readonly direction: "next" | "prev";
}

export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
  readonly prev_cursor: string | null;
}

/** Row with its place in a list; `json` reads the JSON that is shown. */
export interface PagedRow {
  readonly at: number;
  readonly id: string;
  readonly json: () => string;
}

/** Most bytes of a page: further rows go to the next one, and a longer value is a page of its own. */
export const pageBytes = 4 * 2 ** 20;

/** Reads rows one by one and returns the JSON of the first ones that fit a page. */
export const takeFitting = (rows: Iterable<Pick<PagedRow, "json">>): readonly string[] => {
  const taken: string[] = [];
  let bytes = 0;
  for (const { json } of rows) {
    const text = json();
    bytes += utf8Length(text);
    if (taken.length > 0 && bytes > pageBytes) break;
    taken.push(text);
  }
  return taken;
};

/** Position from which a page is read, and how many rows it holds at most. */
export interface PageStart {
  readonly position: PagePosition | null;
  readonly limit: number;
}

/** Returns whether places fall while the page is read, in the order of its list or against it. */
export const isReadDescending = (position: PagePosition | null, descending: boolean): boolean =>
  (position?.direction === "prev") !== descending;

/** Selects live rows as `pageClause` selects stored ones; `from.limit` holds for both together. */
export const pageRows = (
  rows: readonly PagedRow[],
  { position, limit }: PageStart,
  descending: boolean,
): readonly PagedRow[] => {
  const sign = isReadDescending(position, descending) ? -1 : 1;
  const compare = (one: PagedRow, { at, id }: Pick<PagedRow, "at" | "id">): number =>
    sign * (one.at - at || (one.id < id ? -1 : Number(one.id > id)));
  const beyond =
    position === null
      ? rows
      : rows.filter((row) => compare(row, { at: Number(position.at), id: position.id }) > 0);
  return beyond.toSorted(compare).slice(0, limit);
};

/** Returns a digest of the filters and the order that a cursor belongs to. */
export const cursorBindingOf = (query: unknown): string =>
  sha256Hex(JSON.stringify(["cursor", query])).slice(0, 16);

const writeCursor = (position: PagePosition, binding: string): string =>
  jsonToBase64Url([binding, position.direction, position.at, position.id]);

/** Refuses a cursor that names no place in the list. */
export const refuseCursor = (): never =>
  refuse("invalid_cursor", "The cursor is damaged or belongs to other filters or another order.", {
    errors: [
      {
        pointer: "/cursor",
        code: "invalid_cursor",
        message: "Pass a cursor of the same query, or leave it out.",
      },
    ],
  });

/** Returns the position that a cursor names; throws 400 `invalid_cursor` for a foreign or damaged one. */
export function readCursor(cursor: string | undefined, binding: string): PagePosition | null {
  if (cursor === undefined) return null;
  const value = jsonFromBase64Url(cursor);
  const [bound, direction, at, id]: unknown[] = Array.isArray(value) ? value : [];
  const placed = (typeof at === "number" || typeof at === "string") && typeof id === "string";
  if (bound !== binding || !placed || (direction !== "next" && direction !== "prev")) return refuseCursor();
  return { at, id, direction };
}

/** Builds the clause of a page: rows beyond `position`, in reading order or reversed, one more than fits. */
export function pageClause(
  position: PagePosition | null,
  column: string,
  descending: boolean,
  limit: number,
): { where: string; values: readonly KeysetValue[]; tail: string } {
  const down = isReadDescending(position, descending);
  const order = down ? "DESC" : "ASC";
  const tail = `ORDER BY ${column} ${order}, id ${order} LIMIT ${limit + 1}`;
  if (position === null) return { where: "", values: [], tail };
  return {
    where: `AND (${column}, id) ${down ? "<" : ">"} (?, ?)`,
    values: [position.at, position.id],
    tail,
  };
}

/**
 * Builds a page from rows in the order in which they were read, one more than fits if there are more. If reading stopped
 * before the end of the list, `end` is the last row that was read, shown or not: the page may be short, even empty, and
 * its cursor goes on from there.
 */
export function pageOf<Row extends Readonly<Record<string, unknown>>, T>(
  rows: readonly Row[],
  query: {
    position: PagePosition | null;
    column: string;
    limit: number;
    binding: string;
    end?: Row | undefined;
  },
  show: (row: Row) => T,
): Page<T> {
  const { position, column, limit, binding, end } = query;
  const backwards = position?.direction === "prev";
  const cut = rows.slice(0, limit);
  const more = rows.length > limit ? cut.at(-1) : end;
  const shown = backwards ? cut.toReversed() : cut;
  const place = (row: Row | undefined, direction: PagePosition["direction"]): string | null => {
    const at = row?.[column];
    if (row === undefined) return null;
    return writeCursor(
      { at: typeof at === "number" || typeof at === "string" ? at : null, id: String(row["id"]), direction },
      binding,
    );
  };
  return {
    data: shown.map(show),
    next_cursor: place(backwards ? (shown.at(-1) ?? end) : more, "next"),
    prev_cursor: place(backwards ? more : position === null ? undefined : (shown[0] ?? end), "prev"),
  };
}

/**
 * Builds a page of a list that is held in memory, ordered by `idOf`, so that cursors stay valid while items
 * come and go. `list` names the list, so that its cursors fit no other.
 */
export function pageOfList<T>(
  items: readonly T[],
  idOf: (item: T) => string,
  list: unknown,
  query: { readonly limit: number; readonly cursor?: string | undefined },
): Page<T> {
  const { limit, cursor } = query;
  const binding = cursorBindingOf({ list });
  const position = readCursor(cursor, binding);
  const named = new Map(items.map((item) => [idOf(item), item]));
  const all = [...named.keys()].map((id): PagedRow => ({ at: 0, id, json: () => "" }));
  const rows = pageRows(all, { position, limit: limit + 1 }, false).map(({ at, id }) => ({ at, id }));
  return pageOf(rows, { position, column: "at", limit, binding }, ({ id }) => named.get(id) as T);
}
