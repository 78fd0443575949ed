import type {
  Amounts,
  Bound,
  BudgetKind,
  BudgetReservation,
  Lease,
  ReachedLimit,
  TenantShare,
} from "../state/budget.ts";
import { budgetKinds, zeroAmounts, addAmounts } from "../state/budget.ts";
import type { Session } from "../state/session.ts";
import { modelCallOf } from "../state/phase.ts";
import { hasRun } from "../state/thread.ts";
import type { Draft, ThreadDraft } from "../transaction/draft.ts";
import { runOf } from "../transaction/draft.ts";
import type { ReservedAmounts, CostEstimate } from "./bounds.ts";
import {
  sumReservations,
  createReservation,
  leastOutputOf,
  leastSpendOf,
  lineageOf,
  outputWithinLimit,
} from "./bounds.ts";
import { warnOfLimits } from "./spend.ts";

/**
 * A session spends from its lease of the tenant's day without asking the tenant's object. It requests another
 * lease when a call no longer fits, and gives back what it did not use when it comes to rest.
 */

type LeaseAmounts = Readonly<Partial<Record<BudgetKind, number>>>;

/** Lease that is given back. */
export interface SettledLease {
  readonly id: string;
  readonly used: Amounts;
}

export interface LeaseRequest {
  readonly session: string;
  /** Names the lease, so that a repeated request gets the same one. */
  readonly id: string;
  /** Limits of the tenant's day, for the kinds that have one. */
  readonly limits: LeaseAmounts;
  /** Worst-case cost of the calls under way. */
  readonly need: LeaseAmounts;
  /** The least that they cost. */
  readonly least: LeaseAmounts;
  readonly settles: SettledLease | null;
}

/** `until` is the end of the day. `spent` is what all sessions spent on it, open leases included. */
export type LeaseAnswer =
  | { readonly ok: true; readonly granted: LeaseAmounts; readonly until: number; readonly spent: Amounts }
  | {
      readonly ok: false;
      readonly kind: BudgetKind;
      readonly limit: number;
      readonly spent: number;
      readonly until: number;
    };

/** A lease holds enough calls for one reply, and enough time to be worth a request. */
const leasedCalls = 256;

const leasedTimeMs = 60_000;

const leastCallsLeft = 64;

const findUsableLease = ({ funds }: Session, now: number): Lease | null =>
  funds.tenant.lease === null || funds.tenant.lease.closed || now >= funds.tenant.lease.until
    ? null
    : funds.tenant.lease;

const limitsOf = (bounds: readonly Bound[]): LeaseAmounts =>
  Object.fromEntries(bounds.map(({ kind, limit }) => [kind, limit]));

const noReservation: BudgetReservation = { tokens: 0, cost: 0, output: 0, leased: true };

const reservationAt = (state: Session, threadId: string): BudgetReservation =>
  modelCallOf(state.threads[threadId]?.run ?? null)?.reservation ?? noReservation;

/** Sums up the reservations of other threads that the lease already pays for. */
export const sumOtherReservations = (state: Session, threadId: string): ReservedAmounts =>
  sumReservations(state, { scope: "session", thread: threadId }, threadId, true);

/** Returns what a lease has left for one thread. */
const remainingFor = (state: Session, { granted, used }: Lease, threadId: string): LeaseAmounts => {
  const others = sumOtherReservations(state, threadId);
  return Object.fromEntries(
    budgetKinds.flatMap((kind) => {
      const given = granted[kind];
      const kept = kind === "tokens" || kind === "cost" ? others[kind] : 0;
      return given === undefined ? [] : [[kind, given - used[kind] - kept]];
    }),
  );
};

const isEnough = (kind: BudgetKind, left: number, given: number, hold: BudgetReservation): boolean => {
  if (kind === "tokens" || kind === "cost") return left >= hold[kind];
  if (kind === "time") return left > 0;
  // A day without calls left gives none; asking at each call would not change that.
  return given === 0 || left >= (given >= leasedCalls ? leastCallsLeft : 1);
};

/** Returns whether the lease covers what a thread's call reserves, or none of it is bounded. */
const isCovered = (
  state: Session,
  bounds: readonly Bound[],
  now: number,
  threadId: string,
  hold: BudgetReservation,
): boolean => {
  const counted = bounds.filter(({ kind }) => kind !== "cost" || hold.cost > 0);
  if (counted.length === 0) return true;
  const lease = findUsableLease(state, now);
  if (lease === null) return false;
  const left = remainingFor(state, lease, threadId);
  return counted.every(({ kind }) => isEnough(kind, left[kind] ?? 0, lease.granted[kind] ?? 0, hold));
};

/** Marks a reservation as leased if the lease covers it: the call is then sent without a request. */
export const markLeased = (
  { state, context, thread }: ThreadDraft,
  hold: BudgetReservation,
): BudgetReservation => ({
  ...hold,
  leased: isCovered(state, context.budgets.tenant, context.now, thread.id, hold),
});

/** Returns the lease that a thread's call needs first; null if the call may be sent. */
export const findLeaseRequest = (
  state: Session,
  bounds: readonly Bound[],
  threadId: string,
  estimate: CostEstimate,
): LeaseRequest | null => {
  const own = reservationAt(state, threadId);
  return own.leased ? null : createLeaseRequest(state, bounds, threadId, own, estimate);
};

/** Returns the lease that a run about to begin in `main` needs for its first call; null if it needs none. */
export const findRunLeaseRequest = (
  state: Session,
  bounds: readonly Bound[],
  now: number,
  estimate: CostEstimate,
): LeaseRequest | null => {
  const first = createReservation(estimate, estimate.output);
  if (isCovered(state, bounds, now, "main", first)) return null;
  return createLeaseRequest(state, bounds, "main", first, estimate);
};

const createLeaseRequest = (
  state: Session,
  bounds: readonly Bound[],
  threadId: string,
  own: BudgetReservation,
  estimate: CostEstimate,
): LeaseRequest => {
  const { lease, next } = state.funds.tenant;
  const others = sumOtherReservations(state, threadId);
  return {
    session: state.id,
    id: String(next),
    limits: limitsOf(bounds),
    need: {
      tokens: others.tokens + own.tokens,
      cost: others.cost + own.cost,
      time: leasedTimeMs,
      calls: leasedCalls,
    },
    least: {
      tokens: others.tokens + leastSpendOf("tokens", estimate),
      cost: others.cost + leastSpendOf("cost", estimate),
      time: 1,
      calls: 0,
    },
    settles: lease === null ? null : { id: lease.id, used: lease.used },
  };
};

const changeReservation = (draft: ThreadDraft, reservation: BudgetReservation): void => {
  const run = runOf(draft);
  const { phase } = run;
  if ((phase.at === "thinking" || phase.at === "preparing") && phase.call !== null)
    run.phase = { ...phase, call: { ...phase.call, reservation } };
};

/** Lets the new lease pay for the call; if the lease is smaller than requested, the reply is made shorter. */
const coverReservation = (draft: ThreadDraft, lease: Lease, estimate: CostEstimate): void => {
  const { state, thread } = draft;
  const hold = reservationAt(state, thread.id);
  const left = remainingFor(state, lease, thread.id);
  const most = (["tokens", "cost"] as const).map((kind) =>
    outputWithinLimit(kind, left[kind] ?? Infinity, estimate),
  );
  const output = Math.min(hold.output, ...most);
  const lowered =
    output < hold.output && output >= leastOutputOf(estimate) ? createReservation(estimate, output) : hold;
  changeReservation(draft, markLeased(draft, lowered));
};

const changeTenantShare = (draft: Draft, tenant: TenantShare): void => {
  draft.state.funds = { ...draft.state.funds, tenant };
};

/** Time for which a session treats a day as used up before it asks again. */
const dayUsedUpMs = 60_000;

/** Gives the session its new lease, or returns the limit of the day that is reached. */
export const applyLeaseAnswer = (
  draft: ThreadDraft,
  estimate: CostEstimate,
  request: LeaseRequest,
  answer: LeaseAnswer,
): ReachedLimit | null => {
  const share = draft.state.funds.tenant;
  const { id } = draft.thread;
  const thread = lineageOf(draft.state, id).findLast(({ run }) => run !== null)?.id ?? id;
  if (!answer.ok) {
    const { kind, limit, spent } = answer;
    const until = Math.min(answer.until, draft.context.now + dayUsedUpMs);
    changeTenantShare(draft, { ...share, out: { kind, until } });
    const least = spent + (request.least[kind] ?? 0);
    return { scope: "tenant", thread, kind, limit, spent, least, ask: false };
  }
  const lease = adoptLease(draft, request, answer);
  if (lease === null) return null;
  draft.commit.mayWait = true;
  coverReservation(draft, lease, estimate);
  warnOfLimits(draft, { scope: "tenant", thread, bounds: draft.context.budgets.tenant, spent: answer.spent });
  return null;
};

type GivenLease = Extract<LeaseAnswer, { ok: true }>;

/** Lets the session spend from the new lease; null if the request was answered before. */
const adoptLease = (draft: Draft, request: LeaseRequest, { granted, until }: GivenLease): Lease | null => {
  const share = draft.state.funds.tenant;
  if (request.id !== String(share.next)) return null;
  // Spending while the answer was on its way is not part of what was given back.
  const since =
    share.lease === null || request.settles === null
      ? zeroAmounts
      : addAmounts(share.lease.used, request.settles.used, -1);
  const lease: Lease = { id: request.id, until, granted, used: addAmounts(since, share.owed), closed: false };
  changeTenantShare(draft, { lease, next: share.next + 1, owed: zeroAmounts, out: null });
  return lease;
};

/**
 * Makes a change that begins a run of `main`, with a lease fetched before it. Without a lease, because the
 * day is used up, the run requests one itself; a lease that no run needs is given back.
 */
export const beginWithLease = <T>(
  draft: Draft,
  request: LeaseRequest,
  answer: LeaseAnswer,
  change: () => T,
): T => {
  if (!answer.ok || adoptLease(draft, request, answer) === null) return change();
  const result = change();
  const { tenant: bounds } = draft.context.budgets;
  warnOfLimits(draft, { scope: "tenant", thread: "main", bounds, spent: answer.spent });
  if (!hasRun(draft.state)) closeLease(draft);
  return result;
};

/** Why no lease covers a call. `wait`: calls under way reserve the rest. `unreachable`: no answer. */
export type LeaseRefusal = "wait" | "unreachable" | ReachedLimit;

/** Closes the lease of a session that comes to rest; its next report to the tenant's object gives it back. */
export const closeLease = (draft: Draft): void => {
  const share = draft.state.funds.tenant;
  if (share.lease === null || share.lease.closed) return;
  changeTenantShare(draft, { ...share, lease: { ...share.lease, closed: true } });
};
