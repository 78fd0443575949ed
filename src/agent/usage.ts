import type { Usage } from "../model/completer.ts";

/** Sums of usage. */

export const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

export const addUsage = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cacheRead: a.cacheRead + b.cacheRead,
  cacheWrite: a.cacheWrite + b.cacheWrite,
  total: a.total + b.total,
});

/** Tokens of the context that the last call of a thread saw (MO-33). */
export const contextTokens = (usage: Usage | null): number =>
  usage === null ? 0 : usage.input + usage.cacheRead + usage.cacheWrite;
