import type { EventText } from "../../src/session/event-lines.ts";
import { packText, unpackText } from "./pack.ts";

/**
 * The log of events. A commit is one row of `recent`, whose slots are used again once they are packed together into a
 * row of `events`: an event costs one small write, and an old one a few dozen bytes. The first pack of a session is the
 * dictionary of all others, since sessions repeat themselves.
 */

const slots = 16;

/** Longer rows are packed at once, each on its own. */
const longText = 16_384;

/** Holds the events of a commit, or a part of them. */
export interface LogRow {
  /** This is the number of the first event. */
  readonly first: number;
  readonly at: number;
  readonly events: readonly EventText[];
}

/** A row is a line with its time, and a line for each event; fields are parted by tabs, which JSON never contains. */
const rowText = ({ at, events }: LogRow): string => {
  let text = `${at}`;
  let scope = "";
  for (const event of events) {
    text += `\n${event.type}\t${event.scope === scope ? "" : event.scope}\t${event.own}\t${event.data}`;
    scope = event.scope;
  }
  return text;
};

const parseRow = (text: string, first: number): LogRow => {
  const [at, ...lines] = text.split("\n");
  let scope = "";
  const events = lines.map((line): EventText => {
    const [type = "", given = "", own = "", data = ""] = line.split("\t");
    scope = given === "" ? scope : given;
    return { type, scope, own, data };
  });
  return { first, at: Number(at), events };
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

/** Counts the slots whose rows are not packed. */
export const countUsedSlots = (sql: SqlStorage): number =>
  sql
    .exec<{ used: number }>(
      "SELECT count(*) AS used FROM recent WHERE last > (SELECT ifnull(max(last), 0) FROM events)",
    )
    .one().used;

/** Returns the number of the newest event; 0 if there is none. */
export const readHead = (sql: SqlStorage): number =>
  sql
    .exec<{ head: number }>(
      "SELECT max((SELECT ifnull(max(last), 0) FROM recent), (SELECT ifnull(max(last), 0) FROM events)) AS head",
    )
    .one().head;

/** Writes the rows of a commit; returns how many slots are used once it is stored. */
export const writeLog = (sql: SqlStorage, rows: readonly LogRow[], usedSlots: number): number => {
  let used = usedSlots;
  for (const row of rows) {
    const text = rowText(row);
    const recent = { first: row.first, last: row.first + row.events.length - 1, text };
    const isLong = text.length > longText;
    if (isLong || used === slots) {
      packSlots(sql, used);
      used = 0;
    }
    if (isLong) insertPack(sql, [recent]);
    else sql.exec(insertRecent, used++, recent.first, recent.last, text);
  }
  return used;
};

/** Reads some rows that end after a cursor, in order; none if there are no more. */
export const readLog = (sql: SqlStorage, after: number): readonly LogRow[] => {
  const [packed] = sql
    .exec<PackRow>("SELECT * FROM events WHERE last > ? ORDER BY last LIMIT 1", after)
    .toArray();
  if (packed === undefined)
    return sql
      .exec<RecentRow>("SELECT * FROM recent WHERE last > ? ORDER BY last", after)
      .toArray()
      .map(({ first, text }) => parseRow(text, first));
  const dictionary = packed.first === 1 ? null : readDictionary(sql);
  return parseRows(unpackText(packed.pack, dictionary), packed.first);
};
