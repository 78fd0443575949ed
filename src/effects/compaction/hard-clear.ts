import type { EffectContext } from "../../agent/definition/effect.ts";
import { isBlockPinned } from "../../chat/blocks.ts";
import type { ContentPart, Message, Part } from "../../chat/message.ts";
import { textOf } from "../../chat/text.ts";
import { truncateMiddle, withReferences } from "../shortened/texts.ts";
import { noteMessage } from "./note.ts";
import { rangeBefore, tailStart } from "./range.ts";
import type { MessageRange } from "./range.ts";
import { summaryTokens, tokensOf, withRetired, withTexts } from "./shadow.ts";
import type { Shadow, ShownText, TextsByMessage } from "./shadow.ts";

/** Clears the view as the last stage, when nothing else makes the request fit. */

const maxTextLength = 65_536;
const minTextLength = 80;

/** Splits the range around the newest human input, which stays. */
const splitRange = ({ gone }: MessageRange): readonly (readonly Message[])[] => {
  const at = gone.findLastIndex(({ origin, role }) => origin === "human" && role === "user");
  return at < 0 ? [gone] : [gone.slice(0, at), gone.slice(at + 1)];
};

type ClearContext = Pick<EffectContext, "view" | "unread" | "task" | "records" | "run" | "tokens" | "tools">;

/** Returns the view without its range, best first: with the summary that a model wrote, then with a note. */
const clearRange = (
  context: ClearContext,
  shadow: Shadow,
  range: MessageRange,
  told: string | null,
  keepTurns: number,
): readonly Shadow[] => {
  const runs = splitRange(range);
  const gone = runs.flat();
  const shown = tokensOf(shadow, gone);
  const smaller = [
    ...(told !== null && keepTurns === 0 ? [told] : []),
    noteMessage(context, { ...range, gone }, told),
  ].filter((text) => summaryTokens(context.tokens, text) < shown);
  const shadows = smaller.map((summary) => withRetired(shadow, { runs, summary }));
  return range.blocks.length === 0 || shadows.length === 0 ? [shadow, ...shadows] : shadows;
};

const recallWhole = (text: string, cut: string, canRecall: boolean): ShownText =>
  text === cut || !canRecall ? cut : (id) => `${cut}\n[recall("${id}") reads the whole]`;

const contentOf = (part: Part): readonly ContentPart[] => {
  if (part.type === "tool_result") return part.content;
  return part.type === "text" || part.type === "image" || part.type === "document" ? [part] : [];
};

/**
 * Shortens texts of message parts to at most `max` characters; media of people are removed only with the shortest
 * texts.
 */
const truncateTexts = (messages: readonly Message[], max: number, canRecall: boolean): TextsByMessage =>
  new Map(
    messages.map((message) => {
      const texts: Record<number, ShownText> = {};
      for (const [at, part] of message.parts.entries()) {
        const content = contentOf(part);
        const isMedia = part.type === "image" || part.type === "document";
        if (content.length === 0 || (isMedia && max > 2 * minTextLength)) continue;
        const text = textOf(content);
        texts[at] = recallWhole(
          text,
          withReferences(message, content, truncateMiddle(text, max)),
          canRecall && !isMedia,
        );
      }
      return [message, texts];
    }),
  );

/** Cuts kept messages until the shadow has `goal` tokens; if it never does, uses the shortest texts. */
const fitTexts = (context: ClearContext, clear: Shadow, goal: number): Shadow => {
  const { view } = context;
  const gone = new Set(clear.retired?.runs.flat());
  const kept = view.filter((message, at) => !gone.has(message) && !isBlockPinned(view, at));
  const canRecall = context.tools.includes("recall");
  let cut = clear;
  for (let max = maxTextLength; max >= minTextLength && cut.size > goal; max /= 2)
    cut = withTexts(clear, truncateTexts(kept, max, canRecall));
  return cut;
};

/**
 * Clears the view except for pinned messages, the newest human input and messages that no call has seen; these are
 * cut until the request has at most `goal` tokens, or to the shortest. `told` is the model's summary of the range.
 */
export const clearHard = (
  context: ClearContext,
  shadow: Shadow,
  goal: number,
  told: string | null,
  keepTurns: number,
): Shadow => {
  const range = rangeBefore(context.view, tailStart(context.view, context.unread));
  const cuts: Shadow[] = [];
  for (const clear of clearRange(context, shadow, range, told, keepTurns)) {
    const cut = fitTexts(context, clear, goal);
    if (cut.size <= goal) return cut;
    cuts.push(cut);
  }
  return cuts.reduce((best, cut) => (cut.size < best.size ? cut : best), shadow);
};
