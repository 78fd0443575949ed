import type { StartChildren } from "../../tools/session-request.ts";
import { answerCall, refuseCall } from "../calls/finish.ts";
import type { Call } from "../state/call.ts";
import type { ChildItem } from "../state/child.ts";
import type { Draft } from "../transaction/draft.ts";
import { runOf, threadOf, callOf } from "../transaction/draft.ts";
import { childId } from "../transaction/ids.ts";
import type { PlannedChild } from "./plan.ts";
import { planChildren, rootOf } from "./plan.ts";
import { startChild } from "./start.ts";
import { parkCallOnChildren, answerWait } from "./wait.ts";

/** Checks a call that starts other agents as a whole; then parks it and starts its children in one commit. */

const isPlanned = (slot: PlannedChild | ChildItem): slot is PlannedChild => "callerConstraints" in slot;

const startPlannedChild = (
  draft: Draft,
  parent: { readonly thread: string; readonly call: string },
  { task, agent, callerConstraints, background }: PlannedChild,
  id: string,
): void =>
  startChild(draft, {
    id,
    agent,
    parent,
    root: rootOf(threadOf(draft, parent.thread)),
    callerConstraints,
    awaitedBy: background ? null : parent.call,
    task: task.task,
    context: task.context,
    taskId: task.task_id ?? null,
    persistent: task.persistent === true,
    timeoutMs: task.timeout_seconds === undefined ? null : task.timeout_seconds * 1_000,
  });

/** Starts the children of a call, or answers why none starts. */
export const startChildren = (
  draft: Draft,
  threadId: string,
  call: Call,
  { tasks, on_error, answer }: StartChildren,
): void => {
  const plan = planChildren(draft, threadId, tasks);
  if (!plan.ok) {
    refuseCall(draft, threadId, call, plan.code, plan.sentence);
    return;
  }
  const bad = plan.slots.flatMap((slot) => (isPlanned(slot) ? [] : (slot.error ?? [])));
  if (on_error === "cancel" && bad.length > 0) {
    const nothing = tasks.length > 1 ? `${bad.join("; ")}. Nothing was started.` : (bad[0] ?? "");
    answerCall(draft, threadId, call, nothing, false);
    return;
  }
  const run = runOf(draft, threadId).id;
  const parent = { thread: threadId, call: call.call.id };
  const idOf = ({ index, kept }: PlannedChild): string =>
    kept ?? childId(threadId, run, call.call.id, String(index));
  const slots = plan.slots.map((slot): string | ChildItem => {
    if (!isPlanned(slot)) return slot;
    const id = idOf(slot);
    return slot.background ? { agent: slot.agent, child: id, state: "running" } : id;
  });
  const children = { answer, on_error, slots };
  const waiting = slots.some((slot) => typeof slot === "string");
  if (waiting) parkCallOnChildren(draft, threadId, call, children);
  for (const slot of plan.slots) {
    if (isPlanned(slot)) startPlannedChild(draft, parent, slot, idOf(slot));
  }
  if (waiting) return;
  callOf(draft, threadId, call.call.id).wait = { on: "thread", children, until: null };
  answerWait(draft, threadId, call.call.id);
};
