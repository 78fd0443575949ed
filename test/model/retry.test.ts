import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ModelErrorCode, ModelFailure } from "../../src/model/error.ts";
import { codeRules, modelError } from "../../src/model/failure.ts";
import { decideAfterFailure, startFallbackChain } from "../../src/model/retry.ts";
import type { FailureDecision, FallbackChain, RetryPolicy } from "../../src/model/retry.ts";

const policy: RetryPolicy = { maxRetries: 3, baseDelay: 1000, maxWait: 600_000 };
const failure = (code: ModelErrorCode, more: Partial<ModelFailure> = {}): ModelFailure =>
  modelError(code, { provider: "a", model: "m" }, "failed", more).failure;

const chain = (...cooling: readonly number[]): FallbackChain =>
  startFallbackChain(
    cooling.map((coolingUntil, i) => ({ provider: `p${i}`, model: "m", coolingUntil })),
    0,
  );

/** Fails again and again at time 0 and tells what followed each time, until the turn is over. */
const course = (
  failures: readonly ModelFailure[],
  from: FallbackChain = chain(0),
  random = () => 0.5,
): FailureDecision[] => {
  let state = from;
  const all: FailureDecision[] = [];
  for (const one of failures) {
    const after = decideAfterFailure(one, state, policy, 0, random);
    all.push(after);
    if (after.kind === "fail") break;
    state = after.chain;
  }
  return all;
};
const many = (code: ModelErrorCode, count: number) => Array.from({ length: count }, () => failure(code));

test("MO-26: three more attempts per target, each later, then the run fails with the code", () => {
  const all = course(many("overloaded", 9));
  expect(all.map(({ kind }) => kind)).toEqual(["retry", "retry", "retry", "fail"]);
  expect(all.map((after) => (after.kind === "retry" ? after.at : 0))).toEqual([1000, 2000, 4000, 0]);
  expect(all.at(-1)).toMatchObject({ kind: "fail", code: "overloaded", exhausted: true });
});

test("MO-26: a retry is never earlier than Retry-After, at most a tenth later, and 20 runs differ", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 540_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.integer({ min: 0, max: 3 }),
      (retryAfterMs, random, failures) => {
        const base = chain(0);
        const state = { ...base, list: base.list.map((target) => ({ ...target, failures })) };
        const after = decideAfterFailure(
          failure("rate_limited", { retryAfterMs }),
          state,
          { ...policy, maxRetries: 9 },
          1000,
          () => random,
        );
        if (after.kind !== "retry") throw new Error(after.kind);
        const delay = after.at - 1000;
        const backoff = 1000 * 2 ** failures;
        expect(delay).toBeGreaterThanOrEqual(Math.max(retryAfterMs, 0.75 * backoff));
        expect(delay).toBeLessThanOrEqual(Math.ceil(Math.max(1.1 * retryAfterMs, 1.25 * backoff)));
      },
    ),
  );
  const times = Array.from({ length: 20 }, (_, i) => course(many("network", 1), chain(0), () => i / 20)[0]);
  expect(new Set(times.map((after) => after?.kind === "retry" && after.at)).size).toBe(20);
});

test("MO-26: the backoff ends at 30 seconds", () => {
  const generous = { ...policy, maxRetries: 20 };
  const state = { ...chain(0), list: chain(0).list.map((target) => ({ ...target, failures: 12 })) };
  expect(decideAfterFailure(failure("network"), state, generous, 0, () => 0.999)).toMatchObject({
    kind: "retry",
    at: 37_485,
  });
});

test("MO-26 RE-F1: a Retry-After beyond max_wait moves to the next target, or fails with retry_at", () => {
  const late = failure("rate_limited", { retryAfterMs: 3_600_000 });
  expect(course([late], chain(0, 0))[0]).toMatchObject({ kind: "next_target", index: 1, exhausted: true });
  expect(course([late])[0]).toMatchObject({ kind: "fail", code: "rate_limited", retryAt: 3_600_000 });
  const all = course([late, failure("auth")], chain(0, 0));
  expect(all.at(-1)).toMatchObject({ kind: "fail", code: "rate_limited", retryAt: 3_600_000 });
});

test("MO-26: it is the delay as it would be waited that may not be over max_wait", () => {
  const near = failure("rate_limited", { retryAfterMs: 590_000 });
  const late = decideAfterFailure(near, chain(0), policy, 0, () => 0.9);
  expect(late).toMatchObject({ kind: "fail", code: "rate_limited", retryAt: 590_000 });
  expect(decideAfterFailure(near, chain(0), policy, 0, () => 0.1)).toMatchObject({
    kind: "retry",
    at: 595_900,
  });
  const short = { ...policy, maxWait: 1_200 };
  expect(decideAfterFailure(failure("network"), chain(0), short, 0, () => 0.95).kind).toBe("fail");
  expect(decideAfterFailure(failure("network"), chain(0), short, 0, () => 0.4).kind).toBe("retry");
});

test("MO-26: max_retries 0 never retries", () => {
  expect(
    decideAfterFailure(failure("network"), chain(0), { ...policy, maxRetries: 0 }, 0, () => 0).kind,
  ).toBe("fail");
});

test("RE-F5 RE-F7: cut and malformed replies are retried twice, counted together, even with more retries left", () => {
  const all = course([failure("truncated_stream"), failure("protocol_error"), failure("truncated_stream")]);
  expect(all.map(({ kind }) => kind)).toEqual(["retry", "retry", "fail"]);
  const mixed = course([
    failure("truncated_stream"),
    failure("network"),
    failure("network"),
    failure("network"),
  ]);
  expect(mixed.map(({ kind }) => kind)).toEqual(["retry", "retry", "retry", "fail"]);
});

test.each(["quota_exceeded", "auth", "model_not_found"] as const)(
  "MO-27 RE-F2: %s goes to the next target without a retry",
  (code) => {
    expect(course([failure(code)], chain(0, 0))[0]).toMatchObject({ kind: "next_target", index: 1 });
    expect(course([failure(code)])[0]).toMatchObject({ kind: "fail", code });
  },
);

test.each(["invalid_request", "context_overflow", "cancelled"] as const)(
  "MO-25 RE-F4: %s neither retries nor changes the target",
  (code) => {
    expect(course([failure(code)], chain(0, 0))[0]).toMatchObject({ kind: "fail", code, exhausted: false });
  },
);

test("MO-25: x-should-retry overrides: a 400 may be retried, a 529 may not", () => {
  expect(course([failure("invalid_request", { retryable: true })])[0]?.kind).toBe("retry");
  expect(course([failure("overloaded", { retryable: false })], chain(0, 0))[0]?.kind).toBe("next_target");
});

test("MO-27: all targets failed: the run fails with the first target's code; each target has its own retries", () => {
  const all = course([...many("overloaded", 4), ...many("network", 4)], chain(0, 0));
  expect(all.map(({ kind }) => kind)).toEqual([
    "retry",
    "retry",
    "retry",
    "next_target",
    "retry",
    "retry",
    "retry",
    "fail",
  ]);
  expect(all.at(-1)).toMatchObject({ code: "overloaded" });
});

test("MO-27: a last target that refuses the request ends the run with the first target's code, too", () => {
  const all = course([...many("overloaded", 4), failure("invalid_request")], chain(0, 0));
  expect(all.at(-1)).toMatchObject({ kind: "fail", code: "overloaded" });
  const between = course([failure("auth"), failure("invalid_request")], chain(0, 0, 0));
  expect(between.at(-1)).toMatchObject({ kind: "fail", code: "invalid_request" });
  const full = course([failure("auth"), failure("context_overflow")], chain(0, 0));
  expect(full.at(-1)).toMatchObject({ kind: "fail", code: "context_overflow" });
});

test("MO-27: after content of the turn was committed the target does not change", () => {
  const committed = { ...chain(0, 0), committed: true };
  expect(course([failure("auth")], committed)[0]).toMatchObject({ kind: "fail", code: "auth" });
});

test("MO-27 RE-F16: each turn starts at the first target that is not cooling, so a fallback never sticks", () => {
  expect([chain(1, 0).current, chain(0, 0).current]).toEqual([1, 0]);
});

test("MO-28 RE-F15: a cooling target is skipped, but the only one, or all of them, are still tried", () => {
  expect(chain(1).current).toBe(0);
  expect(chain(1, 1).current).toBe(0);
  expect(course([failure("auth")], chain(0, 5, 0))[0]).toMatchObject({ kind: "next_target", index: 2 });
  expect(course([failure("auth")], chain(0, 5))[0]).toMatchObject({ kind: "next_target", index: 1 });
  expect(course([failure("auth")], chain(5, 0))[0]).toMatchObject({ kind: "next_target", index: 0 });
});

test("MO-27: code and message of a failed turn are those of one target", () => {
  const cooling = { provider: "p0", model: "m", coolingUntil: 5, code: "overloaded" } as const;
  const spare = { provider: "p1", model: "m", coolingUntil: 0 };
  const committed = { ...startFallbackChain([cooling, spare], 0), committed: true };
  expect(course([failure("auth", { message: "The key is wrong." })], committed)).toMatchObject([
    { kind: "fail", code: "auth", message: "The key is wrong.", retryable: false },
  ]);
});

test("MO-1: whatever fails, a turn ends after a bounded number of attempts and never goes back to a target", () => {
  const codes = fc.constantFrom(...(Object.keys(codeRules) as ModelErrorCode[]));
  fc.assert(
    fc.property(
      fc.array(codes, { minLength: 40, maxLength: 40 }),
      fc.array(fc.nat(1), { minLength: 1, maxLength: 4 }),
      (sequence, cooling) => {
        const all = course(
          sequence.map((code) => failure(code)),
          chain(...cooling),
        );
        expect(all.at(-1)?.kind).toBe("fail");
        expect(all.length).toBeLessThanOrEqual(4 * cooling.length);
        const order = all.map((after) => after.chain.current);
        const visits = order.filter((target, at) => target !== order[at - 1]);
        expect(new Set(visits).size).toBe(visits.length);
      },
    ),
  );
});
