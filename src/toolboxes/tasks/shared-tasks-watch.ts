import * as z from "zod";
import type { Json } from "../../chat/message.ts";
import { defineTool, parkCallOn } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";
import { noSuchTask } from "./no-such-task.ts";
import { idParameter } from "./parameters.ts";

/** Milliseconds that a watched task may stay without an assignee. */
const unclaimedMs = 60_000;

/** When the watch began, and since when the task is unassigned; null while it is assigned. */
interface TaskWatch {
  readonly started: number;
  readonly free: number | null;
}

const readTaskWatch = (memo: Json, now: number): TaskWatch => {
  const noted = memo as Partial<TaskWatch> | null;
  return { started: noted?.started ?? now, free: noted?.free ?? null };
};

export const sharedTasksWatch = defineTool({
  name: "shared_tasks_watch",
  description:
    "Waits until a task is completed, failed or cancelled, and returns it. It is an error if it has no assignee for a minute.",
  params: z.strictObject({
    id: idParameter,
    timeout_seconds: z.number().min(1).max(86_400).default(600).describe("Most seconds to wait."),
  }),
  safety: "idempotent",
  workspace: "none",
  run: ({ id, timeout_seconds }, { stores, memo, now }) => {
    const task = stores.tasks.get(id);
    if (task === null) return noSuchTask(id);
    if (task.status !== "pending" && task.status !== "in_progress") return { content: JSON.stringify(task) };
    const { started, free: before } = readTaskWatch(memo.get(), now());
    const free = task.assignee === null ? (before ?? now()) : null;
    const end = started + timeout_seconds * 1_000;
    const unclaimed = free === null ? end : free + unclaimedMs;
    if (now() >= end)
      return toolError("timeout", `${id} is still ${task.status} after ${timeout_seconds} s; watch it again`);
    if (now() >= unclaimed) {
      const why = task.blocked ? "it is blocked" : "claim it, or assign it";
      return toolError("unclaimed", `${id} has had no assignee for a minute; ${why}`);
    }
    const until = Math.min(end, unclaimed);
    return parkCallOn({ on: "task", task: id, until, memo: { started, free } });
  },
});
