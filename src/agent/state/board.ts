import { ownEntry } from "../../chat/json.ts";
import type { CheckedChange, Task, TaskStatus } from "../../tools/stores.ts";

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
export const successors: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  pending: ["cancelled"],
  in_progress: ["completed", "failed", "cancelled", "pending"],
  failed: ["pending", "cancelled"],
  completed: [],
  cancelled: [],
};

export const findTask = (tasks: Tasks, id: string): StoredTask | null => ownEntry(tasks, id) ?? null;

/** Returns the number of a task, from 1 in the order of creation. */
export const taskNumber = ({ id }: StoredTask): number => Number(id.slice("task_".length));

export const isBroken = (tasks: Tasks, id: string): boolean =>
  ["failed", "cancelled"].includes(findTask(tasks, id)?.status ?? "");

/** Returns the dependencies that keep a task from being worked on. */
export const blockers = (tasks: Tasks, task: StoredTask, policy: OnDependencyFailure): readonly string[] =>
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
