import type { Usage } from "../../model/completer.ts";
import type { Agent, ModelTarget } from "../definition/agent.ts";
import { noUsage } from "../state/usage.ts";
import type { BudgetState, BudgetCheck, CostEstimate } from "./bounds.ts";
import { checkBudget } from "./bounds.ts";

/** Estimates the worst-case cost of a call to a model target and checks it against the budgets. */

/** Tokens of the window that a request leaves free. */
const windowMargin = 256;

/** Returns the most tokens that a model target may write in a reply. */
const mostOutput = ({ window, maxOutput }: ModelTarget, input: number): number =>
  window === 0 ? maxOutput : Math.max(1, Math.min(maxOutput, window - input - windowMargin));

/** Returns how many output tokens a request may ask for: what its budget and the window leave. */
export const allowedOutput = ({ window }: Pick<ModelTarget, "window">, input: number, held: number): number =>
  window === 0 ? held : Math.min(held, window - input - windowMargin);

const toUsage = (usage: Partial<Usage>): Usage => ({ ...noUsage, ...usage });

/** Returns the worst-case price: tokens written to the provider's cache may cost more than others. */
const worstCost = (target: ModelTarget, input: number, output: number): number | null => {
  const total = input + output;
  const plain = target.cost(toUsage({ input, output, total }));
  if (plain === null || target.cache.mode === "off") return plain;
  const hourly = target.cache.ttl === "1h" ? input : 0;
  return Math.max(plain, target.cost(toUsage({ cacheWrite: input, output, total }), hourly) ?? 0);
};

/** Estimates a call to a model target with this many input tokens and at most `output` for its reply. */
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

/** Checks the budget of a thread's turn; a model target that the agent has lost costs nothing. */
export const checkTurnBudget = (
  budgets: BudgetState,
  threadId: string,
  { targets }: Agent,
  index: number,
  input: number,
): BudgetCheck => {
  const target = targets[index];
  if (target === undefined) return { is: "free", hold: { tokens: 0, cost: 0, output: 0, leased: true } };
  return checkBudget(budgets, threadId, estimateCost(target, input));
};
