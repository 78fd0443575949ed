import * as z from "zod";
import { isLonger } from "../chat/truncate.ts";
import type { ChatEdit, EffectContext } from "../agent/definition/effect.ts";
import { preview, textOf } from "../chat/text.ts";
import { count } from "../schema.ts";
import { defineBuiltIn } from "./built-in.ts";
import { findNewestFrom, findOkResults, showInstead, shownResultText } from "./shortened/results.ts";
import type { OkResult } from "./shortened/results.ts";
import { offloadKind } from "./shortened/texts.ts";
import { isOver, thresholdSchema } from "./threshold.ts";

const previewLength = 200;

const placeholder =
  (text: string) =>
  (id: string): string =>
    `[offloaded ${id}: ${preview(text, previewLength)}; recall("${id}")]`;

const offloadResult = (
  context: EffectContext,
  { message, result }: OkResult,
  least: number,
): readonly ChatEdit[] => {
  const whole = textOf(result.content);
  if (!isLonger(whole, least - 1)) return [];
  return showInstead(context, message, shownResultText(message), placeholder(whole));
};

/** Moves long results out of the view; the model reads them again with `recall`, in later runs, too. */
export const offload = defineBuiltIn({
  kind: offloadKind,
  description: "Moves long results out of the view; recall reads them.",
  phase: "after_complete",
  order: "inject",
  params: z.strictObject({
    threshold: thresholdSchema(0.5),
    min_result_len: count().default(2_000).describe("Characters from which a result is moved."),
    recent_window: count().default(6).describe("Newest tool messages that stay whole."),
  }),
  run: (context, { threshold: share, min_result_len: least, recent_window: recent }) => {
    if (!isOver(context, share) || !context.tools.includes("recall")) return {};
    const { view } = context;
    const older = findOkResults(view, findNewestFrom(view, recent, "tool"));
    const edits = older.flatMap((each) => offloadResult(context, each, least));
    return edits.length === 0 ? {} : { edits };
  },
});
