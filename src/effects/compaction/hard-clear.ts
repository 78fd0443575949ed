import type { EffectContext } from "../../agent/definition/effect.ts";
import { isBlockPinned } from "../../chat/blocks.ts";
import type { ContentPart, Message, Part } from "../../chat/message.ts";
import { textOf } from "../../chat/text.ts";
import { cutMiddle, withReferences } from "../texts.ts";
import { noteMessage } from "./note.ts";
import { rangeBefore, tailStart } from "./range.ts";
import type { Range } from "./range.ts";
import { summaryTokens, tokensOf, withRetired, withTexts } from "./shadow.ts";
import type { Shadow, ShownText, Texts } from "./shadow.ts";

/** Rung 6: what is left when nothing else fits. */

const longest = 65_536;
const shortest = 80;

/** The range without the newest human input, which stays. */
const split = ({ gone }: Range): readonly (readonly Message[])[] => {
  const at = gone.findLastIndex(({ origin, role }) => origin === "human" && role === "user");
  return at < 0 ? [gone] : [gone.slice(0, at), gone.slice(at + 1)];
};

type Known = Pick<EffectContext, "view" | "unread" | "task" | "records" | "run" | "tokens" | "tools">;

/** The view without its range, best first: with the summary that a model wrote of it, and with a note. */
const cleared = (
  context: Known,
  shadow: Shadow,
  range: Range,
  told: string | null,
  keepTurns: number,
): readonly Shadow[] => {
  const runs = split(range);
  const gone = runs.flat();
  const shown = tokensOf(shadow, gone);
  const smaller = [
    ...(told !== null && keepTurns === 0 ? [told] : []),
    noteMessage(context, { ...range, gone }, told),
  ].filter((text) => summaryTokens(context.tokens, text) < shown);
  const shadows = smaller.map((summary) => withRetired(shadow, { runs, summary }));
  return range.blocks.length === 0 || shadows.length === 0 ? [shadow, ...shadows] : shadows;
};

const whole = (text: string, cut: string, canRecall: boolean): ShownText =>
  text === cut || !canRecall ? cut : (id) => `${cut}\n[recall("${id}") reads the whole]`;

const contentOf = (part: Part): readonly ContentPart[] => {
  if (part.type === "tool_result") return part.content;
  return part.type === "text" || part.type === "image" || part.type === "document" ? [part] : [];
};

/** Texts of at most `max` characters for the parts of messages; media of people go only with the shortest. */
const cutTexts = (messages: readonly Message[], max: number, canRecall: boolean): Texts =>
  new Map(
    messages.map((message) => {
      const texts: Record<number, ShownText> = {};
      for (const [at, part] of message.parts.entries()) {
        const content = contentOf(part);
        const isMedia = part.type === "image" || part.type === "document";
        if (content.length === 0 || (isMedia && max > 2 * shortest)) continue;
        const text = textOf(content);
        texts[at] = whole(
          text,
          withReferences(message, content, cutMiddle(text, max)),
          canRecall && !isMedia,
        );
      }
      return [message, texts];
    }),
  );

/** The shadow with kept messages cut until it has `goal` tokens; with the shortest texts if it never has. */
const fitted = (context: Known, clear: Shadow, goal: number): Shadow => {
  const { view } = context;
  const gone = new Set(clear.retired?.runs.flat());
  const kept = view.filter((message, at) => !gone.has(message) && !isBlockPinned(view, at));
  const canRecall = context.tools.includes("recall");
  let cut = clear;
  for (let max = longest; max >= shortest && cut.size > goal; max /= 2)
    cut = withTexts(clear, cutTexts(kept, max, canRecall));
  return cut;
};

/**
 * The view is cleared but for pinned messages, the newest human input and what no call has seen; these are cut until the
 * request has at most `goal` tokens, or else as short as they can be. `told` is what a model wrote of the range.
 */
export const hardCleared = (
  context: Known,
  shadow: Shadow,
  goal: number,
  told: string | null,
  keepTurns: number,
): Shadow => {
  const range = rangeBefore(context.view, tailStart(context.view, context.unread));
  const cuts: Shadow[] = [];
  for (const clear of cleared(context, shadow, range, told, keepTurns)) {
    const cut = fitted(context, clear, goal);
    if (cut.size <= goal) return cut;
    cuts.push(cut);
  }
  return cuts.reduce((best, cut) => (cut.size < best.size ? cut : best), shadow);
};
