import type { Message } from "../src/chat/message.ts";
import { piecesOf } from "../src/chat/text.ts";
import type { Input, Session, Thread } from "../src/agent/state.ts";

/** What reading and writing a session's rows share: their shapes, and long texts in pieces. */

/** Fields of a thread that change with nearly every turn: they have a row of their own, so that a turn writes little. */
export const turnFields = [
  "run",
  "tokens",
  "removed",
  "seen",
  "nextPos",
  "calls",
  "lastUsage",
  "previousNewest",
  "recordMarks",
  "lastRun",
  "guards",
] as const satisfies readonly (keyof Thread)[];
/** The same of the session. */
export const sessionTurnFields = [
  "updatedAt",
  "nextRun",
  "nextInput",
  "nextBlob",
  "nextEdit",
  "funds",
  "usage",
] as const satisfies readonly (keyof Session)[];

type TurnFields = (typeof turnFields)[number];
type SessionTurnFields = (typeof sessionTurnFields)[number];
type SessionRow = Omit<Session, "threads" | "asks" | "tasks" | "head" | SessionTurnFields>;

/** What a thread's turns change; main's also holds the session's own. */
export type TurnRow = Pick<Thread, TurnFields> & { readonly session?: Pick<Session, SessionTurnFields> };
/** A thread without what has rows of its own; main's also holds the session's own fields. */
export type StoredRow = Omit<Thread, "chat" | "inbox" | "history" | "firstInput" | TurnFields> & {
  readonly inboxIds: readonly string[];
  /** Where it stands among the messages; rows of older releases hold it whole. */
  readonly firstInput: Message | Pick<Message, "pos"> | null;
  readonly session?: SessionRow;
};

/** Some fields of an object, those that it has. */
export const picked = <T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> => {
  const some = {} as { -readonly [key in K]: T[key] };
  for (const key of keys) if (key in from) some[key] = from[key];
  return some;
};

/** UTF-16 units of a row: below the platform's limit in bytes, whatever they are. */
export const pieceLength = 500_000;

/** What the `json` of some rows holds. */
export const jsonOf = (sql: SqlStorage, query: string, ...values: SqlStorageValue[]): readonly unknown[] =>
  sql
    .exec<{ json: string }>(query, ...values)
    .toArray()
    .map(({ json }) => JSON.parse(json) as unknown);

/** Writes a long text in place of the one that was there. */
export const writeBlob = (sql: SqlStorage, id: string, text: string): void => {
  const pieces = piecesOf(text, pieceLength);
  for (const [piece, part] of pieces.entries())
    sql.exec("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?)", id, piece, part);
  sql.exec("DELETE FROM blobs WHERE id = ? AND piece >= ?", id, pieces.length);
};

/** Asks in the order in which they were opened. */
export const askOrder = "json ->> '$.seq'";

/** Where the external project context stands. */
export const externalBlob = "external";

export const messageBlob = (thread: string, pos: number): string => `message:${thread}:${pos}`;

/** A stored long text, joined; null if unknown. */
export const loadBlob = (sql: SqlStorage, id: string): string | null => {
  const pieces = sql
    .exec<{ text: string }>("SELECT text FROM blobs WHERE id = ? ORDER BY piece", id)
    .toArray();
  return pieces.length === 0 ? null : pieces.map(({ text }) => text).join("");
};

/** A stored message; a long one stands in pieces. */
export const messageJson = (
  sql: SqlStorage,
  thread: string,
  row: { readonly pos: number; readonly json: string },
): string => (row.json === "" ? (loadBlob(sql, messageBlob(thread, row.pos)) ?? "") : row.json);

const inputBlob = (id: string): string => `input:${id}`;

/** Begins the row of an input that stands in pieces; no other input begins so. */
const apart = '{"apart":true,';

/** What stands in an input's row: a long one has pieces, and only its time, by which inputs are ordered, stays. */
export const writeInput = (sql: SqlStorage, input: Input): void => {
  const json = JSON.stringify(input);
  const long = json.length > pieceLength;
  if (long) writeBlob(sql, inputBlob(input.id), json);
  const row = long ? JSON.stringify({ apart: true, at: input.at }) : json;
  sql.exec("INSERT OR REPLACE INTO inputs VALUES (?, ?, ?)", input.id, input.status, row);
};

/** An input's JSON; a long one stands in pieces. */
export const inputJson = (
  sql: SqlStorage,
  { id, json }: { readonly id: string; readonly json: string },
): string => (json.startsWith(apart) ? (loadBlob(sql, inputBlob(id)) ?? json) : json);

const inputsIn = (sql: SqlStorage, column: "id" | "status", value: string): readonly Input[] =>
  sql
    .exec<{ id: string; json: string }>(`SELECT id, json FROM inputs WHERE ${column} = ?`, value)
    .toArray()
    .map((row) => JSON.parse(inputJson(sql, row)) as Input);

/** A stored input, whatever became of it. */
export const inputOf = (sql: SqlStorage, id: string): Input | null => inputsIn(sql, "id", id)[0] ?? null;

/** Stored inputs that wait. */
export const waitingInputs = (sql: SqlStorage): readonly Input[] => inputsIn(sql, "status", "accepted");
