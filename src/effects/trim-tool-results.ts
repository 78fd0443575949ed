import * as z from "zod";
import type { ChatEdit, EffectContext } from "../agent/definition/effect.ts";
import { shownTokens } from "../chat/message.ts";
import type { Message } from "../chat/message.ts";
import { textOf } from "../chat/text.ts";
import { count } from "../schema.ts";
import { builtIn } from "./built-in.ts";
import { newestFrom, okResults, shownInstead, shownText } from "./results.ts";
import type { OkResult } from "./results.ts";
import { cutEnd, trimMark } from "./texts.ts";

const kind = "trim_tool_results";

/** Whether a message may show more than `max` characters of a result: told from stored figures, since this runs every turn. */
const mayBeLong = (message: Message, max: number): boolean =>
  message.role === "tool" && shownTokens(message) * 4 > max && !isTrimmed(message, max);

const isTrimmed = ({ overlay }: Message, max: number): boolean =>
  overlay?.by === kind && (overlay.texts[0]?.length ?? 0) <= max + trimMark.length;

const trimmed = (context: EffectContext, { message, result }: OkResult, max: number): readonly ChatEdit[] => {
  const shown = shownText(message);
  if (shown.length <= max) return [];
  return shownInstead(context, message, shown, cutEnd(textOf(result.content), max));
};

/** Older results show only their beginning. */
export const trimToolResults = builtIn({
  kind,
  description: "Shortens older tool results after every turn.",
  phase: "after_complete",
  order: "inject",
  params: z.strictObject({
    max_result_length: count().default(500).describe("Characters that stay of an older result."),
    preserve_recent: count().default(4).describe("Newest tool messages that stay whole."),
  }),
  run: (context, { max_result_length: max, preserve_recent: recent }) => {
    const { view } = context;
    const older = okResults(view, newestFrom(view, recent, "tool"), (message) => mayBeLong(message, max));
    const edits = older.flatMap((each) => trimmed(context, each, max));
    return edits.length === 0 ? {} : { edits };
  },
});
