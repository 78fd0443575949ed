import type { ToolCallPart } from "../../chat/message.ts";
import { textResult } from "../../chat/results.ts";
import { textOf } from "../../chat/text.ts";
import type { Completion } from "../../model/completer.ts";
import { overspent } from "../budgets/bounds.ts";
import { grantsOf } from "../calls/judge.ts";
import { openCallsEnded } from "../calls/start.ts";
import { answerOf } from "../context/answer.ts";
import { numbered } from "../context/history.ts";
import type { Agent } from "../definition/agent.ts";
import { answerGuarded } from "../hooks/guardrails.ts";
import { steersOf } from "../inputs/inputs.ts";
import type { Call, CallPlan } from "../state/call.ts";
import type { Grant } from "../state/session.ts";
import type { Thread } from "../state/thread.ts";
import { openChildren } from "../state/thread.ts";
import type { Draft } from "../transaction/draft.ts";
import {
  agentOf,
  append,
  changeCounters,
  changeRun,
  emit,
  noted,
  runOf,
  threadOf,
} from "../transaction/draft.ts";
import { exceeded } from "./answers.ts";
import { ladderBegun } from "./attempts.ts";
import { judged } from "./judge-calls.ts";
import { turnClosed } from "./turns.ts";

/** What follows a reply, by how it ended. */

const inARow = 3;

const outputRepairs = 2;

const fail = (
  draft: Draft,
  threadId: string,
  reason: "output_invalid" | "effect_failed" | "refusal" | "context_length_exceeded",
  error: string,
): void => changeRun(draft, threadId, { ending: { state: "failed", reason, error } });

/** The run is over if guardrails accept what it ends with, unless somebody steered meanwhile, or an effect or a budget ends it otherwise. */
export const concluded = (draft: Draft, threadId: string, reason: "end_turn" | "terminal_tool"): void => {
  const end = answerGuarded(draft, threadId, reason);
  if (end.do === "fail") return fail(draft, threadId, end.reason, end.error);
  if (end.do === "retry") {
    const again = end.what === "answer" ? "Answer again" : "Report again";
    return startRepair(draft, threadId, `Your ${end.what} was not accepted: ${end.why}. ${again}.`);
  }
  const over = overspent(draft, threadId);
  if (over !== null) exceeded(draft, over);
  const { stop } = runOf(draft, threadId);
  const goesOn = stop !== null || steersOf(draft, threadId).length > 0;
  const lingers = !goesOn && isWaitedFor(draft, threadId);
  if (!goesOn && !lingers) {
    changeRun(draft, threadId, { ending: { state: "completed", reason, error: null } });
    return;
  }
  turnClosed(draft, threadId);
  if (lingers) changeRun(draft, threadId, { phase: { at: "ready" }, lingers: reason });
};

/** A called agent ends only after its own children, whose results it gets first. */
const isWaitedFor = (draft: Draft, threadId: string): boolean =>
  threadOf(draft, threadId).depth > 0 && openChildren(draft.state, threadId).length > 0;

const anotherTurn = (draft: Draft, threadId: string, text: string): void => {
  noted(draft, threadId, text);
  turnClosed(draft, threadId);
  changeRun(draft, threadId, { phase: { at: "ready" } });
};

/** Tells the model what to mend, in a turn that is not counted; the run numbers such turns, whoever asks for them. */
const startRepair = (draft: Draft, threadId: string, text: string): void => {
  anotherTurn(draft, threadId, text);
  changeCounters(draft, threadId, { repairs: runOf(draft, threadId).counters.repairs + 1 });
  changeRun(draft, threadId, { repair: true });
};

const emptied = (draft: Draft, threadId: string): void => {
  const { counters } = runOf(draft, threadId);
  const empty = counters.empty + 1;
  changeCounters(draft, threadId, { empty });
  if (empty < inARow) anotherTurn(draft, threadId, "Your reply was empty. Answer, or call a tool.");
  else if (counters.toolRan) concluded(draft, threadId, "end_turn");
  else fail(draft, threadId, "output_invalid", `the model sent ${empty} empty replies in a row`);
};

/** Calls of a reply that was cut: none was run, each has its result. Answers whether that happened too often. */
const callsCut = (draft: Draft, threadId: string, calls: readonly ToolCallPart[]): boolean => {
  for (const call of calls) {
    const text = `truncated: the reply ended before it was complete, so ${call.name} was not run. Send the call again, shorter.`;
    append(draft, threadId, { role: "tool", origin: "agent", parts: [textResult(call, "error", text)] });
  }
  emit(draft, threadId, "error", {
    code: "output_truncated",
    message: "a reply with tool calls was cut off; none was run",
    retryable: true,
  });
  const count = runOf(draft, threadId).counters.cutCalls + 1;
  changeCounters(draft, threadId, { cutCalls: count });
  if (count < inARow) return false;
  fail(draft, threadId, "output_invalid", `${count} replies in a row were cut off inside tool calls`);
  return true;
};

const cutCalls = (draft: Draft, threadId: string, calls: readonly ToolCallPart[]): void => {
  if (!callsCut(draft, threadId, calls)) turnClosed(draft, threadId);
};

const cutText = (draft: Draft, threadId: string): void => {
  const count = runOf(draft, threadId).counters.cutText + 1;
  changeCounters(draft, threadId, { cutText: count });
  if (count < inARow) {
    anotherTurn(
      draft,
      threadId,
      "Your answer was cut off by the length limit. Go on exactly where it stopped.",
    );
    return;
  }
  changeCounters(draft, threadId, { truncated: true });
  concluded(draft, threadId, "end_turn");
};

/** A final text is checked against the run's schema; a violation gets an uncounted repair turn. */
const answeredText = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  const agent = agentOf(draft, threadId);
  const text = answerOf(threadOf(draft, threadId).chat, run.id)
    .map(({ parts }) => textOf(parts))
    .join("");
  const problems = agent.checkOutput(text, run.outputSchema);
  if (problems.length === 0) {
    concluded(draft, threadId, "end_turn");
    return;
  }
  if (run.counters.misfits >= outputRepairs) {
    fail(draft, threadId, "output_invalid", `the answer does not fit the schema: ${problems.join("; ")}`);
    return;
  }
  changeCounters(draft, threadId, { misfits: run.counters.misfits + 1 });
  startRepair(
    draft,
    threadId,
    `Your answer does not fit the required schema: ${problems.join("; ")}. Answer again with JSON that fits.`,
  );
};

/** What may be done with a call; a tool that an effect took out of the turn is refused. */
const planOf = (
  agent: Agent,
  call: ToolCallPart,
  grants: readonly Grant[],
  { depth, run }: Thread,
): CallPlan => {
  const plan = agent.judge(call, grants, depth);
  const named = agent.tools.get(call.name)?.tool.aliasOf ?? call.name;
  if (run?.hidden.includes(named) !== true || plan.refusal !== undefined) return plan;
  const text = `not_permitted: ${call.name} is not available in this turn`;
  return { ...plan, verdict: "deny", by: "effect", refusal: { status: "denied", text } };
};

const planned = (draft: Draft, threadId: string, parts: readonly ToolCallPart[]): void => {
  const thread = threadOf(draft, threadId);
  const agent = agentOf(draft, threadId);
  const grants = grantsOf(draft);
  const calls = parts.map((call): Call => ({
    call,
    plan: planOf(agent, call, grants, thread),
    status: "planned",
    attempts: 0,
    epoch: 0,
    startedAt: null,
    until: null,
    parkedOn: null,
    ask: null,
    edited: null,
    approved: false,
    reruns: 0,
    memo: null,
    outcome: null,
  }));
  changeRun(draft, threadId, { phase: { at: "acting", calls: numbered(draft, threadId, calls) } });
  const { cancel, stop } = runOf(draft, threadId);
  if (cancel !== null) openCallsEnded(draft, threadId, "cancelled", "all");
  else if (steersOf(draft, threadId).some(({ origin }) => origin === "human"))
    openCallsEnded(draft, threadId, "skipped", "all");
  else if (stop === null) judged(draft, threadId);
};

type Follow = (
  draft: Draft,
  threadId: string,
  reply: {
    readonly calls: readonly ToolCallPart[];
    readonly visible: boolean;
    /** What a refusal was about; null if the provider does not say. */
    readonly category: string | null;
    readonly attempt: number;
  },
) => void;

const refused =
  (error: string): Follow =>
  (draft, threadId, { calls, category }) => {
    cutResults(draft, threadId, calls);
    fail(draft, threadId, "refusal", category === null ? error : `${error} (${category})`);
  };

/** The context is full: the chat is compacted and the same turn goes on, unless that was tried often enough. */
const overflowed: Follow = (draft, threadId, { calls, visible, attempt }) => {
  if (calls.length > 0 && callsCut(draft, threadId, calls)) return;
  if (calls.length === 0 && visible)
    noted(
      draft,
      threadId,
      "The context was full; it is shorter now. Go on exactly where your answer stopped.",
    );
  const { cancel, stop } = runOf(draft, threadId);
  if (cancel !== null || stop !== null) turnClosed(draft, threadId);
  else if (!ladderBegun(draft, threadId, attempt + 1))
    fail(draft, threadId, "context_length_exceeded", "the model's context window is full");
};

/** Cut off by a limit: nothing of it may be taken for whole. */
const cut: Follow = (draft, threadId, { calls, visible }) => {
  if (calls.length > 0) cutCalls(draft, threadId, calls);
  else if (!visible) emptied(draft, threadId);
  else cutText(draft, threadId);
};

/** The provider took a break: it is called again with what it said, as it stands. */
const paused: Follow = (draft, threadId, { calls, visible }) => {
  if (calls.length > 0) cutCalls(draft, threadId, calls);
  else if (visible) anotherTurn(draft, threadId, "Continue.");
  else turnClosed(draft, threadId);
};

const whole: Follow = (draft, threadId, { calls, visible }) => {
  if (calls.length > 0) planned(draft, threadId, calls);
  else if (!visible) emptied(draft, threadId);
  else answeredText(draft, threadId);
};

/** Replies that ended early and are gone on with: their texts are pieces of one answer. */
export const isCut = (finish: Completion["finish"]): boolean =>
  finish === "length" || finish === "paused" || finish === "context_full";

/** What follows a reply, by how it ended. */
export const follows: Record<Completion["finish"], Follow> = {
  stop: whole,
  tool_calls: whole,
  length: cut,
  paused,
  refusal: refused("the model refused"),
  filtered: refused("the provider filtered the answer"),
  context_full: overflowed,
};

/** Calls of a reply that is not continued: each has its result, none was run. */
const cutResults = (draft: Draft, threadId: string, calls: readonly ToolCallPart[]): void => {
  const text = "truncated: the reply was not completed; this did not run.";
  for (const call of calls)
    append(draft, threadId, { role: "tool", origin: "agent", parts: [textResult(call, "error", text)] });
};
