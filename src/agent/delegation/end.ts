import type { Refusal } from "../../tools/errors.ts";
import { refuse } from "../../tools/errors.ts";
import { findCall } from "../calls/tool-calls.ts";
import { createChildEnd, workOf } from "../context/reports.ts";
import { keepReflection } from "../memory/reflections.ts";
import { notifyOfChildEnd, findChildRecord, startChild, childId } from "./start.ts";
import { cancelSubtree, stopChild } from "../run/cancel.ts";
import { finishRun } from "../run/runs.ts";
import { leaveSlotQueue } from "../run/wait.ts";
import type { Child, EndedChild, ChildRecord, ChildWork } from "../state/child.ts";
import type { RunRecord } from "../state/records.ts";
import type { Thread } from "../state/thread.ts";
import { forgetGraph } from "../stores/graphs.ts";
import { settleTask, releaseTasks } from "../stores/tasks.ts";
import type { ThreadDraft } from "../transaction/draft.ts";
import { agentOf, changeChild, selectCaller, selectThread } from "../transaction/draft.ts";
import { endGraphTask } from "./dispatch.ts";
import { countChildFiles, endWaitSlot, replaceWaitSlot } from "./wait.ts";
import { escapeTags } from "../../chat/render.ts";
import { cleanText } from "../../chat/text.ts";
import { truncateText } from "../../chat/truncate.ts";
import { resolveCallableName } from "./admission.ts";

/** Ends a called thread in the commit of its run's end: its row is written and its caller gets a result or message. */

/** Returns whether a called thread has ended and nobody was notified yet. */
export const hasUnreportedEnd = ({ child, run }: Thread): boolean =>
  child !== null && run === null && !child.idle;

type EndedRun = Parameters<typeof createChildEnd>[2];

const findEndedRun = (draft: ThreadDraft): EndedRun | null => {
  const run: RunRecord | undefined = draft.runs.findLast(({ thread }) => thread === draft.thread.id);
  return run === undefined || run.reason === null ? null : (run as EndedRun);
};

/** Removes the thread from the live state with what it kept for further tasks; messages and rows stay readable. */
const removeThread = (draft: ThreadDraft): void => {
  const { threads } = draft.state;
  const { thread: gone } = draft;
  draft.left.push(gone);
  delete threads[gone.id];
  for (const { id, parent, child } of Object.values(threads))
    if (parent?.thread === gone.id && child?.idle === true) removeKeptThread(selectThread(draft, id));
};

/** Removes a kept thread with its caller; a compaction that was requested for it is dropped. */
const removeKeptThread = (draft: ThreadDraft): void => {
  leaveSlotQueue(draft);
  if (draft.thread.run !== null) finishRun(draft, { state: "cancelled", reason: "cancelled", error: null });
  removeThread(draft);
};

/** Gathers all facts about an end; a called thread without them is a broken one. */
const endFactsOf = (draft: ThreadDraft) => {
  const { id, child } = draft.thread;
  const run = findEndedRun(draft);
  const begun = findChildRecord(draft, id);
  if (child === null || run === null || begun === null) throw new Error(`thread ${id} has no end to report`);
  return { child, run, begun, caller: selectCaller(draft) };
};

/**
 * Gives the caller's call its item; without such a call the caller gets a message, unless it already knows. Who stops
 * an agent does not know of a task that it still completes.
 */
const notifyCaller = (caller: ThreadDraft, child: Child, record: EndedChild): void => {
  if (child.node !== null) return endGraphTask(caller, child.node, record);
  const waiting = findCall(caller.thread.run, child.awaitedBy ?? "");
  const isKnown = child.stopped?.told === true;
  if (waiting !== null && waiting.status !== "done") endWaitSlot(caller, waiting, record);
  else if (!isKnown || record.end.state === "completed") notifyOfChildEnd(caller, record, isKnown);
};

/** Reports the end of the thread's task to the board; a refusal is a warning. A peer takes the task with it. */
const notifyBoard = (draft: ThreadDraft): void => {
  const { child } = draft.thread;
  const { state = "failed" } = findEndedRun(draft) ?? {};
  if (child === null || child.taskId === null || (child.handover !== null && state === "completed")) return;
  const failed = state === "completed" && child.completion?.status === "failed";
  const problem = settleTask(draft, child.taskId, failed ? "failed" : state);
  if (problem === null) return;
  const warning = child.warning === null ? problem : `${child.warning}; ${problem}`;
  changeChild(draft, { warning });
};

/** Notifies the caller of a called thread's end, or starts the peer that takes over. */
export const endChild = (draft: ThreadDraft): void => {
  notifyBoard(draft);
  const { thread } = draft;
  const { child, run, begun, caller } = endFactsOf(draft);
  const { maxResultLength } = agentOf(caller ?? draft).delegation;
  const handedOver = child.handover !== null && run.state === "completed" && caller !== null;
  const end = createChildEnd(draft, child, run, maxResultLength);
  const record = {
    ...begun,
    end: handedOver ? { ...end, successor: peerId(thread, child) } : end,
  };
  draft.children.push(record);
  keepReflection(draft, record);
  if (caller !== null) countChildFiles(caller, run.result);
  cancelSubtree(draft, "now", "its caller has ended");
  if (handedOver) startPeer(caller, thread, begun, workOf(child, run));
  releaseTasks(draft);
  if (child.persistent && caller !== null)
    changeChild(draft, { idle: true, completion: null, handover: null });
  else removeThread(draft);
  if (caller === null) {
    if (child.node !== null) forgetGraph(draft, child.node.dispatch);
  } else if (!handedOver) notifyCaller(caller, child, record);
};

/** Hands the task of a called agent over to a peer, which replaces it under the same call. */

/** Number of hand-overs that a caller without a limit of its own allows. */
const standardHandoffs = 3;

const mostHandoffs = (draft: ThreadDraft): number => {
  const caller = selectCaller(draft);
  const most = caller === null ? 0 : agentOf(caller).delegation.maxHandoffs;
  return most === 0 ? standardHandoffs : most;
};

/** Requests a hand-over, which takes effect when the batch is finished; the first valid one of a batch holds. */
export const requestHandover = (
  draft: ThreadDraft,
  asked: { readonly agent: string; readonly reason: string; readonly context: string },
): string | Refusal => {
  const { agent: own, child } = draft.thread;
  if (child === null) return refuse("not_permitted", "no agent called you: there is nothing to hand over");
  if (child.handover !== null)
    return refuse("conflict", `the task is being handed over to ${child.handover.agent} already`);
  const most = mostHandoffs(draft);
  if (child.handoffs >= most)
    return refuse(
      "limit",
      `the task was handed over ${child.handoffs} times, ${most} are allowed; finish it`,
    );
  const { delegation } = agentOf(draft);
  const agent = resolveCallableName(delegation, own, asked.agent);
  if (typeof agent !== "string") return agent;
  if ((draft.state.trees[child.root] ?? 0) >= delegation.maxThreads)
    return refuse("too_many_children", "this run may start no further agent; finish the task yourself");
  changeChild(draft, { handover: { agent, reason: asked.reason, context: asked.context } });
  return `${agent} takes over.`;
};

const handoverText = (
  from: string,
  { reason, context }: NonNullable<Child["handover"]>,
  most: number,
): string =>
  [
    "<handoff_context>",
    `${from} worked on this task before you and handed it over: ${escapeTags(cleanText(reason))}`,
    "",
    escapeTags(truncateText(cleanText(context), most)),
    "</handoff_context>",
  ].join("\n");

/** Returns the id of the peer that takes over, one for each run of a thread, which may be kept for more runs. */
const peerId = ({ id, lastRun, parent }: Thread, { handoffs }: Child): string =>
  childId(parent?.thread ?? "", lastRun ?? id, parent?.call ?? "", String(handoffs + 1));

/** Starts the peer at the same depth, with the hand-over's context, the original context and the original task. */
const startPeer = (caller: ThreadDraft, thread: Thread, record: ChildRecord, before: ChildWork): void => {
  const { child } = thread;
  if (child === null || child.handover === null) return;
  const { handover } = child;
  const id = peerId(thread, child);
  const { maxContextLength } = agentOf(caller).delegation;
  if (child.awaitedBy !== null) replaceWaitSlot(caller, child.awaitedBy, thread.id, id);
  startChild(caller, {
    id,
    agent: handover.agent,
    call: record.parent.call,
    task: record.task,
    context: record.context,
    preamble: [handoverText(thread.agent, handover, maxContextLength)],
    child: {
      callerConstraints: { ...child.callerConstraints, provider: null, adHoc: null },
      root: child.root,
      awaitedBy: child.awaitedBy,
      taskId: child.taskId,
      deadline: child.deadline,
      node: child.node,
      handoffs: child.handoffs + 1,
      before: { ...before, first: child.before?.first ?? thread.id },
      warning: child.warning,
    },
  });
  const { stopped } = child;
  if (stopped !== null) stopChild(selectThread(caller, id), stopped.why, stopped.told);
};
