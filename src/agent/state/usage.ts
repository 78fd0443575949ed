import type { Usage } from "../../model/completer.ts";

/** Sums of usage. */

export const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

/** What a session used since it was created or cleared; `cost` in billionths of a dollar, null = not known. */
export interface UsageTotals {
  readonly cumulative: Usage;
  readonly cost: number | null;
  readonly calls: number;
  readonly estimated: boolean;
}

export const noTotals: UsageTotals = { cumulative: noUsage, cost: 0, calls: 0, estimated: false };

export const addUsage = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cacheRead: a.cacheRead + b.cacheRead,
  cacheWrite: a.cacheWrite + b.cacheWrite,
  total: a.total + b.total,
});

/** Tokens of the context that the last call of a thread saw. */
export const contextTokens = (usage: Usage | null): number =>
  usage === null ? 0 : usage.input + usage.cacheRead + usage.cacheWrite;
