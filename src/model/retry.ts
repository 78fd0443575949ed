import type { ModelErrorCode, ModelFailure } from "./error.ts";
import { codeRules } from "./failure.ts";

/** Rules for retries at a model target. Times are milliseconds. */
export interface RetryPolicy {
  readonly maxRetries: number;
  readonly baseDelay: number;
  readonly maxWait: number;
}

/** Model target (provider and model) that a turn may use, and its attempts in this turn. */
export interface TargetAttempts {
  readonly provider: string;
  readonly model: string;
  /** Failed attempts of this turn at this target, and how many of them were cut or malformed replies. */
  readonly failures: number;
  readonly malformed: number;
  /** Until when the target cools (milliseconds since the epoch); 0 or past = healthy. */
  readonly coolingUntil: number;
  /** Code of its cooldown or last failure. */
  readonly code?: ModelErrorCode;
  /** Message of its last failure in this turn, and whether such a failure may be retried. */
  readonly message?: string;
  readonly retryable?: boolean;
  /** Time at which a wait that exceeded `maxWait` would have ended. */
  readonly retryAt?: number;
}

/** Fallback chain of one turn: its targets as plain data that the session stores. */
export interface FallbackChain {
  readonly current: number;
  readonly list: readonly TargetAttempts[];
  /** Whether content of the turn is committed: the target may no longer change. */
  readonly committed: boolean;
}

/** Consequence of a failed attempt. `chain` is the new state; `exhausted` means that the target's retries are used up. */
export type FailureDecision =
  | { readonly kind: "retry"; readonly at: number; readonly chain: FallbackChain; readonly exhausted: false }
  | {
      readonly kind: "next_target";
      readonly index: number;
      readonly chain: FallbackChain;
      readonly exhausted: boolean;
    }
  | {
      readonly kind: "fail";
      /** Code of the first target that was tried, and what else is to be said of its failure. */
      readonly code: ModelErrorCode;
      readonly message: string;
      readonly retryable: boolean;
      /** Time at which a retry would be possible, if a wait exceeded `maxWait`. */
      readonly retryAt?: number;
      readonly chain: FallbackChain;
      readonly exhausted: boolean;
    };

const longestBackoff = 30_000;
const mostMalformed = 2;

/** Starts a turn's chain at the first target that is not cooling; if all are, at the first. */
export const startFallbackChain = (
  list: readonly {
    readonly provider: string;
    readonly model: string;
    readonly coolingUntil: number;
    readonly code?: ModelErrorCode;
  }[],
  now: number,
): FallbackChain => ({
  current: Math.max(
    0,
    list.findIndex((target) => target.coolingUntil <= now),
  ),
  list: list.map((target) => ({ ...target, failures: 0, malformed: 0 })),
  committed: false,
});

const isMalformed = (code: ModelErrorCode): boolean => codeRules[code].remedy === "retry_twice";

const mayRetry = (failure: ModelFailure, target: TargetAttempts, policy: RetryPolicy): boolean =>
  failure.retryable &&
  target.failures <= policy.maxRetries &&
  (!isMalformed(failure.code) || target.malformed <= mostMalformed);

/**
 * Decides the consequence of a failed attempt: a retry at a time never earlier than Retry-After, the next target,
 * or the end. `policy` is the current target's, `random` is in [0, 1), times are milliseconds.
 */
export const decideAfterFailure = (
  failure: ModelFailure,
  chain: FallbackChain,
  policy: RetryPolicy,
  now: number,
  random: () => number,
): FailureDecision => {
  const before = chain.list[chain.current];
  if (before === undefined) throw new RangeError(`There is no target ${chain.current}.`);
  const target: TargetAttempts = {
    ...before,
    failures: before.failures + 1,
    malformed: before.malformed + (isMalformed(failure.code) ? 1 : 0),
    code: failure.code,
    message: failure.message,
    retryable: failure.retryable,
  };
  if (!mayRetry(failure, target, policy)) return giveUpTarget(failure, replaceCurrent(chain, target), now);
  const backoff = Math.min(policy.baseDelay * 2 ** before.failures, longestBackoff);
  const asked = failure.retryAfterMs ?? 0;
  const delay = Math.max(asked * (1 + 0.1 * random()), backoff * (0.75 + 0.5 * random()));
  if (delay > policy.maxWait)
    return giveUpTarget(
      failure,
      replaceCurrent(chain, { ...target, retryAt: now + Math.max(asked, backoff) }),
      now,
    );
  return {
    kind: "retry",
    at: now + Math.ceil(delay),
    chain: replaceCurrent(chain, target),
    exhausted: false,
  };
};

const replaceCurrent = (chain: FallbackChain, target: TargetAttempts): FallbackChain => ({
  ...chain,
  list: chain.list.with(chain.current, target),
});

/**
 * Returns the index of the first target that the turn has not tried, one that is not cooling if there is any: a
 * cooldown chooses between targets and blocks none. -1 if all were tried.
 */
const findUntried = ({ list }: FallbackChain, now: number): number => {
  const healthy = list.findIndex(({ failures, coolingUntil }) => failures === 0 && coolingUntil <= now);
  return healthy >= 0 ? healthy : list.findIndex(({ failures }) => failures === 0);
};

/** Gives up the target for one that was not tried, or ends the chain. */
const giveUpTarget = (failure: ModelFailure, chain: FallbackChain, now: number): FailureDecision => {
  const { remedy } = codeRules[failure.code];
  const { retryable: exhausted } = failure;
  const next = findUntried(chain, now);
  const first = { ...failure, ...chain.list.find(({ failures }) => failures > 0) };
  if (remedy === "fail" && !failure.retryable) {
    // A failure before the last target, and a request that is too long, keep their own code.
    const own = next >= 0 || failure.code === "context_overflow";
    const { code, message, retryable } = own ? failure : first;
    return { kind: "fail", code, message, retryable, chain, exhausted };
  }
  if (next >= 0 && !chain.committed) {
    return { kind: "next_target", index: next, chain: { ...chain, current: next }, exhausted };
  }
  const waits = chain.list.flatMap(({ retryAt }) => (retryAt === undefined ? [] : [retryAt]));
  const { code, message, retryable } = first;
  return {
    kind: "fail",
    code,
    message,
    retryable,
    ...(waits.length > 0 && { retryAt: Math.min(...waits) }),
    chain,
    exhausted,
  };
};
