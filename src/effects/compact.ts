import * as z from "zod";
import type { EffectContext, EffectResult } from "../agent/definition/effect.ts";
import { count, name } from "../schema.ts";
import { builtIn } from "./built-in.ts";
import { unknownWindow } from "./compaction/chunks.ts";
import { climbed } from "./compaction/ladder.ts";
import type { Aim, Climb } from "./compaction/ladder.ts";
import { paceAfter, paced, presumedLimit, requestLimit, steady } from "./compaction/pace.ts";
import type { Pace } from "./compaction/pace.ts";
import { editsOf } from "./compaction/shadow.ts";
import { threshold } from "./threshold.ts";

/** Compaction: over its threshold, or when it is forced, the chat is made shorter rung by rung. */

const params = z.strictObject({
  threshold: threshold(0.8),
  target: z.number().min(0.1).max(1).optional().describe("Share to get down to; omitted: threshold − 0.2."),
  keep_turns: count().default(0).describe("Newest turns that stay whole."),
  on_failure: z.enum(["ladder", "keep", "ask"]).default("ladder").describe("What a failed summary leads to."),
  summary_provider: name().optional().describe("Provider that writes summaries; omitted: the agent's own."),
});
type Params = z.output<typeof params>;

/** Overflows of one turn that the ladder meets from its first rung; the next is met with the last. */
const mostOverflows = 3;
const leastTarget = 0.1;
const targetBelow = 0.2;

const targetOf = ({ target, threshold }: Params): number => {
  const from = threshold === 0 ? 0.8 : threshold;
  return Math.min(from, target ?? Math.max(leastTarget, from - targetBelow));
};

/** An overflow proves that the window ends below the size, whatever was configured or estimated. */
const windowOf = ({ window, size, force }: EffectContext): number => {
  const known = window === 0 ? unknownWindow : window;
  return force?.why === "overflow" ? Math.max(1, Math.min(known, size - 1)) : known;
};

const aimOf = (context: EffectContext, given: Params): Aim => {
  const { force, size } = context;
  const window = windowOf(context);
  return {
    context,
    window,
    size: force?.why === "overflow" ? Math.max(size, window + 1) : size,
    limit: force?.why === "overflow" ? presumedLimit(window) : requestLimit(window, context.maxOutput),
    target: Math.floor(window * targetOf(given)),
    keepTurns: given.keep_turns,
    onFailure: given.on_failure,
    instructions: force?.why === "api" ? force.instructions : null,
    only:
      force?.why === "api"
        ? "summary"
        : force?.why === "overflow" && force.count > mostOverflows
          ? "clear"
          : null,
  };
};

const tooLong = (window: number): NonNullable<EffectResult<Pace>["stop"]> => ({
  reason: "context_length_exceeded",
  message: `the newest messages do not fit the context window of ${window} tokens, even cut and with all others left out; send less, or choose a model with a larger window`,
});

const resultOf = (
  context: EffectContext,
  given: Params,
  { shadow, notices, failed, hopeless }: Climb,
): EffectResult<Pace> => {
  const edits = hopeless ? [] : editsOf(shadow);
  return {
    ...(edits.length > 0 ? { edits } : {}),
    ...(notices.length > 0 ? { notify: notices } : {}),
    ...(context.force === null
      ? { state: paceAfter(context.window, given.threshold, shadow.size, failed) }
      : {}),
    ...(hopeless ? { stop: tooLong(windowOf(context)) } : {}),
  };
};

/** Also what an overflow or the API forces, with default parameters where an agent has none. */
export const compact = builtIn({
  kind: "compact",
  description: "Summarises the chat, rung by rung, when the window fills.",
  phase: "before_complete",
  order: "shrink",
  params,
  state: { initial: steady, reset: "never" },
  run: (context, given, pace) => {
    const rest = context.force === null ? paced(context, given.threshold, pace) : null;
    if (rest !== null) return rest;
    const climb = climbed(aimOf(context, given));
    return climb instanceof Promise
      ? climb.then((done) => resultOf(context, given, done))
      : resultOf(context, given, climb);
  },
});
