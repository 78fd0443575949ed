import { addUsage, noUsage } from "../../agent/state/budget.ts";
import * as z from "zod";
import { runRecordOf } from "../../agent/run/runs.ts";
import { awaitedAsks } from "../../agent/run/wait.ts";
import type { ChildRecord } from "../../agent/state/child.ts";
import type { EntryStore, RunRecord } from "../../agent/state/records.ts";
import { runNumberOf } from "../../agent/state/run.ts";
import type { Session } from "../../agent/state/session.ts";
import type { Thread } from "../../agent/state/thread.ts";
import type { Json } from "../../chat/message.ts";
import { firstCharacters } from "../../chat/text.ts";
import type { Usage } from "../../model/completer.ts";
import type { CommandAnswer, ReadContext } from "../define-operation.ts";
import { jsonAnswer, joinRows, okAnswer, defineRead } from "../define-operation.ts";
import { showAsk } from "../event-lines.ts";
import type { PageStart, Page, PagePosition, PagedRow } from "../paging.ts";
import {
  cursorBindingOf,
  mostRows,
  takeFitting,
  pageOf,
  pageQueryFields,
  pageRows,
  readCursor,
} from "../paging.ts";
import { taskNumber, taskView } from "../../agent/state/board.ts";
import { refuse } from "../problems.ts";

/** Lists parts of a session page by page. */

type ReadSource = Pick<ReadContext, "state" | "archive">;

export const pageSchema = z.strictObject(pageQueryFields);

interface ListSource {
  /** List and its filters, because a cursor fits no other. */
  readonly of: Json;
  /** Live rows; a list may have only live or stored ones. */
  readonly live?: readonly PagedRow[];
  readonly stored?: (from: PageStart) => readonly PagedRow[];
  readonly descending?: boolean;
}

const readPage = (
  { state }: ReadSource,
  { of, live = [], stored = () => [], descending = false }: ListSource,
  { limit: most, cursor }: z.output<typeof pageSchema>,
): Page<string> => {
  const binding = cursorBindingOf([state.id, of]);
  const position = readCursor(cursor, binding);
  const from = { position, limit: most + 1 };
  const rows = pageRows([...live, ...stored(from)], from, descending);
  const texts = takeFitting(rows.slice(0, most));
  const shown = rows.map(({ at, id }, place) => ({ at, id, text: texts[place] ?? "" }));
  return pageOf(shown, { position, column: "at", limit: texts.length, binding }, ({ text }) => text);
};

/** Creates a row of a list; it is serialised only if a page shows it. */
export const createRow = (at: number, id: string, show: () => object): PagedRow => ({
  at,
  id,
  json: () => JSON.stringify(show()),
});

export const pageAnswer = (
  reads: ReadSource,
  rows: ListSource,
  query: z.output<typeof pageSchema>,
): CommandAnswer => {
  const { data, next_cursor, prev_cursor } = readPage(reads, rows, query);
  const cursors = JSON.stringify({ next_cursor, prev_cursor }).slice(1);
  return jsonAnswer(`{"data":${joinRows(data)},${cursors}`);
};

export const inputsOperation = defineRead({
  name: "inputs",
  summary: "Lists the inputs, the newest first.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/inputs",
  params: pageSchema,
  run: (context, query) =>
    pageAnswer(context, { of: "inputs", stored: context.archive.inputs, descending: true }, query),
});

export const activeRuns = (session: Session): readonly RunRecord[] =>
  Object.values(session.threads).flatMap((thread) =>
    thread.run === null ? [] : [runRecordOf(thread, thread.run)],
  );

/** Lists runs under way at the places that they keep when they end. */
const activeRows = (session: Session): readonly PagedRow[] =>
  activeRuns(session).map((run) => createRow(runNumberOf(run.id), run.id, () => run));

export const runsOperation = defineRead({
  name: "runs",
  summary: "Lists the runs, the newest first.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/runs",
  params: pageSchema,
  run: (context, query) => {
    const { archive, state } = context;
    const live = activeRows(state);
    return pageAnswer(context, { of: "runs", live, stored: archive.runs, descending: true }, query);
  },
});

/** Number of ended runs, and of threads, in a snapshot. */
const shownRuns = 20;
const shownThreads = 200;

/** Lists all runs that are under way and the newest that have ended, the newest first. */
export const newestRuns = ({ state, archive }: ReadSource): readonly unknown[] =>
  [...activeRows(state), ...archive.runs({ position: null, limit: shownRuns })]
    .sort((one, other) => other.at - one.at)
    .map((row): unknown => JSON.parse(row.json()));

/** Returns what a live thread's task used, with all below it; for `main`, all since the session was cleared. */
const liveUsage = ({ state, archive }: ReadSource, { id, run }: Thread): Usage =>
  id === "main"
    ? addUsage(state.spent.usage, state.spentBefore.usage, -1)
    : (run?.spent.usage ?? archive.child(id)?.end?.usage ?? noUsage);

const liveThreadView = (reads: ReadSource, thread: Thread): object => {
  const { id, agent, parent, depth, run: active, lastRun, child } = thread;
  const { started_at = null } = reads.archive.child(id) ?? {};
  return {
    id,
    agent,
    parent,
    depth,
    run: active?.id ?? null,
    last_run: lastRun,
    status: active === null ? "idle" : active.waitingShown ? "waiting" : "running",
    usage: liveUsage(reads, thread),
    ...(child === null ? {} : { label: child.label, task: child.task, started_at }),
  };
};

const noEnd = { run: null, state: null, reason: null, error: null, turns: 0, usage: null, ended_at: null };

/** Shows a called thread that has left the live state. */
const endedThreadView = ({ id, agent, label, parent, depth, task, started_at, end }: ChildRecord): object => {
  const { run, state, reason, error, turns, usage, ended_at } = end ?? noEnd;
  const base = { id, agent, parent, depth, run: null, last_run: run, status: "ended", label };
  const came = { state, reason, error, turns, usage };
  return { ...base, task: firstCharacters(task, 200), ...came, started_at, ended_at };
};

/** Shows a called thread by its row, which remains when the thread has left the live state. */
const childView = (reads: ReadSource, row: PagedRow): object => {
  const thread = reads.state.threads[row.id];
  return thread === undefined
    ? endedThreadView(JSON.parse(row.json()) as ChildRecord)
    : liveThreadView(reads, thread);
};

export const threadsOperation = defineRead({
  name: "threads",
  summary: "Lists the delegation tree: the threads in the order in which they began, `main` first.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/threads",
  params: pageSchema,
  run: (context, query) => {
    const live = Object.values(context.state.threads)
      .filter(({ parent }) => parent === null)
      .map((main) => createRow(0, main.id, () => liveThreadView(context, main)));
    const stored = (from: PageStart): readonly PagedRow[] =>
      context.archive.children(from).map((row) => createRow(row.at, row.id, () => childView(context, row)));
    return pageAnswer(context, { of: "threads", live, stored }, query);
  },
});

/** Follows the place of every thread. */
const afterAll: PagePosition = { at: Number.MAX_SAFE_INTEGER, id: "", direction: "prev" };

/** Lists all live threads, then the newest that have ended. */
export const threadViews = (reads: ReadSource): readonly object[] => {
  const live = Object.values(reads.state.threads);
  const ended = reads.archive
    .children({ position: afterAll, limit: shownThreads })
    .filter(({ id }) => reads.state.threads[id] === undefined)
    .slice(0, Math.max(0, shownThreads - live.length));
  return [
    ...live.map((thread) => liveThreadView(reads, thread)),
    ...ended.map((row) => endedThreadView(JSON.parse(row.json()) as ChildRecord)),
  ];
};

type AskSource = ReadSource & Pick<ReadContext, "principal">;

const openAskRows = ({ state, principal }: AskSource): readonly PagedRow[] =>
  Object.values(state.asks).map((ask) => ({
    at: ask.seq,
    id: ask.id,
    json: () => showAsk(JSON.stringify(ask), principal),
  }));

const awaitedAskRows = (reads: AskSource, runId: string): readonly PagedRow[] => {
  const { state } = reads;
  const thread = Object.values(state.threads).find(({ run }) => run?.id === runId);
  const awaited = thread === undefined ? [] : awaitedAsks(state, thread.id);
  return openAskRows(reads).filter(({ id }) => awaited.includes(id));
};

export const asksOperation = defineRead({
  name: "asks",
  summary: "Lists the asks in the order in which they were opened.",
  scopes: ["asks:answer", "approvals:decide"],
  path: "/v1/sessions/:session/asks",
  params: pageSchema.extend({
    status: z.enum(["open", "resolved", "expired", "cancelled"]).optional().describe("How far they are."),
    run: z
      .string()
      .max(64)
      .optional()
      .describe("Shows the open asks that this run waits for, itself or through agents that it called."),
  }),
  run: (context, { status = null, run = null, ...query }) => {
    if (run !== null) {
      const live = status === null || status === "open" ? awaitedAskRows(context, run) : [];
      return pageAnswer(context, { of: ["asks", status, run], live }, query);
    }
    const stored = (from: PageStart): readonly PagedRow[] =>
      context.archive
        .asks(status, from)
        .map((row) => ({ ...row, json: () => showAsk(row.json(), context.principal) }));
    return pageAnswer(context, { of: ["asks", status], stored }, query);
  },
});

/** Returns the first page of the open asks. */
export const openAsksPage = (reads: AskSource): Page<string> =>
  readPage(reads, { of: ["asks", "open"], live: openAskRows(reads) }, { limit: mostRows });

/** Reads the stores that the threads share; a store that no agent uses does not exist. */

const requireToolbox = ({ rules }: ReadContext, toolbox: string): void => {
  if (!rules.stores.listed.has(toolbox))
    refuse("not_found", `No agent of this session has the toolbox ${toolbox}.`);
};

type StoredEntry = ReturnType<ReadContext["archive"]["entries"]>[number];

/** Answers with a page of a store, by key. */
const entriesAnswer = (
  context: ReadContext,
  store: EntryStore,
  show: (entry: StoredEntry) => string,
  query: z.output<typeof pageSchema>,
): CommandAnswer => {
  const live = context.archive
    .entries(store)
    .map((entry): PagedRow => ({ at: 0, id: entry.key, json: () => show(entry) }));
  return pageAnswer(context, { of: store, live }, query);
};

const listState = (context: ReadContext, query: z.output<typeof pageSchema>): CommandAnswer => {
  requireToolbox(context, "state");
  return entriesAnswer(
    context,
    "state",
    ({ key, revision, json }) => `{"key":${JSON.stringify(key)},"revision":${revision},"value":${json}}`,
    query,
  );
};

export const stateOperation = defineRead({
  name: "state",
  summary: "Lists the entries of the session's state store.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/state",
  params: pageSchema,
  run: listState,
});

const listTasks = (context: ReadContext, query: z.output<typeof pageSchema>): CommandAnswer => {
  requireToolbox(context, "tasks");
  const { tasks: board } = context.state;
  const { onDependencyFailure } = context.rules.stores;
  const live = Object.values(board).map((task) =>
    createRow(taskNumber(task), task.id, () => taskView(board, task, onDependencyFailure)),
  );
  return pageAnswer(context, { of: "tasks", live }, query);
};

export const tasksOperation = defineRead({
  name: "tasks",
  summary: "Lists the tasks of the session's board.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/tasks",
  params: pageSchema,
  run: listTasks,
});

/** Returns the session's notes, or the owner of shared ones, which the router then requests from the team. */
const listNotes = (context: ReadContext, query: z.output<typeof pageSchema>): CommandAnswer => {
  requireToolbox(context, "notes");
  const { notes: scope } = context.rules.stores;
  if (scope !== "session")
    return okAnswer({ agents: scope === "agent" ? [...context.rules.agentNames] : null });
  return entriesAnswer(
    context,
    "notes",
    ({ key, json }) => `{"name":${JSON.stringify(key)},"content":${json}}`,
    query,
  );
};

export const notesOperation = defineRead({
  name: "notes",
  summary: "Lists the notes that the session's agents see.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/notes",
  params: pageSchema,
  run: listNotes,
});
