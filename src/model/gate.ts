import type { Usage } from "./completer.ts";
import type { ModelErrorCode } from "./error.ts";
import { claimTrial, recordFailure, coolingUntil } from "./health.ts";
import type { Health, HealthRow } from "./health.ts";

/** Share of the limits per minute that a call uses. */
export interface Load {
  readonly requests: number;
  readonly input: number;
  readonly output: number;
}

/** Load that starts at a time (milliseconds since the epoch) and counts for the following 60 s. */
interface BookedLoad extends Load {
  readonly startAt: number;
}

/** Length of the sliding window in milliseconds. */
const windowMs = 60_000;

const kinds = ["requests", "input", "output"] as const;

/**
 * Returns whether the limits (per 60 s; 0 = none) are too low for the need; a need beyond a limit fits an empty
 * window.
 */
const isFull = (load: Load, need: Load, limits: Load): boolean =>
  kinds.some((kind) => limits[kind] > 0 && load[kind] + Math.min(need[kind], limits[kind]) > limits[kind]);

/** Returns the changes of the last 60 s' load from `from` on: each with its time and amount. */
const loadChangesFrom = (booked: readonly BookedLoad[], from: number): [number, Load][] => {
  const changes = new Map<number, Load>([[from, { requests: 0, input: 0, output: 0 }]]);
  const change = (at: number, sign: 1 | -1, load: Load): void => {
    const { requests, input, output } = changes.get(at) ?? { requests: 0, input: 0, output: 0 };
    changes.set(at, {
      requests: requests + sign * load.requests,
      input: input + sign * load.input,
      output: output + sign * load.output,
    });
  };
  for (const entry of booked) {
    if (entry.startAt + windowMs <= from) continue;
    change(Math.max(from, entry.startAt), 1, entry);
    change(entry.startAt + windowMs, -1, entry);
  }
  return [...changes].sort(([a], [b]) => a - b);
};

/**
 * Returns the earliest time from `from` on at which `need` fits: no window of 60 s that contains it exceeds a
 * limit, counting all bookings before and after it. One sweep over the times at which the window's load changes.
 */
const findEarliestStart = (booked: readonly BookedLoad[], need: Load, limits: Load, from: number): number => {
  const load = { requests: 0, input: 0, output: 0 };
  let start: number | undefined;
  for (const [at, change] of loadChangesFrom(booked, from)) {
    if (start !== undefined && at >= start + windowMs) return start;
    for (const kind of kinds) load[kind] += change[kind];
    if (isFull(load, need, limits)) start = undefined;
    else start ??= at;
  }
  return start ?? from;
};

/** Limits of a provider's `rate_limit` per 60 s; 0 means no limit. */
export interface GateLimits {
  readonly input_tpm: number;
  readonly output_tpm: number;
  readonly rpm: number;
  readonly max_concurrent: number;
  /** Whether the vendor counts cache reads to `input_tpm`; anthropic does not. */
  readonly cacheReadsCount: boolean;
}

/** Request for a booking of a call. Times are milliseconds. */
export interface ReserveRequest {
  /** Id of the attempt: a repetition gets the same booking or ticket. */
  readonly id: string;
  /** Estimated input tokens, and the request's `maxTokens`. */
  readonly input: number;
  readonly maxOutput: number;
  readonly limits: GateLimits;
  /** Longest wait (`retry.max_wait`). */
  readonly maxWait: number;
  /** Longest duration of the call (`timeouts.total`); its lease expires a minute later. */
  readonly total: number;
}

/**
 * `booked`: call at `startAt` without asking again. `queued`: all `max_concurrent` slots are taken, ask again with
 * the same id at `startAt`; the ticket stays valid. `rate_limited`: nothing is booked, `startAt` is too late.
 */
export interface ReserveAnswer {
  readonly status: "booked" | "queued" | "rate_limited";
  readonly startAt: number;
}

/** Outcome of a booked call. */
export interface GateSettlement {
  readonly model: string;
  readonly code: ModelErrorCode | "ok";
  /** Whether the target's retries are used up. */
  readonly exhausted: boolean;
  /** Actual usage; null if unknown: the booking then stays as it is. */
  readonly usage: Usage | null;
  /** End of a hold that the rate headers asked for, in milliseconds since the epoch. */
  readonly holdUntil?: number | undefined;
}

interface Booking extends BookedLoad {
  readonly id: string;
  /** Time at which the lease expires; 0 once settled. */
  readonly leaseUntil: number;
  readonly cacheReadsCount: boolean;
}

interface QueuedCall {
  readonly id: string;
  readonly since: number;
  /** Time at which the ticket expires unless its session asks again. */
  readonly until: number;
}

/** Whole state of a gate: one row of plain JSON. */
export interface GateState {
  readonly bookings: readonly Booking[];
  readonly queue: readonly QueuedCall[];
  /** Output tokens, and durations in milliseconds, of the last 20 calls. */
  readonly outputs: readonly number[];
  readonly durations: readonly number[];
  readonly holdUntil: number;
  readonly health: Readonly<Record<string, Health>>;
}

export const emptyGate: GateState = {
  bookings: [],
  queue: [],
  outputs: [],
  durations: [],
  holdUntil: 0,
  health: {},
};

/** Returns whether any limit is set; only then do attempts book. */
export const isLimited = (limits: Omit<GateLimits, "cacheReadsCount">): boolean =>
  limits.input_tpm + limits.output_tpm + limits.rpm + limits.max_concurrent > 0;

const leaseGrace = 60_000;
const queueGrace = 15_000;
const rememberedCalls = 20;

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Returns the output to book: the limit, but no more than recent calls suggest. */
const guessOutput = (outputs: readonly number[], maxOutput: number): number =>
  Math.min(maxOutput, outputs.length === 0 ? 4096 : Math.max(1024, Math.ceil(1.5 * mean(outputs))));

/** Drops bookings that have left every window and hold no lease, and expired tickets. */
const pruneState = (state: GateState, now: number): GateState => ({
  ...state,
  bookings: state.bookings.filter(({ startAt, leaseUntil }) => startAt + windowMs > now || leaseUntil > now),
  queue: state.queue.filter(({ until }) => until > now),
});

/** Returns when to ask again for a slot: once a call of usual length has ended. */
const nextAskAt = (state: GateState, rank: number, slots: number, now: number): number => {
  const usual = state.durations.length === 0 ? 2000 : mean(state.durations);
  return now + Math.ceil(Math.min(15_000, Math.max(500, (usual * (rank + 1)) / slots)));
};

/**
 * Returns the answer while no slot is free, null if one is: earlier tickets take precedence, each slot for one of
 * them.
 */
const waitForSlot = (
  state: GateState,
  { id, limits, maxWait }: ReserveRequest,
  now: number,
): { readonly state: GateState; readonly answer: ReserveAnswer } | null => {
  if (limits.max_concurrent === 0) return null;
  const leases = state.bookings.filter(({ leaseUntil }) => leaseUntil > now).length;
  const place = state.queue.findIndex((waiting) => waiting.id === id);
  const rank = place < 0 ? state.queue.length : place;
  if (rank < limits.max_concurrent - leases) return null;
  const startAt = nextAskAt(state, rank, limits.max_concurrent, now);
  const since = state.queue[place]?.since ?? now;
  if (startAt - since > maxWait) {
    const queue = state.queue.filter((waiting) => waiting.id !== id);
    return { state: { ...state, queue }, answer: { status: "rate_limited", startAt } };
  }
  const waiting = { id, since, until: startAt + queueGrace };
  const queue = place < 0 ? [...state.queue, waiting] : state.queue.with(place, waiting);
  return { state: { ...state, queue }, answer: { status: "queued", startAt } };
};

/**
 * Books the earliest time at which a call fits with the last 60 s and all earlier bookings, first come, first
 * served. `now` is in milliseconds since the epoch.
 */
export const reserve = (
  before: GateState,
  request: ReserveRequest,
  now: number,
): { readonly state: GateState; readonly answer: ReserveAnswer } => {
  const state = pruneState(before, now);
  const { id, limits } = request;
  const known = state.bookings.find((booking) => booking.id === id);
  if (known !== undefined) return { state, answer: { status: "booked", startAt: known.startAt } };
  const waiting = waitForSlot(state, request, now);
  if (waiting !== null) return waiting;
  const load = { requests: 1, input: request.input, output: guessOutput(state.outputs, request.maxOutput) };
  const most = { requests: limits.rpm, input: limits.input_tpm, output: limits.output_tpm };
  const startAt = findEarliestStart(state.bookings, load, most, Math.max(now, state.holdUntil));
  const queue = state.queue.filter((waiting) => waiting.id !== id);
  if (startAt - now > request.maxWait) {
    return { state: { ...state, queue }, answer: { status: "rate_limited", startAt } };
  }
  const booking: Booking = {
    ...load,
    id,
    startAt,
    leaseUntil: startAt + request.total + leaseGrace,
    cacheReadsCount: limits.cacheReadsCount,
  };
  return {
    state: { ...state, queue, bookings: [...state.bookings, booking] },
    answer: { status: "booked", startAt },
  };
};

const withOutcome = (state: GateState, model: string, health: Health | undefined): GateState => {
  if (state.health[model] === health) return state;
  const { [model]: _, ...others } = state.health;
  return { ...state, health: health === undefined ? others : { ...others, [model]: health } };
};

/** Applies the outcome of a call without booking to a model's health; returns the same state if nothing changes. */
export const reportOutcome = (
  state: GateState,
  model: string,
  code: ModelErrorCode | "ok",
  exhausted: boolean,
  now: number,
): GateState =>
  withOutcome(
    state,
    model,
    code === "ok" ? undefined : recordFailure(state.health[model], code, exhausted, now),
  );

/** Returns the booking with its actual load, and its lease over. */
const settleBooking = (booking: Booking, usage: Usage | null): Booking => {
  const ended = { ...booking, leaseUntil: 0 };
  if (usage === null) return ended;
  const { input, cacheRead, cacheWrite, output } = usage;
  return { ...ended, input: input + cacheWrite + (booking.cacheReadsCount ? cacheRead : 0), output };
};

/**
 * Records a call's actual usage, frees its slot, and records headers and health. Repetitions change nothing; a call
 * without a booking only updates headers and health.
 */
export const settle = (before: GateState, id: string, settlement: GateSettlement, now: number): GateState => {
  const { model, code, exhausted, usage, holdUntil = 0 } = settlement;
  const index = before.bookings.findIndex((booking) => booking.id === id);
  const booking = before.bookings[index];
  if (booking?.leaseUntil === 0) return before;
  const reported = reportOutcome(before, model, code, exhausted, now);
  const held = holdUntil > reported.holdUntil ? { ...reported, holdUntil } : reported;
  if (booking === undefined) return held;
  const outputs = code === "ok" && usage !== null ? [...held.outputs, usage.output] : held.outputs;
  return {
    ...held,
    bookings: held.bookings.with(index, settleBooking(booking, usage)),
    outputs: outputs.slice(-rememberedCalls),
    durations: [...held.durations, Math.max(0, now - booking.startAt)].slice(-rememberedCalls),
  };
};

/** Releases an unused booking or ticket; the others keep theirs. */
export const release = (state: GateState, id: string): GateState => {
  const bookings = state.bookings.filter((booking) => booking.id !== id || booking.leaseUntil === 0);
  const queue = state.queue.filter((waiting) => waiting.id !== id);
  const same = bookings.length === state.bookings.length && queue.length === state.queue.length;
  return same ? state : { ...state, bookings, queue };
};

/**
 * Returns the health of models that failed recently. `claim` names the model that the caller is about to call:
 * after its cooldown the first to claim it sees it available, while the others see it cooling until that trial
 * ends.
 */
export const readHealth = (
  state: GateState,
  provider: string,
  claim: string | null,
  now: number,
): { readonly state: GateState; readonly rows: readonly HealthRow[] } => {
  const rows = Object.entries(state.health).map(([model, health]) => {
    const until = coolingUntil(health, now);
    const available = until === 0;
    return { provider, model, available, reason: health.reason, until: available ? null : until };
  });
  const claimed = claim === null ? undefined : state.health[claim];
  const next = claimed === undefined ? state : withOutcome(state, claim ?? "", claimTrial(claimed, now));
  return { state: next, rows };
};

/** Resets all cooldowns of a provider's models; returns the same state if there are none. */
export const resetHealth = (state: GateState): GateState =>
  Object.keys(state.health).length === 0 ? state : { ...state, health: {} };
