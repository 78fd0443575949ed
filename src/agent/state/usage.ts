import type { Usage } from "../../model/completer.ts";
import type { Amounts } from "./budget.ts";

/** Sums up what is spent. */

export const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

/**
 * What a run or a session spent, with everything below it. All are numbers, so that sums can be subtracted.
 */
export interface Spending {
  readonly usage: Usage;
  /** Numbers of attempts at model calls: all, those without a known price, and those of estimated usage. */
  readonly modelCalls: number;
  readonly unpriced: number;
  readonly estimated: number;
  /** Cost of the priced attempts in 10⁻⁹ USD. */
  readonly cost: number;
  /** The time of models in milliseconds. */
  readonly time: number;
  /** Number of dispatched tool calls. */
  readonly toolCalls: number;
}

export const noSpending: Spending = {
  usage: noUsage,
  modelCalls: 0,
  unpriced: 0,
  estimated: 0,
  cost: 0,
  time: 0,
  toolCalls: 0,
};

const combineUsage = (a: Usage, b: Usage, sign: 1 | -1): Usage => ({
  input: a.input + sign * b.input,
  output: a.output + sign * b.output,
  cacheRead: a.cacheRead + sign * b.cacheRead,
  cacheWrite: a.cacheWrite + sign * b.cacheWrite,
  total: a.total + sign * b.total,
});

export const addUsage = (a: Usage, b: Usage): Usage => combineUsage(a, b, 1);

/** The last call of a thread saw a context of this many tokens. */
export const contextTokens = (usage: Usage | null): number =>
  usage === null ? 0 : usage.input + usage.cacheRead + usage.cacheWrite;

const combineSpending = (a: Spending, b: Partial<Spending>, sign: 1 | -1): Spending => ({
  usage: b.usage === undefined ? a.usage : combineUsage(a.usage, b.usage, sign),
  modelCalls: a.modelCalls + sign * (b.modelCalls ?? 0),
  unpriced: a.unpriced + sign * (b.unpriced ?? 0),
  estimated: a.estimated + sign * (b.estimated ?? 0),
  cost: a.cost + sign * (b.cost ?? 0),
  time: a.time + sign * (b.time ?? 0),
  toolCalls: a.toolCalls + sign * (b.toolCalls ?? 0),
});

/** What `b` leaves out counts as 0. */
export const addSpending = (a: Spending, b: Partial<Spending>): Spending => combineSpending(a, b, 1);

/** Returns what was spent since an earlier sum. */
export const spendingSince = (now: Spending, then: Spending): Spending => combineSpending(now, then, -1);

/** Returns the cost, which is unknown once a call had no price. */
export const costOf = ({ cost, unpriced }: Pick<Spending, "cost" | "unpriced">): number | null =>
  unpriced > 0 ? null : cost;

/** Returns the amounts of a sum that budgets bound. */
export const amountsOf = ({ usage, cost, time, toolCalls }: Spending): Amounts => ({
  tokens: usage.total,
  cost,
  time,
  calls: toolCalls,
});
