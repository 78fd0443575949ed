import { cancelAsk } from "../asks/asks.ts";
import { stopCommands } from "../calls/background-commands.ts";
import { loseModelCall } from "../calls/model-call.ts";
import { endOpenCalls } from "../calls/tool-calls.ts";
import { preparingPhaseOf, skipVerification } from "../hooks/preparing.ts";
import type { Run } from "../state/run.ts";
import { openChildren } from "../state/thread.ts";
import { stopGraph } from "../stores/graphs.ts";
import type { Draft } from "../transaction/draft.ts";
import { appendMessage, changeChild, runOf, threadOf } from "../transaction/draft.ts";

/** Asks a run, and everything below it, to end. */

const graceMs = 5_000;

interface CancelRequest {
  readonly mode: "now" | "after_turn";
  readonly reason: NonNullable<Run["cancel"]>["reason"];
  /** Whether waiting inputs stay. */
  readonly keep: boolean;
}

/** Records a cancel for a run and its subtree: no step starts after it; `now` also stops the work under way. */
export const cancelRun = (draft: Draft, threadId: string, cancel: CancelRequest): void => {
  cancelOwnRun(draft, threadId, cancel);
  cancelSubtree(draft, threadId, cancel.mode, "its caller was cancelled");
};

/** Records why a called thread is stopped; the first reason holds. A caller that already knows needs no message. */
const recordStop = (draft: Draft, threadId: string, why: string, callerKnows: boolean): void => {
  const { stopped = null } = threadOf(draft, threadId).child ?? {};
  const told = callerKnows || stopped?.told === true;
  changeChild(draft, threadId, { stopped: { why: stopped?.why ?? why, told } });
};

/** Cancels what a thread started, whether or not the thread still runs itself. */
export const cancelSubtree = (
  draft: Draft,
  threadId: string,
  mode: CancelRequest["mode"],
  why: string,
): void => {
  for (const { id, child, run } of openChildren(draft.state, threadId)) {
    if (child?.node != null) stopGraph(draft, child.node.dispatch);
    if (run === null) continue;
    recordStop(draft, id, why, true);
    cancelRun(draft, id, { mode, reason: "cancelled", keep: false });
  }
};

/** Stops one called agent and all below it at once. `callerKnows` means that it needs no message. */
export const stopChild = (draft: Draft, threadId: string, why: string, callerKnows: boolean): void => {
  const { child, run } = threadOf(draft, threadId);
  if (child === null || run === null) return;
  recordStop(draft, threadId, why, callerKnows);
  cancelRun(draft, threadId, { mode: "now", reason: "cancelled", keep: false });
};

const cancelOwnRun = (draft: Draft, threadId: string, cancel: CancelRequest): void => {
  const thread = threadOf(draft, threadId);
  const run = runOf(draft, threadId);
  const earlier = run.cancel;
  const mode = earlier?.mode === "now" ? "now" : cancel.mode;
  const waiting = cancel.keep ? [] : thread.inbox.map(({ id }) => id);
  const returns = [...new Set([...(earlier?.returns ?? []), ...waiting])];
  const until = earlier?.mode === "now" ? earlier.until : draft.context.now + graceMs;
  // A rollback stays the reason while the input that asked for it still waits.
  const reason = cancel.keep && earlier?.reason === "rolled_back" ? "rolled_back" : cancel.reason;
  run.cancel = { mode, reason, returns, until };
  skipVerification(draft, threadId);
  if (mode === "now") {
    dropThinking(draft, threadId);
    stopCommands(draft, threadId);
  }
  endOpenCalls(draft, threadId, "cancelled", "unstarted");
};

/** Drops a request or effect under way; text that was shown stays, marked as partial. */
const dropThinking = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  const { phase } = run;
  if (phase.at === "preparing") dropPreparing(draft, threadId);
  if (phase.at !== "thinking") return;
  const partial = phase.items
    .map((item) => draft.context.shown(item))
    .map((item) => (item?.kind === "text" ? item.text : ""))
    .join("");
  loseModelCall(draft, threadId, "cancelled");
  run.phase = { at: "ready" };
  if (/\S/.test(partial))
    appendMessage(draft, threadId, {
      role: "assistant",
      origin: "agent",
      parts: [{ type: "text", text: partial }],
      marks: ["partial"],
    });
};

/** Drops an effect at work: its call is paid for, and its question is closed. */
export const dropPreparing = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  const wait = preparingPhaseOf(run)?.wait;
  loseModelCall(draft, threadId, "cancelled");
  if (wait?.on === "ask") cancelAsk(draft, threadId, wait.ask);
  skipVerification(draft, threadId);
  run.phase = { at: "ready" };
};
