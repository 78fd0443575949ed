import { pauseAfter } from "../state/wait.ts";
import type { Completion } from "../../model/completer.ts";
import type { ModelFailure } from "../../model/error.ts";
import type { CostEstimate } from "../budgets/bounds.ts";
import { checkBudget } from "../budgets/bounds.ts";
import type { LeaseRefusal } from "../budgets/lease.ts";
import {
  bookFailedCall,
  bookReply,
  pauseStep,
  reportTruncatedInput,
  startModelCall,
} from "../calls/model-call.ts";
import type { ModelTarget } from "../definition/agent.ts";
import type { EffectCall } from "../definition/effect.ts";
import { keepMemo, preparingPhaseOf } from "../hooks/preparing.ts";
import type { ModelCall, Ticket } from "../state/phase.ts";
import type { Draft } from "../transaction/draft.ts";
import { runOf, headAfter } from "../transaction/draft.ts";
import { handleReachedLimit } from "./ask-answers.ts";

/** An effect asks one model target; its phase keeps each reply by the digest `key` of what was asked. */

/** Stores the intent to make the call with its cost before anything is sent; without budget the effect waits. */
export const startEffectCall = (
  draft: Draft,
  threadId: string,
  key: string,
  target: ModelTarget,
  estimate: CostEstimate,
): void => {
  const phase = preparingPhaseOf(runOf(draft, threadId));
  if (phase === null) return;
  const check = checkBudget(draft, threadId, estimate);
  if (check.is !== "free")
    return pauseUnpaidCall(draft, threadId, check.is === "wait" ? "wait" : check.reached, phase.ticket);
  const { [key]: tries = 0 } = phase.memo;
  const attempt = typeof tries === "number" ? tries + 1 : 1;
  const facts = { purpose: "compaction", target, attempt, input: estimate.input } as const;
  const place = { waited: phase.ticket, name: `effect.${headAfter(draft)}` };
  const start = { ...facts, messages: 1, tools: 0, ...place };
  const call = startModelCall(draft, threadId, start, check.hold);
  runOf(draft, threadId).phase = { ...phase, call, ticket: null };
};

/** Milliseconds that a call waits for others of the tree before it checks the budget again. */
const budgetPause = 5_000;

type Unpaid = Exclude<LeaseRefusal, "unreachable">;

/** Pauses a call that no budget allows: it waits for others of the tree, or its run asks for more or ends. */
const pauseUnpaidCall = (draft: Draft, threadId: string, why: Unpaid, ticket: Ticket | null): void => {
  const until = draft.context.now + (why === "wait" ? budgetPause : 0);
  pauseStep(draft, threadId, { on: "budget", until }, { ticket });
  if (why !== "wait") handleReachedLimit(draft, why);
};

/** Call under way, its target, and the key under which its outcome is kept. */
export interface EffectTry {
  readonly key: string;
  readonly target: ModelTarget;
  readonly call: ModelCall;
}

/** Handles an unsent call that the tenant's day does not cover. */
export const handleUncoveredEffectCall = (
  draft: Draft,
  threadId: string,
  each: EffectTry,
  how: LeaseRefusal,
): void => {
  if (how !== "unreachable") return pauseUnpaidCall(draft, threadId, how, each.call.ticket);
  const error = "the tenant's budget could not be read";
  retryEffectCall(draft, threadId, each, { error, retryable: true });
};

const mostTries = 3;

const firstPause = 500;

const longestPause = 5_000;

interface TryFailure extends Pick<ModelFailure, "retryable" | "retryAfterMs"> {
  readonly error: string;
}

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
const retryEffectCall = (draft: Draft, threadId: string, each: EffectTry, failure: TryFailure): boolean => {
  const { attempt } = each.call;
  const until = retryTime(draft, each, failure);
  const memo = until === null ? { ok: false as const, error: failure.error, attempts: attempt } : attempt;
  keepMemo(draft, threadId, each.key, memo);
  if (until !== null) pauseStep(draft, threadId, { on: "retry", until });
  return until === null;
};

/** Returns whether the model target was given up. */
export const failEffectCall = (
  draft: Draft,
  threadId: string,
  each: EffectTry,
  failure: ModelFailure,
): boolean => {
  const why = { ...failure, error: failure.message };
  bookFailedCall(draft, threadId, each.call, failure, { retryAt: retryTime(draft, each, why) });
  return retryEffectCall(draft, threadId, each, why);
};

/** Keeps a reply, unless its effect refuses it with a reason: then it counts as a failed attempt. */
export const storeEffectReply = (
  draft: Draft,
  threadId: string,
  each: EffectTry,
  reply: Completion,
  refuse: EffectCall["refuse"],
): void => {
  const { key, call } = each;
  bookReply(draft, threadId, call, reply);
  reportTruncatedInput(draft, threadId, call, reply);
  const text = reply.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const error = refuse?.(text, reply.finish) ?? null;
  if (error === null) keepMemo(draft, threadId, key, { ok: true, text, attempts: call.attempt });
  else retryEffectCall(draft, threadId, each, { error, retryable: true });
};
