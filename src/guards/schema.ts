import * as z from "zod";
import { count, text } from "../schema.ts";

/** Schema of the parameters of the tool-loop guard. */
export const toolLoopsParams = z.strictObject({
  enabled: z.boolean().default(true).describe("Whether the guard is on."),
  history_size: count(1, 1_000).default(30).describe("Newest calls that are remembered."),
  warning_threshold: count(2).default(10).describe("Count from which a result carries a warning."),
  critical_threshold: count(2).default(20).describe("Count from which calls are refused."),
  global_circuit_breaker_threshold: count(2).default(30).describe("Count that ends the run."),
  generic_repeat: z.boolean().default(true).describe("Look for one call that is repeated."),
  known_poll_no_progress: z.boolean().default(true).describe("Look for polls without progress."),
  ping_pong: z.boolean().default(true).describe("Look for two alternating calls."),
  strict: z.boolean().default(false).describe("Compare only tool and arguments, whatever the outcome."),
  poll_tools: z
    .array(text(128, 1))
    .max(100)
    .default([])
    .describe("Globs of poll tools besides the declared ones."),
  poll_backoff: z
    .enum(["enforce", "suggest", "off"])
    .default("enforce")
    .describe("How polls are slowed down."),
});

export type ToolLoops = z.output<typeof toolLoopsParams>;

/** Schema of an agent's `tool_loops`; `false` in YAML becomes `enabled: false`. */
export const toolLoopsSchema = z.union([
  z.literal(false).transform(() => toolLoopsParams.parse({ enabled: false })),
  toolLoopsParams,
]);

/** Schema of the context-window guard; 0 = off, and `false` in YAML becomes two zeros. */
export const windowGuardSchema = z.union([
  z.literal(false).transform(() => ({ minimum: 0, warning: 0 })),
  z.strictObject({
    minimum: count().default(16_000).describe("Smaller windows are refused; 0 = off."),
    warning: count().default(32_000).describe("Smaller windows are warned about; 0 = off."),
  }),
]);
