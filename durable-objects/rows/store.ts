import type { Phase } from "../../src/agent/state/phase.ts";
import { freshCall } from "../../src/agent/state/call.ts";
import type { Run } from "../../src/agent/state/run.ts";
import { freshCounters, freshRun, runNumberOf } from "../../src/agent/state/run.ts";
import { freshSession } from "../../src/agent/state/session.ts";
import type { StoredPhase, StoredRun, StoredRow, TurnRow } from "./encode.ts";
import {
  withoutFresh,
  blobOf,
  deleteRows,
  externalBlob,
  insertMessage,
  pickFields,
  rowJson,
  serverToolsBlob,
  sessionTurnFields,
  turnFields,
  writeBlob,
} from "./encode.ts";
import { packHistory } from "../../src/agent/context/history.ts";
import type { Ask } from "../../src/agent/state/ask.ts";
import { taskNumber } from "../../src/agent/state/board.ts";
import type { Input, Thread } from "../../src/agent/state/thread.ts";
import type { Session } from "../../src/agent/state/session.ts";
import type { Draft } from "../../src/agent/transaction/draft.ts";
import type { Message } from "../../src/chat/message.ts";
import type { EventText, EventTexts } from "../../src/session/event-lines.ts";
import { isSameRun } from "./changes.ts";
import { writeChildren } from "./children.ts";
import { writeEntries } from "./entries.ts";
import { replaceContent } from "./event-contents.ts";
import type { LogChange, LogPlace, LogRow } from "./event-log.ts";
import { addToLog, addToNewest, logRowLength } from "./event-log.ts";
import { writeSums } from "./ledger.ts";
import { writeOutcomes } from "./call-outcomes.ts";
import { messageKey } from "./results.ts";

/** This file writes a session's rows, and only those that a commit changed. */

/** Omits from calls what is stored elsewhere: outcomes have rows, and arguments are in the reply's message. */
const storedPhase = (phase: Phase): StoredPhase => {
  if (phase.at !== "acting") return phase;
  const calls = phase.calls.map((call) => ({
    ...withoutFresh(call, freshCall),
    call: { ...call.call, args: "" },
    outcome: null,
  }));
  return { at: "acting", calls };
};

const storedRun = (run: Run): StoredRun => ({
  ...withoutFresh(run, freshRun),
  counters: withoutFresh(run.counters, freshCounters),
  phase: storedPhase(run.phase),
});

/** Row with added fields that do not appear in its JSON. */
type WithOmitted<T> = T & Readonly<Record<string, unknown>>;

/** Returns fields with their own rows as `undefined`, which leaves them out of a JSON without the cost of a copy. */
const omittedFields = (keys: readonly string[]): Readonly<Record<string, undefined>> =>
  Object.fromEntries(keys.map((key) => [key, undefined]));

const omittedOfThread = omittedFields([...turnFields, "chat", "inbox", "history"]);

const omittedOfSession = omittedFields([...sessionTurnFields, "threads", "asks", "tasks", "head"]);

/** Returns a thread's row; it keeps only references to the first input, the external context and the tools of servers, which may be long. */
const rowOf = (thread: Thread, session: Session): WithOmitted<StoredRow> => {
  const firstInput = thread.firstInput === null ? null : { pos: thread.firstInput.pos };
  const row = { ...thread, ...omittedOfThread, firstInput, inboxIds: thread.inbox.map(({ id }) => id) };
  if (thread.id !== "main") return row;
  const external = session.external && { text: "" };
  const serverTools = session.serverTools && {};
  const own = withoutFresh({ ...session, external, serverTools }, freshSession);
  return { ...row, session: { ...own, ...omittedOfSession } };
};

const turnOf = (thread: Thread, session: Session): TurnRow => {
  const row = { ...pickFields(thread, turnFields), run: thread.run && storedRun(thread.run) };
  return thread.id === "main" ? { ...row, session: pickFields(session, sessionTurnFields) } : row;
};

const hasChangedField = <T>(before: T, after: T, keys: readonly (keyof T)[]): boolean =>
  keys.some((key) => before[key] !== after[key]);

const turnFieldsButRun = turnFields.filter((field) => field !== "run");

/** Returns whether a field has changed that has no row of its own. */
const hasChangedRest = <T extends object>(
  before: T,
  after: T,
  apart: Readonly<Record<string, undefined>>,
): boolean => {
  for (const key in after) if (before[key] !== after[key] && !(key in apart)) return true;
  return false;
};

/** Writes the text of a session's external context, which never changes and has a blob of its own. */
const writeExternal = (sql: SqlStorage, before: Session | null, { external }: Session): void => {
  if (external !== null && before?.external !== external) writeBlob(sql, externalBlob, external.text);
};

/** Writes the tools of a session's MCP servers, which seldom change and have a blob of their own. */
const writeServerTools = (sql: SqlStorage, before: Session | null, { serverTools }: Session): void => {
  if (serverTools !== null && before?.serverTools !== serverTools)
    writeBlob(sql, serverToolsBlob, JSON.stringify(serverTools));
};

/** Where a commit is written, with the texts of its new messages as far as its events have them. */
interface CommitTarget {
  readonly sql: SqlStorage;
  readonly messages: EventTexts["messages"];
  /** Messages that have been written so far. */
  readonly written: Map<string, Message>;
  /** Messages that have rows and come back into the view. */
  readonly restored: ReadonlySet<string>;
}

/** Thread with its session. */
interface ThreadInSession {
  readonly thread: Thread;
  readonly session: Session;
}

const hasTurnChanged = (before: ThreadInSession, { thread, session }: ThreadInSession): boolean =>
  before.thread.history !== thread.history ||
  !isSameRun(before.thread.run, thread.run) ||
  hasChangedField(before.thread, thread, turnFieldsButRun) ||
  (thread.id === "main" && hasChangedField(before.session, session, sessionTurnFields));

const isSameInbox = (before: Thread["inbox"], after: Thread["inbox"]): boolean =>
  before.length === after.length && before.every((input, place) => input === after[place]);

const hasRowChanged = (before: ThreadInSession, { thread, session }: ThreadInSession): boolean =>
  !isSameInbox(before.thread.inbox, thread.inbox) ||
  hasChangedRest(before.thread, thread, omittedOfThread) ||
  (thread.id === "main" && hasChangedRest(before.session, session, omittedOfSession));

/** A history that did not change is null. */
const insertTurn = `INSERT INTO turns (thread, json, history, log) VALUES (?1, ?2, ifnull(?3, ''), ?4) ON CONFLICT (thread)
  DO UPDATE SET json = excluded.json, history = ifnull(?3, history), log = iif(?5, log || excluded.log, excluded.log)`;

/** Log of a row that does not change. */
const sameLog = { text: "", keepsTail: true } as const;

/** Writes what a thread's turn changed; main's row also takes what the commit adds to the log. */
const writeTurn = (
  sql: SqlStorage,
  before: ThreadInSession | null,
  { thread, session }: ThreadInSession,
  { text, keepsTail }: Pick<LogChange, "text" | "keepsTail">,
): void => {
  if (before !== null && text === "" && !hasTurnChanged(before, { thread, session })) return;
  const { id, history } = thread;
  const turn = turnOf(thread, session);
  const json = rowJson(sql, blobOf.turn(id), JSON.stringify(turn), { run: turn.run && turn.run.id });
  const isSame = before?.thread.history === history;
  sql.exec(insertTurn, id, json, isSame ? null : packHistory(history), text, keepsTail ? 1 : 0);
};

const writeThread = (to: CommitTarget, before: ThreadInSession | null, after: ThreadInSession): void => {
  const { sql } = to;
  const { thread, session } = after;
  const { id } = thread;
  if (before === null || hasRowChanged(before, after)) {
    const json = rowJson(sql, blobOf.thread(id), JSON.stringify(rowOf(thread, session)));
    sql.exec("INSERT OR REPLACE INTO threads VALUES (?, ?)", id, json);
  }
  writeChat(to, id, before?.thread.chat ?? [], thread.chat);
  writeOutcomes(sql, before?.thread, thread, to.written);
};

/** Writes the last messages of a thread that left the live state, and deletes its state, which nothing needs now. */
const writeLeftThread = (to: CommitTarget, before: Thread | undefined, thread: Thread): void => {
  const { sql } = to;
  const { id, chat } = thread;
  writeChat(to, id, before?.chat ?? [], chat);
  sql.exec("DELETE FROM threads WHERE id = ?", id);
  sql.exec("DELETE FROM turns WHERE thread = ?", id);
  writeOutcomes(sql, before, thread, to.written);
};

const writeMessage = ({ sql, messages, written }: CommitTarget, thread: string, message: Message): void => {
  const json =
    messages.get(message) ??
    JSON.stringify(message.overlay === undefined ? message : { ...message, overlay: undefined });
  insertMessage(sql, thread, message, json);
  written.set(messageKey(thread, message.pos), message);
};

/** Writes the marks that a message got after it was written. */
const writeMarks = ({ sql }: CommitTarget, thread: string, { pos, marks = [] }: Message): void => {
  sql.exec("UPDATE messages SET marks = ? WHERE thread = ? AND pos = ?", JSON.stringify(marks), thread, pos);
};

const writeOverlay = (sql: SqlStorage, thread: string, { pos, overlay }: Message): void => {
  if (overlay === undefined) return;
  const json = rowJson(sql, blobOf.overlay(thread, pos, overlay.edit), JSON.stringify(overlay));
  sql.exec("INSERT OR REPLACE INTO overlays VALUES (?, ?, ?, ?)", thread, pos, overlay.edit, json);
};

/** Inserts appended messages, and writes the marks and overlays that changed. */
const writeChat = (
  to: CommitTarget,
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
    const isNew = stored === undefined && !to.restored.has(messageKey(thread, message.pos));
    if (isNew) writeMessage(to, thread, message);
    else if (stored !== undefined && stored.marks !== message.marks) writeMarks(to, thread, message);
    if (stored?.overlay !== message.overlay) writeOverlay(to.sql, thread, message);
  }
};

/**
 * Brings messages back into the view; their edit records when they were out of it. Events may refer to the
 * rows of those that have the marks they were written with.
 */
const writeRestored = ({ sql, written }: CommitTarget, { threads }: Session, { restored }: Draft): void => {
  for (const { edit, ...back } of restored) {
    sql.exec("INSERT INTO retirements VALUES (?, ?)", edit, JSON.stringify({ restored: back }));
    const chat = new Map(threads[back.thread]?.chat.map((message) => [message.pos, message]));
    const query = "UPDATE messages SET retired = 0 WHERE thread = ? AND pos = ? RETURNING marks";
    for (const [pos] of back.messages) {
      const { marks } = sql.exec<{ marks: string | null }>(query, back.thread, pos).one();
      const message = chat.get(pos);
      if (marks === null && message !== undefined) written.set(messageKey(back.thread, pos), message);
    }
  }
};

/** Writes who retired messages; their rows stay, and a message that came and went in one commit gets its row now. */
const writeRetired = (to: CommitTarget, before: Session | null, { retired }: Draft): void => {
  if (retired.length === 0) return;
  const stored = new Map(
    Object.values(before?.threads ?? {}).map(({ id, chat }) => [
      id,
      new Map(chat.map((message) => [message.pos, message])),
    ]),
  );
  for (const [edit, { cause }] of new Map(retired.map((each) => [each.edit, each])))
    to.sql.exec("INSERT INTO retirements VALUES (?, ?)", edit, JSON.stringify(cause));
  for (const { thread, message, edit } of retired) {
    const old = stored.get(thread)?.get(message.pos);
    if (old === undefined) writeMessage(to, thread, message);
    if (old?.overlay !== message.overlay) writeOverlay(to.sql, thread, message);
    to.sql.exec("UPDATE messages SET retired = ? WHERE thread = ? AND pos = ?", edit, thread, message.pos);
  }
};

/** Writes an input; its time, by which inputs are ordered, stays in the row. */
const writeInput = (sql: SqlStorage, input: Input): void => {
  const { id, status, at } = input;
  const json = rowJson(sql, blobOf.input(id), JSON.stringify(input), { at });
  sql.exec("INSERT OR REPLACE INTO inputs VALUES (?, ?, ?)", id, status, json);
};

/** Writes an ask; its place among all asks stays in the row. */
const writeAsk = (sql: SqlStorage, ask: Ask): void => {
  const { id, status, seq } = ask;
  const json = rowJson(sql, blobOf.ask(id), JSON.stringify(ask), { seq });
  sql.exec("INSERT OR REPLACE INTO asks VALUES (?, ?, ?)", id, status, json);
};

const writeRows = (sql: SqlStorage, draft: Draft, after: Session): void => {
  for (const input of new Map(draft.inputs.map((each) => [each.id, each])).values()) writeInput(sql, input);
  for (const ask of draft.asks) writeAsk(sql, ask);
  for (const run of draft.runs) {
    const json = rowJson(sql, blobOf.run(run.id), JSON.stringify(run));
    sql.exec("INSERT INTO runs VALUES (?, ?, ?)", runNumberOf(run.id), run.id, json);
  }
  writeSums(sql, draft.ledger, after);
  for (const { id, text } of draft.blobs) writeBlob(sql, id, text);
  for (const { key, fingerprint, status, json, at } of draft.answers) {
    // A key may be used again before its old answer, which no longer counts, is forgotten.
    deleteRows(sql, blobOf.answer, { key: "key", from: "idempotency WHERE key = ?" }, key);
    const row = rowJson(sql, blobOf.answer(key), json);
    sql.exec("INSERT INTO idempotency VALUES (?, ?, ?, ?, ?)", key, fingerprint, status, row, at);
  }
};

/** Deletes the keys of commands that have expired when the time since which keys are kept moves on. */
const forgetKeys = (sql: SqlStorage, before: Session | null, { keysSince }: Session): void => {
  if (before === null || keysSince === null || before.keysSince === keysSince) return;
  deleteRows(sql, blobOf.answer, { key: "key", from: "idempotency WHERE at < ?" }, keysSince);
};

const writeAsks = (sql: SqlStorage, before: Session | null, after: Session): void => {
  if (before?.asks === after.asks) return;
  for (const ask of Object.values(after.asks)) if (before?.asks[ask.id] !== ask) writeAsk(sql, ask);
};

const writeTasks = (sql: SqlStorage, before: Session | null, after: Session): void => {
  if (before?.tasks === after.tasks) return;
  for (const task of Object.values(after.tasks))
    if (before?.tasks[task.id] !== task)
      sql.exec("INSERT OR REPLACE INTO tasks VALUES (?, ?)", taskNumber(task), JSON.stringify(task));
};

/** Transition that is to be stored. */
interface Transition {
  readonly before: Session | null;
  /** State after it, whose head already counts its events. */
  readonly after: Session;
  readonly draft: Draft;
  readonly texts: EventTexts;
}

/** Writes one commit in the caller's transaction; `place` is where the log goes on, which is returned for the next commit. */
export const writeTransition = (
  sql: SqlStorage,
  { before, after, draft, texts }: Transition,
  place: LogPlace,
): LogPlace => {
  const restored = new Set(
    draft.restored.flatMap(({ thread, messages }) => messages.map(([pos]) => messageKey(thread, pos))),
  );
  const to = { sql, messages: texts.messages, written: new Map<string, Message>(), restored };
  const threads = Object.values(after.threads).flatMap((thread) => {
    const known = before?.threads[thread.id];
    // The row of main has fields of the session, too.
    if (known === thread && thread.id !== "main") return [];
    const from = before === null || known === undefined ? null : { thread: known, session: before };
    return [{ from, to: { thread, session: after } }];
  });
  for (const thread of threads) writeThread(to, thread.from, thread.to);
  for (const thread of draft.left) writeLeftThread(to, before?.threads[thread.id], thread);
  writeChildren(sql, draft.children);
  writeAsks(sql, before, after);
  writeTasks(sql, before, after);
  writeEntries(sql, draft.entries);
  writeRetired(to, before, draft);
  writeRestored(to, after, draft);
  writeExternal(sql, before, after);
  writeServerTools(sql, before, after);
  forgetKeys(sql, before, after);
  writeRows(sql, draft, after);
  const log = addEvents(to, after, draft, texts, place);
  for (const { from, to } of threads) writeTurn(sql, from, to, to.thread.id === "main" ? log : sameLog);
  return { rows: log.rows, length: log.length };
};

/**
 * Adds the events of a commit to the log as one row, or as a few if they are long, without what its other
 * rows hold.
 */
const addEvents = (
  { sql, written, messages }: CommitTarget,
  { head, threads }: Session,
  { events, ledger, edits, context: { now: at } }: Draft,
  texts: EventTexts,
  place: LogPlace,
): LogChange => {
  const sources = { threads, written, messages };
  const beside = {
    ledger: ledger.map((row) => JSON.stringify(row)),
    edits: edits.map((row) => JSON.stringify(row)),
  };
  if (texts.events.length === 0) return addToNewest(beside, place);
  const rows: (LogRow & { readonly events: EventText[] })[] = [];
  let length = logRowLength;
  for (const [index, text] of texts.events.entries()) {
    const event = events[index];
    const data =
      event === undefined || texts.redacted ? text.data : replaceContent(sources, event, text.data);
    length += data.length;
    if (length >= logRowLength) {
      const first = head - texts.events.length + index + 1;
      rows.push({ first, at, events: [], ...(index === 0 ? beside : { ledger: [], edits: [] }) });
      length = data.length;
    }
    rows.at(-1)?.events.push({ ...text, data });
  }
  return addToLog(sql, rows, place);
};
