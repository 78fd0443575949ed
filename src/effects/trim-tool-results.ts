import * as z from "zod";
import type { ChatEdit, EffectContext } from "../agent/definition/effect.ts";
import { shownTokens } from "../chat/message.ts";
import type { Message } from "../chat/message.ts";
import { textOf } from "../chat/text.ts";
import { isLonger } from "../chat/truncate.ts";
import { count } from "../schema.ts";
import { defineBuiltIn } from "./built-in.ts";
import { findNewestFrom, findOkResults, showInstead, shownResultText } from "./shortened/results.ts";
import type { OkResult } from "./shortened/results.ts";
import { truncateEnd, trimMark } from "./shortened/texts.ts";

const trimKind = "trim_tool_results";

/** Returns whether a message may show more than `max` characters of a result, judged by stored figures for speed. */
const mayBeLong = (message: Message, max: number): boolean =>
  message.role === "tool" && shownTokens(message) * 4 > max && !isTrimmed(message, max);

const isTrimmed = ({ overlay }: Message, max: number): boolean =>
  overlay?.by === trimKind && !isLonger(overlay.texts[0] ?? "", max + trimMark.length);

const trimResult = (
  context: EffectContext,
  { message, result }: OkResult,
  max: number,
): readonly ChatEdit[] => {
  const shown = shownResultText(message);
  if (shown.length <= max) return [];
  return showInstead(context, message, shown, truncateEnd(textOf(result.content), max));
};

/** Cuts older results to their beginning. */
export const trimToolResults = defineBuiltIn({
  kind: trimKind,
  description: "Shortens older tool results after every turn.",
  phase: "after_complete",
  order: "inject",
  params: z.strictObject({
    max_result_length: count().default(500).describe("Characters that are kept of an older result."),
    preserve_recent: count().default(4).describe("Newest tool messages that stay whole."),
  }),
  run: (context, { max_result_length: max, preserve_recent: recent }) => {
    const { view } = context;
    const older = findOkResults(view, findNewestFrom(view, recent, "tool"), (message) =>
      mayBeLong(message, max),
    );
    const edits = older.flatMap((each) => trimResult(context, each, max));
    return edits.length === 0 ? {} : { edits };
  },
});
