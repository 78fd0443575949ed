import { pauseAfter } from "../state/ask.ts";
import type { RefusedKind } from "../../chat/refused.ts";
import { holdsRefusable } from "../../chat/refused.ts";
import type { ModelErrorCode, ModelFailure } from "../../model/error.ts";
import type { FailureDecision } from "../../model/retry.ts";
import { decideAfterFailure } from "../../model/retry.ts";
import type { LeaseRefusal } from "../budgets/lease.ts";
import { checkTurnBudget, checkBudget } from "../budgets/bounds.ts";
import {
  bookFailedCall,
  pauseStep,
  startModelCall,
  bookReply,
  reportTruncatedInput,
} from "../calls/model-call.ts";
import type { ModelCall, Ticket } from "../state/phase.ts";
import { modelOverrideFor, refusedBeforeOf } from "../context/request.ts";
import { targetAt } from "../definition/agent.ts";
import { changePlan } from "../hooks/plan.ts";
import { compactOverflow, keepMemo, preparingPhaseOf } from "../hooks/preparing.ts";
import type { EndReason } from "../state/events.ts";
import { attemptId, isPlanning } from "../state/phase.ts";
import type { LedgerRow } from "../state/records.ts";
import type { Run } from "../state/run.ts";
import { purposeOf } from "../state/run.ts";
import type { Draft, ThreadDraft } from "../transaction/draft.ts";
import { agentOf, emit, runOf, headAfter } from "../transaction/draft.ts";
import { requestSizes, requestTokens, findTarget, nextAttempt } from "../transaction/next-request.ts";
import { handleReachedLimit } from "./ask-answers.ts";
import type { Completion } from "../../model/completer.ts";
import type { CostEstimate } from "../budgets/bounds.ts";
import type { ModelTarget } from "../definition/agent.ts";
import type { EffectCall } from "../definition/effect.ts";

/** A turn asks its model in attempts: one without a reply is retried later, moved to the next target, or ends the run. */

/** Stores the intent to ask the model with its cost before anything is sent; without budget the run waits. */
export const startAttempt = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  const { thread } = draft;
  const { attempt, chain, ticket: waited } = nextAttempt(draft);
  const agent = agentOf(draft);
  const { now, epoch } = draft.context;
  const input = requestTokens(agent, thread, run);
  const check = checkTurnBudget(draft, agent, chain.current, input);
  if (check.is !== "free") {
    run.phase = { at: "waiting", attempt, wait: { on: "budget", until: now }, chain, ticket: null };
    return;
  }
  run.target = targetAt(agent, chain.current);
  if (isPlanning(run.plan)) changePlan(draft, { attempts: attempt });
  const facts = { purpose: purposeOf(run), target: run.target, attempt, input };
  const sizes = requestSizes(agent, thread, run);
  const place = { waited, name: attemptId(run, attempt) };
  const call = startModelCall(draft, { ...facts, ...sizes, ...place }, check.hold);
  const from = { edit: draft.state.nextEdit - 1, override: modelOverrideFor(draft.state, thread) };
  run.phase = { at: "thinking", epoch, chain, call, items: [], from };
};

/** Item that a reply opens, in order, while it streams. */
export interface OpenedItem {
  readonly id: string;
  readonly kind: "text" | "reasoning" | "tool_input";
  readonly preview: string;
  readonly call: { readonly id: string; readonly name: string } | null;
}

export const itemId = (run: Run, attempt: number, index: number): string =>
  `${attemptId(run, attempt)}.${index}`;

/** Opens items of the current attempt that the stream newly shows. */
export const openItems = (draft: ThreadDraft, items: readonly OpenedItem[]): void => {
  const run = runOf(draft);
  if (run.phase.at !== "thinking") return;
  const { phase } = run;
  const fresh = items.filter(({ id }) => !phase.items.includes(id));
  if (fresh.length === 0) return;
  for (const { id: item, kind, preview, call } of fresh) {
    const scope = { attempt: phase.call.attempt, item };
    if (kind === "text") emit(draft, "llm_text", { preview }, scope);
    else if (kind === "reasoning") emit(draft, "llm_reasoning", { preview }, scope);
    else {
      const { id, name } = call ?? { id: "", name: "" };
      emit(draft, "llm_tool_prepare", { call: id, tool: name }, { ...scope, call: id });
    }
  }
  run.phase = { ...phase, items: [...phase.items, ...fresh.map(({ id }) => id)] };
};

const endReasons: Partial<Record<ModelErrorCode, EndReason>> = {
  rate_limited: "provider_rate_limited",
  overloaded: "provider_overloaded",
  auth: "provider_auth",
  timeout: "provider_timeout",
  context_overflow: "context_length_exceeded",
};

const noRetry = { maxRetries: 0, baseDelay: 0, maxWait: 0 };

/** Ends a failed attempt; if it was sent, `sent` holds what it saw. Returns whether its target's retries are used up. */
export const failAttempt = (
  draft: ThreadDraft,
  failure: ModelFailure,
  sent: Pick<LedgerRow, "saw"> = {},
): boolean => {
  const { phase } = runOf(draft);
  if (phase.at !== "thinking") return false;
  const { call, chain } = phase;
  const { now, fraction } = draft.context;
  const policy = findTarget(draft, call.target)?.retry ?? noRetry;
  const after = decideAfterFailure(failure, chain, policy, now, fraction);
  const retryAt = after.kind === "retry" ? after.at : null;
  bookFailedCall(draft, call, failure, { ...sent, retryAt });
  const attempt = call.attempt + 1;
  if (failure.code === "context_overflow" && compactOverflow(draft, attempt)) return false;
  if (leaveOutRefused(draft, failure)) {
    pauseStep(draft, { on: "retry", until: now }, { attempt });
    return false;
  }
  if (after.kind === "fail") giveUpRun(draft, after);
  else retryAttempt(draft, failure, attempt, after);
  return after.exhausted;
};

/** Refusals of something in the chat, and what the chat goes on without. */
const refusals: Partial<Record<ModelErrorCode, { readonly kind: RefusedKind; readonly without: string }>> = {
  reasoning_refused: { kind: "reasoning", without: "it" },
  media_refused: { kind: "media", without: "the images and documents so far" },
};

/**
 * Leaves out of later requests to a model target what its provider refused of the chat: reasoning that it sent before,
 * as after a change of its account, or images and documents. Returns false if nothing of it was sent, so that nothing
 * would change.
 */
const leaveOutRefused = (draft: ThreadDraft, failure: ModelFailure): boolean => {
  const { code, provider, model, message } = failure;
  const refused = refusals[code];
  if (refused === undefined) return false;
  const { kind, without } = refused;
  const { thread } = draft;
  const before = refusedBeforeOf(thread, failure);
  const { [kind]: since = 0 } = before;
  if (!thread.chat.some((each) => each.pos >= since && holdsRefusable(each, kind, failure))) return false;
  const now = { ...before, [kind]: thread.nextPos };
  thread.refusedBefore = { ...thread.refusedBefore, [`${provider}/${model}`]: now };
  const what = `${message} The chat goes on without ${without}.`;
  emit(draft, "error", { code, message: what, retryable: true });
  return true;
};

/** Makes another attempt: later with the same model target, or at once with the next. */
const retryAttempt = (
  draft: ThreadDraft,
  { provider, model, code }: ModelFailure,
  attempt: number,
  after: Exclude<FailureDecision, { kind: "fail" }>,
): void => {
  const { chain } = after;
  if (after.kind === "next_target") {
    const to = chain.list[after.index];
    const names = { from: `${provider}/${model}`, to: `${to?.provider}/${to?.model}` };
    emit(draft, "provider_failover", { ...names, code });
  }
  const until = after.kind === "retry" ? after.at : draft.context.now;
  pauseStep(draft, { on: "retry", until }, { attempt, chain });
};

const giveUpRun = (
  draft: ThreadDraft,
  { code, message, retryable, retryAt }: Extract<FailureDecision, { kind: "fail" }>,
): void => {
  const error = retryAt === undefined ? message : `${message} (retry_at ${new Date(retryAt).toISOString()})`;
  const run = runOf(draft);
  run.phase = { at: "ready" };
  const reason = endReasons[code] ?? "provider_error";
  run.ending = { state: "failed", reason, error, isFinal: !retryable };
};

const unreadableBudget = "the tenant's budget could not be read";

/** Number of failures in a row to get an answer from the tenant's object after which a run is given up. */
const mostUnanswered = 10;

/** Milliseconds that an attempt waits for what calls of its session have reserved. */
const sharePause = 5_000;

/** Handles an unsent attempt that the tenant's day does not cover: it waits, or its run ends. */
export const handleUncoveredAttempt = (
  draft: ThreadDraft,
  { ticket }: ModelCall,
  how: LeaseRefusal,
): void => {
  const run = runOf(draft);
  if (typeof how !== "string") {
    run.phase = { at: "ready" };
    handleReachedLimit(draft, how);
    return;
  }
  const unanswered = how === "unreachable" ? run.counters.unansweredLeases + 1 : 0;
  run.counters.unansweredLeases = unanswered;
  const pause = how === "wait" ? sharePause : pauseAfter(unanswered - 1, 1_000, 60_000);
  pauseStep(draft, { on: "retry", until: draft.context.now + pause }, { ticket });
  if (unanswered >= mostUnanswered) run.stop = { reason: "storage_error", error: unreadableBudget };
};

/** An effect asks one model target; its phase keeps each reply by the digest `key` of what was asked. */

/** Milliseconds that a call waits for others of the tree before it checks the budget again. */
const budgetPause = 5_000;

/** Stores the intent to make the call with its cost before anything is sent; without budget the effect waits. */
export const startEffectCall = (
  draft: ThreadDraft,
  key: string,
  target: ModelTarget,
  estimate: CostEstimate,
): void => {
  const run = runOf(draft);
  const phase = preparingPhaseOf(run);
  if (phase === null) return;
  // A run that is to end after what is under way ends here: a wait is not under way.
  if (run.cancel !== null) {
    const until = draft.context.now + budgetPause;
    return pauseStep(draft, { on: "retry", until }, { ticket: phase.ticket });
  }
  const check = checkBudget(draft, estimate);
  if (check.is !== "free")
    return pauseUnpaidCall(draft, check.is === "wait" ? "wait" : check.reached, phase.ticket);
  const { [key]: tries = 0 } = phase.memo;
  const attempt = typeof tries === "number" ? tries + 1 : 1;
  const facts = { purpose: "compaction", target, attempt, input: estimate.input } as const;
  const place = { waited: phase.ticket, name: `effect.${headAfter(draft)}` };
  const start = { ...facts, messages: 1, tools: 0, ...place };
  const call = startModelCall(draft, start, check.hold);
  run.phase = { ...phase, call, ticket: null };
};

type Unpaid = Exclude<LeaseRefusal, "unreachable">;

/** Pauses a call that no budget allows: it waits for others of the tree, or its run asks for more or ends. */
const pauseUnpaidCall = (draft: ThreadDraft, why: Unpaid, ticket: Ticket | null): void => {
  const until = draft.context.now + (why === "wait" ? budgetPause : 0);
  pauseStep(draft, { on: "budget", until }, { ticket });
  if (why !== "wait") handleReachedLimit(draft, why);
};

/** Call under way, its target, and the key under which its outcome is kept. */
export interface EffectTry {
  readonly key: string;
  readonly target: ModelTarget;
  readonly call: ModelCall;
}

/** Handles an unsent call that the tenant's day does not cover. */
export const handleUncoveredEffectCall = (draft: ThreadDraft, each: EffectTry, how: LeaseRefusal): void => {
  if (how !== "unreachable") return pauseUnpaidCall(draft, how, each.call.ticket);
  retryEffectCall(draft, each, { message: unreadableBudget, retryable: true });
};

const mostTries = 3;

const firstPause = 500;

const longestPause = 5_000;

type TryFailure = Pick<ModelFailure, "message" | "retryable" | "retryAfterMs">;

/** Returns when a call that got no usable reply is made again; null if it is given up. */
const retryTime = (
  draft: Draft,
  { target, call: { attempt } }: EffectTry,
  { retryable, retryAfterMs = 0 }: TryFailure,
): number | null => {
  const wait = Math.max(retryAfterMs, pauseAfter(attempt - 1, firstPause, longestPause));
  const failed = !retryable || attempt >= mostTries || wait > target.retry.maxWait;
  return failed ? null : draft.context.now + wait;
};

/** Handles a call that got no usable reply: its effect runs again later, or it failed, which is returned. */
const retryEffectCall = (draft: ThreadDraft, each: EffectTry, failure: TryFailure): boolean => {
  const { attempt } = each.call;
  const until = retryTime(draft, each, failure);
  const memo = until === null ? { ok: false as const, error: failure.message, attempts: attempt } : attempt;
  keepMemo(draft, each.key, memo);
  if (until !== null) pauseStep(draft, { on: "retry", until });
  return until === null;
};

/** Returns whether the target's retries are used up. */
export const failEffectCall = (draft: ThreadDraft, each: EffectTry, failure: ModelFailure): boolean => {
  bookFailedCall(draft, each.call, failure, { retryAt: retryTime(draft, each, failure) });
  return retryEffectCall(draft, each, failure) && failure.retryable;
};

/** Keeps a reply, unless its effect refuses it with a reason: then it counts as a failed attempt. */
export const storeEffectReply = (
  draft: ThreadDraft,
  each: EffectTry,
  reply: Completion,
  refuse: EffectCall["refuse"],
): void => {
  const { key, call } = each;
  bookReply(draft, call, reply);
  reportTruncatedInput(draft, call, reply);
  const text = reply.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const message = refuse?.(text, reply.finish) ?? null;
  if (message === null) keepMemo(draft, key, { ok: true, text, attempts: call.attempt });
  else retryEffectCall(draft, each, { message, retryable: true });
};
