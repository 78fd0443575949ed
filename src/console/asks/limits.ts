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
