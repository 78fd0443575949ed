import * as z from "zod";
import { count, duration, fraction, orOff } from "../../schema.ts";

/** Defines budgets, which all have this shape: null means no limit of that kind, 0 that nothing may be spent. */

interface Bounds {
  readonly max_tokens?: number;
  readonly max_tool_calls?: number;
  readonly max_cost_usd?: number;
}

/**
 * Returns the schema of a budget whose absent keys default to `bounds`, or to no limit. `max_duration` is in
 * milliseconds.
 */
const budgetSchema = (bounds: Bounds = {}) =>
  z.strictObject({
    max_tokens: orOff(count())
      .prefault(bounds.max_tokens ?? "off")
      .describe("Input, cache and output tokens; off = no bound."),
    max_cost_usd: orOff(z.number().min(0))
      .prefault(bounds.max_cost_usd ?? "off")
      .describe("Price of all model calls in USD, of models whose price is known; off = no bound."),
    max_duration: orOff(duration())
      .prefault("off")
      .describe("Model time, without tools and waits; off = no bound."),
    max_tool_calls: orOff(count())
      .prefault(bounds.max_tool_calls ?? "off")
      .describe("Dispatched calls; off = no bound."),
    warn_at: fraction().default(0.8).describe("Share of a limit at which a warning is given."),
    on_exceeded: z
      .enum(["stop", "ask"])
      .default("stop")
      .describe("End the run, or ask a person for a higher limit."),
  });

/** Schema of an agent's `guards.budget`; `false` in YAML removes all limits. */
export const guardBudgetSchema = z.union([
  z.literal(false).transform(() => budgetSchema().parse({})),
  budgetSchema(),
]);

/** Schema of the team's `budgets`. */
export const budgetsSchema = z.strictObject({
  run: budgetSchema({ max_tokens: 5_000_000, max_tool_calls: 1_000, max_cost_usd: 10 })
    .prefault({})
    .describe("Budget of every run."),
  session: budgetSchema().prefault({}).describe("Budget of a session's whole life."),
  tenant: budgetSchema({ max_cost_usd: 100 }).prefault({}).describe("Budget of a tenant per UTC day."),
  unknown_price: z
    .enum(["warn", "refuse"])
    .default("warn")
    .describe("How a model without a price is treated under a cost limit."),
});
