import type { Json, ResultStatus } from "../../chat/message.ts";
import { syntheticResult, syntheticResults } from "../../chat/results.ts";
import { refuse } from "../../tools/errors.ts";
import { openAsk, closeAsk, mostOpenAsks, askScopeOf } from "../asks/asks.ts";
import { changeRunBudget, raiseLimit, stopRun, describeLimit, reportReachedLimit } from "../budgets/spend.ts";
import {
  endCall,
  endCallAtOnce,
  parkCall,
  refuseCall,
  createCallResult,
  findCall,
} from "../calls/tool-calls.ts";
import { createDraftJudge } from "../calls/grants.ts";
import { pauseStep } from "../calls/model-call.ts";
import type { EffectQuestion } from "../definition/effect.ts";
import type { PlanDecision } from "../hooks/plan.ts";
import { settlePlan } from "../hooks/plan.ts";
import { keepMemo, pauseForAnswer, preparingPhaseOf } from "../hooks/preparing.ts";
import { reportLogin } from "../hooks/servers.ts";
import type { Ask, AskDecision, AskSubject } from "../state/ask.ts";
import type { ReachedLimit } from "../state/budget.ts";
import { limitKindOf, limitNames, toApiAmount } from "../state/budget.ts";
import type { Call, CallPlan } from "../state/call.ts";
import { argsOf, interruptRule } from "../state/call.ts";
import { planAskOf } from "../state/phase.ts";
import { openAskOf } from "../state/ask.ts";
import { isSteeredByPerson } from "../state/thread.ts";
import type { Draft, DraftCall, ThreadDraft } from "../transaction/draft.ts";
import { agentOf, emit, runOf, assign, selectThread } from "../transaction/draft.ts";
import { lineageOf } from "../budgets/bounds.ts";

/** Handles asks, which only people, clients or callers can answer. */

/** Gives a call an error result, since too many asks are open to ask another. */
const refuseTooManyAsks = (draft: ThreadDraft, call: DraftCall): void => {
  const sentence = `${mostOpenAsks} asks of this session are open, so this one was not sent. Go on without it, or wait for answers.`;
  refuseCall(draft, call, refuse("limit", sentence));
};

/** Parks a call on an ask; without an interactive person its default applies at once. Who steers is heard first. */
export const parkCallOnAsk = (draft: ThreadDraft, call: DraftCall, subject: AskSubject): void => {
  if (isSteeredByPerson(draft.thread)) {
    const mayHaveActed = call.attempts > 0 && "approval" in subject;
    endCallAtOnce(draft, call, syntheticResult(call.call, mayHaveActed ? "unknown" : "skipped"));
    return;
  }
  if (Object.keys(draft.state.asks).length >= mostOpenAsks) return refuseTooManyAsks(draft, call);
  const timeoutMs = timeoutOf(draft, call, subject);
  const ask = openAsk(draft, call.call.id, timeoutMs, subject);
  parkCall(draft, call, { on: "ask", ask: ask.id, until: null });
  if (!draft.state.interactive) expireAsk(draft, ask);
};

/** Parks a call that asks a person and runs again with the answer, which then stands in its memo. */
export const parkCallOnAnswer = (
  draft: ThreadDraft,
  call: DraftCall,
  subject: AskSubject,
  memo: Json,
): void => {
  assign(call, { memo, resumes: true });
  if ("authorization" in subject && subject.authorization.login === true)
    reportLogin(draft, subject.authorization.server);
  parkCallOnAsk(draft, call, subject);
};

/** Returns the call that an ask belongs to; null if it belongs to none or the call is over. */
export const askedCallOf = ({ state }: Draft, { thread, call }: Ask): DraftCall | null =>
  findCall(state.threads[thread]?.run ?? null, call);

/** Runs the call that asked again (null: without an answer); false if the call takes an answer as its result. */
const resumeWithAnswer = (draft: Draft, ask: Ask, answer: string | null): boolean => {
  const call = askedCallOf(draft, ask);
  if (call === null || !call.resumes || openAskOf(call.wait)?.ask !== ask.id) return false;
  const memo = { asked: call.memo, answer };
  assign(call, { ...askedCall, memo, resumes: false });
  return true;
};

const timeoutOf = (draft: ThreadDraft, call: Call, subject: AskSubject): number => {
  const { approvalTimeout, asks } = agentOf(draft);
  if ("approval" in subject) return approvalTimeout(call.plan.by).timeoutMs;
  return "question" in subject ? asks.questionTimeoutMs : asks.timeoutMs;
};

/** Puts an effect's question to a person and lets the effect wait. */
export const askForEffect = (
  draft: ThreadDraft,
  key: string,
  { text, options, default: fallback }: EffectQuestion,
  timeoutMs: number,
): void => {
  const question = { text, options, multi_select: false, strict: true };
  pauseForAnswer(draft, { key, fallback, timeoutMs }, { question });
};

/** Gives an effect's question its answer, or its default: the effect goes on. */
const answerEffectQuestion = (draft: ThreadDraft, ask: Ask, text: string | null): boolean => {
  const wait = preparingPhaseOf(draft.thread.run)?.wait;
  if (wait?.on !== "ask" || wait.ask !== ask.id) return false;
  if (text !== null) keepMemo(draft, wait.key ?? "", text);
  pauseStep(draft, { ...wait, until: draft.context.now });
  return true;
};

/** Returns the outcome of a call that was denied; it stays unknown if the call ran before and may have acted. */
export const denialOf = (
  { attempts, plan }: Call,
  status: ResultStatus,
  text: string,
): [ResultStatus, string] =>
  status === "denied" && attempts > 0 && plan.safety !== "read"
    ? ["unknown", `${syntheticResults.unknown}\n${text}`]
    : [status, text];

const settleAskedCall = (draft: ThreadDraft, ask: Ask, status: ResultStatus, text: string): void => {
  if (answerEffectQuestion(draft, ask, text)) return;
  if (status === "ok" && resumeWithAnswer(draft, ask, text)) return;
  const call = askedCallOf(draft, ask);
  if (call === null) return;
  const durationMs = Math.max(0, draft.context.now - ask.opened_at);
  const result = createCallResult(draft, call, ...denialOf(call, status, text));
  endCall(draft, call, { result, durationMs, cached: false });
};

/** A call whose ask is answered may start. */
const askedCall = { status: "planned", wait: null } as const;

const approvedCall = { ...askedCall, approved: true } as const;

/** Ends the wait for a limit: the run and what is below it go on or end. */
const closeRaise = (draft: ThreadDraft): void => {
  if (draft.thread.run !== null) changeRunBudget(draft, { ask: null });
};

const limitOfAsk = ({ thread, budget }: Ask): Pick<ReachedLimit, "scope" | "thread" | "kind"> => ({
  scope: budget?.scope ?? "run",
  thread,
  kind: limitKindOf(budget?.kind),
});

/**
 * Judges the call again by the newest rules and grants, on the arguments as they would run. What an unsafe call has
 * begun stays unsafe, whatever it goes on with.
 */
export const rejudgeCall = (
  draft: ThreadDraft,
  given: Pick<Call, "call" | "edited" | "moved" | "attempts" | "plan">,
): CallPlan => {
  const args = argsOf(given);
  const call = args === given.call.args ? given.call : { ...given.call, args };
  const plan = createDraftJudge(draft)(call);
  return given.attempts > 0 && given.plan.safety === "unsafe" ? { ...plan, safety: "unsafe" } : plan;
};

/** Judges a waiting call again when it may start: grants or rules may have changed meanwhile. */
export const judgeAtTurn = (draft: ThreadDraft, call: DraftCall): void => {
  const { plan: before } = call;
  if (before.refusal !== undefined || agentOf(draft).missing !== null) return;
  const now = rejudgeCall(draft, call);
  // An approval stands against everything but a refusal, and so does an ask about what a crash interrupted.
  const stands = call.approved || before.by === interruptRule;
  const { closed } = now;
  const kept = closed === undefined ? before : { ...before, closed };
  call.plan = now.refusal === undefined && stands ? kept : now;
};

/**
 * Approves a call. A deny that came in the meantime beats an approval, and paths that rules now close to the
 * call stay closed. A call whose agent the deployment lacks waits for the agent: nothing else forbids the
 * call.
 */
export const approveCall = (draft: ThreadDraft, call: DraftCall): AnswerAction => {
  if (agentOf(draft).missing !== null) return { do: "start", call, changed: {} };
  const plan = rejudgeCall(draft, call);
  const { verdict, refusal, by, closed } = plan;
  if (verdict === "deny") {
    call.plan = plan;
    const text = refusal?.text ?? `denied: a rule forbids this call (${by})`;
    return { do: "settle", status: "denied", text };
  }
  return { do: "start", call, changed: closed === undefined ? {} : { plan: { ...call.plan, closed } } };
};

/** Lets a started call go on with other arguments, which are not permitted yet. */
export const changeCall = (
  draft: ThreadDraft,
  call: DraftCall,
  { args, memo }: { readonly args: Json; readonly memo: Json },
): void => {
  const moved = JSON.stringify(args);
  const plan = rejudgeCall(draft, { ...call, moved });
  assign(call, { status: "planned", approved: false, moved, plan, memo });
};

/** Stops the run, since its limit was not raised. */
const refuseRaise = (draft: ThreadDraft, ask: Ask): Json => {
  closeRaise(draft);
  const { kind, limit = 0 } = ask.budget ?? {};
  stopRun(draft, limitOfAsk(ask), `${kind}: the limit ${limit} is reached and was not raised`);
  return "stop";
};

/** Why an ask gets its default: its time is over, or somebody cancelled it. */
type NoAnswer = "expired" | "cancelled";

const approvalDefaultOf = (draft: ThreadDraft, ask: Ask, why: NoAnswer): AnswerAction => {
  const call = askedCallOf(draft, ask);
  const { onTimeout } = agentOf(draft).approvalTimeout(ask.approval?.rule ?? "");
  if (onTimeout === "approve" && call !== null) return approveCall(draft, call);
  const what =
    why === "expired" ? "this call was not approved in time" : "the request for approval was cancelled";
  return { do: "settle", status: "denied", text: `denied: ${what}.` };
};

/** Returns whether the run waits for this answer about its plan. */
export const isPlanAsk = ({ state }: Draft, { id, thread }: Ask): boolean => {
  const run = state.threads[thread]?.run ?? null;
  return run !== null && planAskOf(run) === id;
};

const denyPlan = (draft: ThreadDraft): Json => {
  settlePlan(draft, { approved: false, message: null });
  return "deny";
};

const applyApprovalDefault = (draft: ThreadDraft, ask: Ask, why: NoAnswer): Json => {
  const effect = approvalDefaultOf(draft, ask, why);
  applyAnswer(draft, ask, effect);
  return effect.do === "start" ? "approve" : "deny";
};

/** Applies the default of an unanswered question, by the agent's settings. */
const applyQuestionDefault = (draft: ThreadDraft, ask: Ask, why: NoAnswer): Json => {
  const rule = agentOf(draft).asks.onTimeout;
  if (rule === "fail") {
    const isLate = why === "expired";
    const text = isLate ? "timeout: no answer came." : "cancelled: the question was cancelled.";
    settleAskedCall(draft, ask, "error", text);
    const error = isLate ? "a question was not answered in time" : "a question was cancelled";
    runOf(draft).stop = { reason: "deadline_exceeded", error };
    return "fail";
  }
  if (resumeWithAnswer(draft, ask, null)) return "cancel";
  settleAskedCall(draft, ask, "ok", rule === "continue" ? "No answer came; decide or finish." : rule.answer);
  return rule === "continue" ? "continue" : { answer: rule.answer };
};

/** Applies an ask's default, which its call gets without an answer. */
const applyDefault = (draft: ThreadDraft, ask: Ask, why: NoAnswer): Json => {
  if (ask.kind === "budget") return refuseRaise(draft, ask);
  if (isPlanAsk(draft, ask)) return denyPlan(draft);
  if (answerEffectQuestion(draft, ask, null)) return "continue";
  if (ask.kind === "approval") return applyApprovalDefault(draft, ask, why);
  if (ask.kind === "question") return applyQuestionDefault(draft, ask, why);
  if (resumeWithAnswer(draft, ask, null)) return "cancel";
  const late = "timeout: no result came from the client in time.";
  settleAskedCall(draft, ask, "error", why === "expired" ? late : "cancelled: the client gives no result.");
  return "error";
};

/** Closes an open ask that has expired. */
export const expireAsk = (draft: Draft, ask: Ask): void => {
  closeAsk(draft, ask, { status: "expired", resolution: { decision: "expired", by: "clock" } });
  const asking = selectThread(draft, ask.thread);
  const at = draft.events.length;
  const applied = applyDefault(asking, ask, "expired");
  const later = draft.events.splice(at);
  emit(asking, "ask_expired", { ask: ask.id, applied }, askScopeOf(ask));
  draft.events.push(...later);
};

/** What a checked answer does: it gives the call a result or lets it start. */
export type AnswerAction =
  | { readonly do: "settle"; readonly status: ResultStatus; readonly text: string }
  /** The call may run, as written or as the approver changed it. */
  | {
      readonly do: "start";
      readonly call: DraftCall;
      readonly changed: Partial<Pick<Call, "edited" | "moved" | "plan">>;
    }
  /** The limit is in its own unit: tokens, 10⁻⁹ USD, milliseconds, calls or turns. */
  | { readonly do: "raise"; readonly limit: number }
  | { readonly do: "plan"; readonly decision: PlanDecision }
  | { readonly do: "default" };

const applyAnswer = (draft: ThreadDraft, ask: Ask, effect: AnswerAction): void => {
  switch (effect.do) {
    case "settle":
      settleAskedCall(draft, ask, effect.status, effect.text);
      return;
    case "start":
      assign(effect.call, { ...approvedCall, ...effect.changed });
      return;
    case "raise":
      closeRaise(draft);
      raiseLimit(draft, limitOfAsk(ask), effect.limit);
      return;
    case "plan":
      settlePlan(draft, effect.decision);
      return;
    case "default":
      applyDefault(draft, ask, "cancelled");
  }
};

/** Who answered an ask, what, and how far it reaches; `body` is kept to distinguish a repeat from a second answer. */
interface AskAnswer extends NonNullable<Ask["resolution"]> {
  readonly decision: AskDecision;
}

/** Closes an open ask with its first valid answer. */
export const answerAsk = (draft: Draft, ask: Ask, answer: AskAnswer, effect: AnswerAction): void => {
  closeAsk(draft, ask, { status: "resolved", resolution: answer });
  const asking = selectThread(draft, ask.thread);
  const { body: _, ...shown } = answer;
  const data = { ask: ask.id, ...shown, edited: answer.decision === "edit" };
  emit(asking, "ask_resolved", data, askScopeOf(ask));
  applyAnswer(asking, ask, effect);
};

/** When a limit is reached, a person is asked for a higher one, or the run stops. */

/** Returns the tickets of a held run, which requests others when it goes on. */
const releaseTickets = (draft: ThreadDraft): void => {
  for (const { id, run } of Object.values(draft.state.threads)) {
    if (run === null || !lineageOf(draft.state, id).some((each) => each.id === draft.thread.id)) continue;
    const { phase } = run;
    if (phase.at === "preparing" || phase.at === "waiting") run.phase = { ...phase, ticket: null };
  }
};

/** Lets the run of the account wait, with everything below it, until a person raises the limit or the time is over. */
const askForRaise = (draft: Draft, { thread, scope, kind, limit, spent, least }: ReachedLimit): void => {
  const held = selectThread(draft, thread);
  const { run } = held.thread;
  if (run === null || run.budget.ask !== null) return;
  const { timeoutMs } = agentOf(held).asks;
  const shown = (amount: number): number => toApiAmount(kind, amount);
  const ask = openAsk(held, "", timeoutMs, {
    budget: { scope, kind: limitNames[kind], limit: shown(limit), spent: shown(spent), least: shown(least) },
  });
  changeRunBudget(held, { ask: ask.id });
  releaseTickets(held);
  if (!draft.state.interactive) expireAsk(draft, ask);
};

/** Handles a reached limit: its run asks for more, or it stops with everything below it. */
export const handleReachedLimit = (draft: Draft, reached: ReachedLimit): void => {
  reportReachedLimit(draft, reached);
  if (reached.ask) askForRaise(draft, reached);
  else stopRun(draft, reached, describeLimit(reached));
};
