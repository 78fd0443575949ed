import { escapeTags } from "../../chat/render.ts";
import { cleanText } from "../../chat/text.ts";
import { truncateText } from "../../chat/truncate.ts";
import { answerCall, refuseCall } from "../calls/finish.ts";
import { stopChild } from "../run/cancel.ts";
import type { Call } from "../state/call.ts";
import type { Child, ChildRecord, ChildWork } from "../state/child.ts";
import type { Thread } from "../state/thread.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, threadOf } from "../transaction/draft.ts";
import { childId } from "../transaction/ids.ts";
import { resolveCallableName } from "./plan.ts";
import { changeChild, startChild } from "./start.ts";
import { replaceWaitSlot } from "./wait.ts";

/** Hands the task of a called agent over to a peer, which replaces it under the same call. */

/** Number of hand-overs that a caller without a limit of its own allows. */
const standardHandoffs = 3;

const mostHandoffs = (draft: Draft, { parent }: Thread): number => {
  if (parent === null || draft.state.threads[parent.thread] === undefined) return standardHandoffs;
  const { maxHandoffs } = agentOf(draft, parent.thread).delegation;
  return maxHandoffs === 0 ? standardHandoffs : maxHandoffs;
};

const isTreeFull = (draft: Draft, threadId: string, { root }: Child): boolean =>
  (draft.state.trees[root] ?? 0) >= agentOf(draft, threadId).delegation.maxThreads;

/** Requests a hand-over: the first valid one of a batch takes effect when the batch is finished. */
export const requestHandover = (
  draft: Draft,
  threadId: string,
  call: Call,
  asked: { readonly agent: string; readonly reason: string; readonly context: string },
): void => {
  const thread = threadOf(draft, threadId);
  const { child } = thread;
  const refuse = (code: Parameters<typeof refuseCall>[3], sentence: string): void =>
    refuseCall(draft, threadId, call, code, sentence);
  if (child === null) return refuse("not_permitted", "no agent called you: there is nothing to hand over");
  if (child.handover !== null)
    return refuse("conflict", `the task is being handed over to ${child.handover.agent} already`);
  const most = mostHandoffs(draft, thread);
  if (child.handoffs >= most)
    return refuse(
      "limit",
      `the task was handed over ${child.handoffs} times, ${most} are allowed; finish it`,
    );
  const agent = resolveCallableName(agentOf(draft, threadId).delegation, thread.agent, asked.agent);
  if (typeof agent !== "string") return refuse(agent.code, agent.sentence);
  if (isTreeFull(draft, threadId, child))
    return refuse("too_many_children", "this run may start no further agent; finish the task yourself");
  changeChild(draft, threadId, { handover: { agent, reason: asked.reason, context: asked.context } });
  answerCall(draft, threadId, call, `${agent} takes over.`);
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

/**
 * Returns the id of the peer that takes over, one for each run of a thread, which may be kept for more runs.
 */
export const peerId = ({ id, lastRun, parent }: Thread, { handoffs }: Child): string =>
  childId(parent?.thread ?? "", lastRun ?? id, parent?.call ?? "", String(handoffs + 1));

/**
 * Starts the peer at the same depth, with the hand-over's context, the original context and the original
 * task.
 */
export const startPeer = (
  draft: Draft,
  thread: Thread,
  child: Child,
  record: ChildRecord,
  before: ChildWork,
): void => {
  const { handover } = child;
  const { parent } = thread;
  if (handover === null || parent === null) return;
  const id = peerId(thread, child);
  const { maxContextLength } = agentOf(draft, parent.thread).delegation;
  if (child.awaitedBy !== null) replaceWaitSlot(draft, parent.thread, child.awaitedBy, thread.id, id);
  startChild(draft, {
    id,
    agent: handover.agent,
    parent,
    root: child.root,
    callerConstraints: { ...child.callerConstraints, provider: null, adHoc: null },
    awaitedBy: child.awaitedBy,
    task: record.task,
    context: record.context,
    taskId: child.taskId,
    timeoutMs: child.deadline == null ? null : child.deadline - draft.context.now,
    node: child.node,
    handoffs: child.handoffs + 1,
    before: { ...before, first: child.before?.first ?? thread.id },
    preamble: [handoverText(thread.agent, handover, maxContextLength)],
    warning: child.warning,
  });
  const { stopped } = child;
  if (stopped !== null) stopChild(draft, id, stopped.why, stopped.told);
};
