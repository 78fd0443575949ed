import type { ToolResultPart } from "../../chat/message.ts";
import { syntheticResults, textResult } from "../../chat/results.ts";
import { cancelAsk } from "../asks/asks.ts";
import type { Ask } from "../state/ask.ts";
import type { Call } from "../state/call.ts";
import { willRunAgain } from "../state/call.ts";
import { callsOfRun } from "../state/run.ts";
import type { Draft } from "../transaction/draft.ts";
import { runOf, threadOf, callOf, assign } from "../transaction/draft.ts";
import { endCallAtOnce, parkCall, findCall } from "./finish.ts";

/** Open calls are planned, running or parked: here they are paused, woken and ended from outside. */

/** A running call waits for the clock: it runs again at `until`. */
export const pauseCall = (
  draft: Draft,
  threadId: string,
  callId: string,
  on: "time" | "exec" | "task",
  until: number,
): void => {
  const call = findCall(runOf(draft, threadId), callId);
  if (call?.status === "running") parkCall(draft, threadId, call, on, until);
};

/** Parked calls whose time has come are planned again. */
export const wakeCalls = (draft: Draft, threadId: string): void => {
  const { now } = draft.moment;
  const { run } = threadOf(draft, threadId);
  for (const call of callsOfRun(run)) {
    const isTimed = call.parkedOn !== "ask" && call.parkedOn !== "thread";
    if (call.status === "parked" && isTimed && call.until !== null && call.until <= now)
      assign(callOf(draft, threadId, call.call.id), { status: "planned", until: null, parkedOn: null });
  }
};

/** It tells whether a call asks its caller something. */
const asksCaller = ({ parkedOn, waits }: Call): boolean => parkedOn === "thread" && waits === undefined;

/** A steer skips an open call that has not begun or waits for an answer. */
const isSkippable = (call: Call): boolean => {
  const { status, attempts, parkedOn } = call;
  if (status === "planned" || parkedOn === "time") return attempts === 0;
  return parkedOn === "ask" || asksCaller(call);
};

/** It tells whether a call goes on by itself: its tool runs, or will again, or its children do. */
const isOngoing = (call: Call): boolean =>
  call.status === "running" || willRunAgain(call) || (call.status === "parked" && call.waits !== undefined);

/** A parked call has asked a person or client this kind of question; undefined if none. */
const askKindOf = ({ state }: Draft, { parkedOn, ask }: Call): Ask["kind"] | undefined =>
  parkedOn === "ask" ? state.asks[ask ?? ""]?.kind : undefined;

/** It tells whether the tool of an open call may have acted; a call that only asked a question has not. */
const hasActed = (draft: Draft, call: Call): boolean => {
  const { status, attempts, parkedOn } = call;
  if (status === "running") return true;
  if (parkedOn === "thread") return !asksCaller(call);
  const asked = parkedOn === "ask" && askKindOf(draft, call) !== "approval";
  return attempts > 0 && !asked;
};

/** A client may have acted on the call that it was given; a steer settles it as skipped all the same. */
const endResultOf = (draft: Draft, call: Call, how: "cancelled" | "skipped"): ToolResultPart => {
  const isGiven = how === "cancelled" && askKindOf(draft, call) === "client_tool";
  if (!isGiven && !hasActed(draft, call)) return textResult(call.call, how, syntheticResults[how]);
  if (how === "skipped") return textResult(call.call, "unknown", syntheticResults.unknown);
  return textResult(call.call, "cancelled", syntheticResults.cancelledRunning);
};

/** Open calls of a thread end: unstarted ones are cancelled or skipped, others may have taken effect. */
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
    if (call.ask !== null && call.status === "parked") cancelAsk(draft, threadId, call.ask);
    if (asksCaller(call)) forgetQuestion(draft, threadId);
    endCallAtOnce(draft, threadId, result);
  }
};

/** A called agent no longer asks its caller. */
const forgetQuestion = (draft: Draft, threadId: string): void => {
  const thread = threadOf(draft, threadId);
  if (thread.child !== null) thread.child = { ...thread.child, question: null };
};
