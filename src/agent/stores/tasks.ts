import { ownEntry } from "../../chat/json.ts";
import type { Json, ResultStatus } from "../../chat/message.ts";
import { utf8Length } from "../../chat/tokens.ts";
import { describeIssue } from "../../schema.ts";
import type { Park, ToolOutput } from "../../tools/define-tool.ts";
import type { Refusal } from "../../tools/errors.ts";
import { errorText, refuse } from "../../tools/errors.ts";
import type { CheckedChange, StoreChange, TaskStatus } from "../../tools/stores.ts";
import { firstLine, storeChange, storeLimits } from "../../tools/stores.ts";
import { parkCall } from "../calls/tool-calls.ts";
import { rememberText } from "../memory/memories.ts";
import type { BoardFacts, TaskChange, Tasks } from "../state/board.ts";
import { findTask, taskView, changeBoard, releaseBoard, findChangedTasks } from "../state/board.ts";
import type { EntryHead, EntryStore } from "../state/records.ts";
import type { Draft, DraftCall } from "../transaction/draft.ts";
import { agentOf, draftCallsOf, emit, headAfter } from "../transaction/draft.ts";
import { readEntry, writeEntry } from "../transaction/entries.ts";

/** Changes what the threads of a session share. */

/** Thread and call that make the change. */
interface Author {
  readonly thread: string;
  readonly call: string | null;
}

type StoreResult = { readonly ok: true; readonly value: Json } | Refusal;

const acceptStoreChange = (value: Json): StoreResult => ({ ok: true, value });

/** Lists the other entries of a store as this draft leaves them. */
const otherEntries = (draft: Draft, store: EntryStore, key: string): readonly EntryHead[] => {
  const heads = new Map(draft.context.entries.heads(store).map((head) => [head.key, head]));
  for (const change of draft.entries) {
    if (change.store !== store) continue;
    if (change.json === null) heads.delete(change.key);
    else heads.set(change.key, change);
  }
  heads.delete(key);
  return [...heads.values()];
};

const authorScope = ({ call }: Author): { readonly call?: string } => (call === null ? {} : { call });

/** Writes an entry and reports it; the event's number becomes its revision. */
const writeStoreEntry = (
  draft: Draft,
  author: Author,
  entry: { readonly store: "state" | "notes"; readonly key: string; readonly value: Json | undefined },
): number => {
  const { store, key, value } = entry;
  const op = value === undefined ? "delete" : "set";
  const revision = headAfter(draft) + 1;
  emit(draft, author.thread, "store_changed", { store, key, op }, authorScope(author));
  writeEntry(draft, store, key, value, revision);
  return revision;
};

type StateChange = Extract<CheckedChange, { store: "state" }>;

const stateProblem = (draft: Draft, key: string, value: Json): Refusal | null => {
  const others = otherEntries(draft, "state", key);
  if (others.length >= storeLimits.keys)
    return refuse("limit", `the store holds ${storeLimits.keys} keys; delete one first`);
  const bytes = others.reduce((sum, { size }) => sum + size, utf8Length(JSON.stringify(value)));
  return bytes <= storeLimits.values
    ? null
    : refuse("limit", "all values together have at most 8 MiB; delete or shorten some first");
};

const changeState = (draft: Draft, author: Author, change: StateChange): StoreResult => {
  const { key } = change;
  const current = readEntry(draft, "state", key);
  if (change.op === "delete") {
    if (current !== null) writeStoreEntry(draft, author, { store: "state", key, value: undefined });
    return acceptStoreChange({ key, deleted: current !== null });
  }
  const { value, if_revision: expected } = change;
  const found = current?.revision ?? 0;
  if (expected !== undefined && expected !== found)
    return refuse(
      "conflict",
      found === 0
        ? `${key} is absent, not at revision ${expected}; read it again`
        : `${key} is at revision ${found}, not ${expected}; read it again`,
    );
  const problem = stateProblem(draft, key, value);
  if (problem !== null) return problem;
  return acceptStoreChange({ key, revision: writeStoreEntry(draft, author, { store: "state", key, value }) });
};

type NoteChange = Extract<CheckedChange, { store: "notes" }>;

const changeNote = (draft: Draft, author: Author, { name, content }: NoteChange): StoreResult => {
  const value = acceptStoreChange({ name, first_line: firstLine(content) });
  if (draft.context.storeRules.sharedNotes) {
    const data = { store: "notes", key: name, op: "set" } as const;
    emit(draft, author.thread, "store_changed", data, authorScope(author));
    return value;
  }
  if (otherEntries(draft, "notes", name).length >= storeLimits.notes)
    return refuse("limit", `there are ${storeLimits.notes} notes; overwrite one of them`);
  writeStoreEntry(draft, author, { store: "notes", key: name, value: content });
  return value;
};

const changesOfBoard = (draft: Draft, before: Tasks, after: Tasks): ReturnType<typeof findChangedTasks> =>
  findChangedTasks(before, after, draft.context.storeRules.onDependencyFailure);

/** Runs calls that watch a task again in the same commit if the task differs from `before`. */
const wakeWatchers = (draft: Draft, before: Tasks): void => {
  const ids = new Set(changesOfBoard(draft, before, draft.state.tasks).map(({ id }) => id));
  for (const { run } of Object.values(draft.state.threads)) {
    for (const call of draftCallsOf(run))
      if (call.wait?.on === "task" && ids.has(call.wait.task))
        call.wait = { ...call.wait, until: draft.context.now };
  }
};

const putBoard = (draft: Draft, author: Author, tasks: Tasks): void => {
  const changed = changesOfBoard(draft, draft.state.tasks, tasks);
  draft.state.tasks = tasks;
  for (const task of changed) emit(draft, author.thread, "task_changed", { task }, authorScope(author));
};

const boardFactsOf = (draft: Draft, thread: string): BoardFacts => ({
  policy: draft.context.storeRules.onDependencyFailure,
  thread,
  agent: agentOf(draft, thread).name,
  canWork: (id) => id === "main" || (ownEntry(draft.state.threads, id)?.run ?? null) !== null,
  now: draft.context.now,
});

const changeTask = (draft: Draft, author: Author, change: TaskChange, facts: BoardFacts): StoreResult => {
  const outcome = changeBoard(draft.state.tasks, change, facts);
  if (!outcome.ok) return outcome;
  putBoard(draft, author, outcome.tasks);
  const task = findTask(outcome.tasks, outcome.id);
  return acceptStoreChange(
    task === null ? null : (taskView(outcome.tasks, task, facts.policy) as unknown as Json),
  );
};

const changeMemory = (
  draft: Draft,
  author: Author,
  change: Extract<CheckedChange, { store: "memory" }>,
): StoreResult => {
  const value = rememberText(draft, author, change);
  return value === null ? refuse("unavailable", "this agent has no memory") : acceptStoreChange(value);
};

const applyStoreChange = (draft: Draft, author: Author, given: StoreChange): StoreResult => {
  const { data: change, error } = storeChange.safeParse(given, { error: describeIssue });
  if (change === undefined) {
    const [issue] = error.issues;
    return refuse("invalid_arguments", `${issue?.path.join(".") || "change"}: ${issue?.message ?? ""}`);
  }
  switch (change.store) {
    case "state":
      return changeState(draft, author, change);
    case "notes":
      return changeNote(draft, author, change);
    case "memory":
      return changeMemory(draft, author, change);
    case "tasks":
      return changeTask(draft, author, change, boardFactsOf(draft, author.thread));
  }
};

/** Marks the draft; the returned function undoes what changes of stores did: the session's own fields and rows. */
const createSavepoint = (draft: Draft): (() => void) => {
  const state: object = { ...draft.state };
  const kinds = Object.values(draft)
    .filter((rows): rows is unknown[] => Array.isArray(rows))
    .map((rows) => ({ rows, count: rows.length }));
  return () => {
    for (const name of Object.keys(draft.state))
      if (!(name in state)) Reflect.deleteProperty(draft.state, name);
    Object.assign(draft.state, state);
    for (const { rows, count } of kinds) rows.splice(count);
  };
};

/** Applies the changes of a tool all together; the first that is refused undoes all and gives its error. */
const applyStoreChanges = (
  draft: Draft,
  author: Author,
  changes: readonly StoreChange[],
):
  | { readonly ok: true; readonly values: readonly Json[] }
  | { readonly ok: false; readonly error: string } => {
  const undo = createSavepoint(draft);
  const { tasks } = draft.state;
  const values: Json[] = [];
  for (const change of changes) {
    const result = applyStoreChange(draft, author, change);
    if (result.ok) {
      values.push(result.value);
      continue;
    }
    undo();
    return { ok: false, error: errorText(result.code, result.sentence) };
  }
  wakeWatchers(draft, tasks);
  return { ok: true, values };
};

/** Stores the changes of an output. Returns what the call's result then is. */
export const storeOutput = (
  draft: Draft,
  author: Author,
  { content, stores = [] }: ToolOutput,
  status: ResultStatus,
): { readonly content: ToolOutput["content"]; readonly status: ResultStatus; readonly changed: boolean } => {
  if (status !== "ok" || stores.length === 0) return { content, status, changed: false };
  const result = applyStoreChanges(draft, author, stores);
  if (!result.ok) return { content: result.error, status: "error", changed: false };
  const [first, ...more] = result.values;
  const said = JSON.stringify(more.length === 0 ? first : result.values);
  return { content: content === "" ? said : content, status, changed: true };
};

/** Lets a running call wait for a task; if the task has ended meanwhile, the call goes on at once. */
export const watchTask = (
  draft: Draft,
  threadId: string,
  call: DraftCall,
  { task: id, until, memo }: Extract<Park, { on: "task" }>,
): void => {
  const task = findTask(draft.state.tasks, id);
  const isOpen = task?.status === "pending" || task?.status === "in_progress";
  const due = isOpen ? until : draft.context.now;
  parkCall(draft, threadId, call, { on: "task", task: id, until: due }, { memo });
};

const assignmentOf = (draft: Draft, by: string, id: string, assignee: string) =>
  [
    { store: "tasks", op: "reassign", id, assignee } as const,
    { ...boardFactsOf(draft, by), canWork: () => true },
  ] as const;

/** Says why a task cannot be given to a called agent; null if it can. */
export const assignmentProblem = (draft: Draft, by: string, id: string): Refusal | null => {
  const outcome = changeBoard(draft.state.tasks, ...assignmentOf(draft, by, id, by));
  return outcome.ok ? null : outcome;
};

/** Moves a task from its current assignee to a called agent that is about to start. */
export const assignTask = (draft: Draft, by: string, id: string, assignee: string): void => {
  const { tasks } = draft.state;
  changeTask(draft, { thread: by, call: null }, ...assignmentOf(draft, by, id, assignee));
  wakeWatchers(draft, tasks);
};

/** Settles a thread's task with the thread. Returns why the board refuses that; null if it is done or was already. */
export const settleTask = (draft: Draft, thread: string, id: string, status: TaskStatus): string | null => {
  const task = findTask(draft.state.tasks, id);
  if (task?.status === status) return null;
  if (task !== null && task.status === "in_progress" && task.assignee !== thread)
    return `${id} is not ${status}: it went to ${task.assignee}`;
  const change = { store: "tasks", op: "update", id, status } as const;
  const { tasks } = draft.state;
  const done = changeTask(draft, { thread, call: null }, change, boardFactsOf(draft, thread));
  wakeWatchers(draft, tasks);
  return done.ok ? null : `${id} is not ${status}: ${done.sentence}`;
};

/** Releases what an ended thread still holds. */
export const releaseTasks = (draft: Draft, thread: string): void => {
  const before = draft.state.tasks;
  const tasks = releaseBoard(before, thread, draft.context.now);
  if (tasks === before) return;
  putBoard(draft, { thread, call: null }, tasks);
  wakeWatchers(draft, before);
};
