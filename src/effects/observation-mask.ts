import * as z from "zod";
import type { EffectContext } from "../agent/definition/effect.ts";
import type { Message, ToolCallPart } from "../chat/message.ts";
import { callsOf } from "../chat/view.ts";
import { count } from "../schema.ts";
import { defineBuiltIn } from "./built-in.ts";
import { createNotice } from "./compaction/notice.ts";
import { editsOf, shadowOf } from "./compaction/shadow.ts";
import { shortenMessages } from "./compaction/shorten.ts";
import { digestText } from "./shortened/digest.ts";
import { findNewestFrom } from "./shortened/results.ts";
import { maskText, okResultOf } from "./shortened/texts.ts";
import { isOver, thresholdSchema } from "./threshold.ts";

const maskParams = z.strictObject({
  threshold: thresholdSchema(0.6),
  recent_window: count().default(10).describe("Newest messages that stay whole."),
  style: z.enum(["preview", "digest"]).default("preview").describe("Form in which a masked result is shown."),
  recent_turns: count().optional().describe("Newest turns that stay whole, instead of recent_window."),
});

type MaskParams = z.output<typeof maskParams>;

const callsById = (view: readonly Message[]): ReadonlyMap<string, ToolCallPart> =>
  new Map(view.flatMap((message) => callsOf(message).map((call) => [call.id, call])));

/** Returns the index from which results stay whole: recent ones, and those that no model call has seen yet. */
const recentFrom = (
  { view, unread }: EffectContext,
  { recent_turns: turns, recent_window: size }: MaskParams,
) =>
  Math.min(
    unread,
    turns === undefined ? findNewestFrom(view, size) : findNewestFrom(view, turns, "assistant"),
  );

/** Shows older results as one line each; the model's texts and calls stay. */
export const observationMask = defineBuiltIn({
  kind: "observation_mask",
  description: "Shows older tool results as one line.",
  phase: "before_complete",
  order: "shrink",
  params: maskParams,
  run: (context, given) => {
    if (!isOver(context, given.threshold)) return {};
    const { view, size } = context;
    const calls = given.style === "digest" ? callsById(view) : null;
    const start = shadowOf(context, size);
    const shadow = shortenMessages(start, view.slice(0, recentFrom(context, given)), (message) => {
      const result = okResultOf(message);
      if (result === null) return null;
      return calls === null ? maskText(message, result) : digestText(message, result, calls.get(result.call));
    });
    const edits = editsOf(shadow);
    return edits.length === 0 ? {} : { edits, notify: [createNotice("mask", start, shadow)] };
  },
});
