import type { ToolResultPart } from "../../chat/message.ts";
import { syntheticResult } from "../../chat/results.ts";
import { cancelAsk } from "../asks/asks.ts";
import type { Ask } from "../state/ask.ts";
import type { Call } from "../state/call.ts";
import { willRunAgain } from "../state/call.ts";
import { callsOfRun } from "../state/run.ts";
import type { CallWait } from "../state/wait.ts";
import { childrenOf, isDue, isForCaller } from "../state/wait.ts";
import type { Draft } from "../transaction/draft.ts";
import { runOf, threadOf, callOf } from "../transaction/draft.ts";
import { endCallAtOnce, parkCall, findCall } from "./finish.ts";

/** Pauses, wakes and ends open calls, which are planned, running or parked. */

/** Lets a running call wait and run again when the wait is over. */
export const pauseCall = (draft: Draft, threadId: string, callId: string, wait: CallWait): void => {
  const call = findCall(runOf(draft, threadId), callId);
  if (call?.status === "running") parkCall(draft, threadId, call, wait);
};

/** Plans parked calls again whose time has come. */
export const wakeCalls = (draft: Draft, threadId: string): void => {
  const { now } = draft.context;
  const { run } = threadOf(draft, threadId);
  for (const call of callsOfRun(run)) {
    const { status, wait } = call;
    if (status === "parked" && wait?.on !== "thread" && isDue(wait, now))
      callOf(draft, threadId, call.call.id).status = "planned";
  }
};

/** Returns whether a steer skips an open call: it has not begun, or waits for an answer. */
const isSkippable = (call: Call): boolean => {
  const { status, attempts, wait } = call;
  if (status === "planned" || wait?.on === "time") return attempts === 0;
  return wait?.on === "ask" || isForCaller(wait);
};

/** Returns whether a call goes on by itself: its tool runs, or will again, or its children do. */
const isOngoing = (call: Call): boolean =>
  call.status === "running" ||
  willRunAgain(call) ||
  (call.status === "parked" && childrenOf(call.wait) !== null);

/** Returns the kind of question that a parked call has asked a person or client; undefined if none. */
const askKindOf = ({ state }: Draft, { wait }: Call): Ask["kind"] | undefined =>
  wait?.on === "ask" ? state.asks[wait.ask]?.kind : undefined;

/** Returns whether the tool of an open call may have acted; a call that only asked a question has not. */
const hasActed = (draft: Draft, call: Call): boolean => {
  const { status, attempts, wait } = call;
  if (status === "running") return true;
  if (wait?.on === "thread") return wait.children !== null;
  const asked = wait?.on === "ask" && askKindOf(draft, call) !== "approval";
  return attempts > 0 && !asked;
};

/** Returns the result of an ended call. A client may have acted on its call, unless a steer skips it. */
const endResultOf = (draft: Draft, call: Call, how: "cancelled" | "skipped"): ToolResultPart => {
  const isGiven = how === "cancelled" && askKindOf(draft, call) === "client_tool";
  if (!isGiven && !hasActed(draft, call)) return syntheticResult(call.call, how);
  if (how === "skipped") return syntheticResult(call.call, "unknown");
  return syntheticResult(call.call, "cancelledRunning");
};

/** Ends the open calls of a thread: unstarted ones are cancelled or skipped, others may have taken effect. */
export const endOpenCalls = (
  draft: Draft,
  threadId: string,
  how: "cancelled" | "skipped",
  which: "all" | "unstarted",
): void => {
  for (const call of callsOfRun(threadOf(draft, threadId).run)) {
    if (call.status === "done" || (which === "unstarted" && isOngoing(call))) continue;
    if (how === "skipped" && !isSkippable(call)) continue;
    const result = endResultOf(draft, call, how);
    if (call.wait?.on === "ask") cancelAsk(draft, threadId, call.wait.ask);
    if (isForCaller(call.wait)) forgetQuestion(draft, threadId);
    endCallAtOnce(draft, threadId, result);
  }
};

/** Removes a called agent's question to its caller. */
const forgetQuestion = (draft: Draft, threadId: string): void => {
  const thread = threadOf(draft, threadId);
  if (thread.child !== null) thread.child = { ...thread.child, question: null };
};
