import { efforts } from "../model/completer.ts";
import type { Effort, ModelRequest } from "../model/completer.ts";

/** Thinking tokens for each effort, for models with a token budget. */
const budgetsByEffort: Readonly<Record<Exclude<Effort, "none">, number>> = {
  minimal: 4_096,
  low: 4_096,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
};

const minBudget = 1_024;

/** Returns the requested effort, derived from a budget if only that is set; undefined if none is requested. */
export const effortOf = ({ reasoning }: ModelRequest): Effort | undefined => {
  if (reasoning?.effort !== undefined || reasoning?.budgetTokens === undefined) return reasoning?.effort;
  const tokens = reasoning.budgetTokens;
  return (
    efforts.find(
      (effort) => effort !== "none" && effort !== "minimal" && budgetsByEffort[effort] >= tokens,
    ) ?? "max"
  );
};

/** Returns the requested budget, at least 1 024; undefined if none or no reasoning is requested. */
export const budgetOf = ({ reasoning }: Pick<ModelRequest, "reasoning">): number | undefined => {
  if (reasoning?.budgetTokens !== undefined) return Math.max(minBudget, reasoning.budgetTokens);
  const effort = reasoning?.effort;
  return effort === undefined || effort === "none" ? undefined : budgetsByEffort[effort];
};

/** Returns the accepted effort nearest to the requested one, the lower of two equally near; never `none`. */
export const nearestEffort = (wanted: Effort, taken: readonly Effort[]): Effort => {
  const distance = (effort: Effort): number => Math.abs(efforts.indexOf(effort) - efforts.indexOf(wanted));
  const usable = taken.filter((effort) => effort !== "none");
  return usable.reduce(
    (best, effort) => (distance(effort) < distance(best) ? effort : best),
    usable[0] ?? "low",
  );
};
