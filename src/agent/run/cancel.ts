import { cancelAsk } from "../asks/asks.ts";
import { stopCommands } from "../calls/background-commands.ts";
import { loseModelCall } from "../calls/model-call.ts";
import { endOpenCalls } from "../calls/tool-calls.ts";
import { preparingPhaseOf, skipVerification } from "../hooks/preparing.ts";
import type { Run } from "../state/run.ts";
import { openChildren } from "../state/thread.ts";
import { stopGraph } from "../stores/graphs.ts";
import type { ThreadDraft } from "../transaction/draft.ts";
import { appendMessage, changeChild, runOf, selectThread } from "../transaction/draft.ts";

/** Asks a run, and everything below it, to end. */

const graceMs = 5_000;

interface CancelRequest {
  readonly mode: "now" | "after_turn";
  readonly reason: NonNullable<Run["cancel"]>["reason"];
  /** Whether waiting inputs stay. */
  readonly keep: boolean;
}

/** Records a cancel for a run and its subtree: no step starts after it; `now` also stops the work under way. */
export const cancelRun = (draft: ThreadDraft, cancel: CancelRequest): void => {
  cancelOwnRun(draft, cancel);
  cancelSubtree(draft, cancel.mode, "its caller was cancelled");
};

/** Cancels what a thread started, whether or not the thread still runs itself. */
export const cancelSubtree = (draft: ThreadDraft, mode: CancelRequest["mode"], why: string): void => {
  for (const { id, child } of openChildren(draft.state, draft.thread.id)) {
    if (child?.node != null) stopGraph(draft, child.node.dispatch);
    stopChild(selectThread(draft, id), why, true, mode);
  }
};

/** Stops one called agent and all below it; the first reason holds. `callerKnows` means that it needs no message. */
export const stopChild = (
  draft: ThreadDraft,
  why: string,
  callerKnows: boolean,
  mode: CancelRequest["mode"] = "now",
): void => {
  const { child, run } = draft.thread;
  if (child === null || run === null) return;
  const { stopped } = child;
  const told = callerKnows || stopped?.told === true;
  changeChild(draft, { stopped: { why: stopped?.why ?? why, told } });
  cancelRun(draft, { mode, reason: "cancelled", keep: false });
};

const cancelOwnRun = (draft: ThreadDraft, cancel: CancelRequest): void => {
  const { thread } = draft;
  const run = runOf(draft);
  const earlier = run.cancel;
  const mode = earlier?.mode === "now" ? "now" : cancel.mode;
  const waiting = cancel.keep ? [] : thread.inbox.map(({ id }) => id);
  const returns = [...new Set([...(earlier?.returns ?? []), ...waiting])];
  const until = earlier?.mode === "now" ? earlier.until : draft.context.now + graceMs;
  // A rollback stays the reason while the input that asked for it still waits.
  const reason = cancel.keep && earlier?.reason === "rolled_back" ? "rolled_back" : cancel.reason;
  run.cancel = { mode, reason, returns, until };
  skipVerification(draft);
  if (mode === "now") {
    dropThinking(draft);
    stopCommands(draft);
  }
  endOpenCalls(draft, "cancelled", "unstarted");
};

/** Drops a request or effect under way; text that was shown stays, marked as partial. */
const dropThinking = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  const { phase } = run;
  if (phase.at === "preparing") dropPreparing(draft);
  if (phase.at !== "thinking") return;
  const partial = phase.items
    .map((item) => draft.context.shown(item))
    .map((item) => (item?.kind === "text" ? item.text : ""))
    .join("");
  loseModelCall(draft, "cancelled");
  run.phase = { at: "ready" };
  if (/\S/.test(partial))
    appendMessage(draft, {
      role: "assistant",
      origin: "agent",
      parts: [{ type: "text", text: partial }],
      marks: ["partial"],
    });
};

/** Drops an effect at work: its call is paid for, and its question is closed. */
export const dropPreparing = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  const wait = preparingPhaseOf(run)?.wait;
  loseModelCall(draft, "cancelled");
  if (wait?.on === "ask") cancelAsk(draft, wait.ask);
  skipVerification(draft);
  run.phase = { at: "ready" };
};
