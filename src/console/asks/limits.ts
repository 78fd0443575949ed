import { countOf, formatCount, formatDuration, formatUsd } from "../parts/format.ts";

/** Limits in the units that people use. */

export interface LimitUnit {
  /** How much of the API's unit one of the person's is. */
  readonly one: number;
  /** What a person counts in; empty where the amount says it. */
  readonly word: string;
  readonly show: (amount: number) => string;
}

const units: Readonly<Record<string, LimitUnit>> = {
  max_cost_usd: { one: 1, word: "USD", show: formatUsd },
  max_tokens: { one: 1, word: "tokens", show: (amount) => countOf(amount, "token") },
  max_duration: { one: 1_000, word: "seconds of model time", show: formatDuration },
  max_tool_calls: { one: 1, word: "tool calls", show: (amount) => countOf(amount, "tool call") },
  max_iterations: { one: 1, word: "turns", show: (amount) => countOf(amount, "turn") },
};

export const limitUnit = (kind: string): LimitUnit =>
  units[kind] ?? { one: 1, word: kind, show: (amount) => formatCount(amount) };

/** Writes an amount as a person types it, never less than it is: what is written is enough. */
export const writeAmount = ({ one }: LimitUnit, amount: number): string =>
  // What a division leaves behind the twelfth digit is no part of the amount.
  String(Math.ceil(Number(((amount / one) * 1e4).toPrecision(12))) / 1e4);

/** Says how far a limit is used; one that is not used up is asked about since the next step may need more. */
export const describeSpent = (
  { show }: LimitUnit,
  { spent, limit }: { readonly spent: number; readonly limit: number },
): string =>
  `has used ${show(spent)} of ${show(limit)}${spent < limit ? ", and its next step may need more than is left" : ""}`;
