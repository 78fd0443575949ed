import type { EventText } from "../../src/session/event-lines.ts";
import { dictionaryOf, packText, unpackText } from "./pack.ts";

/**
 * The log of events, with the rows of the ledger and of edits. A commit is appended to the tail of the log, which stands in main's row
 * of `turns`, since nearly every commit writes that row: an event costs no write of its own. Some commits together are
 * packed into a row of `events`, where an event takes a few dozen bytes. The first pack of a session is the dictionary
 * of all others, since sessions repeat themselves.
 */

const tailRows = 8;

/** Longest row of the log, and longest tail to which more is added. */
export const logRowLength = 65_536;

/** Number of rows in the tail of the log, and their length. */
export interface LogPlace {
  readonly rows: number;
  readonly length: number;
}

/** What a commit adds to the tail, or puts in its place, and where the log goes on once that is stored. */
export interface LogChange extends LogPlace {
  readonly text: string;
  readonly keepsTail: boolean;
}

/** Events of a commit, or a part of them, with serialised rows of the ledger and of edits. */
export interface LogRow {
  /** The number of the first event. */
  readonly first: number;
  readonly at: number;
  readonly events: readonly EventText[];
  readonly ledger: readonly string[];
  readonly edits: readonly string[];
}

const rowsText = ({ ledger, edits }: Pick<LogRow, "ledger" | "edits">): string =>
  ledger.map((row) => `\n\t${row}`).join("") + edits.map((row) => `\n\t\t${row}`).join("");

/**
 * Returns the text of a row: a line with its time, a line for each event, whose fields are separated by tabs,
 * which JSON never contains, a line for each row of the ledger, which begins with a tab, and one for each row
 * of an edit, which begins with two.
 */
const rowText = (row: LogRow): string => {
  let text = `${row.at}`;
  let scope = "";
  for (const event of row.events) {
    text += `\n${event.type}\t${event.scope === scope ? "" : event.scope}\t${event.own}\t${event.data}`;
    scope = event.scope;
  }
  return text + rowsText(row);
};

const parseRow = (text: string, first: number): LogRow => {
  const [at, ...lines] = text.split("\n");
  let scope = "";
  const events: EventText[] = [];
  const ledger: string[] = [];
  const edits: string[] = [];
  for (const line of lines) {
    const [type = "", given = "", own = "", data = ""] = line.split("\t");
    if (type === "") {
      if (given === "") edits.push(own);
      else ledger.push(given);
      continue;
    }
    scope = given === "" ? scope : given;
    events.push({ type, scope, own, data });
  }
  return { first, at: Number(at), events, ledger, edits };
};

/** Separator of rows in the tail and in a pack. */
const rowSeparator = "\f";

const parseRows = (text: string, first: number): readonly LogRow[] => {
  let next = first;
  return text.split(rowSeparator).map((each) => {
    const row = parseRow(each, next);
    next += row.events.length;
    return row;
  });
};

interface PackRow extends Record<string, SqlStorageValue> {
  readonly first: number;
  readonly last: number;
  readonly pack: ArrayBuffer;
}

const readPack = (sql: SqlStorage, which: string, ...values: SqlStorageValue[]): PackRow | undefined =>
  sql.exec<PackRow>(`SELECT * FROM events ${which} LIMIT 1`, ...values).toArray()[0];

const readDictionary = (sql: SqlStorage): Uint8Array | null => {
  const found = readPack(sql, "ORDER BY last");
  return found === undefined ? null : dictionaryOf(found.pack);
};

const readTail = (sql: SqlStorage): string =>
  sql.exec<{ log: string }>("SELECT log FROM turns WHERE thread = 'main'").toArray()[0]?.log ?? "";

const readPackedHead = (sql: SqlStorage): number =>
  sql.exec<{ head: number }>("SELECT ifnull(max(last), 0) AS head FROM events").one().head;

const readTailRows = (sql: SqlStorage): readonly LogRow[] => {
  const text = readTail(sql);
  return text === "" ? [] : parseRows(text, readPackedHead(sql) + 1);
};

const lastOf = ({ first, events }: LogRow): number => first + events.length - 1;

/** Finds where the log goes on. */
export const findLogPlace = (sql: SqlStorage): LogPlace => {
  const text = readTail(sql);
  return { rows: text === "" ? 0 : text.split(rowSeparator).length, length: text.length };
};

/** Returns the number of the newest event; 0 if there is none. */
export const readHead = (sql: SqlStorage): number => {
  const newest = readTailRows(sql).at(-1);
  return newest === undefined ? 0 : lastOf(newest);
};

const packTail = (sql: SqlStorage, tail: string, last: number): void => {
  const pack = packText(tail, readDictionary(sql));
  sql.exec("INSERT INTO events VALUES (?, ?, ?)", last, readPackedHead(sql) + 1, pack);
};

/** Adds the rows of a commit to the log, which is complete once main's row of `turns` is written with this change. */
export const addToLog = (sql: SqlStorage, rows: readonly LogRow[], place: LogPlace): LogChange => {
  let change: LogChange = { ...place, text: "", keepsTail: true };
  for (const row of rows) {
    if (change.rows === tailRows || change.length > logRowLength) {
      packTail(sql, (change.keepsTail ? readTail(sql) : "") + change.text, row.first - 1);
      change = { rows: 0, length: 0, text: "", keepsTail: false };
    }
    const added = (change.rows === 0 ? "" : rowSeparator) + rowText(row);
    change = {
      rows: change.rows + 1,
      length: change.length + added.length,
      text: change.text + added,
      keepsTail: change.keepsTail,
    };
  }
  return change;
};

/** Adds rows to the newest row, since a commit without events has none of its own. */
export const addToNewest = (
  added: Pick<LogRow, "ledger" | "edits">,
  { rows, length }: LogPlace,
): LogChange => {
  const text = rowsText(added);
  return { text, keepsTail: true, rows, length: length + text.length };
};

/** Creates a function that unpacks the packs of one reading, which share the dictionary. */
const createUnpacker = (sql: SqlStorage): ((row: PackRow) => readonly LogRow[]) => {
  let dictionary: Uint8Array | null = null;
  return ({ first, pack }) =>
    parseRows(unpackText(pack, first === 1 ? null : (dictionary ??= readDictionary(sql))), first);
};

/** Yields the rows of the log, the newest first, on demand. */
export function* readLogBackwards(sql: SqlStorage): Generator<LogRow> {
  yield* readTailRows(sql).toReversed();
  const unpack = createUnpacker(sql);
  let pack = readPack(sql, "ORDER BY last DESC");
  while (pack !== undefined) {
    yield* unpack(pack).toReversed();
    pack = readPack(sql, "WHERE last < ? ORDER BY last DESC", pack.first);
  }
}

/** Yields the rows that end after a cursor, in order: pack by pack, and the tail. */
export function* readLog(sql: SqlStorage, after: number): Generator<readonly LogRow[]> {
  const nextPack = (seen: number): PackRow | undefined => readPack(sql, "WHERE last > ? ORDER BY last", seen);
  const unpack = createUnpacker(sql);
  let seen = after;
  for (let pack = nextPack(seen); pack !== undefined; pack = nextPack(seen)) {
    yield unpack(pack);
    seen = pack.last;
  }
  yield readTailRows(sql).filter((row) => lastOf(row) > seen);
}
