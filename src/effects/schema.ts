import * as z from "zod";
import { count, duration, fraction, name } from "../schema.ts";

/** Parameters of the built-in effects (EF-12 to EF-18, EF-40). */

const threshold = (value: number) =>
  fraction({ zero: true })
    .default(value)
    .describe("Share of the context window from which it acts; 0 = never.");

const recentWindow = (value: number) => count().default(value).describe("Newest messages that stay whole.");

const effect = <Kind extends string, Shape extends z.core.$ZodLooseShape>(
  kind: Kind,
  description: string,
  params: z.ZodObject<Shape, z.core.$strict>,
) =>
  z
    .strictObject({
      kind: z.literal(kind).describe("Kind of the effect."),
      params: params.prefault({} as never).describe("Its parameters."),
    })
    .describe(description);

const trimToolResults = effect(
  "trim_tool_results",
  "Shortens older tool results after every turn.",
  z.strictObject({
    max_result_length: count().default(500).describe("Characters that stay of an older result."),
    preserve_recent: count().default(4).describe("Newest tool messages that stay whole."),
  }),
);

const observationMask = effect(
  "observation_mask",
  "Shows older tool results as one line.",
  z.strictObject({
    threshold: threshold(0.6),
    recent_window: recentWindow(10),
    style: z.enum(["preview", "digest"]).default("preview").describe("What stands for a masked result."),
    recent_turns: count().optional().describe("Newest turns that stay whole, instead of recent_window."),
  }),
);

const slidingWindow = effect(
  "sliding_window",
  "Keeps a recent zone, shortens a middle one, summarises the rest.",
  z.strictObject({
    threshold: threshold(0.7),
    recent_zone: count().default(10).describe("Newest messages that stay whole."),
    medium_zone: count().default(10).describe("Messages before them whose results are cut."),
    trim_length: count().default(200).describe("Characters that stay of a result in the middle zone."),
  }),
);

const compact = effect(
  "compact",
  "Summarises the chat, rung by rung, when the window fills.",
  z.strictObject({
    threshold: threshold(0.8),
    target: z.number().min(0.1).max(1).optional().describe("Share to get down to; omitted: threshold − 0.2."),
    keep_turns: count().default(0).describe("Newest turns that stay whole."),
    on_failure: z
      .enum(["ladder", "keep", "ask"])
      .default("ladder")
      .describe("What a failed summary leads to."),
    summary_provider: name().optional().describe("Provider that writes summaries; omitted: the agent's own."),
  }),
);

const loopDetect = effect(
  "loop_detect",
  "Notes that the same call is made again and again.",
  z.strictObject({
    threshold: count(2).default(3).describe("Equal calls from which a note is given."),
    window_size: count(2).default(10).describe("Newest calls that are looked at."),
  }),
);

const reflection = effect(
  "reflection",
  "Asks for another strategy after failures in a row.",
  z.strictObject({ failure_threshold: count(1).default(2).describe("Failed replies in a row.") }),
);

const progress = effect(
  "progress",
  "Asks for a progress note every few turns.",
  z.strictObject({ interval: count(1).default(5).describe("Turns between two notes.") }),
);

const warnThreshold = fraction({ zero: true }).default(0.8).describe("Share at which a warning is given.");

const tokenBudget = effect(
  "token_budget",
  "Ends a run that has used this many tokens.",
  z.strictObject({ max_tokens: count().describe("Tokens of a run."), warn_threshold: warnThreshold }),
);

const timeBudget = effect(
  "time_budget",
  "Ends a run that has used this much model time.",
  z.strictObject({
    max_duration: duration().prefault("10m").describe("Model time of a run."),
    warn_threshold: warnThreshold,
  }),
);

const offload = effect(
  "offload",
  "Moves long results out of the view; recall reads them.",
  z.strictObject({
    threshold: threshold(0.5),
    min_result_len: count().default(2_000).describe("Characters from which a result is moved."),
    recent_window: recentWindow(6),
  }),
);

const stallDetect = effect(
  "stall_detect",
  "Ends a run that goes round in circles.",
  z.strictObject({
    window: count(3).default(6).describe("Newest calls that are looked at."),
    similarity_threshold: fraction().default(0.8).describe("Share of equal calls that counts as a stall."),
  }),
);

const toolScope = effect(
  "tool_scope",
  "Hides tools.",
  z.strictObject({
    exclude: z.array(z.string()).default([]).describe("Globs of tools to hide."),
    include: z.array(z.string()).default([]).describe("Globs of the only tools to show; []: all."),
  }),
);

/** One entry of an agent's `effects`, with the parameters of its kind filled in. */
export const effectSchema = z.discriminatedUnion("kind", [
  observationMask,
  slidingWindow,
  compact,
  trimToolResults,
  loopDetect,
  reflection,
  progress,
  tokenBudget,
  timeBudget,
  offload,
  stallDetect,
  toolScope,
]);

export type EffectConfig = z.output<typeof effectSchema>;
export type EffectKind = EffectConfig["kind"];

/** Kinds in the order of the documentation. */
export const effectKinds: readonly EffectKind[] = effectSchema.options.map(
  (option) => option.shape.kind.value,
);
