import { own } from "../../chat/json.ts";
import type { Json, ResultStatus } from "../../chat/message.ts";
import { utf8Length } from "../../chat/tokens.ts";
import type { Park, ToolOutput } from "../../tools/define-tool.ts";
import type { ToolErrorCode } from "../../tools/errors.ts";
import type { CheckedChange, StoreChange, TaskStatus } from "../../tools/stores.ts";
import { firstLine, storeChange, storeLimits } from "../../tools/stores.ts";
import { callPaused } from "../calls/start.ts";
import { textRemembered } from "../memory/remember.ts";
import type { BoardFacts, TaskChange, Tasks } from "../state/board.ts";
import { taskOf, taskView } from "../state/board.ts";
import type { EntryHead, EntryStore } from "../state/entries.ts";
import { callsOfRun } from "../state/run.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, changeCall, emit } from "../transaction/draft.ts";
import { entryOf, entryWritten } from "../transaction/entries.ts";
import { boardAfter, boardReleased, tasksChanged } from "./board.ts";

/** Transitions of what the threads of a session share. */

/** Whose change it is. */
interface Author {
  readonly thread: string;
  readonly call: string | null;
}

type Applied =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly code: ToolErrorCode; readonly sentence: string };

const refused = (code: ToolErrorCode, sentence: string): Applied => ({ ok: false, code, sentence });

const applied = (value: Json): Applied => ({ ok: true, value });

/** Entries beside one key, as this draft leaves them. */
const othersOf = (draft: Draft, store: EntryStore, key: string): readonly EntryHead[] => {
  const heads = new Map(draft.moment.entries.heads(store).map((head) => [head.key, head]));
  for (const change of draft.entries) {
    if (change.store !== store) continue;
    if (change.json === null) heads.delete(change.key);
    else heads.set(change.key, change);
  }
  heads.delete(key);
  return [...heads.values()];
};

const placeOf = ({ call }: Author): { readonly call?: string } => (call === null ? {} : { call });

/** Writes an entry and says so; the event's number becomes its revision. */
const written = (
  draft: Draft,
  author: Author,
  entry: { readonly store: "state" | "notes"; readonly key: string; readonly value: Json | undefined },
): number => {
  const { store, key, value } = entry;
  const op = value === undefined ? "delete" : "set";
  const revision = draft.state.head + draft.events.length + 1;
  emit(draft, author.thread, "store_changed", { store, key, op }, placeOf(author));
  entryWritten(draft, store, key, value, revision);
  return revision;
};

type StateChange = Extract<CheckedChange, { store: "state" }>;

const stateProblem = (draft: Draft, key: string, value: Json): Applied | null => {
  const others = othersOf(draft, "state", key);
  if (others.length >= storeLimits.keys)
    return refused("limit", `the store holds ${storeLimits.keys} keys; delete one first`);
  const bytes = others.reduce((sum, { size }) => sum + size, utf8Length(JSON.stringify(value)));
  return bytes <= storeLimits.values
    ? null
    : refused("limit", "all values together have at most 8 MiB; delete or shorten some first");
};

const stateChanged = (draft: Draft, author: Author, change: StateChange): Applied => {
  const { key } = change;
  const current = entryOf(draft, "state", key);
  if (change.op === "delete") {
    if (current !== null) written(draft, author, { store: "state", key, value: undefined });
    return applied({ key, deleted: current !== null });
  }
  const { value, if_revision: expected } = change;
  const found = current?.revision ?? 0;
  if (expected !== undefined && expected !== found)
    return refused(
      "conflict",
      found === 0
        ? `${key} is absent, not at revision ${expected}; read it again`
        : `${key} is at revision ${found}, not ${expected}; read it again`,
    );
  const problem = stateProblem(draft, key, value);
  if (problem !== null) return problem;
  return applied({ key, revision: written(draft, author, { store: "state", key, value }) });
};

type NoteChange = Extract<CheckedChange, { store: "notes" }>;

const noteChanged = (draft: Draft, author: Author, { name, content }: NoteChange): Applied => {
  const value = applied({ name, first_line: firstLine(content) });
  if (draft.moment.storeRules.sharedNotes) {
    const data = { store: "notes", key: name, op: "set" } as const;
    emit(draft, author.thread, "store_changed", data, placeOf(author));
    return value;
  }
  if (othersOf(draft, "notes", name).length >= storeLimits.notes)
    return refused("limit", `there are ${storeLimits.notes} notes; write over one of them`);
  written(draft, author, { store: "notes", key: name, value: content });
  return value;
};

/** Calls that watch a task run again, in the tick of the same commit. */
const watchersWoken = (draft: Draft, ids: ReadonlySet<string>): void => {
  for (const { id, run } of Object.values(draft.state.threads)) {
    for (const { call, parkedOn, watches } of callsOfRun(run))
      if (parkedOn === "task" && ids.has(watches ?? ""))
        changeCall(draft, id, call.id, { until: draft.moment.now });
  }
};

const boardChanged = (draft: Draft, author: Author, tasks: Tasks): void => {
  const changed = tasksChanged(draft.state.tasks, tasks, draft.moment.storeRules.onDependencyFailure);
  draft.state = { ...draft.state, tasks };
  for (const task of changed) emit(draft, author.thread, "task_changed", { task }, placeOf(author));
  watchersWoken(draft, new Set(changed.map(({ id }) => id)));
};

const factsOf = (draft: Draft, thread: string): BoardFacts => ({
  policy: draft.moment.storeRules.onDependencyFailure,
  thread,
  agent: agentOf(draft, thread).name,
  canWork: (id) => id === "main" || (own(draft.state.threads, id)?.run ?? null) !== null,
  now: draft.moment.now,
});

const taskChanged = (draft: Draft, author: Author, change: TaskChange, facts: BoardFacts): Applied => {
  const outcome = boardAfter(draft.state.tasks, change, facts);
  if (!outcome.ok) return outcome;
  boardChanged(draft, author, outcome.tasks);
  const task = taskOf(outcome.tasks, outcome.id);
  return applied(task === null ? null : (taskView(outcome.tasks, task, facts.policy) as unknown as Json));
};

const memoryChanged = (
  draft: Draft,
  author: Author,
  change: Extract<CheckedChange, { store: "memory" }>,
): Applied => {
  const value = textRemembered(draft, author, change);
  return value === null ? refused("unavailable", "this agent has no memory") : applied(value);
};

const storeChanged = (draft: Draft, author: Author, given: StoreChange): Applied => {
  const { data: change, error } = storeChange.safeParse(given);
  if (change === undefined) {
    const [issue] = error?.issues ?? [];
    return refused("invalid_arguments", `${issue?.path.join(".") || "change"}: ${issue?.message ?? ""}`);
  }
  switch (change.store) {
    case "state":
      return stateChanged(draft, author, change);
    case "notes":
      return noteChanged(draft, author, change);
    case "memory":
      return memoryChanged(draft, author, change);
    case "tasks":
      return taskChanged(draft, author, change, factsOf(draft, author.thread));
  }
};

/** Remembers how far a draft is; what it gives back undoes everything since: the state, and rows of every kind. */
const savepoint = (draft: Draft): (() => void) => {
  const { state } = draft;
  const kinds = Object.values(draft)
    .filter((rows): rows is unknown[] => Array.isArray(rows))
    .map((rows) => ({ rows, count: rows.length }));
  return () => {
    draft.state = state;
    for (const { rows, count } of kinds) rows.splice(count);
  };
};

/** Applies what a tool gave back: all of it, or nothing, with the error of the first change that is refused. */
const storesChanged = (
  draft: Draft,
  author: Author,
  changes: readonly StoreChange[],
):
  | { readonly ok: true; readonly values: readonly Json[] }
  | { readonly ok: false; readonly error: string } => {
  const undo = savepoint(draft);
  const values: Json[] = [];
  for (const change of changes) {
    const result = storeChanged(draft, author, change);
    if (result.ok) {
      values.push(result.value);
      continue;
    }
    undo();
    return { ok: false, error: `${result.code}: ${result.sentence}` };
  }
  return { ok: true, values };
};

/** Applies what an output changes. Answers what the call's result then is. */
export const outputStored = (
  draft: Draft,
  author: Author,
  { content, stores = [] }: ToolOutput,
  status: ResultStatus,
): { readonly content: ToolOutput["content"]; readonly status: ResultStatus; readonly changed: boolean } => {
  if (status !== "ok" || stores.length === 0) return { content, status, changed: false };
  const result = storesChanged(draft, author, stores);
  if (!result.ok) return { content: result.error, status: "error", changed: false };
  const [first, ...more] = result.values;
  const said = JSON.stringify(more.length === 0 ? first : result.values);
  return { content: content === "" ? said : content, status, changed: true };
};

/** A running call waits for a task; one that ended meanwhile lets it go on at once. */
export const taskWatched = (
  draft: Draft,
  threadId: string,
  callId: string,
  { task: id, until, memo }: Extract<Park, { on: "task" }>,
): void => {
  const task = taskOf(draft.state.tasks, id);
  const isOpen = task?.status === "pending" || task?.status === "in_progress";
  callPaused(draft, threadId, callId, "task", isOpen ? until : draft.moment.now);
  changeCall(draft, threadId, callId, { watches: id, memo });
};

const assigning = (draft: Draft, by: string, id: string, assignee: string) =>
  [
    { store: "tasks", op: "reassign", id, assignee } as const,
    { ...factsOf(draft, by), canWork: () => true },
  ] as const;

/** Why a task cannot be given to a called agent; null if it can. */
export const assignmentProblem = (
  draft: Draft,
  by: string,
  id: string,
): { readonly code: ToolErrorCode; readonly sentence: string } | null => {
  const outcome = boardAfter(draft.state.tasks, ...assigning(draft, by, id, by));
  return outcome.ok ? null : outcome;
};

/** Gives a task to a called agent that is about to start, from whoever has it. */
export const taskAssigned = (draft: Draft, by: string, id: string, assignee: string): void => {
  taskChanged(draft, { thread: by, call: null }, ...assigning(draft, by, id, assignee));
};

/** A thread's task ended with it. Answers why the board refuses that; null if it was done, or stands there already. */
export const taskSettled = (draft: Draft, thread: string, id: string, status: TaskStatus): string | null => {
  const task = taskOf(draft.state.tasks, id);
  if (task?.status === status) return null;
  if (task !== null && task.status === "in_progress" && task.assignee !== thread)
    return `${id} is not ${status}: it went to ${task.assignee}`;
  const change = { store: "tasks", op: "update", id, status } as const;
  const done = taskChanged(draft, { thread, call: null }, change, factsOf(draft, thread));
  return done.ok ? null : `${id} is not ${status}: ${done.sentence}`;
};

/** A thread has ended: what it still holds is free again. */
export const tasksReleased = (draft: Draft, thread: string): void => {
  const tasks = boardReleased(draft.state.tasks, thread, draft.moment.now);
  if (tasks !== draft.state.tasks) boardChanged(draft, { thread, call: null }, tasks);
};
