import type { Usage } from "../../model/completer.ts";
import type { Agent, ModelTarget } from "../definition/agent.ts";
import { noUsage } from "../state/usage.ts";
import type { BudgetState, BudgetCheck, CostEstimate } from "./bounds.ts";
import { checkBudget } from "./bounds.ts";

/** What a model call on a lane may cost at worst, and whether its budgets have room for that. */

/** Tokens that a request leaves free of the window. */
const windowMargin = 256;

/** Tokens that a reply on a lane may have at most. */
const mostOutput = ({ window, maxOutput }: ModelTarget, input: number): number =>
  window === 0 ? maxOutput : Math.max(1, Math.min(maxOutput, window - input - windowMargin));

/** Output tokens that a request may ask for: what its budget and the window leave. */
export const allowedOutput = ({ window }: Pick<ModelTarget, "window">, input: number, held: number): number =>
  window === 0 ? held : Math.min(held, window - input - windowMargin);

const toUsage = (usage: Partial<Usage>): Usage => ({ ...noUsage, ...usage });

/** Price of so many tokens; what is written to the provider's cache may cost more than what is not. */
const worstCost = (target: ModelTarget, input: number, output: number): number | null => {
  const total = input + output;
  const plain = target.cost(toUsage({ input, output, total }));
  if (plain === null || target.cache.mode === "off") return plain;
  const hourly = target.cache.ttl === "1h" ? input : 0;
  return Math.max(plain, target.cost(toUsage({ cacheWrite: input, output, total }), hourly) ?? 0);
};

/** A call on a lane with so many input tokens, and at most `output` for its reply. */
export const estimateCost = (
  target: ModelTarget,
  input: number,
  output = mostOutput(target, input),
): CostEstimate => ({
  model: target.model,
  input,
  output,
  thinking: target.thinking,
  price: (tokens) => worstCost(target, input, tokens + target.thinking),
});

/** Room for a request of a thread's turn; a lane that the agent does not have any more costs nothing. */
export const checkTurnBudget = (
  budgets: BudgetState,
  threadId: string,
  { lanes }: Agent,
  index: number,
  input: number,
): BudgetCheck => {
  const target = lanes[index];
  if (target === undefined) return { is: "free", hold: { tokens: 0, cost: 0, output: 0, leased: true } };
  return checkBudget(budgets, threadId, estimateCost(target, input));
};
