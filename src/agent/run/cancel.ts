import { askDropped } from "../asks/asks.ts";
import { commandsStopped } from "../calls/background-commands.ts";
import { openCallsEnded } from "../calls/start.ts";
import { callLost, preparingOf } from "../hooks/preparing.ts";
import type { Run } from "../state/run.ts";
import { openChildren } from "../state/thread.ts";
import { graphStopped } from "../stores/graphs.ts";
import type { Draft } from "../transaction/draft.ts";
import { append, changeRun, changeThread, runOf, threadOf } from "../transaction/draft.ts";
import { attemptAborted } from "../turn/turns.ts";

/** Transitions of a cancel: a run is asked to end, and everything below it. */

const grace = 5_000;

interface Cancel {
  readonly mode: "now" | "after_turn";
  readonly reason: NonNullable<Run["cancel"]>["reason"];
  /** Inputs that wait stay. */
  readonly keep: boolean;
}

/** A cancel is on record for a run and its subtree: no step starts afterwards; `now` also ends what has not begun to act. */
export const runCancelled = (draft: Draft, threadId: string, cancel: Cancel): void => {
  ownRunCancelled(draft, threadId, cancel);
  subtreeCancelled(draft, threadId, cancel.mode, "its caller was cancelled");
};

/** Why a called thread ends: the first reason holds; whom anybody told needs no message. */
const stopNoted = (draft: Draft, threadId: string, why: string, told: boolean): void => {
  const { child } = threadOf(draft, threadId);
  if (child === null) return;
  const { stopped } = child;
  const noted = { why: stopped?.why ?? why, told: told || stopped?.told === true };
  changeThread(draft, threadId, { child: { ...child, stopped: noted } });
};

/** Cancels what a thread started, whether or not it still runs itself. */
export const subtreeCancelled = (draft: Draft, threadId: string, mode: Cancel["mode"], why: string): void => {
  for (const { id, child, run } of openChildren(draft.state, threadId)) {
    if (child?.node != null) graphStopped(draft, child.node.dispatch);
    if (run === null) continue;
    stopNoted(draft, id, why, true);
    runCancelled(draft, id, { mode, reason: "cancelled", keep: false });
  }
};

/** Stops one called agent at once, with everything below it. `told` = its caller knows without a message. */
export const childStopped = (draft: Draft, threadId: string, why: string, told: boolean): void => {
  const { child, run } = threadOf(draft, threadId);
  if (child === null || run === null) return;
  stopNoted(draft, threadId, why, told);
  runCancelled(draft, threadId, { mode: "now", reason: "cancelled", keep: false });
};

const ownRunCancelled = (draft: Draft, threadId: string, cancel: Cancel): void => {
  const thread = threadOf(draft, threadId);
  const run = runOf(draft, threadId);
  const earlier = run.cancel;
  const mode = earlier?.mode === "now" ? "now" : cancel.mode;
  const waiting = cancel.keep ? [] : thread.inbox.map(({ id }) => id);
  const returns = [...new Set([...(earlier?.returns ?? []), ...waiting])];
  const until = earlier?.mode === "now" ? earlier.until : draft.moment.now + grace;
  // What was rolled back stays so while the input that wanted it does.
  const reason = cancel.keep && earlier?.reason === "rolled_back" ? "rolled_back" : cancel.reason;
  changeRun(draft, threadId, { cancel: { mode, reason, returns, until } });
  if (mode === "now") {
    thoughtDropped(draft, threadId);
    commandsStopped(draft, threadId);
  }
  openCallsEnded(draft, threadId, "cancelled", "unstarted");
};

/** A request or effect under way is given up; text that was shown stays, marked as partial. */
const thoughtDropped = (draft: Draft, threadId: string): void => {
  const { phase } = runOf(draft, threadId);
  if (phase.at === "preparing") preparingDropped(draft, threadId);
  if (phase.at !== "thinking") return;
  const partial = phase.items
    .map((item) => draft.moment.shown(item))
    .map((item) => (item?.kind === "text" ? item.text : ""))
    .join("");
  attemptAborted(draft, threadId, "cancelled", null);
  changeRun(draft, threadId, { phase: { at: "ready" } });
  if (/\S/.test(partial))
    append(draft, threadId, {
      role: "assistant",
      origin: "agent",
      parts: [{ type: "text", text: partial }],
      marks: ["partial"],
    });
};

/** An effect at work is given up: its call is paid for, its question is closed. */
export const preparingDropped = (draft: Draft, threadId: string): void => {
  const ask = preparingOf(runOf(draft, threadId))?.ask ?? null;
  callLost(draft, threadId, "cancelled");
  if (ask !== null) askDropped(draft, threadId, ask.id);
  changeRun(draft, threadId, { phase: { at: "ready" } });
};
