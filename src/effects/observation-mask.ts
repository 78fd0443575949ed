import * as z from "zod";
import type { EffectContext } from "../agent/definition/effect.ts";
import type { Message, ToolCallPart } from "../chat/message.ts";
import { callsOf } from "../chat/view.ts";
import { count } from "../schema.ts";
import { builtIn } from "./built-in.ts";
import { notice } from "./compaction/notice.ts";
import { editsOf, shadowOf } from "./compaction/shadow.ts";
import { shortened } from "./compaction/shorten.ts";
import { digestText } from "./digest.ts";
import { newestFrom } from "./results.ts";
import { maskText, resultOf } from "./texts.ts";
import { isOver, threshold } from "./threshold.ts";

const params = z.strictObject({
  threshold: threshold(0.6),
  recent_window: count().default(10).describe("Newest messages that stay whole."),
  style: z.enum(["preview", "digest"]).default("preview").describe("What stands for a masked result."),
  recent_turns: count().optional().describe("Newest turns that stay whole, instead of recent_window."),
});

type Params = z.output<typeof params>;

const callsIn = (view: readonly Message[]): ReadonlyMap<string, ToolCallPart> =>
  new Map(view.flatMap((message) => callsOf(message).map((call) => [call.id, call])));

/** Index from which on results stay whole: the recent ones, and those that no model call has seen yet. */
const recentFrom = ({ view, unread }: EffectContext, { recent_turns: turns, recent_window: size }: Params) =>
  Math.min(unread, turns === undefined ? newestFrom(view, size) : newestFrom(view, turns, "assistant"));

/** Older results show one line each; what the model said and called stays. */
export const observationMask = builtIn({
  kind: "observation_mask",
  description: "Shows older tool results as one line.",
  phase: "before_complete",
  order: "shrink",
  params,
  run: (context, given) => {
    if (!isOver(context, given.threshold)) return {};
    const { view, size } = context;
    const calls = given.style === "digest" ? callsIn(view) : null;
    const start = shadowOf(context, size);
    const shadow = shortened(start, view.slice(0, recentFrom(context, given)), (message) => {
      const result = resultOf(message);
      if (result?.status !== "ok") return null;
      return calls === null ? maskText(message, result) : digestText(message, result, calls.get(result.call));
    });
    const edits = editsOf(shadow);
    return edits.length === 0 ? {} : { edits, notify: [notice("mask", start, shadow)] };
  },
});
