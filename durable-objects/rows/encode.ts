import type { Input } from "../../src/agent/state/input.ts";
import type { Session } from "../../src/agent/state/session.ts";
import type { Thread } from "../../src/agent/state/thread.ts";
import type { Message } from "../../src/chat/message.ts";
import { splitText } from "../../src/chat/text.ts";

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
  /** Where it stands among the messages. */
  readonly firstInput: Pick<Message, "pos"> | null;
  readonly session?: SessionRow;
};

/** Some fields of an object, those that it has. */
export const pickFields = <T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> => {
  const some = {} as { -readonly [key in K]: T[key] };
  for (const key of keys) if (key in from) some[key] = from[key];
  return some;
};

/** UTF-16 units of a row: below the platform's limit in bytes, whatever they are. */
export const pieceLength = 500_000;

/** What the `json` of some rows holds that are never long. */
export const jsonOf = (sql: SqlStorage, query: string, ...values: SqlStorageValue[]): readonly unknown[] =>
  sql
    .exec<{ json: string }>(query, ...values)
    .toArray()
    .map(({ json }) => JSON.parse(json) as unknown);

/** Writes a long text in place of the one that was there. */
export const writeBlob = (sql: SqlStorage, id: string, text: string): void => {
  const pieces = splitText(text, pieceLength);
  for (const [piece, part] of pieces.entries())
    sql.exec("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?)", id, piece, part);
  sql.exec("DELETE FROM blobs WHERE id = ? AND piece >= ?", id, pieces.length);
};

/** Asks in the order in which they were opened. */
export const askOrder = "json ->> '$.seq'";

/** Where the external project context stands. */
export const externalBlob = "external";

/** A stored long text, joined; null if unknown. */
export const loadBlob = (sql: SqlStorage, id: string): string | null => {
  const pieces = sql
    .exec<{ text: string }>("SELECT text FROM blobs WHERE id = ? ORDER BY piece", id)
    .toArray();
  return pieces.length === 0 ? null : pieces.map(({ text }) => text).join("");
};

/** Where the pieces of a row's JSON stand. */
export const blobOf = {
  answer: (key: string) => `answer:${key}`,
  ask: (id: string) => `ask:${id}`,
  child: (id: string) => `child:${id}`,
  input: (id: string) => `input:${id}`,
  message: (thread: string, pos: number) => `message:${thread}:${pos}`,
  outcome: (thread: string, call: string) => `outcome:${thread}:${call}`,
  overlay: (thread: string, pos: number, edit: number) => `overlay:${thread}:${pos}:${edit}`,
  run: (id: string) => `run:${id}`,
  thread: (id: string) => `thread:${id}`,
  turn: (thread: string) => `turn:${thread}`,
} as const;

/** Begins a row whose JSON stands in pieces; no other JSON begins so. */
const apartPrefix = '{"apart":true';

/** What stands in a row: a long JSON gets pieces, and only what queries ask of it stays. */
export const rowJson = (sql: SqlStorage, blob: string, json: string, asked: object = {}): string => {
  if (json.length <= pieceLength) return json;
  writeBlob(sql, blob, json);
  return JSON.stringify({ apart: true, ...asked });
};

/** The whole JSON of a row. */
export const wholeJson = (sql: SqlStorage, blob: string, json: string): string =>
  json.startsWith(apartPrefix) ? (loadBlob(sql, blob) ?? json) : json;

/** Deletes rows with the pieces of those whose JSON is long; `from` is a table and which of its rows, `key` the column that names them. */
export const deleteRows = (
  sql: SqlStorage,
  blob: (id: string) => string,
  { key, from }: { readonly key: string; readonly from: string },
  ...values: SqlStorageValue[]
): void => {
  const query = `DELETE FROM ${from} RETURNING ${key} AS id, substr(json, 1, ${apartPrefix.length}) AS head`;
  for (const { id, head } of sql.exec<{ id: string; head: string }>(query, ...values).toArray())
    if (head === apartPrefix) sql.exec("DELETE FROM blobs WHERE id = ?", blob(id));
};

/** What the rows hold that a query for `id` and `json` finds. */
export const valuesOf = (
  sql: SqlStorage,
  blob: (id: string) => string,
  query: string,
  ...values: SqlStorageValue[]
): readonly unknown[] =>
  sql
    .exec<{ id: string; json: string }>(query, ...values)
    .toArray()
    .map(({ id, json }) => JSON.parse(wholeJson(sql, blob(id), json)) as unknown);

/** A stored input, whatever became of it. */
export const readStoredInput = (sql: SqlStorage, id: string): Input | null =>
  (valuesOf(sql, blobOf.input, "SELECT id, json FROM inputs WHERE id = ?", id)[0] ?? null) as Input | null;

/** Stored inputs that wait. */
export const readWaitingInputs = (sql: SqlStorage): readonly Input[] =>
  valuesOf(sql, blobOf.input, "SELECT id, json FROM inputs WHERE status = 'accepted'") as readonly Input[];

/** A stored message. */
export const messageJson = (
  sql: SqlStorage,
  thread: string,
  { pos, json }: { readonly pos: number; readonly json: string },
): string => wholeJson(sql, blobOf.message(thread, pos), json);

/** What a stored message was shown as since an edit. */
export const overlayJson = (
  sql: SqlStorage,
  thread: string,
  { pos, edit, json }: { readonly pos: number; readonly edit: number; readonly json: string },
): string => wholeJson(sql, blobOf.overlay(thread, pos, edit), json);
