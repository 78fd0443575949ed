import type { Json, ResultStatus, ToolCallPart } from "../../chat/message.ts";
import { syntheticResults } from "../../chat/results.ts";
import type { AskSubject } from "../asks/asks.ts";
import { openAsk, askerOf, closeAsk, mostOpenAsks, askScopeOf } from "../asks/asks.ts";
import { lineageOf } from "../budgets/bounds.ts";
import { changeRunBudget, raiseLimit, reportReachedLimit, describeLimit, stopRun } from "../budgets/spend.ts";
import { endCall, parkCall, refuseCall, createCallResult, findCall } from "../calls/finish.ts";
import { grantsOf } from "../calls/judge.ts";
import { pauseStep } from "../calls/model-call.ts";
import type { EffectQuestion } from "../definition/effect.ts";
import { keepMemo, preparingPhaseOf } from "../hooks/preparing.ts";
import type { Ask, AskDecision } from "../state/ask.ts";
import type { ReachedLimit } from "../state/budget.ts";
import { limitNames, limitKindOf, toApiAmount } from "../state/budget.ts";
import type { Call, CallPlan } from "../state/call.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, emit, threadOf, callOf, runOf, assign } from "../transaction/draft.ts";

/** These transitions handle asks, which only people, clients or callers can answer. */

/** Nobody is asked while so many asks are open: the call has an error result. */
const refuseTooManyAsks = (draft: Draft, threadId: string, call: Call): void => {
  const sentence = `${mostOpenAsks} asks of this session are open, so nobody was asked. Go on without, or wait for answers.`;
  refuseCall(draft, threadId, call, "limit", sentence);
};

/** A call is parked on an ask; without an interactive person its default applies at once. */
export const parkCallOnAsk = (
  draft: Draft,
  threadId: string,
  call: Call,
  kind: Ask["kind"],
  subject: AskSubject,
): void => {
  if (Object.keys(draft.state.asks).length >= mostOpenAsks) return refuseTooManyAsks(draft, threadId, call);
  const asker = askerOf(threadOf(draft, threadId));
  const about = { kind, ...asker, call: call.call.id, ...subject };
  const ask = openAsk(draft, threadId, timeoutOf(draft, threadId, call, kind), about);
  parkCall(draft, threadId, call, "ask", ask.expires_at, { ask: ask.id });
  if (!draft.state.interactive) expireAsk(draft, ask);
};

const timeoutOf = (draft: Draft, threadId: string, call: Call, kind: Ask["kind"]): number => {
  const { approvalTimeout, asks } = agentOf(draft, threadId);
  if (kind === "approval") return approvalTimeout(call.plan.by).timeoutMs;
  return kind === "question" ? asks.questionTimeoutMs : asks.timeoutMs;
};

/** An effect's question is put to a person, and its effect waits. */
export const askForEffect = (
  draft: Draft,
  threadId: string,
  key: string,
  { text, options, default: fallback }: EffectQuestion,
  timeoutMs: number,
): void => {
  const question = { text, options, multi_select: false, strict: true };
  const asker = askerOf(threadOf(draft, threadId));
  const ask = openAsk(draft, threadId, timeoutMs, { kind: "question", ...asker, call: "", question });
  keepMemo(draft, threadId, key, fallback);
  pauseStep(draft, threadId, ask.expires_at, "ask", { ask: { id: ask.id, key } });
};

/** An effect's question has its answer, or its default: the effect goes on. */
const answerEffectQuestion = (draft: Draft, ask: Ask, text: string | null): boolean => {
  const phase = preparingPhaseOf(threadOf(draft, ask.thread).run);
  if (phase?.ask?.id !== ask.id) return false;
  if (text !== null) keepMemo(draft, ask.thread, phase.ask.key, text);
  pauseStep(draft, ask.thread, draft.moment.now, "ask");
  return true;
};

/** The outcome of a call that ran before a crash stays unknown, whoever forbids to repeat it. */
export const outcomeOf = ({ attempts }: Call, status: ResultStatus, text: string): [ResultStatus, string] =>
  status === "denied" && attempts > 0 ? ["unknown", `${syntheticResults.unknown}\n${text}`] : [status, text];

const settleAskedCall = (draft: Draft, ask: Ask, status: ResultStatus, text: string): void => {
  if (answerEffectQuestion(draft, ask, text)) return;
  const call = findCall(threadOf(draft, ask.thread).run, ask.call);
  if (call === null) return;
  const durationMs = Math.max(0, draft.moment.now - ask.opened_at);
  endCall(draft, ask.thread, ask.call, {
    result: createCallResult(draft, ask.thread, call, ...outcomeOf(call, status, text)),
    durationMs,
    cached: false,
  });
};

/** An approved call may start. */
const approvedCall = { status: "planned", approved: true, ask: null, until: null, parkedOn: null } as const;

/** The run and what is below it no longer wait for the limit: they go on or end. */
const closeRaise = (draft: Draft, { thread }: Ask): void => {
  if (threadOf(draft, thread).run !== null) changeRunBudget(draft, thread, { ask: null });
};

const limitOfAsk = ({ thread, budget }: Ask): Pick<ReachedLimit, "scope" | "thread" | "kind"> => ({
  scope: budget?.scope ?? "run",
  thread,
  kind: limitKindOf(budget?.kind),
});

/** The call is judged again by the newest rules and grants, on the arguments as they would run. */
export const rejudgeCall = (draft: Draft, threadId: string, call: ToolCallPart): CallPlan =>
  agentOf(draft, threadId).judge(call, grantsOf(draft), threadOf(draft, threadId).depth);

/** A waiting call is judged again when it may start: grants or rules may have changed meanwhile. */
export const judgeAtTurn = (draft: Draft, threadId: string, call: Call): Call => {
  const { plan: before, edited, attempts } = call;
  if (before.refusal !== undefined || agentOf(draft, threadId).missing !== null) return call;
  const asRun = edited === null ? call.call : { ...call.call, args: edited };
  const now = rejudgeCall(draft, threadId, asRun);
  // An approval stands against everything but a refusal, and so does an ask about what a crash interrupted.
  const stands = call.approved || (before.verdict === "ask" && attempts > 0);
  const { closed } = now;
  const kept = closed === undefined ? before : { ...before, closed };
  const plan = now.refusal === undefined && stands ? kept : now;
  callOf(draft, threadId, call.call.id).plan = plan;
  return { ...call, plan };
};

/**
 * A deny that came in the meantime beats an approval, and paths that rules now close to the call stay closed.
 * A call whose agent the deployment lacks waits for it: nothing else forbids it.
 */
export const approveCall = (draft: Draft, { thread }: Ask, { call, plan }: Call): AnswerAction => {
  if (agentOf(draft, thread).missing !== null) return { do: "start", changed: {} };
  const { verdict, refusal, by, closed } = rejudgeCall(draft, thread, call);
  if (verdict === "deny") {
    const text = refusal?.text ?? `denied: a rule forbids this call (${by})`;
    return { do: "settle", status: "denied", text };
  }
  return { do: "start", changed: closed === undefined ? {} : { plan: { ...plan, closed } } };
};

/** Nobody raised the limit: the run stops. */
const refuseRaise = (draft: Draft, ask: Ask): Json => {
  closeRaise(draft, ask);
  const { kind, limit = 0 } = ask.budget ?? {};
  stopRun(draft, limitOfAsk(ask), `${kind}: the limit ${limit} is reached and was not raised`);
  return "stop";
};

const approvalDefaultOf = (draft: Draft, ask: Ask): AnswerAction => {
  const call = findCall(threadOf(draft, ask.thread).run, ask.call);
  const { onTimeout } = agentOf(draft, ask.thread).approvalTimeout(ask.approval?.rule ?? "");
  return onTimeout === "approve" && call !== null
    ? approveCall(draft, ask, call)
    : { do: "settle", status: "denied", text: "denied: nobody approved this call in time." };
};

/** An ask's call gets this when nobody answers. */
const applyDefault = (draft: Draft, ask: Ask): Json => {
  if (ask.kind === "budget") return refuseRaise(draft, ask);
  if (answerEffectQuestion(draft, ask, null)) return "continue";
  const agent = agentOf(draft, ask.thread);
  if (ask.kind === "approval") {
    const effect = approvalDefaultOf(draft, ask);
    applyAnswer(draft, ask, effect);
    return effect.do === "start" ? "approve" : "deny";
  }
  if (ask.kind !== "question") {
    settleAskedCall(draft, ask, "error", "timeout: no result came from the client in time.");
    return "error";
  }
  const rule = agent.asks.onTimeout;
  if (rule === "fail") {
    settleAskedCall(draft, ask, "error", "timeout: no answer came.");
    runOf(draft, ask.thread).stop = {
      reason: "deadline_exceeded",
      error: "a question was not answered in time",
    };
    return "fail";
  }
  settleAskedCall(draft, ask, "ok", rule === "continue" ? "No answer came; decide or finish." : rule.answer);
  return rule === "continue" ? "continue" : { answer: rule.answer };
};

/** An open ask has expired. */
export const expireAsk = (draft: Draft, ask: Ask): void => {
  closeAsk(draft, ask, "expired", { decision: "expired", by: "clock" });
  const at = draft.events.length;
  const applied = applyDefault(draft, ask);
  const later = draft.events.splice(at);
  emit(draft, ask.thread, "ask_expired", { ask: ask.id, applied }, askScopeOf(ask));
  draft.events.push(...later);
};

/** A checked answer gives the call a result or lets it start. */
export type AnswerAction =
  | { readonly do: "settle"; readonly status: ResultStatus; readonly text: string }
  /** The call may run, as written or as the approver changed it. */
  | { readonly do: "start"; readonly changed: Partial<Pick<Call, "edited" | "plan">> }
  /** The limit is in its own unit: tokens, 10⁻⁹ USD, milliseconds, calls or turns. */
  | { readonly do: "raise"; readonly limit: number }
  | { readonly do: "default" };

const applyAnswer = (draft: Draft, ask: Ask, effect: AnswerAction): void => {
  switch (effect.do) {
    case "settle":
      settleAskedCall(draft, ask, effect.status, effect.text);
      return;
    case "start":
      assign(callOf(draft, ask.thread, ask.call), { ...approvedCall, ...effect.changed });
      return;
    case "raise":
      closeRaise(draft, ask);
      raiseLimit(draft, limitOfAsk(ask), effect.limit);
      return;
    case "default":
      applyDefault(draft, ask);
  }
};

/** The first valid answer closes an open ask; `body` is kept to tell a repeat from a second answer. */
export const answerAsk = (
  draft: Draft,
  ask: Ask,
  decision: AskDecision,
  by: string,
  body: Json,
  effect: AnswerAction,
): void => {
  closeAsk(draft, ask, "resolved", { decision, by, body });
  emit(
    draft,
    ask.thread,
    "ask_resolved",
    { ask: ask.id, decision, by, edited: decision === "edit" },
    askScopeOf(ask),
  );
  applyAnswer(draft, ask, effect);
};

/** When a limit is reached, a person is asked for a higher one, or the run stops. */

/** A held run gives its ticket back and asks for another when it goes on. */
const releaseTickets = (draft: Draft, thread: string): void => {
  for (const { id, run } of Object.values(draft.state.threads)) {
    if (run === null || !lineageOf(draft.state, id).some((each) => each.id === thread)) continue;
    const { phase } = run;
    if (phase.at === "preparing") runOf(draft, id).phase = { ...phase, ticket: null };
    if (phase.at === "waiting" && phase.why === "gate")
      runOf(draft, id).phase = { ...phase, ticket: null, why: "retry" };
  }
};

/** The run of the account waits, with everything below it, until somebody raises the limit or the time is over. */
const askForRaise = (draft: Draft, { thread, scope, kind, limit, spent, least }: ReachedLimit): void => {
  const { run } = threadOf(draft, thread);
  if (run === null || run.budget.ask !== null) return;
  const { timeoutMs } = agentOf(draft, thread).asks;
  const shown = (amount: number): number => toApiAmount(kind, amount);
  const ask = openAsk(draft, thread, timeoutMs, {
    kind: "budget",
    call: "",
    budget: { scope, kind: limitNames[kind], limit: shown(limit), spent: shown(spent), least: shown(least) },
  });
  changeRunBudget(draft, thread, { ask: { id: ask.id, until: ask.expires_at } });
  releaseTickets(draft, thread);
  if (!draft.state.interactive) expireAsk(draft, ask);
};

/** A limit is reached: its run asks for more, or it stops with everything below it. */
export const handleReachedLimit = (draft: Draft, reached: ReachedLimit): void => {
  reportReachedLimit(draft, reached);
  if (reached.ask) askForRaise(draft, reached);
  else stopRun(draft, reached, describeLimit(reached));
};
