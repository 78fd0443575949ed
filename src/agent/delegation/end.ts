import { findCall } from "../calls/finish.ts";
import { childEnd, workOf } from "../context/reports.ts";
import { lessonKept } from "../memory/reflections.ts";
import { endTold } from "../run/announce.ts";
import { subtreeCancelled } from "../run/cancel.ts";
import { runFinished } from "../run/runs.ts";
import { slotLeft } from "../run/wait.ts";
import type { Child, EndedChild } from "../state/child.ts";
import type { RunRecord } from "../state/records.ts";
import type { Thread } from "../state/thread.ts";
import { treePruned } from "../state/thread.ts";
import { taskSettled, tasksReleased } from "../stores/tasks.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, threadOf } from "../transaction/draft.ts";
import { graphTaskEnded } from "./dispatch.ts";
import { peerId, peerStarted } from "./handoff.ts";
import { changeChild, recordOf } from "./start.ts";
import { filesCounted, slotEnded } from "./wait.ts";

/** The end of a called thread, in the commit of its run's end: its row, its caller's call or message, its place. */

/** Whether a called thread has ended and nobody was told yet. */
export const isEnded = ({ child, run }: Thread): boolean => child !== null && run === null && !child.idle;

type EndedRun = Parameters<typeof childEnd>[3];

const endedRun = (draft: Draft, threadId: string): EndedRun | null => {
  const run: RunRecord | undefined = draft.runs.findLast(({ thread }) => thread === threadId);
  return run === undefined || run.reason === null ? null : (run as EndedRun);
};

/** The thread leaves the live state, with what it kept for further tasks; messages and rows stay readable. */
const threadLeft = (draft: Draft, threadId: string): void => {
  const { [threadId]: gone, ...threads } = draft.state.threads;
  if (gone === undefined) return;
  draft.left.push(gone);
  draft.state = treePruned({ ...draft.state, threads }, gone.child?.root ?? "");
  for (const { id, parent, child } of Object.values(threads))
    if (parent?.thread === threadId && child?.idle === true) keptLeft(draft, id);
};

/** A thread that was kept leaves with its caller; a compaction of it that somebody asked for is over. */
const keptLeft = (draft: Draft, threadId: string): void => {
  slotLeft(draft, threadId);
  if (threadOf(draft, threadId).run !== null)
    runFinished(draft, threadId, { state: "cancelled", reason: "cancelled", error: null });
  threadLeft(draft, threadId);
};

/** The thread stays for the next task of its caller. */
const threadKept = (draft: Draft, threadId: string, { root }: Child): void => {
  changeChild(draft, threadId, { idle: true, completion: null, handover: null });
  draft.state = treePruned(draft.state, root);
};

/** Everything that is known of an end; a called thread without it is a broken one. */
const factsOf = (draft: Draft, thread: Thread) => {
  const { child, parent } = thread;
  const run = endedRun(draft, thread.id);
  const begun = recordOf(draft, thread.id);
  if (child === null || parent === null || run === null || begun === null)
    throw new Error(`thread ${thread.id} has no end to tell`);
  return { child, parent, run, begun, caller: draft.state.threads[parent.thread] ?? null };
};

/** The caller's call gets its item; without such a call it is told by a message, unless it knows. */
const callerTold = (draft: Draft, caller: Thread, child: Child, record: EndedChild): void => {
  if (child.node !== null) return graphTaskEnded(draft, child.node, record);
  const waiting = findCall(caller.run, child.awaitedBy ?? "");
  if (waiting !== null && waiting.status !== "done") slotEnded(draft, caller.id, waiting.call.id, record);
  else if (child.stopped?.told !== true) endTold(draft, caller.id, record);
};

/** Tells the board how the thread's task ended; what it refuses is a warning. A peer takes the task with it. */
const boardTold = (draft: Draft, threadId: string): void => {
  const { child } = threadOf(draft, threadId);
  const { state = "failed" } = endedRun(draft, threadId) ?? {};
  if (child === null || child.taskId === null || (child.handover !== null && state === "completed")) return;
  const failed = state === "completed" && child.completion?.status === "failed";
  const problem = taskSettled(draft, threadId, child.taskId, failed ? "failed" : state);
  if (problem === null) return;
  const warning = child.warning === null ? problem : `${child.warning}; ${problem}`;
  changeChild(draft, threadId, { warning });
};

/** Tells the caller of a called thread's end, or starts the peer that takes over. */
export const childEnded = (draft: Draft, threadId: string): void => {
  boardTold(draft, threadId);
  const thread = threadOf(draft, threadId);
  const { child, parent, run, begun, caller } = factsOf(draft, thread);
  const { maxResultLength } = agentOf(draft, (caller ?? thread).id).delegation;
  const handedOver = child.handover !== null && run.state === "completed" && caller !== null;
  const end = childEnd(draft, thread, child, run, maxResultLength);
  const record = {
    ...begun,
    end: handedOver ? { ...end, successor: peerId(thread, child) } : end,
  };
  draft.children.push(record);
  lessonKept(draft, record);
  filesCounted(draft, parent.thread, threadId);
  subtreeCancelled(draft, threadId, "now", "its caller has ended");
  if (handedOver) peerStarted(draft, thread, child, begun, workOf(child, run));
  tasksReleased(draft, threadId);
  if (child.persistent && caller !== null) threadKept(draft, threadId, child);
  else threadLeft(draft, threadId);
  if (caller !== null && !handedOver) callerTold(draft, caller, child, record);
};
