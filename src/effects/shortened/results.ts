import type { ChatEdit, EffectContext } from "../../agent/definition/effect.ts";
import { isBlockPinned } from "../../chat/blocks.ts";
import type { Message, ToolResultPart } from "../../chat/message.ts";
import { shownParts } from "../../chat/render.ts";
import { textOf } from "../../chat/text.ts";
import { longestForm } from "../compaction/shadow.ts";
import type { ShownText } from "../compaction/shadow.ts";
import { okResultOf } from "./texts.ts";

/** Finds tool results in a view, for the effects that show something shorter. */

export interface OkResult {
  readonly message: Message;
  /** Result as it is stored. */
  readonly result: ToolResultPart;
}

/**
 * Returns the results before an index that may be shortened and that `may` accepts, oldest first, without pinned
 * ones.
 */
export const findOkResults = (
  view: readonly Message[],
  end: number,
  may: (message: Message) => boolean = () => true,
): readonly OkResult[] =>
  view.slice(0, end).flatMap((message, index) => {
    const result = may(message) ? okResultOf(message) : null;
    return result !== null && !isBlockPinned(view, index) ? [{ message, result }] : [];
  });

/**
 * Returns the index of the `count`-th newest message of a role, from which everything is recent; 0 if there are
 * fewer.
 */
export const findNewestFrom = (
  view: readonly Message[],
  count: number,
  role: Message["role"] | "any" = "any",
): number => {
  let at = view.length;
  for (let left = count; left > 0 && at > 0;) {
    at -= 1;
    if (role === "any" || view[at]?.role === role) left -= 1;
  }
  return at;
};

/** Returns the text of a result as the model sees it now. */
export const shownResultText = (message: Message): string => {
  const [part] = shownParts(message);
  return part?.type === "tool_result" ? textOf(part.content) : "";
};

/** Replaces a result's current text by another one, if that is shorter and takes no more tokens. */
export const showInstead = (
  { tokens }: Pick<EffectContext, "tokens">,
  { id: message }: Message,
  shown: string,
  text: ShownText,
): readonly ChatEdit[] =>
  longestForm(text).length < shown.length && tokens(longestForm(text)) <= tokens(shown)
    ? [{ overlay: { message, part: 0, text, media: true } }]
    : [];
