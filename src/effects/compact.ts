import * as z from "zod";
import type { EffectContext, EffectResult } from "../agent/definition/effect.ts";
import { count, name } from "../schema.ts";
import { defineBuiltIn } from "./built-in.ts";
import { unknownWindow } from "./compaction/chunks.ts";
import { runStages } from "./compaction/strategy.ts";
import type { CompactionGoal, CompactionResult } from "./compaction/strategy.ts";
import { paceAfter, waitForPace, presumeLimit, requestLimit, steadyPace } from "./compaction/pace.ts";
import type { Pace } from "./compaction/pace.ts";
import { editsOf } from "./compaction/shadow.ts";
import { thresholdSchema } from "./threshold.ts";

/** Shortens the chat stage by stage, over its threshold or when forced. */

const compactParams = z.strictObject({
  threshold: thresholdSchema(0.8),
  target: z
    .number()
    .min(0.1)
    .max(1)
    .optional()
    .describe("Share to which the chat is shortened; omitted: threshold − 0.2."),
  keep_turns: count().default(0).describe("Newest turns that stay whole."),
  on_failure: z.enum(["ladder", "keep", "ask"]).default("ladder").describe("What a failed summary causes."),
  summary_provider: name().optional().describe("Provider that writes summaries; omitted: the agent's own."),
});
type CompactParams = z.output<typeof compactParams>;

/** Number of overflows in a turn that are handled from the first stage on; the next goes to the last stage. */
const overflowsBeforeClear = 3;
const leastTarget = 0.1;
const targetBelow = 0.2;

const targetOf = ({ target, threshold }: CompactParams): number => {
  const from = threshold === 0 ? 0.8 : threshold;
  return Math.min(from, target ?? Math.max(leastTarget, from - targetBelow));
};

/** Returns the window; an overflow proves that it ends below the size, whatever was configured or estimated. */
const windowOf = ({ window, size, force }: EffectContext): number => {
  const known = window === 0 ? unknownWindow : window;
  return force?.why === "overflow" ? Math.max(1, Math.min(known, size - 1)) : known;
};

const goalOf = (context: EffectContext, given: CompactParams): CompactionGoal => {
  const { force, size } = context;
  const window = windowOf(context);
  return {
    context,
    window,
    size: force?.why === "overflow" ? Math.max(size, window + 1) : size,
    limit: force?.why === "overflow" ? presumeLimit(window) : requestLimit(window, context.maxOutput),
    target: Math.floor(window * targetOf(given)),
    keepTurns: given.keep_turns,
    onFailure: given.on_failure,
    instructions: force?.why === "api" ? force.instructions : null,
    only:
      force?.why === "api"
        ? "summary"
        : force?.why === "overflow" && force.count > overflowsBeforeClear
          ? "clear"
          : null,
  };
};

const stopAsTooLong = (window: number): NonNullable<EffectResult<Pace>["stop"]> => ({
  reason: "context_length_exceeded",
  message: `the newest messages do not fit the context window of ${window} tokens, even cut and with all others omitted; send less, or choose a model with a larger window`,
});

const resultOf = (
  context: EffectContext,
  given: CompactParams,
  { shadow, notices, failed, hopeless }: CompactionResult,
): EffectResult<Pace> => {
  const edits = hopeless ? [] : editsOf(shadow);
  return {
    ...(edits.length > 0 ? { edits } : {}),
    ...(notices.length > 0 ? { notify: notices } : {}),
    ...(context.force === null
      ? { state: paceAfter(context.window, given.threshold, shadow.size, failed) }
      : {}),
    ...(hopeless ? { stop: stopAsTooLong(windowOf(context)) } : {}),
  };
};

/**
 * Compacts over the threshold, and when an overflow or the API forces it, with default parameters if an agent has
 * none.
 */
export const compact = defineBuiltIn({
  kind: "compact",
  description: "Summarises the chat, stage by stage, when the window fills.",
  phase: "before_complete",
  order: "shrink",
  params: compactParams,
  state: { initial: steadyPace, reset: "never" },
  run: (context, given, pace) => {
    const notYet = context.force === null ? waitForPace(context, given.threshold, pace) : null;
    if (notYet !== null) return notYet;
    const result = runStages(goalOf(context, given));
    return result instanceof Promise
      ? result.then((done) => resultOf(context, given, done))
      : resultOf(context, given, result);
  },
});
