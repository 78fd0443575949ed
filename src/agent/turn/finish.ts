import { freshCall } from "../state/call.ts";
import type { ToolCallPart } from "../../chat/message.ts";
import { textResult } from "../../chat/results.ts";
import type { Completion } from "../../model/completer.ts";
import { findOverspentLimit } from "../budgets/bounds.ts";
import { createDraftJudge } from "../calls/grants.ts";
import { endOpenCalls } from "../calls/tool-calls.ts";
import { answerText } from "../context/reports.ts";
import { numberCalls } from "../context/history.ts";
import { guardAnswer } from "../hooks/middleware.ts";
import { deferToVerification, compactOverflow } from "../hooks/preparing.ts";
import type { Call, CallPlan } from "../state/call.ts";
import { openChildren, isSteeredByPerson, steeringInputsOf } from "../state/thread.ts";
import type { ThreadDraft } from "../transaction/draft.ts";
import { agentOf, appendMessage, draftCallsOf, emit, appendNote, runOf } from "../transaction/draft.ts";
import { handleReachedLimit } from "./ask-answers.ts";
import { judgeCalls } from "./calls.ts";
import { closeTurn, startRepair } from "./turns.ts";

/** Decides what follows from the way a reply ended. */

const mostInARow = 3;

const outputRepairs = 2;

const failRun = (
  draft: ThreadDraft,
  reason: "output_invalid" | "effect_failed" | "refusal" | "context_length_exceeded",
  error: string,
): void => {
  runOf(draft).ending = { state: "failed", reason, error };
};

/** Ends the run if guardrails accept its answer, unless a person steered or an effect or a budget decides otherwise. */
export const concludeRun = (draft: ThreadDraft, reason: "end_turn" | "terminal_tool"): void => {
  if (deferToVerification(draft, reason)) return closeTurn(draft);
  const end = guardAnswer(draft, reason);
  if (end.do === "fail") return failRun(draft, end.reason, end.error);
  if (end.do === "retry") {
    const again = end.what === "answer" ? "Answer again" : "Report again";
    return requestRepair(draft, `Your ${end.what} was not accepted: ${end.why}. ${again}.`);
  }
  const over = findOverspentLimit(draft);
  if (over !== null) handleReachedLimit(draft, over);
  const { stop } = runOf(draft);
  const goesOn = stop !== null || steeringInputsOf(draft.thread).length > 0;
  const awaitsChildren = !goesOn && mustAwaitChildren(draft);
  if (!goesOn && !awaitsChildren) {
    runOf(draft).ending = { state: "completed", reason, error: null };
    return;
  }
  closeTurn(draft);
  if (!awaitsChildren) return;
  const run = runOf(draft);
  run.phase = { at: "ready" };
  run.endAfterChildren = reason;
};

/** Returns whether a called agent must wait for its own children, whose results it gets before it ends. */
const mustAwaitChildren = (draft: ThreadDraft): boolean =>
  draft.thread.depth > 0 && openChildren(draft.state, draft.thread.id).length > 0;

const requestAnotherTurn = (draft: ThreadDraft, text: string): void => {
  appendNote(draft, text);
  closeTurn(draft);
  runOf(draft).phase = { at: "ready" };
};

const requestRepair = (draft: ThreadDraft, text: string): void => {
  requestAnotherTurn(draft, text);
  startRepair(draft);
};

const handleEmptyReply = (draft: ThreadDraft): void => {
  const { counters } = runOf(draft);
  counters.empty += 1;
  const { empty } = counters;
  const text = agentOf(draft).toolsDisabled
    ? "Your reply had no text. Answer in words."
    : "Your reply was empty. Answer, or call a tool.";
  if (empty < mostInARow) requestAnotherTurn(draft, text);
  else if (counters.toolRan) concludeRun(draft, "end_turn");
  else failRun(draft, "output_invalid", `the model sent ${empty} empty replies in a row`);
};

/** Adds results of calls that did not run, since their reply was cut. */
const appendUnrun = (
  draft: ThreadDraft,
  calls: readonly ToolCallPart[],
  say: (name: string) => string,
): void => {
  for (const call of calls)
    appendMessage(draft, {
      role: "tool",
      origin: "agent",
      parts: [textResult(call, "error", `truncated: ${say(call.name)}`)],
    });
};

/** Calls of a cut reply are answered without running. Returns whether that happened too often. */
const answerCutCalls = (draft: ThreadDraft, calls: readonly ToolCallPart[]): boolean => {
  appendUnrun(
    draft,
    calls,
    (name) => `the reply ended before it was complete, so ${name} was not run. Send the call again, shorter.`,
  );
  emit(draft, "error", {
    code: "output_truncated",
    message: "a reply with tool calls was cut off; none was run",
    retryable: true,
  });
  const { counters } = runOf(draft);
  counters.cutCalls += 1;
  if (counters.cutCalls < mostInARow) return false;
  failRun(draft, "output_invalid", `${counters.cutCalls} replies in a row were cut off inside tool calls`);
  return true;
};

const handleCutCalls = (draft: ThreadDraft, calls: readonly ToolCallPart[]): void => {
  if (!answerCutCalls(draft, calls)) closeTurn(draft);
};

const handleCutText = (draft: ThreadDraft): void => {
  const { counters } = runOf(draft);
  counters.cutText += 1;
  if (counters.cutText < mostInARow) {
    requestAnotherTurn(draft, "Your answer was cut off by the length limit. Go on exactly where it stopped.");
    return;
  }
  counters.truncated = true;
  concludeRun(draft, "end_turn");
};

/** Lists what of the answer does not fit the run's schema. */
export const findOutputProblems = (draft: ThreadDraft): readonly string[] => {
  const run = runOf(draft);
  const text = answerText(draft.thread, run);
  return agentOf(draft).checkOutput(text, run.outputSchema);
};

/** Checks a final text against the run's schema; a violation gets an uncounted repair turn. */
const checkFinalText = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  const problems = findOutputProblems(draft);
  if (problems.length === 0) {
    concludeRun(draft, "end_turn");
    return;
  }
  if (run.counters.schemaRejections >= outputRepairs) {
    failRun(draft, "output_invalid", `the answer does not fit the schema: ${problems.join("; ")}`);
    return;
  }
  run.counters.schemaRejections += 1;
  requestRepair(
    draft,
    `Your answer does not fit the required schema: ${problems.join("; ")}. Answer again with JSON that fits.`,
  );
};

/** Refuses a call of a tool that an effect took out of the turn. */
const refuseHidden = (plan: CallPlan, tool: string): CallPlan => {
  const text = `not_permitted: ${tool} is not available in this turn`;
  return { ...plan, verdict: "deny", by: "effect", refusal: { status: "denied", text } };
};

const planCalls = (draft: ThreadDraft, parts: readonly ToolCallPart[]): void => {
  const run = runOf(draft);
  const { tools } = agentOf(draft);
  const judge = createDraftJudge(draft);
  const calls = parts.map((call): Call => {
    const plan = judge(call);
    const isHidden = Object.hasOwn(run.hidden, tools.get(call.name)?.tool.aliasOf ?? call.name);
    const refused = isHidden && plan.refusal === undefined;
    return { ...freshCall, call, plan: refused ? refuseHidden(plan, call.name) : plan };
  });
  run.phase = { at: "acting", calls: numberCalls(draft, calls) };
  const { cancel, stop } = run;
  if (cancel !== null) endOpenCalls(draft, "cancelled", "unstarted");
  else if (isSteeredByPerson(draft.thread)) endOpenCalls(draft, "skipped", "all");
  const isOver = draftCallsOf(run).every(({ status }) => status === "done");
  if (stop === null && !isOver) judgeCalls(draft);
};

type FinishHandler = (
  draft: ThreadDraft,
  reply: {
    readonly calls: readonly ToolCallPart[];
    readonly visible: boolean;
    /** The category of a refusal; null if the provider does not say. */
    readonly category: string | null;
    readonly attempt: number;
  },
) => void;

const createRefusalHandler =
  (error: string): FinishHandler =>
  (draft, { calls, category }) => {
    appendUnrun(draft, calls, () => "the reply was not completed; this did not run.");
    failRun(draft, "refusal", category === null ? error : `${error} (${category})`);
  };

/** Compacts a full context, after which the same turn goes on, unless that was tried often enough. */
const handleOverflow: FinishHandler = (draft, { calls, visible, attempt }) => {
  if (calls.length > 0 && answerCutCalls(draft, calls)) return;
  if (calls.length === 0 && visible)
    appendNote(draft, "The context was full; it is shorter now. Go on exactly where your answer stopped.");
  const { cancel, stop } = runOf(draft);
  if (cancel !== null || stop !== null) closeTurn(draft);
  else if (!compactOverflow(draft, attempt + 1))
    failRun(draft, "context_length_exceeded", "the model's context window is full");
};

/** Handles a reply that was cut off by a limit, so that no part of it counts as complete. */
const handleCutReply: FinishHandler = (draft, { calls, visible }) => {
  if (calls.length > 0) handleCutCalls(draft, calls);
  else if (!visible) handleEmptyReply(draft);
  else handleCutText(draft);
};

/** Continues a reply that the provider paused: the model is called again with what it said, as it stands. */
const handlePausedReply: FinishHandler = (draft, { calls, visible }) => {
  if (calls.length > 0) handleCutCalls(draft, calls);
  else if (visible) requestAnotherTurn(draft, "Continue.");
  else closeTurn(draft);
};

const handleWholeReply: FinishHandler = (draft, { calls, visible }) => {
  if (calls.length > 0) planCalls(draft, calls);
  else if (!visible) handleEmptyReply(draft);
  else checkFinalText(draft);
};

/** Returns whether a reply ended early and is continued: its texts are pieces of one answer. */
export const isCutReply = (finish: Completion["finish"]): boolean =>
  finish === "length" || finish === "paused" || finish === "context_full";

/** Handlers that carry out what follows a reply, by the way it ended. */
export const finishHandlers: Record<Completion["finish"], FinishHandler> = {
  stop: handleWholeReply,
  tool_calls: handleWholeReply,
  length: handleCutReply,
  paused: handlePausedReply,
  refusal: createRefusalHandler("the model refused"),
  filtered: createRefusalHandler("the provider filtered the answer"),
  context_full: handleOverflow,
};
