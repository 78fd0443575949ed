import type { Message } from "../src/chat/message.ts";
import type { Transition } from "../src/agent/draft.ts";
import type { Ask } from "../src/agent/events.ts";
import type { Call, Input, Session, Thread } from "../src/agent/state.ts";
import { migrations, schema, schemaVersion } from "./schema.ts";

/** Rows of a session: reads them once per wake, writes only what a transition changed. */

type ThreadRow = Omit<Thread, "chat" | "inbox"> & { readonly inboxIds: readonly string[] };
type SessionRow = Omit<Session, "threads" | "asks" | "head">;
/** Main's row also holds the session's own fields. */
type StoredRow = ThreadRow & { readonly session?: SessionRow };

const pieceLength = 500_000;

/** Pieces that stay below the row limit whatever their characters; no surrogate pair is split. */
const piecesOf = (text: string): readonly string[] => {
  const pieces: string[] = [];
  let at = 0;
  do {
    const end = at + pieceLength;
    const next = /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end;
    pieces.push(text.slice(at, next));
    at = next;
  } while (at < text.length);
  return pieces;
};

const writeBlob = (sql: SqlStorage, id: string, text: string): void => {
  for (const [piece, part] of piecesOf(text).entries())
    sql.exec("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?)", id, piece, part);
};

const messageBlob = (thread: string, pos: number): string => `message:${thread}:${pos}`;

export const exists = (sql: SqlStorage): boolean =>
  sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'threads'").toArray().length > 0;

export const createTables = (sql: SqlStorage): void => {
  sql.exec(schema);
  sql.exec("INSERT INTO meta VALUES ('schema_version', ?)", String(schemaVersion));
};

/** Brings an older session's tables up to date, step by step, each in its own transaction (RE-C33). */
export const migrate = (storage: DurableObjectStorage): void => {
  const { value } = storage.sql
    .exec<{ value: string }>("SELECT value FROM meta WHERE key = 'schema_version'")
    .one();
  for (let version = Number(value); version < schemaVersion; version++) {
    storage.transactionSync(() => {
      storage.sql.exec(migrations[version - 1] ?? "");
      storage.sql.exec("UPDATE meta SET value = ? WHERE key = 'schema_version'", String(version + 1));
    });
  }
};

/** Calls without what stands elsewhere: outcomes in their own rows, arguments in the reply's message. */
const slimRun = ({ run }: Thread): Thread["run"] => {
  if (run?.phase.at !== "acting") return run;
  const calls = run.phase.calls.map((call) => ({ ...call, call: { ...call.call, args: "" }, outcome: null }));
  return { ...run, phase: { at: "acting", calls } };
};

const rowOf = (thread: Thread): ThreadRow => {
  const { chat: _chat, inbox, ...rest } = thread;
  return { ...rest, run: slimRun(thread), inboxIds: inbox.map(({ id }) => id) };
};

const sessionRow = ({ threads: _threads, asks: _asks, head: _head, ...row }: Session): SessionRow => row;

const doneCalls = (thread: Thread | undefined): readonly Call[] =>
  thread?.run?.phase.at === "acting" ? thread.run.phase.calls.filter(({ outcome }) => outcome !== null) : [];

const writeThread = (sql: SqlStorage, before: Thread | undefined, thread: Thread, session: Session): void => {
  const extra = thread.id === "main" ? { session: sessionRow(session) } : {};
  const json = JSON.stringify({ ...rowOf(thread), ...extra });
  sql.exec("INSERT OR REPLACE INTO threads VALUES (?, ?, ?)", thread.id, thread.run === null ? 0 : 1, json);
  const known = new Set(doneCalls(before).map(({ call }) => call.id));
  for (const { call, outcome } of doneCalls(thread)) {
    if (!known.has(call.id))
      sql.exec(
        "INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?)",
        thread.id,
        call.id,
        JSON.stringify(outcome),
      );
  }
  writeChat(sql, thread.id, before?.chat ?? [], thread.chat);
};

const writeMessage = (sql: SqlStorage, thread: string, message: Message): void => {
  const json = JSON.stringify(message);
  const long = json.length > pieceLength;
  if (long) writeBlob(sql, messageBlob(thread, message.pos), json);
  sql.exec("INSERT OR REPLACE INTO messages VALUES (?, ?, 0, ?)", thread, message.pos, long ? "" : json);
};

const retireMessage = (sql: SqlStorage, thread: string, { pos }: Message): void => {
  sql.exec("UPDATE messages SET retired = 1 WHERE thread = ? AND pos = ?", thread, pos);
};

/** A stored message; a long one stands in pieces. */
export const messageJson = (
  sql: SqlStorage,
  thread: string,
  row: { readonly pos: number; readonly json: string },
): string => (row.json === "" ? (loadBlob(sql, messageBlob(thread, row.pos)) ?? "") : row.json);

/** Appended messages are inserted, those that left the chat are marked retired. */
const writeChat = (
  sql: SqlStorage,
  thread: string,
  before: readonly Message[],
  after: readonly Message[],
): void => {
  if (before === after) return;
  let same = 0;
  while (same < before.length && before[same] === after[same]) same += 1;
  const kept = new Set(after.slice(same).map(({ pos }) => pos));
  const known = new Map(before.slice(same).map((message) => [message.pos, message]));
  for (const message of known.values()) if (!kept.has(message.pos)) retireMessage(sql, thread, message);
  for (const message of after.slice(same)) {
    if (known.get(message.pos) !== message) writeMessage(sql, thread, message);
  }
};

const writeRows = (sql: SqlStorage, transition: Transition): void => {
  for (const { thread, message } of transition.retired) {
    writeMessage(sql, thread, message);
    retireMessage(sql, thread, message);
  }
  for (const input of new Map(transition.inputs.map((each) => [each.id, each])).values())
    sql.exec("INSERT OR REPLACE INTO inputs VALUES (?, ?, ?)", input.id, input.status, JSON.stringify(input));
  for (const ask of transition.asks)
    sql.exec("INSERT OR REPLACE INTO asks VALUES (?, ?, ?)", ask.id, ask.status, JSON.stringify(ask));
  for (const run of transition.runs)
    sql.exec("INSERT INTO runs (id, json) VALUES (?, ?)", run.id, JSON.stringify(run));
  for (const row of transition.ledger) {
    const { agent, provider, model, outcome, cost, estimated } = row;
    const json = JSON.stringify(row);
    sql.exec(
      "INSERT INTO usage VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)",
      agent,
      provider,
      model,
      outcome,
      cost,
      estimated ? 1 : 0,
      json,
    );
  }
  for (const { id, text } of transition.blobs) writeBlob(sql, id, text);
  for (const { key, fingerprint, status, json, at } of transition.answers)
    sql.exec("INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?)", key, fingerprint, status, json, at);
};

const writeAsks = (sql: SqlStorage, before: Session | null, after: Session): void => {
  if (before?.asks === after.asks) return;
  for (const ask of Object.values(after.asks))
    if (before?.asks[ask.id] !== ask)
      sql.exec("INSERT OR REPLACE INTO asks VALUES (?, 'open', ?)", ask.id, JSON.stringify(ask));
};

/** Writes one transition; the caller holds the transaction. `after.head` counts the lines already. */
export const writeTransition = (
  sql: SqlStorage,
  before: Session | null,
  after: Session,
  transition: Transition,
  lines: readonly string[],
): void => {
  const own =
    before === null ||
    Object.keys(sessionRow(after)).some(
      (key) => before[key as keyof SessionRow] !== after[key as keyof SessionRow],
    );
  for (const thread of Object.values(after.threads)) {
    const known = before?.threads[thread.id];
    if (known !== thread || (own && thread.id === "main")) writeThread(sql, known, thread, after);
  }
  writeAsks(sql, before, after);
  writeRows(sql, transition);
  writeEvents(sql, after.head - lines.length, lines);
};

/** The lines of a commit in one row, or in a few if they are long. */
const writeEvents = (sql: SqlStorage, head: number, lines: readonly string[]): void => {
  let start = 0;
  let length = 0;
  for (const [index, line] of lines.entries()) {
    length += line.length + 1;
    const next = lines[index + 1];
    if (next !== undefined && length + next.length < pieceLength) continue;
    sql.exec(
      "INSERT INTO events VALUES (?, ?, ?)",
      head + index + 1,
      head + start + 1,
      lines.slice(start, index + 1).join("\n"),
    );
    start = index + 1;
    length = 0;
  }
};

const loadThread = (sql: SqlStorage, row: StoredRow, waiting: ReadonlyMap<string, Input>): Thread => {
  const { inboxIds, session: _session, ...rest } = row;
  const chat = sql
    .exec<{ pos: number; json: string }>(
      "SELECT pos, json FROM messages WHERE thread = ? AND retired = 0 ORDER BY pos",
      row.id,
    )
    .toArray()
    .map((found) => JSON.parse(messageJson(sql, row.id, found)) as Message);
  const inbox = inboxIds.flatMap((id) => waiting.get(id) ?? []);
  return { ...rest, chat, inbox, run: loadRun(sql, row, chat) };
};

const loadRun = (sql: SqlStorage, { id, run }: ThreadRow, chat: readonly Message[]): Thread["run"] => {
  if (run?.phase.at !== "acting") return run;
  const rows = sql
    .exec<{ call: string; json: string }>("SELECT call, json FROM outcomes WHERE thread = ?", id)
    .toArray();
  const outcomes = new Map(rows.map(({ call, json }) => [call, JSON.parse(json) as Call["outcome"]]));
  const reply = chat.findLast(({ role }) => role === "assistant");
  const args = new Map(
    reply?.parts.flatMap((part) => (part.type === "tool_call" ? [[part.id, part.args] as const] : [])),
  );
  const calls = run.phase.calls.map((call) => ({
    ...call,
    call: { ...call.call, args: args.get(call.call.id) ?? "" },
    outcome: call.status === "done" ? (outcomes.get(call.call.id) ?? null) : null,
  }));
  return { ...run, phase: { at: "acting", calls } };
};

/** The live state: what the model will see, what waits, and counters; null if there is no session. */
export const load = (sql: SqlStorage): Session | null => {
  const rows = sql
    .exec<{ state: string }>("SELECT state FROM threads")
    .toArray()
    .map(({ state }) => JSON.parse(state) as StoredRow);
  const own = rows.find(({ session }) => session !== undefined)?.session;
  if (own === undefined) return null;
  const waiting = sql
    .exec<{ json: string }>("SELECT json FROM inputs WHERE status = 'accepted'")
    .toArray()
    .map(({ json }) => JSON.parse(json) as Input);
  const asks = sql
    .exec<{ json: string }>("SELECT json FROM asks WHERE status = 'open'")
    .toArray()
    .map(({ json }) => JSON.parse(json) as Ask);
  const { head } = sql.exec<{ head: number | null }>("SELECT max(last) AS head FROM events").one();
  const inputs = new Map(waiting.map((input) => [input.id, input]));
  const threads = rows.map((row) => loadThread(sql, row, inputs));
  return {
    ...own,
    head: head ?? 0,
    threads: Object.fromEntries(threads.map((thread) => [thread.id, thread])),
    asks: Object.fromEntries(asks.map((ask) => [ask.id, ask])),
  };
};

/** A stored long text, joined; null if unknown. */
export const loadBlob = (sql: SqlStorage, id: string): string | null => {
  const pieces = sql
    .exec<{ text: string }>("SELECT text FROM blobs WHERE id = ? ORDER BY piece", id)
    .toArray();
  return pieces.length === 0 ? null : pieces.map(({ text }) => text).join("");
};

/** Counts a drive that begins after a wake with work under way; a commit sets the count back (SE-33). Answers the count. */
export const strike = (sql: SqlStorage): number => {
  const busy = sql.exec("SELECT 1 FROM threads WHERE busy = 1 LIMIT 1").toArray().length > 0;
  if (!busy) return 0;
  const known = sql.exec<{ value: string }>("SELECT value FROM meta WHERE key = 'drives'").toArray()[0];
  const count = Number(known?.value ?? 0) + 1;
  sql.exec("INSERT OR REPLACE INTO meta VALUES ('drives', ?)", String(count));
  return count;
};

export const clearStrikes = (sql: SqlStorage): void => {
  sql.exec("DELETE FROM meta WHERE key = 'drives'");
};
