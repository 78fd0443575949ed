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
import type { Draft, DraftCall, ThreadDraft } from "../transaction/draft.ts";
import { agentOf, draftCallsOf, emit, headAfter } from "../transaction/draft.ts";
import { readEntry, writeEntry } from "../transaction/entries.ts";

/** Changes what the threads of a session share. */

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

/** Place of the event of a change that a call makes; null if the runtime makes it. */
const scopeOf = (call: string | null): { readonly call?: string } => (call === null ? {} : { call });

/** Writes an entry and reports it; the event's number becomes its revision. */
const writeStoreEntry = (
  draft: ThreadDraft,
  call: string | null,
  entry: { readonly store: "state" | "notes"; readonly key: string; readonly value: Json | undefined },
): number => {
  const { store, key, value } = entry;
  const op = value === undefined ? "delete" : "set";
  const revision = headAfter(draft) + 1;
  emit(draft, "store_changed", { store, key, op }, scopeOf(call));
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

const changeState = (draft: ThreadDraft, call: string | null, change: StateChange): StoreResult => {
  const { key } = change;
  const current = readEntry(draft, "state", key);
  if (change.op === "delete") {
    if (current !== null) writeStoreEntry(draft, call, { store: "state", key, value: undefined });
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
  return acceptStoreChange({ key, revision: writeStoreEntry(draft, call, { store: "state", key, value }) });
};

type NoteChange = Extract<CheckedChange, { store: "notes" }>;

const changeNote = (draft: ThreadDraft, call: string | null, { name, content }: NoteChange): StoreResult => {
  const value = acceptStoreChange({ name, first_line: firstLine(content) });
  if (draft.context.storeRules.sharedNotes) {
    const data = { store: "notes", key: name, op: "set" } as const;
    emit(draft, "store_changed", data, scopeOf(call));
    return value;
  }
  if (otherEntries(draft, "notes", name).length >= storeLimits.notes)
    return refuse("limit", `there are ${storeLimits.notes} notes; overwrite one of them`);
  writeStoreEntry(draft, call, { store: "notes", key: name, value: content });
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

const putBoard = (draft: ThreadDraft, call: string | null, tasks: Tasks): void => {
  const changed = changesOfBoard(draft, draft.state.tasks, tasks);
  draft.state.tasks = tasks;
  for (const task of changed) emit(draft, "task_changed", { task }, scopeOf(call));
};

const boardFactsOf = (draft: ThreadDraft): BoardFacts => ({
  policy: draft.context.storeRules.onDependencyFailure,
  thread: draft.thread.id,
  agent: agentOf(draft).name,
  canWork: (id) => id === "main" || (ownEntry(draft.state.threads, id)?.run ?? null) !== null,
  now: draft.context.now,
});

const changeTask = (
  draft: ThreadDraft,
  call: string | null,
  change: TaskChange,
  facts: BoardFacts,
): StoreResult => {
  const outcome = changeBoard(draft.state.tasks, change, facts);
  if (!outcome.ok) return outcome;
  putBoard(draft, call, outcome.tasks);
  const task = findTask(outcome.tasks, outcome.id);
  return acceptStoreChange(
    task === null ? null : (taskView(outcome.tasks, task, facts.policy) as unknown as Json),
  );
};

const changeMemory = (
  draft: ThreadDraft,
  call: string | null,
  change: Extract<CheckedChange, { store: "memory" }>,
): StoreResult => {
  const value = rememberText(draft, call, change);
  return value === null ? refuse("unavailable", "this agent has no memory") : acceptStoreChange(value);
};

const applyStoreChange = (draft: ThreadDraft, call: string | null, given: StoreChange): StoreResult => {
  const { data: change, error } = storeChange.safeParse(given, { error: describeIssue });
  if (change === undefined) {
    const [issue] = error.issues;
    return refuse("invalid_arguments", `${issue?.path.join(".") || "change"}: ${issue?.message ?? ""}`);
  }
  switch (change.store) {
    case "state":
      return changeState(draft, call, change);
    case "notes":
      return changeNote(draft, call, change);
    case "memory":
      return changeMemory(draft, call, change);
    case "tasks":
      return changeTask(draft, call, change, boardFactsOf(draft));
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
  draft: ThreadDraft,
  call: string | null,
  changes: readonly StoreChange[],
):
  | { readonly ok: true; readonly values: readonly Json[] }
  | { readonly ok: false; readonly error: string } => {
  const undo = createSavepoint(draft);
  const { tasks } = draft.state;
  const values: Json[] = [];
  for (const change of changes) {
    const result = applyStoreChange(draft, call, change);
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
  draft: ThreadDraft,
  call: string | null,
  { content, stores = [] }: ToolOutput,
  status: ResultStatus,
): { readonly content: ToolOutput["content"]; readonly status: ResultStatus; readonly changed: boolean } => {
  if (status !== "ok" || stores.length === 0) return { content, status, changed: false };
  const result = applyStoreChanges(draft, call, stores);
  if (!result.ok) return { content: result.error, status: "error", changed: false };
  const [first, ...more] = result.values;
  const said = JSON.stringify(more.length === 0 ? first : result.values);
  return { content: content === "" ? said : content, status, changed: true };
};

/** Lets a running call wait for a task; if the task has ended meanwhile, the call goes on at once. */
export const watchTask = (
  draft: ThreadDraft,
  call: DraftCall,
  { task: id, until, memo }: Extract<Park, { on: "task" }>,
): void => {
  const task = findTask(draft.state.tasks, id);
  const isOpen = task?.status === "pending" || task?.status === "in_progress";
  const due = isOpen ? until : draft.context.now;
  parkCall(draft, call, { on: "task", task: id, until: due }, { memo });
};

const assignmentOf = (draft: ThreadDraft, id: string, assignee: string) =>
  [
    { store: "tasks", op: "reassign", id, assignee } as const,
    { ...boardFactsOf(draft), canWork: () => true },
  ] as const;

/** Says why a task cannot be given to a called agent; null if it can. */
export const assignmentProblem = (draft: ThreadDraft, id: string): Refusal | null => {
  const outcome = changeBoard(draft.state.tasks, ...assignmentOf(draft, id, draft.thread.id));
  return outcome.ok ? null : outcome;
};

/** Moves a task from its current assignee to a called agent that is about to start. */
export const assignTask = (draft: ThreadDraft, id: string, assignee: string): void => {
  const { tasks } = draft.state;
  changeTask(draft, null, ...assignmentOf(draft, id, assignee));
  wakeWatchers(draft, tasks);
};

/** Settles a thread's task with the thread. Returns why the board refuses that; null if it is done or was already. */
export const settleTask = (draft: ThreadDraft, id: string, status: TaskStatus): string | null => {
  const task = findTask(draft.state.tasks, id);
  if (task?.status === status) return null;
  if (task !== null && task.status === "in_progress" && task.assignee !== draft.thread.id)
    return `${id} is not ${status}: it went to ${task.assignee}`;
  const change = { store: "tasks", op: "update", id, status } as const;
  const { tasks } = draft.state;
  const done = changeTask(draft, null, change, boardFactsOf(draft));
  wakeWatchers(draft, tasks);
  return done.ok ? null : `${id} is not ${status}: ${done.sentence}`;
};

/** Releases what an ended thread still holds. */
export const releaseTasks = (draft: ThreadDraft): void => {
  const before = draft.state.tasks;
  const tasks = releaseBoard(before, draft.thread.id, draft.context.now);
  if (tasks === before) return;
  putBoard(draft, null, tasks);
  wakeWatchers(draft, before);
};
