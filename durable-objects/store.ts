import type { Message } from "../src/chat/message.ts";
import { packHistory } from "../src/agent/history.ts";
import type { Transition } from "../src/agent/draft.ts";
import type { Session, Thread } from "../src/agent/state.ts";
import type { Call } from "../src/agent/call.ts";
import { taskNumber } from "../src/agent/board.ts";
import { writeChildren } from "./children.ts";
import { writeEntries } from "./entries.ts";
import { externalBlob, messageBlob, pieceLength, writeBlob } from "./rows.ts";
import type { SessionRow, ThreadRow } from "./rows.ts";

/** Writes a session's rows: only what a transition changed. */

/** Calls without what stands elsewhere: outcomes in their own rows, arguments in the reply's message. */
const slimRun = ({ run }: Thread): Thread["run"] => {
  if (run?.phase.at !== "acting") return run;
  const calls = run.phase.calls.map((call) => ({ ...call, call: { ...call.call, args: "" }, outcome: null }));
  return { ...run, phase: { at: "acting", calls } };
};

/** A thread's row is written in each commit: fields are left out of its JSON as `undefined`, a fraction of a copy without them. */
const rowOf = (thread: Thread): LeftOut<ThreadRow> => ({
  ...thread,
  chat: undefined,
  inbox: undefined,
  run: slimRun(thread),
  inboxIds: thread.inbox.map(({ id }) => id),
  history: packHistory(thread.history),
});

/** A row with more fields, none of which its JSON has. */
type LeftOut<T> = T & Readonly<Record<string, unknown>>;

/** Fields of a session with rows of their own; the text of an external context has a blob. */
const sessionRow = (session: Session): LeftOut<SessionRow> => ({
  ...session,
  threads: undefined,
  asks: undefined,
  tasks: undefined,
  head: undefined,
  ...(session.external === undefined ? {} : { external: { text: "" } }),
});

const apart: ReadonlySet<string> = new Set<keyof Session>(["threads", "asks", "tasks", "head"]);

/** Whether a field of the session's own has changed. */
const isOwnChanged = (before: Session, after: Session): boolean => {
  for (const key in after) {
    const field = key as keyof Session;
    if (before[field] !== after[field] && !apart.has(key)) return true;
  }
  return false;
};

/** The text of a session's external context, which never changes and has a blob of its own. */
const writeExternal = (sql: SqlStorage, before: Session | null, { external }: Session): void => {
  if (external !== undefined && before?.external !== external) writeBlob(sql, externalBlob, external.text);
};

const doneCalls = (thread: Thread | undefined): readonly Call[] =>
  thread?.run?.phase.at === "acting" ? thread.run.phase.calls.filter(({ outcome }) => outcome !== null) : [];

const writeThread = (sql: SqlStorage, before: Thread | undefined, thread: Thread, session: Session): void => {
  const row = rowOf(thread);
  const json = JSON.stringify(thread.id === "main" ? { ...row, session: sessionRow(session) } : row);
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

/** A thread that left the live state: its last messages are written, its state is not needed any more. */
const leaveThread = (sql: SqlStorage, before: Thread | undefined, { id, chat }: Thread): void => {
  writeChat(sql, id, before?.chat ?? [], chat);
  sql.exec("DELETE FROM threads WHERE id = ?", id);
  sql.exec("DELETE FROM outcomes WHERE thread = ?", id);
};

const writeMessage = (sql: SqlStorage, thread: string, message: Message): void => {
  const json = JSON.stringify(message.overlay === undefined ? message : { ...message, overlay: undefined });
  const long = json.length > pieceLength;
  if (long) writeBlob(sql, messageBlob(thread, message.pos), json);
  sql.exec("INSERT OR REPLACE INTO messages VALUES (?, ?, 0, ?)", thread, message.pos, long ? "" : json);
};

const writeOverlay = (sql: SqlStorage, thread: string, { pos, overlay }: Message): void => {
  if (overlay === undefined) return;
  const json = JSON.stringify(overlay);
  sql.exec("INSERT OR REPLACE INTO overlays VALUES (?, ?, ?, ?)", thread, pos, overlay.edit, json);
};

/** Appended messages are inserted, those that are shown otherwise get an overlay; what left the chat is retired with its edit. */
const writeChat = (
  sql: SqlStorage,
  thread: string,
  before: readonly Message[],
  after: readonly Message[],
): void => {
  if (before === after) return;
  let same = 0;
  while (same < before.length && before[same] === after[same]) same += 1;
  const known = new Map(before.slice(same).map((message) => [message.pos, message]));
  for (const message of after.slice(same)) {
    const stored = known.get(message.pos);
    if (stored === undefined || stored.marks !== message.marks) writeMessage(sql, thread, message);
    if (stored?.overlay !== message.overlay) writeOverlay(sql, thread, message);
  }
};

/** What left the view keeps its row, and its edit says who did it; one that came and went in the same commit gets it now. */
const writeRetired = (sql: SqlStorage, before: Session | null, { retired }: Transition): void => {
  if (retired.length === 0) return;
  const stored = new Map(
    Object.values(before?.threads ?? {}).map(({ id, chat }) => [
      id,
      new Map(chat.map((message) => [message.pos, message])),
    ]),
  );
  for (const [edit, { cause }] of new Map(retired.map((each) => [each.edit, each])))
    sql.exec("INSERT INTO retirements VALUES (?, ?)", edit, JSON.stringify(cause));
  for (const { thread, message, edit } of retired) {
    const old = stored.get(thread)?.get(message.pos);
    if (old === undefined) writeMessage(sql, thread, message);
    if (old?.overlay !== message.overlay) writeOverlay(sql, thread, message);
    sql.exec("UPDATE messages SET retired = ? WHERE thread = ? AND pos = ?", edit, thread, message.pos);
  }
};

const writeRows = (sql: SqlStorage, transition: Transition): void => {
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

const writeTasks = (sql: SqlStorage, before: Session | null, after: Session): void => {
  if (before?.tasks === after.tasks) return;
  for (const task of Object.values(after.tasks))
    if (before?.tasks[task.id] !== task)
      sql.exec("INSERT OR REPLACE INTO tasks VALUES (?, ?)", taskNumber(task), JSON.stringify(task));
};

/** Writes one transition; the caller holds the transaction. `after.head` counts the lines already. */
export const writeTransition = (
  sql: SqlStorage,
  before: Session | null,
  after: Session,
  transition: Transition,
  lines: readonly string[],
): void => {
  const own = before === null || isOwnChanged(before, after);
  for (const thread of Object.values(after.threads)) {
    const known = before?.threads[thread.id];
    if (known !== thread || (own && thread.id === "main")) writeThread(sql, known, thread, after);
  }
  for (const thread of transition.left) leaveThread(sql, before?.threads[thread.id], thread);
  writeChildren(sql, transition.children);
  writeAsks(sql, before, after);
  writeTasks(sql, before, after);
  writeEntries(sql, transition.entries);
  writeRetired(sql, before, transition);
  writeExternal(sql, before, after);
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
