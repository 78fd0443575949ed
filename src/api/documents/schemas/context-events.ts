import * as z from "zod";
import { dataOf } from "./event-data.ts";

/** Describes the events about what the model sees. */

export const contextEvents = {
  effect_applied: {
    says: "An effect added to what the model sees, shortened it or took tools away.",
    data: dataOf<"effect_applied">()(
      z.strictObject({
        kind: z.string(),
        phase: z.enum(["before_complete", "after_complete"]),
        injected: z.int(),
        overlaid: z.int(),
        retired: z.int(),
        hidden: z.int().describe("How many declared tools it took out of the turn."),
        stopped: z.boolean().describe("Whether it ends the run."),
        tokens_before: z.int(),
        tokens_after: z.int(),
      }),
    ),
  },
  compaction: {
    says: "The chat was shortened by one stage, or could not be.",
    data: dataOf<"compaction">()(
      z.strictObject({
        effect: z.string().describe("The kind of the effect, or `api` or `overflow`."),
        stage: z.enum(["mask", "trim", "window", "full", "partial", "note", "hard_clear", "failed"]),
        tokens_before: z.int(),
        tokens_after: z.int(),
        retired: z.strictObject({ from: z.string(), to: z.string(), count: z.int() }).nullable(),
        attempts: z.int(),
        message: z.string().nullable().describe("The id of the summary."),
      }),
    ),
  },
  context_window_warning: {
    says: "The context window is nearly full, or small for what the agent does.",
    data: dataOf<"context_window_warning">()(
      z.discriminatedUnion("kind", [
        z.strictObject({
          kind: z.literal("utilization"),
          utilization: z.number(),
          tokens: z.int(),
          limit: z.int(),
        }),
        z.strictObject({ kind: z.literal("small_window"), window: z.int() }),
      ]),
    ),
  },
  checkpoint: {
    says: "A note told the agent that this share of its turns is used.",
    data: dataOf<"checkpoint">()(
      z.strictObject({ fraction: z.number(), message: z.string(), text: z.string() }),
    ),
  },
  plan_created: {
    says: "The agent wrote its plan, which this message holds.",
    data: dataOf<"plan_created">()(z.strictObject({ message: z.string() })),
  },
  localization_done: {
    says: "The model was shown these files as those that the input may be about.",
    data: dataOf<"localization_done">()(z.strictObject({ files: z.array(z.string()) })),
  },
} as const;
