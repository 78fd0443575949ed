import * as z from "zod";
import { count } from "../schema.ts";
import { defineBuiltIn } from "./built-in.ts";
import { warnThresholdSchema } from "./threshold.ts";

/** Limits a run's tokens: the effect becomes one of the run's own limits and does nothing in the loop. */
export const tokenBudget = defineBuiltIn({
  kind: "token_budget",
  description: "Ends a run that has used this many tokens.",
  phase: "after_complete",
  order: "inject",
  params: z.strictObject({
    max_tokens: count().describe("Tokens of a run."),
    warn_threshold: warnThresholdSchema,
  }),
  run: () => ({}),
});
