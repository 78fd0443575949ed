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
  keepMemo,
  preparingPhaseOf,
  pausePreparing,
} from "../agent/hooks/preparing.ts";
import type { ReachedLimit } from "../agent/state/budget.ts";
import type { LedgerRow } from "../agent/state/records.ts";
import { toUsd } from "../agent/state/records.ts";
import type { EffectMemo, EffectReply, PreparingPhase, Run } from "../agent/state/run.ts";
import type { Session } from "../agent/state/session.ts";
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

/** The model calls of an effect: what has its reply is stored, and never asked again. */

const mostTries = 3;

const firstPause = 500;

const longestPause = 5_000;

/** One try of a call of an effect. */
interface CallTry {
  readonly work: EffectWork;
  readonly call: EffectCall;
  readonly key: string;
  readonly lane: ModelTarget;
  /** From 1. */
  readonly attempt: number;
}

/** Estimated tokens of its request. */
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

/** What came of a try; without a reply its effect is run again when its time has come. */
interface TryOutcome {
  readonly reply: EffectReply | null;
  /** The lane was given up. */
  readonly exhausted: boolean;
}

interface TryFailure {
  readonly error: string;
  readonly retryAfterMs?: number;
  readonly retryable: boolean;
}

/** A try that brought nothing: the effect waits and is then run again, or learns that it failed. */
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

/** A reply that its effect refuses is a failed try; the gate hears of a good one. */
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

/** How long a call waits for others of the tree before it looks for room again. */
const budgetPause = 5_000;

/** A call without room is not made now: it waits for others of the tree, or its run asks for more or ends. */
const pauseUnpaidCall = (draft: Draft, threadId: string, why: "wait" | ReachedLimit): void => {
  pausePreparing(draft, threadId, draft.moment.now + (why === "wait" ? budgetPause : 0), "budget");
  if (why !== "wait") handleReachedLimit(draft, why);
};

/** Keeps back what a call may cost at worst; false: it has no room. */
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

/** The same with the tenant's day, which may have to be asked. */
const ensureCallCovered = async (
  context: WorkContext,
  each: CallTry,
  estimate: CostEstimate,
): Promise<"covered" | "unreachable" | null> => {
  if (!reserveBudget(context, each, estimate)) return null;
  const { work } = each;
  const how = await ensureLease(context, work.thread.id, estimate, (session) =>
    isEffectCurrent(session, work),
  );
  if (how === "covered" || how === "unreachable") return how;
  if (how !== "late") settleIfCurrent(context, work, (draft) => pauseUnpaidCall(draft, work.thread.id, how));
  return null;
};

/** The call under way, as its gate knows it; null: it is not made any more. */
const findCallInFlight = ({ host }: WorkContext, { work, lane }: CallTry): ModelCall | null => {
  const session = host.read();
  const calling = preparingPhaseOf(session.threads[work.thread.id]?.run ?? null)?.calling;
  if (!isEffectCurrent(session, work) || calling === null || calling === undefined) return null;
  const { place, tokens, hold } = calling;
  return { ...place, lane, input: tokens, output: hold.output };
};

/** The gate's place for the call; a reply where that is refused, null where it has to wait. */
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

/** Makes a call that is paid for, once it has its place. */
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

/** One model call; null: its time is not come, the effect is run again then. */
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

/** An effect that needs the outside: whether it is still at work, and what it was told already. */

/** An effect at work, as the state had it when it began. */
export interface EffectWork {
  readonly thread: Thread;
  readonly run: Run;
  readonly phase: PreparingPhase;
  readonly agent: Agent;
  readonly bound: BoundEffect;
}

/** Whether the state still says that this very start of the effect is at work. */
const isEffectCurrent = (session: Session, { thread, run, phase }: EffectWork): boolean => {
  const now = session.threads[thread.id]?.run ?? null;
  const at = preparingPhaseOf(now);
  return (
    now?.id === run.id &&
    now.turn === run.turn &&
    at?.effect === phase.effect &&
    at.round === phase.round &&
    at.until === null
  );
};

/** Changes the state if this very start of the effect is still at work. */
export const settleIfCurrent = (
  { settle }: WorkContext,
  work: EffectWork,
  change: (draft: Draft) => void,
): void =>
  settle((draft) => {
    if (isEffectCurrent(draft.state, work)) change(draft);
  });

/** What came of a call or question before; undefined if it is new. */
export const memoOf = ({ host }: WorkContext, { thread }: EffectWork, key: string): EffectMemo | undefined =>
  preparingPhaseOf(host.read().threads[thread.id]?.run ?? null)?.memo[key];

export const digest = (...parts: readonly Json[]): string => sha256Hex(JSON.stringify(parts)).slice(0, 32);
