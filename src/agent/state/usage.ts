import type { Usage } from "../../model/completer.ts";

/** Usage is summed up here. */

export const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

/** A session's usage since it was created or cleared; `cost` is in billionths of a dollar, null if unknown. */
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

/** The last call of a thread saw a context of this many tokens. */
export const contextTokens = (usage: Usage | null): number =>
  usage === null ? 0 : usage.input + usage.cacheRead + usage.cacheWrite;
