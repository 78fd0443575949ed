import type { Json, ResultStatus, ToolCallPart } from "../../chat/message.ts";
import { synthesised } from "../../chat/results.ts";
import type { Subject } from "../asks/asks.ts";
import { asked, askerOf, close, mostOpen, placeOf } from "../asks/asks.ts";
import { lineOf } from "../budgets/bounds.ts";
import { changeBudget, raised, reachedSaid, sentenceOf, stopped } from "../budgets/spend.ts";
import { callEnded, callParked, callRefused, callResult, findCall } from "../calls/finish.ts";
import { grantsOf } from "../calls/judge.ts";
import type { EffectQuestion } from "../definition/effect.ts";
import { memoKept, preparingOf, preparingPaused } from "../hooks/preparing.ts";
import type { Ask, Decision } from "../state/ask.ts";
import type { Reached } from "../state/budget.ts";
import { keyOf, limitOfKey, shownAmount } from "../state/budget.ts";
import type { Call, CallPlan } from "../state/call.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, changeCall, changeRun, emit, threadOf } from "../transaction/draft.ts";

/** Transitions of asks: what only the outside can answer. */

/** Nobody is asked while so many asks are open: the call has an error result. */
const tooMany = (draft: Draft, threadId: string, call: Call): void => {
  const sentence = `${mostOpen} asks of this session are open, so nobody was asked. Go on without, or wait for answers.`;
  callRefused(draft, threadId, call, "limit", sentence);
};

/** Parks a call on an ask; without an interactive person its default applies at once. */
export const opened = (
  draft: Draft,
  threadId: string,
  call: Call,
  kind: Ask["kind"],
  subject: Subject,
): void => {
  if (Object.keys(draft.state.asks).length >= mostOpen) return tooMany(draft, threadId, call);
  const asker = askerOf(threadOf(draft, threadId));
  const about = { kind, ...asker, call: call.call.id, ...subject };
  const ask = asked(draft, threadId, timeoutOf(draft, threadId, call, kind), about);
  callParked(draft, threadId, call, "ask", ask.expires_at, { ask: ask.id });
  if (!draft.state.interactive) askExpired(draft, ask);
};

const timeoutOf = (draft: Draft, threadId: string, call: Call, kind: Ask["kind"]): number => {
  const { approvalTimeout, asks } = agentOf(draft, threadId);
  if (kind === "approval") return approvalTimeout(call.plan.by).timeoutMs;
  return kind === "question" ? asks.questionTimeoutMs : asks.timeoutMs;
};

/** Puts an effect's question to a person; its effect waits. */
export const preparingAsked = (
  draft: Draft,
  threadId: string,
  key: string,
  { text, options, default: fallback }: EffectQuestion,
  timeoutMs: number,
): void => {
  const question = { text, options, multi_select: false, strict: true };
  const asker = askerOf(threadOf(draft, threadId));
  const ask = asked(draft, threadId, timeoutMs, { kind: "question", ...asker, call: "", question });
  memoKept(draft, threadId, key, fallback);
  preparingPaused(draft, threadId, ask.expires_at, "ask", { ask: { id: ask.id, key } });
};

/** An effect's question has its answer, or its default: the effect goes on. */
const preparingTold = (draft: Draft, ask: Ask, text: string | null): boolean => {
  const phase = preparingOf(threadOf(draft, ask.thread).run);
  if (phase?.ask?.id !== ask.id) return false;
  if (text !== null) memoKept(draft, ask.thread, phase.ask.key, text);
  preparingPaused(draft, ask.thread, draft.moment.now, "ask");
  return true;
};

/** What a call did that ran before a crash stays unknown, whoever forbids to repeat it. */
export const outcomeOf = ({ attempts }: Call, status: ResultStatus, text: string): [ResultStatus, string] =>
  status === "denied" && attempts > 0 ? ["unknown", `${synthesised.unknown}\n${text}`] : [status, text];

const settle = (draft: Draft, ask: Ask, status: ResultStatus, text: string): void => {
  if (preparingTold(draft, ask, text)) return;
  const call = findCall(threadOf(draft, ask.thread).run, ask.call);
  if (call === null) return;
  const durationMs = Math.max(0, draft.moment.now - ask.opened_at);
  callEnded(draft, ask.thread, ask.call, {
    result: callResult(draft, ask.thread, call, ...outcomeOf(call, status, text)),
    durationMs,
    cached: false,
  });
};

/** An approved call may start. */
const cleared = { status: "planned", approved: true, ask: null, until: null, parkedOn: null } as const;

/** The run and what is below it go on or end: their limit is not what they wait for any more. */
const raiseClosed = (draft: Draft, { thread }: Ask): void => {
  if (threadOf(draft, thread).run !== null) changeBudget(draft, thread, { ask: null });
};

const limitOf = ({ thread, budget }: Ask): Pick<Reached, "scope" | "thread" | "kind"> => ({
  scope: budget?.scope ?? "run",
  thread,
  kind: limitOfKey(budget?.kind),
});

/** The verdict again, on the newest rules and grants, and on the arguments as they would run. */
export const judgedAgain = (draft: Draft, threadId: string, call: ToolCallPart): CallPlan =>
  agentOf(draft, threadId).judge(call, grantsOf(draft), threadOf(draft, threadId).depth);

/** A call at its turn, judged anew: while it waited, a grant may have come, or a deploy may have taken something back. */
export const judgeAtTurn = (draft: Draft, threadId: string, call: Call): Call => {
  const { plan: before, edited, attempts } = call;
  if (before.refusal !== undefined || agentOf(draft, threadId).missing !== null) return call;
  const asRun = edited === null ? call.call : { ...call.call, args: edited };
  const now = judgedAgain(draft, threadId, asRun);
  // An approval stands against everything but a refusal, and so does an ask about what a crash interrupted.
  const stands = call.approved || (before.verdict === "ask" && attempts > 0);
  const { closed } = now;
  const kept = closed === undefined ? before : { ...before, closed };
  const plan = now.refusal === undefined && stands ? kept : now;
  changeCall(draft, threadId, call.call.id, { plan });
  return { ...call, plan };
};

/**
 * What an approval comes to: a deny that came in the meantime beats it, and what rules close to the call now stays closed.
 * A call whose agent the deployment lacks waits for it: nothing but that forbids it.
 */
export const approved = (draft: Draft, { thread }: Ask, { call, plan }: Call): AnswerEffect => {
  if (agentOf(draft, thread).missing !== null) return { do: "start", changed: {} };
  const { verdict, refusal, by, closed } = judgedAgain(draft, thread, call);
  if (verdict === "deny") {
    const text = refusal?.text ?? `denied: a rule forbids this call (${by})`;
    return { do: "settle", status: "denied", text };
  }
  return { do: "start", changed: closed === undefined ? {} : { plan: { ...plan, closed } } };
};

/** Nobody raised the limit: the run stops. */
const raiseRefused = (draft: Draft, ask: Ask): Json => {
  raiseClosed(draft, ask);
  const { kind, limit = 0 } = ask.budget ?? {};
  stopped(draft, limitOf(ask), `${kind}: the limit ${limit} is reached and was not raised`);
  return "stop";
};

const approvalDefault = (draft: Draft, ask: Ask): AnswerEffect => {
  const call = findCall(threadOf(draft, ask.thread).run, ask.call);
  const { onTimeout } = agentOf(draft, ask.thread).approvalTimeout(ask.approval?.rule ?? "");
  return onTimeout === "approve" && call !== null
    ? approved(draft, ask, call)
    : { do: "settle", status: "denied", text: "denied: nobody approved this call in time." };
};

/** What an ask's call gets when nobody answers. */
const applyDefault = (draft: Draft, ask: Ask): Json => {
  if (ask.kind === "budget") return raiseRefused(draft, ask);
  if (preparingTold(draft, ask, null)) return "continue";
  const agent = agentOf(draft, ask.thread);
  if (ask.kind === "approval") {
    const effect = approvalDefault(draft, ask);
    applied(draft, ask, effect);
    return effect.do === "start" ? "approve" : "deny";
  }
  if (ask.kind !== "question") {
    settle(draft, ask, "error", "timeout: no result came from the client in time.");
    return "error";
  }
  const rule = agent.asks.onTimeout;
  if (rule === "fail") {
    settle(draft, ask, "error", "timeout: no answer came.");
    changeRun(draft, ask.thread, {
      stop: { reason: "deadline_exceeded", error: "a question was not answered in time" },
    });
    return "fail";
  }
  settle(draft, ask, "ok", rule === "continue" ? "No answer came; decide or finish." : rule.answer);
  return rule === "continue" ? "continue" : { answer: rule.answer };
};

/** An open ask passed its time. */
export const askExpired = (draft: Draft, ask: Ask): void => {
  close(draft, ask, "expired", { decision: "expired", by: "clock" });
  const at = draft.events.length;
  const applied = applyDefault(draft, ask);
  const later = draft.events.splice(at);
  emit(draft, ask.thread, "ask_expired", { ask: ask.id, applied }, placeOf(ask));
  draft.events.push(...later);
};

/** A checked answer: what the call gets, or that it may start. */
export type AnswerEffect =
  | { readonly do: "settle"; readonly status: ResultStatus; readonly text: string }
  /** The call may run, as written or as the approver changed it. */
  | { readonly do: "start"; readonly changed: Partial<Pick<Call, "edited" | "plan">> }
  /** The limit in its own unit: tokens, 10⁻⁹ USD, milliseconds, calls, turns. */
  | { readonly do: "raise"; readonly limit: number }
  | { readonly do: "default" };

const applied = (draft: Draft, ask: Ask, effect: AnswerEffect): void => {
  switch (effect.do) {
    case "settle":
      settle(draft, ask, effect.status, effect.text);
      return;
    case "start":
      changeCall(draft, ask.thread, ask.call, { ...cleared, ...effect.changed });
      return;
    case "raise":
      raiseClosed(draft, ask);
      raised(draft, limitOf(ask), effect.limit);
      return;
    case "default":
      applyDefault(draft, ask);
  }
};

/** The first valid answer to an open ask; `body` is kept to tell a repeat from a second answer. */
export const askAnswered = (
  draft: Draft,
  ask: Ask,
  decision: Decision,
  by: string,
  body: Json,
  effect: AnswerEffect,
): void => {
  close(draft, ask, "resolved", { decision, by, body });
  emit(
    draft,
    ask.thread,
    "ask_resolved",
    { ask: ask.id, decision, by, edited: decision === "edit" },
    placeOf(ask),
  );
  applied(draft, ask, effect);
};

/** What follows a limit that is reached: a person is asked for a higher one, or the run stops. */

/** Who is held gives its place at a gate back, and asks for another when it goes on. */
const placesLeft = (draft: Draft, thread: string): void => {
  for (const { id, run } of Object.values(draft.state.threads)) {
    if (run === null || !lineOf(draft.state, id).some((each) => each.id === thread)) continue;
    const { phase } = run;
    if (phase.at === "preparing") changeRun(draft, id, { phase: { ...phase, place: null } });
    if (phase.at === "waiting" && phase.why === "gate")
      changeRun(draft, id, { phase: { ...phase, booked: false, why: "retry" } });
  }
};

/** The run of the account waits, with everything below it, until somebody raises the limit or the time is over. */
const raiseAsked = (draft: Draft, { thread, scope, kind, limit, spent, least }: Reached): void => {
  const { run } = threadOf(draft, thread);
  if (run === null || run.budget.ask !== null) return;
  const { timeoutMs } = agentOf(draft, thread).asks;
  const shown = (amount: number): number => shownAmount(kind, amount);
  const ask = asked(draft, thread, timeoutMs, {
    kind: "budget",
    call: "",
    budget: { scope, kind: keyOf[kind], limit: shown(limit), spent: shown(spent), least: shown(least) },
  });
  changeBudget(draft, thread, { ask: { id: ask.id, until: ask.expires_at } });
  placesLeft(draft, thread);
  if (!draft.state.interactive) askExpired(draft, ask);
};

/** A limit leaves no room: its run asks, or it stops with everything below it. */
export const exceeded = (draft: Draft, reached: Reached): void => {
  reachedSaid(draft, reached);
  if (reached.ask) raiseAsked(draft, reached);
  else stopped(draft, reached, sentenceOf(reached));
};
