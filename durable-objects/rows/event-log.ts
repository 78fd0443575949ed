import type { EventText } from "../../src/session/event-lines.ts";
import { packText, unpackText } from "./pack.ts";

/**
 * The log of events, with the rows of the ledger. A commit is one row of `recent`, whose slots are used again once they
 * are packed together into a row of `events`: an event costs one small write, and an old one a few dozen bytes. The
 * first pack of a session is the dictionary of all others, since sessions repeat themselves.
 */

const slots = 8;

/** Rows that are as long together are packed before the next one is written. */
const longRows = 65_536;

/** Says how many slots hold rows that are not packed, and their length. */
export interface LogPlace {
  readonly used: number;
  readonly length: number;
}

/** Holds the events of a commit, or a part of them, with serialised rows of the ledger. */
export interface LogRow {
  /** This is the number of the first event. */
  readonly first: number;
  readonly at: number;
  readonly events: readonly EventText[];
  readonly ledger: readonly string[];
}

const ledgerText = (ledger: readonly string[]): string => ledger.map((row) => `\n\t${row}`).join("");

/**
 * A row is a line with its time, a line for each event, whose fields are parted by tabs, which JSON never contains, and
 * a line for each row of the ledger, which begins with a tab.
 */
const rowText = ({ at, events, ledger }: LogRow): string => {
  let text = `${at}`;
  let scope = "";
  for (const event of events) {
    text += `\n${event.type}\t${event.scope === scope ? "" : event.scope}\t${event.own}\t${event.data}`;
    scope = event.scope;
  }
  return text + ledgerText(ledger);
};

const parseRow = (text: string, first: number): LogRow => {
  const [at, ...lines] = text.split("\n");
  let scope = "";
  const events: EventText[] = [];
  const ledger: string[] = [];
  for (const line of lines) {
    const [type = "", given = "", own = "", data = ""] = line.split("\t");
    scope = given === "" ? scope : given;
    if (type === "") ledger.push(given);
    else events.push({ type, scope, own, data });
  }
  return { first, at: Number(at), events, ledger };
};

/** Parts the rows of a pack. */
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

interface RecentRow extends Record<string, SqlStorageValue> {
  readonly first: number;
  readonly last: number;
  readonly text: string;
}

const readDictionary = (sql: SqlStorage): string | null => {
  const [found] = sql.exec<PackRow>("SELECT * FROM events ORDER BY last LIMIT 1").toArray();
  return found === undefined ? null : unpackText(found.pack, null);
};

const insertPack = (sql: SqlStorage, rows: readonly RecentRow[]): void => {
  const [first] = rows;
  const last = rows.at(-1);
  if (first === undefined || last === undefined) return;
  const pack = packText(rows.map(({ text }) => text).join(rowSeparator), readDictionary(sql));
  sql.exec("INSERT INTO events VALUES (?, ?, ?)", last.last, first.first, pack);
};

const packSlots = (sql: SqlStorage, used: number): void =>
  insertPack(sql, sql.exec<RecentRow>("SELECT * FROM recent WHERE slot < ? ORDER BY slot", used).toArray());

const insertRecent = `INSERT INTO recent VALUES (?, ?, ?, ?)
  ON CONFLICT (slot) DO UPDATE SET first = excluded.first, last = excluded.last, text = excluded.text`;

const unpacked = "FROM recent WHERE last > (SELECT ifnull(max(last), 0) FROM events)";

/** Finds where the log goes on; rows that were packed are leftovers. */
export const findLogPlace = (sql: SqlStorage): LogPlace =>
  sql
    .exec<{ used: number; length: number }>(
      `SELECT count(*) AS used, total(length(text)) AS length ${unpacked}`,
    )
    .one();

/** Returns the number of the newest event; 0 if there is none. */
export const readHead = (sql: SqlStorage): number =>
  sql
    .exec<{ head: number }>(
      "SELECT max((SELECT ifnull(max(last), 0) FROM recent), (SELECT ifnull(max(last), 0) FROM events)) AS head",
    )
    .one().head;

/** Writes the rows of a commit; returns where the log goes on once it is stored. */
export const writeLog = (sql: SqlStorage, rows: readonly LogRow[], place: LogPlace): LogPlace => {
  let { used, length } = place;
  for (const row of rows) {
    if (used === slots || length > longRows) {
      packSlots(sql, used);
      used = 0;
      length = 0;
    }
    const text = rowText(row);
    sql.exec(insertRecent, used, row.first, row.first + row.events.length - 1, text);
    used += 1;
    length += text.length;
  }
  return { used, length };
};

/** Adds rows of the ledger to the newest row, since a commit without events has none of its own. */
export const addToLog = (sql: SqlStorage, ledger: readonly string[], place: LogPlace): LogPlace => {
  const text = ledgerText(ledger);
  sql.exec("UPDATE recent SET text = text || ? WHERE slot = ?", text, place.used - 1);
  return { ...place, length: place.length + text.length };
};

const unpackRows = (sql: SqlStorage, { first, pack }: PackRow): readonly LogRow[] =>
  parseRows(unpackText(pack, first === 1 ? null : readDictionary(sql)), first);

const readPack = (sql: SqlStorage, which: string, ...values: SqlStorageValue[]): PackRow | undefined =>
  sql.exec<PackRow>(`SELECT * FROM events ${which} LIMIT 1`, ...values).toArray()[0];

/** Yields the rows of the log, the newest first, on demand. */
export function* readLogBackwards(sql: SqlStorage): Generator<LogRow> {
  const recent = sql.exec<RecentRow>(`SELECT * ${unpacked} ORDER BY slot DESC`).toArray();
  for (const { first, text } of recent) yield parseRow(text, first);
  let pack = readPack(sql, "ORDER BY last DESC");
  while (pack !== undefined) {
    yield* unpackRows(sql, pack).toReversed();
    pack = readPack(sql, "WHERE last < ? ORDER BY last DESC", pack.first);
  }
}

/** Reads some rows that end after a cursor, in order; none if there are no more. */
export const readLog = (sql: SqlStorage, after: number): readonly LogRow[] => {
  const packed = readPack(sql, "WHERE last > ? ORDER BY last", after);
  return packed === undefined
    ? sql
        .exec<RecentRow>("SELECT * FROM recent WHERE last > ? ORDER BY last", after)
        .toArray()
        .map(({ first, text }) => parseRow(text, first))
    : unpackRows(sql, packed);
};
