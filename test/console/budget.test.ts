import { expect, test } from "vitest";
import { describeSpent, limitUnit } from "../../src/console/asks/limits.ts";
import { describeLimit, describeWarning, readLimits } from "../../src/console/run/budget.ts";
import type { BudgetLimit } from "../../src/console/run/budget.ts";

/** AP-54: what may be used, in words. */

const priced = { run: false, session: false };

const wordsOf = (limit: BudgetLimit, isRunning: boolean): string =>
  describeLimit(limit, { isRunning, unpriced: priced }).words;

test("AP-54: what is left of a budget is said of the run at work, and between runs of the next one", () => {
  const money = { limit: 2, spent: 0.5, left: 1.5, warn_at: 0.8, on_exceeded: "stop" };
  const held = (scope: string) => readLimits({ max_cost_usd: { scope, ...money } });
  const say = (scope: string, isRunning: boolean): readonly string[] =>
    held(scope).map((limit) => wordsOf(limit, isRunning));
  expect(say("run", true)).toEqual(["$1.50 left of $2.00 for this run"]);
  expect(say("run", false)).toEqual(["The next run may spend $2.00"]);
  expect(say("session", false)).toEqual(["$1.50 left of $2.00 for this session"]);
  expect(say("tenant", false)).toEqual(["$1.50 left of $2.00 for today"]);
  expect(held("run").map(describeWarning)).toEqual(["warns at $1.60"]);
  const small = { kind: "max_cost_usd", scope: "run", limit: 1, spent: 0.0042, warnAt: 0.8 } as const;
  expect(wordsOf(small, true)).toBe("$0.9958 left of $1.00 for this run");
  expect(wordsOf({ ...small, spent: 1.07 }, true)).toBe("$0.07 over the $1.00 for this run");
  expect(readLimits({ max_cost_usd: null })).toEqual([]);
  expect(say("galaxy", true)).toEqual([]);
});

test("AP-54: every limit of a budget is said in its own unit", () => {
  const rest = { scope: "run", warn_at: 0.5, on_exceeded: "stop", left: 0 };
  const limits = readLimits({
    max_tool_calls: { ...rest, limit: 40, spent: 3 },
    max_duration: { ...rest, limit: 1_800_000, spent: 60_000 },
    max_tokens: { ...rest, limit: 2_000_000, spent: 1_500_000 },
    max_cost_usd: null,
  });
  expect(limits.map((limit) => wordsOf(limit, true))).toEqual([
    "500k left of 2.0M tokens for this run",
    "29 min left of 30 min of model time for this run",
    "37 left of 40 tool calls for this run",
  ]);
  expect(limits.map((limit) => wordsOf(limit, false))).toEqual([
    "The next run may use 2.0M tokens",
    "The next run may take 30 min of model time",
    "The next run may make 40 tool calls",
  ]);
  expect(limits.map(describeWarning)).toEqual(["warns at 1.0M", "warns at 15 min", "warns at 20"]);
});

test("AP-54: of a limit of costs that nothing counts towards no bar is shown, and it is said why", () => {
  const limitOf = (scope: BudgetLimit["scope"], spent = 0) =>
    ({ kind: "max_cost_usd", scope, limit: 2, spent, warnAt: 1.6 }) as const;
  const unpriced = { run: true, session: true };
  const uncounted = (whose: string) => ({
    words: `No cost counts towards the $2.00 for ${whose}, since no price is known`,
    hasBar: false,
  });
  expect(describeLimit(limitOf("run"), { isRunning: true, unpriced })).toEqual(uncounted("this run"));
  expect(describeLimit(limitOf("run"), { isRunning: false, unpriced })).toEqual(uncounted("the next run"));
  expect(describeLimit(limitOf("session"), { isRunning: false, unpriced })).toEqual(
    uncounted("this session"),
  );
  expect(describeLimit(limitOf("tenant", 0.5), { isRunning: true, unpriced })).toEqual({
    words: "$1.50 left of $2.00 for today, without calls whose price is not known",
    hasBar: true,
  });
  const earlier = { isRunning: true, unpriced: { run: false, session: true } };
  expect(describeLimit(limitOf("run"), earlier)).toEqual({
    words: "$2.00 left of $2.00 for this run",
    hasBar: true,
  });
  const tokens = { ...limitOf("run"), kind: "max_tokens", limit: 1_000 } as const;
  expect(describeLimit(tokens, { isRunning: true, unpriced }).words).toBe(
    "1.0k left of 1.0k tokens for this run",
  );
});

test("AP-54: a budget that is asked about before it is used up says why", () => {
  const say = (spent: number): string => describeSpent(limitUnit("max_cost_usd"), { spent, limit: 0.5 });
  expect(say(0)).toBe("has used $0.00 of $0.50, and its next step may need more than is left");
  expect(say(0.5)).toBe("has used $0.50 of $0.50");
});
