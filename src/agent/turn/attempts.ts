import type { ModelErrorCode, ModelFailure } from "../../model/error.ts";
import type { FailureDecision } from "../../model/retry.ts";
import { decideAfterFailure } from "../../model/retry.ts";
import type { LeaseOutcome } from "../budgets/lease.ts";
import { bookAttempt } from "../budgets/spend.ts";
import { mostOverflows, startOverflowCompaction } from "../hooks/preparing.ts";
import type { EndReason } from "../state/events.ts";
import type { LedgerRow } from "../state/records.ts";
import { noUsage } from "../state/usage.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, emit, runOf } from "../transaction/draft.ts";
import { findTarget } from "../transaction/targets.ts";
import { handleReachedLimit } from "./answers.ts";
import { abortAttempt } from "./turns.ts";

/** Attempts without a reply are retried later, moved to another model target, or end the run. */

const endReasons: Partial<Record<ModelErrorCode, EndReason>> = {
  rate_limited: "provider_rate_limited",
  overloaded: "provider_overloaded",
  auth: "provider_auth",
  timeout: "provider_timeout",
  context_overflow: "context_length_exceeded",
};

/** If the failed attempt left, `sent` holds what it saw. Returns whether its model target was given up. */
export const failAttempt = (
  draft: Draft,
  threadId: string,
  failure: ModelFailure,
  sent: Pick<LedgerRow, "saw"> = {},
): { readonly exhausted: boolean } => {
  const { phase, lane } = runOf(draft, threadId);
  if (phase.at !== "thinking") return { exhausted: false };
  const { now, fraction } = draft.moment;
  const policy = findTarget(draft, threadId, lane)?.retry ?? noRetry;
  const after = decideAfterFailure(failure, phase.lanes, policy, now, fraction);
  const { usage = noUsage, cost = 0, billed = false } = failure;
  bookAttempt(draft, threadId, {
    outcome: failure.code,
    usage,
    estimated: billed,
    cost,
    ...sent,
  });
  abortAttempt(draft, threadId, failure.code, after.kind === "retry" ? after.at : null);
  if (failure.code === "context_overflow" && compactOverflow(draft, threadId, phase.attempt + 1))
    return { exhausted: false };
  if (after.kind === "fail") giveUpRun(draft, threadId, failure, after);
  else retryAttempt(draft, threadId, failure, phase.attempt + 1, after);
  return { exhausted: after.exhausted };
};

/** The request was too long: the chat is compacted and asked again; false if that was tried often enough. */
export const compactOverflow = (draft: Draft, threadId: string, attempt: number): boolean => {
  const { overflows, cancel } = runOf(draft, threadId);
  const count = overflows + 1;
  if (count > mostOverflows || cancel !== null || agentOf(draft, threadId).effects.ladder === null)
    return false;
  startOverflowCompaction(draft, threadId, count, attempt);
  return true;
};

const noRetry = { maxRetries: 0, baseDelay: 0, maxWait: 0 };

/** Another attempt follows: later with the same model target, or at once with the next. */
const retryAttempt = (
  draft: Draft,
  threadId: string,
  { provider, model, code }: ModelFailure,
  attempt: number,
  after: Exclude<FailureDecision, { kind: "fail" }>,
): void => {
  const { lanes } = after;
  const until = after.kind === "retry" ? after.at : draft.moment.now;
  if (after.kind === "next_lane") {
    const to = lanes.list[after.index];
    const names = { from: `${provider}/${model}`, to: `${to?.provider}/${to?.model}` };
    emit(draft, threadId, "provider_failover", { ...names, code });
  }
  runOf(draft, threadId).phase = { at: "waiting", attempt, until, lanes, booked: false, why: "retry" };
};

const giveUpRun = (
  draft: Draft,
  threadId: string,
  { message }: ModelFailure,
  { code, retryAt }: Extract<FailureDecision, { kind: "fail" }>,
): void => {
  const error = retryAt === undefined ? message : `${message} (retry_at ${new Date(retryAt).toISOString()})`;
  const ending = { state: "failed", reason: endReasons[code] ?? "provider_error", error } as const;
  const run = runOf(draft, threadId);
  run.phase = { at: "ready" };
  run.ending = ending;
};

/** The attempt's ticket comes later or (`booked` false) has to be requested again then: it waits without a timer. */
export const pauseAttemptForTicket = (
  draft: Draft,
  threadId: string,
  startAt: number,
  booked: boolean,
): void => {
  const { phase } = runOf(draft, threadId);
  if (phase.at !== "thinking") return;
  const { attempt, lanes } = phase;
  runOf(draft, threadId).phase = { at: "waiting", attempt, until: startAt, lanes, booked, why: "gate" };
};

/** After so many failures in a row to get an answer from the team, a run is given up. */
const mostUnanswered = 10;

/** An attempt waits this long for what calls of its session have reserved. */
const sharePause = 5_000;

/** The tenant's day does not cover the unsent attempt: it waits for other calls or an answer, or its run ends. */
export const handleUncoveredAttempt = (
  draft: Draft,
  threadId: string,
  how: Exclude<LeaseOutcome, "covered" | "late">,
): void => {
  const { phase, counters } = runOf(draft, threadId);
  if (phase.at !== "thinking") return;
  if (typeof how !== "string") {
    runOf(draft, threadId).phase = { at: "ready" };
    handleReachedLimit(draft, how);
    return;
  }
  const { attempt, lanes } = phase;
  const dead = counters.deadAttempts + (how === "unreachable" ? 1 : 0);
  const pause = how === "wait" ? sharePause : Math.min(60_000, 1_000 * 2 ** (dead - 1));
  const until = draft.moment.now + pause;
  counters.deadAttempts = dead;
  runOf(draft, threadId).phase = { at: "waiting", attempt, until, lanes, booked: false, why: "retry" };
  if (dead < mostUnanswered) return;
  const error = "the tenant's budget could not be read";
  runOf(draft, threadId).stop = { reason: "storage_error", error };
};
