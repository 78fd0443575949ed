import { ownEntry } from "../../chat/json.ts";
import type { CheckedChange, Task, TaskStatus } from "../../tools/stores.ts";
import { describeIssue } from "../../schema.ts";
import type { Refusal } from "../../tools/errors.ts";
import { refuse } from "../../tools/errors.ts";
import { storeLimits, taskMetadata } from "../../tools/stores.ts";

/** Task as it is stored, without the fields that are derived from other tasks. */
export type StoredTask = Omit<Task, "blocked" | "blocked_reason">;

/** Tasks by id, in the order of their creation. */
export type Tasks = Readonly<Record<string, StoredTask>>;

export type TaskChange = Extract<CheckedChange, { readonly store: "tasks" }>;

/** What a failed or cancelled task does to those that depend on it. */
export type OnDependencyFailure = "block" | "fail" | "ignore";

/** Who changes the board, and what the board has to know of the session. */
export interface BoardFacts {
  readonly policy: OnDependencyFailure;
  readonly thread: string;
  readonly agent: string;
  /** Returns whether a thread can be given a task. */
  readonly canWork: (thread: string) => boolean;
  readonly now: number;
}

/** `update` may change a status to one of these; only `claim` and `reassign` lead to `in_progress`. */
const successors: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  pending: ["cancelled"],
  in_progress: ["completed", "failed", "cancelled", "pending"],
  failed: ["pending", "cancelled"],
  completed: [],
  cancelled: [],
};

export const findTask = (tasks: Tasks, id: string): StoredTask | null => ownEntry(tasks, id) ?? null;

/** Returns the number of a task, from 1 in the order of creation. */
export const taskNumber = ({ id }: StoredTask): number => Number(id.slice("task_".length));

const isBroken = (tasks: Tasks, id: string): boolean =>
  ["failed", "cancelled"].includes(findTask(tasks, id)?.status ?? "");

/** Returns the dependencies that keep a task from being worked on. */
const blockers = (tasks: Tasks, task: StoredTask, policy: OnDependencyFailure): readonly string[] =>
  task.blocked_by.filter(
    (id) => findTask(tasks, id)?.status !== "completed" && !(policy === "ignore" && isBroken(tasks, id)),
  );

const isOver = ({ status }: StoredTask): boolean => status === "completed" || status === "cancelled";

/** Returns what the API and the tools show of a task. */
export const taskView = (tasks: Tasks, task: StoredTask, policy: OnDependencyFailure): Task => {
  const open = isOver(task) ? [] : blockers(tasks, task, policy);
  const failed = open.some((id) => isBroken(tasks, id));
  return { ...task, blocked: open.length > 0, blocked_reason: failed ? "dependency_failed" : null };
};

/** Returns a line for each open task, for readers that must not forget it. */
export const openTaskLines = (tasks: Tasks): readonly string[] =>
  Object.values(tasks)
    .filter(({ status }) => status === "pending" || status === "in_progress")
    .map(({ id, title, status, assignee }) => {
      const who = assignee === null ? "" : ` by ${assignee}`;
      return `${id} ${status}${who}: ${title.replaceAll(/\s+/g, " ")}`;
    });

/** The task board is a pure machine. */

export type BoardOutcome = { readonly ok: true; readonly tasks: Tasks; readonly id: string } | Refusal;

const putTask = (tasks: Tasks, task: StoredTask, now: number): BoardOutcome => ({
  ok: true,
  tasks: { ...tasks, [task.id]: { ...task, updated_at: now } },
  id: task.id,
});

/** Returns whether a task depends on another, directly or not. */
const dependsOn = (tasks: Tasks, from: string, on: string): boolean => {
  const seen = new Set<string>();
  const open = [from];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === on) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...(findTask(tasks, next)?.blocked_by ?? []));
  }
  return false;
};

/** Says why a task cannot depend on others; null if it can. */
const dependencyProblem = (tasks: Tasks, id: string, on: readonly string[]): Refusal | null => {
  const unknown = on.filter((each) => findTask(tasks, each) === null);
  if (unknown.length > 0) return refuse("not_found", `blocked_by: there is no task ${unknown.join(", ")}`);
  const loop = on.find((each) => dependsOn(tasks, each, id));
  if (loop === undefined) return null;
  const why = loop === id ? `${id} cannot wait for itself` : `${loop} already waits for ${id}`;
  return refuse("conflict", `blocked_by: ${why}; tasks may not wait for each other`);
};

const createTask = (
  tasks: Tasks,
  change: Extract<TaskChange, { op: "create" }>,
  facts: BoardFacts,
): BoardOutcome => {
  const count = Object.keys(tasks).length;
  if (count >= storeLimits.tasks) return refuse("limit", `the board is full with ${count} tasks`);
  const blocked_by = [...new Set(change.blocked_by)];
  const { title, description, metadata } = change;
  const { agent, now } = facts;
  const id = `task_${count + 1}`;
  const times = { created_at: now, updated_at: now };
  const task = { id, title, description, status: "pending", assignee: null, blocked_by, metadata } as const;
  return (
    dependencyProblem(tasks, id, blocked_by) ?? putTask(tasks, { ...task, created_by: agent, ...times }, now)
  );
};

/** Says what to do about dependencies that keep a task from being worked on. */
const unblockHint = (tasks: Tasks, { id }: StoredTask, open: readonly string[]): string => {
  const without = `take it out of blocked_by by an update of ${id}`;
  const broken = open.flatMap((each): readonly string[] => {
    const status = findTask(tasks, each)?.status;
    if (status === "cancelled") return [`${each} is cancelled and will never be completed: ${without}`];
    if (status !== "failed") return [];
    return [`${each} has failed: set its status to pending to try it again, or ${without}`];
  });
  if (broken.length > 0) return broken.join("; ");
  return open.length === 1 ? "that has to be completed first" : "they have to be completed first";
};

const blockedProblem = (tasks: Tasks, task: StoredTask, { policy }: BoardFacts): Refusal | null => {
  const open = blockers(tasks, task, policy);
  return open.length === 0
    ? null
    : refuse("conflict", `${task.id} is blocked by ${open.join(", ")}; ${unblockHint(tasks, task, open)}`);
};

/** Says why a task in this status can be given to nobody. */
const refuseAssignment = ({ id, status }: StoredTask): Refusal =>
  refuse(
    "conflict",
    status === "failed"
      ? `${id} has failed; to try it again, set its status to pending first`
      : `${id} is ${status}, and that is final`,
  );

/** Claims a task: of two claims one wins; a repeated one changes nothing. */
const claimTask = (tasks: Tasks, task: StoredTask, facts: BoardFacts): BoardOutcome => {
  const { id, status, assignee } = task;
  if (status === "in_progress" && assignee === facts.thread) return { ok: true, tasks, id };
  if (status === "in_progress")
    return refuse("conflict", `${id} is already claimed by ${assignee}; take another task or reassign it`);
  if (status !== "pending") return refuseAssignment(task);
  return (
    blockedProblem(tasks, task, facts) ??
    putTask(tasks, { ...task, status: "in_progress", assignee: facts.thread }, facts.now)
  );
};

const reassignTask = (tasks: Tasks, task: StoredTask, assignee: string, facts: BoardFacts): BoardOutcome => {
  if (!facts.canWork(assignee))
    return refuse("not_found", `assignee: there is no thread ${assignee} that works in this session`);
  if (task.status !== "pending" && task.status !== "in_progress") return refuseAssignment(task);
  return (
    blockedProblem(tasks, task, facts) ??
    putTask(tasks, { ...task, status: "in_progress", assignee }, facts.now)
  );
};

/** Moves a task to another status if the table has that step. A task that no agent works on has no assignee. */
const moveTask = (task: StoredTask, status: TaskStatus): StoredTask | Refusal => {
  const allowed = successors[task.status];
  if (allowed.includes(status))
    return { ...task, status, assignee: status === "pending" ? null : task.assignee };
  const claim = task.status === "pending" ? "in_progress by a claim or a reassignment, or " : "";
  return refuse(
    "conflict",
    allowed.length === 0
      ? `${task.id} is ${task.status}, and that is final`
      : `${task.id} is ${task.status}; it can become ${claim}${allowed.join(", ")}, not ${status}`,
  );
};

const mergeMetadata = (
  task: StoredTask,
  change: NonNullable<Extract<TaskChange, { op: "update" }>["metadata"]>,
) =>
  taskMetadata.safeParse(
    Object.fromEntries(Object.entries({ ...task.metadata, ...change }).filter(([, value]) => value !== null)),
    { error: describeIssue },
  );

const updateTask = (
  tasks: Tasks,
  task: StoredTask,
  { status, title, description, blocked_by, metadata }: Extract<TaskChange, { op: "update" }>,
  { now }: BoardFacts,
): BoardOutcome => {
  const next = status === undefined ? task : moveTask(task, status);
  if ("ok" in next) return next;
  const depends = blocked_by === undefined ? task.blocked_by : [...new Set(blocked_by)];
  const problem = dependencyProblem(tasks, task.id, depends);
  if (problem !== null) return problem;
  const bag = mergeMetadata(task, metadata ?? {});
  if (!bag.success) return refuse("too_large", `metadata: ${bag.error.issues[0]?.message ?? "too large"}`);
  const texts = { title: title ?? task.title, description: description ?? task.description };
  return putTask(tasks, { ...next, ...texts, blocked_by: depends, metadata: bag.data }, now);
};

const applyTaskChange = (tasks: Tasks, change: TaskChange, facts: BoardFacts): BoardOutcome => {
  if (change.op === "create") return createTask(tasks, change, facts);
  const task = findTask(tasks, change.id);
  if (task === null) return refuse("not_found", `there is no task ${change.id}; list the tasks to see them`);
  switch (change.op) {
    case "claim":
      return claimTask(tasks, task, facts);
    case "reassign":
      return reassignTask(tasks, task, change.assignee, facts);
    case "update":
      return updateTask(tasks, task, change, facts);
    case "cancel":
      return updateTask(tasks, task, { ...change, op: "update", status: "cancelled" }, facts);
  }
};

/** Fails pending tasks with what they depend on under the policy `fail`, and so on down. */
const failDependents = (tasks: Tasks, now: number): Tasks => {
  const lost = Object.values(tasks).filter(
    ({ status, blocked_by }) => status === "pending" && blocked_by.some((id) => isBroken(tasks, id)),
  );
  if (lost.length === 0) return tasks;
  const next = lost.map((task) => [task.id, { ...task, status: "failed", updated_at: now } as const]);
  return failDependents({ ...tasks, ...Object.fromEntries(next) }, now);
};

/** Returns the changed board and the id of its task; a refused change has a reason and changes nothing. */
export const changeBoard = (tasks: Tasks, change: TaskChange, facts: BoardFacts): BoardOutcome => {
  const outcome = applyTaskChange(tasks, change, facts);
  if (!outcome.ok || facts.policy !== "fail") return outcome;
  return { ...outcome, tasks: failDependents(outcome.tasks, facts.now) };
};

/** Releases everything on the board that a thread still held. */
export const releaseBoard = (tasks: Tasks, thread: string, now: number): Tasks => {
  const held = Object.values(tasks).filter(
    ({ status, assignee }) => status === "in_progress" && assignee === thread,
  );
  if (held.length === 0) return tasks;
  const free = held.map((task) => [
    task.id,
    { ...task, status: "pending", assignee: null, updated_at: now } as const,
  ]);
  return { ...tasks, ...Object.fromEntries(free) };
};

/** Finds the tasks that are shown differently than before, in the order of their creation. */
export const findChangedTasks = (before: Tasks, after: Tasks, policy: OnDependencyFailure): readonly Task[] =>
  Object.values(after).flatMap((task) => {
    const old = findTask(before, task.id);
    const view = taskView(after, task, policy);
    if (old === null || old !== task) return [view];
    const { blocked, blocked_reason } = taskView(before, old, policy);
    return blocked === view.blocked && blocked_reason === view.blocked_reason ? [] : [view];
  });
