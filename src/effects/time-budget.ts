import * as z from "zod";
import { duration } from "../schema.ts";
import { defineBuiltIn } from "./built-in.ts";
import { warnThresholdSchema } from "./threshold.ts";

/** Limits a run's model time: the effect becomes one of the run's own limits and does nothing in the loop. */
export const timeBudget = defineBuiltIn({
  kind: "time_budget",
  description: "Ends a run that has used this much model time.",
  phase: "after_complete",
  order: "inject",
  params: z.strictObject({
    max_duration: duration().prefault("10m").describe("Model time of a run."),
    warn_threshold: warnThresholdSchema,
  }),
  run: () => ({}),
});
