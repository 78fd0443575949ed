import type { Call, freshCall } from "../../src/agent/state/call.ts";
import type { Phase } from "../../src/agent/state/phase.ts";
import type { Run, RunCounters, freshRun } from "../../src/agent/state/run.ts";
import type { freshSession, Session } from "../../src/agent/state/session.ts";
import type { Input, Thread } from "../../src/agent/state/thread.ts";
import type { Message } from "../../src/chat/message.ts";
import { attachmentsOf } from "../../src/chat/message.ts";
import { splitText } from "../../src/chat/text.ts";

/** Shapes of a session's rows that reading and writing share, and long texts in pieces. */

/** Fields of a thread that change with nearly every turn; their own row lets a turn write little. */
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
  "lastEnd",
] as const satisfies readonly (keyof Thread)[];

/** Fields of the session that change with nearly every turn. */
export const sessionTurnFields = [
  "updatedAt",
  "nextRun",
  "nextInput",
  "nextBlob",
  "nextEdit",
  "funds",
  "spent",
] as const satisfies readonly (keyof Session)[];

type TurnFields = (typeof turnFields)[number];

type SessionTurnFields = (typeof sessionTurnFields)[number];

/** Object as a row holds it: without the fields that have the values with which it began. */
type Stored<T, F> = Omit<T, keyof F> & Partial<Pick<T, keyof F & keyof T>>;

type SessionRow = Omit<
  Stored<Session, typeof freshSession>,
  "threads" | "asks" | "tasks" | "head" | SessionTurnFields
>;

type StoredCall = Stored<Call, typeof freshCall>;

export type StoredPhase =
  | Exclude<Phase, { at: "acting" }>
  | { readonly at: "acting"; readonly calls: readonly StoredCall[] };

/** Run without its outcomes and the arguments of its calls, which stand elsewhere. */
export interface StoredRun extends Omit<Stored<Run, typeof freshRun>, "phase" | "counters"> {
  readonly phase: StoredPhase;
  readonly counters: Partial<RunCounters>;
}

/** What a thread's turns change; main's row also holds such fields of the session. */
export interface TurnRow extends Omit<Pick<Thread, TurnFields>, "run"> {
  readonly run: StoredRun | null;
  readonly session?: Pick<Session, SessionTurnFields>;
}

/** Thread without what has rows of its own; main's row also holds the session's own fields. */
export type StoredRow = Omit<Thread, "chat" | "inbox" | "history" | "firstInput" | TurnFields> & {
  readonly inboxIds: readonly string[];
  /** Place of the first input among the messages. */
  readonly firstInput: Pick<Message, "pos"> | null;
  readonly session?: SessionRow;
};

/** Returns those of some fields that an object has. */
export const pickFields = <T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> => {
  const some = {} as { -readonly [key in K]: T[key] };
  for (const key of keys) if (key in from) some[key] = from[key];
  return some;
};

const isFresh = (value: unknown, fresh: unknown): boolean =>
  value === fresh || (Array.isArray(value) && Array.isArray(fresh) && value.length + fresh.length === 0);

/** Returns an object without the fields that have the values with which it began. */
export const withoutFresh = <T extends object, F extends Partial<T>>(from: T, fresh: F): Stored<T, F> => {
  const some: Partial<T> = {};
  for (const key in from) if (!(key in fresh) || !isFresh(from[key], fresh[key])) some[key] = from[key];
  return some as Stored<T, F>;
};

/** UTF-16 units of a row, which keeps any text below the platform's limit in bytes. */
const pieceLength = 500_000;

/** Parses the `json` of rows that are never long. */
export const jsonOf = (sql: SqlStorage, query: string, ...values: SqlStorageValue[]): readonly unknown[] =>
  sql
    .exec<{ json: string }>(query, ...values)
    .toArray()
    .map(({ json }) => JSON.parse(json) as unknown);

/** Writes a long text in place of the previous one. */
export const writeBlob = (sql: SqlStorage, id: string, text: string): void => {
  const pieces = splitText(text, pieceLength);
  for (const [piece, part] of pieces.entries())
    sql.exec("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?)", id, piece, part);
  sql.exec("DELETE FROM blobs WHERE id = ? AND piece >= ?", id, pieces.length);
};

/** SQL order in which asks were opened. */
export const askOrder = "json ->> '$.seq'";

/** Name of the blob of the external project context. */
export const externalBlob = "external";

/** Name of the blob of the tools of MCP servers. */
export const serverToolsBlob = "server_tools";

/** Reads a stored long text and joins its pieces; returns null if it is unknown. */
export const loadBlob = (sql: SqlStorage, id: string): string | null => {
  const pieces = sql
    .exec<{ text: string }>("SELECT text FROM blobs WHERE id = ? ORDER BY piece", id)
    .toArray();
  return pieces.length === 0 ? null : pieces.map(({ text }) => text).join("");
};

/** Names of the blobs that hold the pieces of a row's JSON. */
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

/** Beginning of a row whose JSON is stored in pieces; no other JSON begins this way. */
const apartPrefix = '{"apart":true';

/** Returns the text of a row: a long JSON moves to a blob, and only the fields that queries need stay. */
export const rowJson = (sql: SqlStorage, blob: string, json: string, asked: object = {}): string => {
  if (json.length <= pieceLength) return json;
  writeBlob(sql, blob, json);
  return JSON.stringify({ apart: true, ...asked });
};

/** Reads the whole JSON of a row. */
export const wholeJson = (sql: SqlStorage, blob: string, json: string): string =>
  json.startsWith(apartPrefix) ? (loadBlob(sql, blob) ?? json) : json;

/** Deletes rows and their blobs; `from` is a table with its condition, and `key` is the column that names the rows. */
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

/** Reads the values of the rows that a query for `id` and `json` finds. */
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

/** Reads a stored input, whether or not it still waits. */
export const readStoredInput = (sql: SqlStorage, id: string): Input | null =>
  (valuesOf(sql, blobOf.input, "SELECT id, json FROM inputs WHERE id = ?", id)[0] ?? null) as Input | null;

/** Reads the stored inputs that wait. */
export const readWaitingInputs = (sql: SqlStorage): readonly Input[] =>
  valuesOf(sql, blobOf.input, "SELECT id, json FROM inputs WHERE status = 'accepted'") as readonly Input[];

/** Message whose first and last fields are in columns; `json` is what is between them. */
export interface MessageRow extends Record<string, SqlStorageValue> {
  readonly pos: number;
  /** If null, `json` begins with the first field. */
  readonly at: number | null;
  readonly tokens: number | null;
  readonly role: string | null;
  readonly origin: string | null;
  /** If null, `json` ends with the last field. */
  readonly run: string | null;
  readonly turn: number | null;
  /** If not null, these marks replace those that the message was written with. */
  readonly marks: string | null;
  readonly json: string;
}

/** Columns of a message's row in a query that names the table `m`. */
export const messageColumns = "m.pos, m.at, m.tokens, m.role, m.origin, m.run, m.turn, m.marks, m.json";

type MessageHead = Pick<MessageRow, "pos" | "at" | "tokens" | "role" | "origin">;

const messageHead = (thread: string, { pos, at, tokens, role, origin }: MessageHead): string =>
  `{"id":"msg_${thread}_${pos}","pos":${pos},"at":${at},"tokens":${tokens},"role":"${role}","origin":"${origin}",`;

const messageTail = ({ run, turn }: Pick<MessageRow, "run" | "turn">): string =>
  `,"run":"${run}","turn":${turn}}`;

type MessagePlace = readonly [thread: string, pos: number];

/** Key under which it is kept which message shows stored bytes. */
const attachmentKey = (blob: string): string => `attachment:${blob}`;

/** Writes for the bytes of each attachment which message shows them, so that nobody has to search for it. */
const writeAttachments = (sql: SqlStorage, thread: string, { pos, parts }: Message): void => {
  const place: MessagePlace = [thread, pos];
  for (const { blob } of attachmentsOf(parts))
    if (blob !== undefined)
      sql.exec("INSERT OR REPLACE INTO meta VALUES (?, ?)", attachmentKey(blob), JSON.stringify(place));
};

/** Returns the place of the message that was the last to show stored bytes; null if none does. */
export const readAttachmentPlace = (sql: SqlStorage, blob: string): MessagePlace | null => {
  const query = "SELECT value AS json FROM meta WHERE key = ?";
  return (jsonOf(sql, query, attachmentKey(blob))[0] ?? null) as MessagePlace | null;
};

/** Writes a message from its text. */
export const insertMessage = (sql: SqlStorage, thread: string, message: Message, text: string): void => {
  const { pos, at, tokens, role, origin, run = null, turn = null } = message;
  const [head, tail] = [messageHead(thread, message), messageTail({ run, turn })];
  const hasHead = text.startsWith(head);
  const hasTail = text.endsWith(tail);
  const json = text.slice(hasHead ? head.length : 0, hasTail ? -tail.length : undefined);
  sql.exec(
    "INSERT OR REPLACE INTO messages VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, NULL, ?)",
    thread,
    pos,
    hasHead ? at : null,
    hasHead ? tokens : null,
    hasHead ? role : null,
    hasHead ? origin : null,
    hasTail ? run : null,
    hasTail ? turn : null,
    rowJson(sql, blobOf.message(thread, pos), json),
  );
  writeAttachments(sql, thread, message);
};

/** Reads a stored message as it was written. */
export const writtenMessageJson = (sql: SqlStorage, thread: string, row: MessageRow): string => {
  const json = wholeJson(sql, blobOf.message(thread, row.pos), row.json);
  return (
    (row.at === null ? "" : messageHead(thread, row)) + json + (row.run === null ? "" : messageTail(row))
  );
};

/** Reads a stored message with the marks that it has now. */
export const messageJson = (sql: SqlStorage, thread: string, row: MessageRow): string => {
  const json = writtenMessageJson(sql, thread, row);
  if (row.marks === null) return json;
  return JSON.stringify({
    ...(JSON.parse(json) as Message),
    marks: JSON.parse(row.marks) as Message["marks"],
  });
};

/** Reads the rows of a thread's messages from one place to another. */
export const readMessageRows = (
  sql: SqlStorage,
  thread: string,
  from: number,
  to: number,
): readonly MessageRow[] =>
  sql
    .exec<MessageRow>(
      `SELECT ${messageColumns} FROM messages m WHERE thread = ? AND pos BETWEEN ? AND ? ORDER BY pos`,
      thread,
      from,
      to,
    )
    .toArray();

/** Reads how a stored message was shown since an edit. */
export const overlayJson = (
  sql: SqlStorage,
  thread: string,
  { pos, edit, json }: { readonly pos: number; readonly edit: number; readonly json: string },
): string => wholeJson(sql, blobOf.overlay(thread, pos, edit), json);
