import type { CostEstimate } from "../agent/budgets/bounds.ts";
import { checkBudget } from "../agent/budgets/bounds.ts";
import { markLeased } from "../agent/budgets/lease.ts";
import { estimateCost } from "../agent/budgets/reserve.ts";
import { bookAttempt, bookSpending, reportUnpricedModel } from "../agent/budgets/spend.ts";
import type { Agent, ModelTarget } from "../agent/definition/agent.ts";
import { effectTargetOf } from "../agent/definition/agent.ts";
import type { BoundEffect, EffectCall } from "../agent/definition/effect.ts";
import {
  startEffectCall,
  pauseEffectForTicket,
  isPreparing,
  keepMemo,
  preparingPhaseOf,
  pausePreparing,
} from "../agent/hooks/preparing.ts";
import type { ReachedLimit } from "../agent/state/budget.ts";
import type { LedgerRow } from "../agent/state/records.ts";
import { toUsd } from "../agent/state/records.ts";
import type { EffectMemo, EffectReply, PreparingPhase, Run } from "../agent/state/run.ts";
import type { Thread } from "../agent/state/thread.ts";
import { noUsage } from "../agent/state/usage.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import { emit } from "../agent/transaction/draft.ts";
import { handleReachedLimit } from "../agent/turn/answers.ts";
import { reportTruncatedInput } from "../agent/turn/replies.ts";
import type { Json } from "../chat/message.ts";
import { estimateText } from "../chat/tokens.ts";
import type { Completion, ModelRequest } from "../model/completer.ts";
import type { ModelFailure } from "../model/error.ts";
import { sha256Hex } from "../sandbox/sha256.ts";
import { ensureLease } from "./lease.ts";
import type { ModelCall } from "./model-call.ts";
import { runModelCall, requestTicket } from "./model-call.ts";
import type { WorkContext } from "./work.ts";

/** Makes the model calls of an effect: a call whose reply is stored is never made again. */

const mostTries = 3;

const firstPause = 500;

const longestPause = 5_000;

/** Describes one attempt at a call of an effect. */
interface CallTry {
  readonly work: EffectWork;
  readonly call: EffectCall;
  readonly key: string;
  readonly lane: ModelTarget;
  /** Counts from 1. */
  readonly attempt: number;
}

/** Estimates the tokens of the call's request. */
const tokensOf = ({ system, prompt }: EffectCall): number => estimateText(system) + estimateText(prompt);

const targetOf = ({ bound, agent, run }: EffectWork): ModelTarget | undefined =>
  effectTargetOf(agent, run, bound.lane);

const requestOf = (
  { host }: WorkContext,
  { work: { thread, run, agent }, call, lane, attempt }: CallTry,
  maxTokens: number,
): ModelRequest => ({
  model: lane.model,
  system: call.system,
  messages: [
    {
      id: `msg_${thread.id}_prompt`,
      pos: 0,
      role: "user",
      origin: "system",
      parts: [{ type: "text", text: call.prompt }],
      at: host.now(),
      tokens: 0,
    },
  ],
  tools: [],
  toolChoice: "none",
  maxTokens,
  ...lane.sampling,
  cache: { ...lane.cache, mode: "off" },
  media: (blob) => host.media(blob),
  context: {
    session: host.read().id,
    agent: agent.name,
    thread: thread.id,
    run: run.id,
    turn: run.turn,
    call: thread.calls,
    attempt,
    purpose: "compaction",
  },
});

const emitFinish = (draft: Draft, threadId: string, reply: Completion): void => {
  const { finish, usage, cost, provider, model, requestId, firstByteMs, totalMs } = reply;
  emit(draft, threadId, "llm_finish", {
    finish_reason: finish,
    usage,
    cost_usd: toUsd(cost),
    provider,
    model,
    request_id: requestId ?? null,
    first_byte_ms: firstByteMs,
    duration_ms: totalMs,
  });
};

const bookTry = (
  draft: Draft,
  { work, lane, attempt }: CallTry,
  {
    outcome,
    usage,
    estimated,
    cost,
    ms,
  }: Pick<LedgerRow, "outcome" | "usage" | "estimated" | "cost"> & { readonly ms: number },
): void => {
  const { provider, model } = lane;
  const purpose = "compaction";
  bookAttempt(draft, work.thread.id, { outcome, usage, estimated, cost, provider, model, purpose, attempt });
  bookSpending(draft, work.thread.id, { time: ms });
};

/** Describes how an attempt ended; without a reply the effect runs again when its time has come. */
interface TryOutcome {
  readonly reply: EffectReply | null;
  /** Is true if the model target was given up. */
  readonly exhausted: boolean;
}

interface TryFailure {
  readonly error: string;
  readonly retryAfterMs?: number;
  readonly retryable: boolean;
}

/** Records an attempt without a reply: the effect waits and runs again, or learns that it failed. */
const failTry = (
  context: WorkContext,
  { work, key, lane, attempt }: CallTry,
  { error, retryAfterMs = 0, retryable }: TryFailure,
  book: (draft: Draft) => void,
): TryOutcome => {
  const wait = Math.max(retryAfterMs, Math.min(longestPause, firstPause * 2 ** (attempt - 1)));
  const given = !retryable || attempt >= mostTries || wait > lane.retry.maxWait;
  const reply: EffectReply = { ok: false, error, attempts: attempt };
  settleIfCurrent(context, work, (draft) => {
    book(draft);
    keepMemo(draft, work.thread.id, key, given ? reply : attempt);
    if (!given) pausePreparing(draft, work.thread.id, draft.moment.now + wait, "retry");
  });
  return { reply: given ? reply : null, exhausted: given };
};

const failModelCall = (work: WorkContext, each: CallTry, failure: ModelFailure, ms: number): TryOutcome => {
  const { usage = noUsage, billed = false, cost = 0, code: outcome, message: error } = failure;
  const row = { outcome, usage, estimated: billed, cost, ms };
  return failTry(work, each, { ...failure, error }, (draft) => bookTry(draft, each, row));
};

/** Stores a reply, which counts as a failed attempt if its effect refuses it; the gate is notified of a good one. */
const takeReply = (context: WorkContext, each: CallTry, reply: Completion): TryOutcome => {
  const { work, key, call, attempt } = each;
  const threadId = work.thread.id;
  const text = reply.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const error = call.refuse?.(text, reply.finish) ?? null;
  const book = (draft: Draft): void => {
    emitFinish(draft, threadId, reply);
    reportTruncatedInput(draft, threadId, reply, tokensOf(call));
    bookTry(draft, each, { ...reply, outcome: "ok", ms: reply.totalMs });
  };
  if (error !== null)
    return { ...failTry(context, each, { error, retryable: true }, book), exhausted: false };
  const done: EffectReply = { ok: true, text, attempts: attempt };
  settleIfCurrent(context, work, (draft) => {
    book(draft);
    keepMemo(draft, threadId, key, done);
  });
  return { reply: done, exhausted: false };
};

const triesOf = (memo: EffectMemo | undefined): number => (typeof memo === "number" ? memo : 0);

/** Sets how long a call waits for others of the tree before it checks the budget again. */
const budgetPause = 5_000;

/** Pauses a call that no budget allows: it waits for others of the tree, or its run asks for more or ends. */
const pauseUnpaidCall = (draft: Draft, threadId: string, why: "wait" | ReachedLimit): void => {
  pausePreparing(draft, threadId, draft.moment.now + (why === "wait" ? budgetPause : 0), "budget");
  if (why !== "wait") handleReachedLimit(draft, why);
};

/** Reserves what a call may cost at worst; returns false if the budgets do not allow it. */
const reserveBudget = (context: WorkContext, { work, lane }: CallTry, estimate: CostEstimate): boolean => {
  const threadId = work.thread.id;
  let paid = false;
  settleIfCurrent(context, work, (draft) => {
    const check = checkBudget(draft, threadId, estimate);
    paid = check.is === "free";
    if (check.is !== "free")
      return pauseUnpaidCall(draft, threadId, check.is === "wait" ? "wait" : check.reached);
    if (lane.cost(noUsage) === null) reportUnpricedModel(draft, threadId, lane.model);
    startEffectCall(draft, threadId, lane, estimate.input, markLeased(draft, threadId, check.hold));
  });
  return paid;
};

/** Reserves the cost as above and ensures a lease of the tenant's day, which may need a request. */
const ensureCallCovered = async (
  context: WorkContext,
  each: CallTry,
  estimate: CostEstimate,
): Promise<"covered" | "unreachable" | null> => {
  if (!reserveBudget(context, each, estimate)) return null;
  const { work } = each;
  const how = await ensureLease(context, work.thread.id, estimate, (session) =>
    isPreparing(session, work.thread.id, work.phase),
  );
  if (how === "covered" || how === "unreachable") return how;
  if (how !== "late") settleIfCurrent(context, work, (draft) => pauseUnpaidCall(draft, work.thread.id, how));
  return null;
};

/** Returns the call under way as its gate knows it, or null if it is not being made any more. */
const findCallInFlight = ({ host }: WorkContext, { work, lane }: CallTry): ModelCall | null => {
  const session = host.read();
  const calling = preparingPhaseOf(session.threads[work.thread.id]?.run ?? null)?.calling;
  if (!isPreparing(session, work.thread.id, work.phase) || calling === null || calling === undefined)
    return null;
  const { place, tokens, hold } = calling;
  return { ...place, lane, input: tokens, output: hold.output };
};

/** Takes the call's ticket: returns "free" if it may leave now, and otherwise the outcome of a refusal or a wait. */
const takeTicket = async (
  work: WorkContext,
  each: CallTry,
  call: ModelCall,
): Promise<TryOutcome | "free"> => {
  const given = await requestTicket(work, call);
  if (given.is === "free") return "free";
  if (given.is === "failed") return failModelCall(work, each, given.failure, 0);
  if (given.is === "wait")
    settleIfCurrent(work, each.work, (draft) =>
      pauseEffectForTicket(draft, each.work.thread.id, given.until, given.booked),
    );
  return { reply: null, exhausted: false };
};

/** Makes a call that is paid for, once it holds its ticket. */
const makeCoveredCall = async (work: WorkContext, each: CallTry): Promise<EffectReply | null> => {
  const call = findCallInFlight(work, each);
  if (call === null) return null;
  const place = await takeTicket(work, each, call);
  if (place !== "free") return place.reply;
  const startedAt = work.host.now();
  const request = (): ModelRequest => requestOf(work, each, call.output);
  const { reply } = await runModelCall(work, call, request, (outcome) =>
    outcome.ok
      ? takeReply(work, each, outcome.reply)
      : failModelCall(work, each, outcome.failure, work.host.now() - startedAt),
  );
  return reply;
};

/** Makes one model call; returns null if its time has not come, and the effect runs again then. */
export const runEffectCall = async (
  context: WorkContext,
  work: EffectWork,
  call: EffectCall,
): Promise<EffectReply | null> => {
  const { system, prompt, maxTokens } = call;
  const key = digest(system, prompt, maxTokens);
  const known = memoOf(context, work, key);
  if (typeof known === "object") return known;
  const target = targetOf(work);
  if (target === undefined) return { ok: false, error: "the agent has no model", attempts: 0 };
  const each: CallTry = { work, call, key, lane: target, attempt: triesOf(known) + 1 };
  const estimate = estimateCost(target, tokensOf(call), Math.min(maxTokens, target.maxOutput));
  const covered = await ensureCallCovered(context, each, estimate);
  if (covered === "covered") return makeCoveredCall(context, each);
  if (covered === null) return null;
  const error = "the tenant's budget could not be read";
  return failTry(context, each, { retryable: true, error }, () => {}).reply;
};

/** The rest of this file tracks an effect's work: whether it is still current, and which answers it already has. */

/** Describes an effect at work, as the state had it when the effect began. */
export interface EffectWork {
  readonly thread: Thread;
  readonly run: Run;
  readonly phase: PreparingPhase;
  readonly agent: Agent;
  readonly bound: BoundEffect;
}

/** Changes the state if this very start of the effect is still at work. */
export const settleIfCurrent = (
  { settle }: WorkContext,
  work: EffectWork,
  change: (draft: Draft) => void,
): void =>
  settle((draft) => {
    if (isPreparing(draft.state, work.thread.id, work.phase)) change(draft);
  });

/** Returns the stored outcome of an earlier call or question, or undefined if it is new. */
export const memoOf = ({ host }: WorkContext, { thread }: EffectWork, key: string): EffectMemo | undefined =>
  preparingPhaseOf(host.read().threads[thread.id]?.run ?? null)?.memo[key];

export const digest = (...parts: readonly Json[]): string => sha256Hex(JSON.stringify(parts)).slice(0, 32);
