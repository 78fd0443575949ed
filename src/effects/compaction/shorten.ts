import type { Message } from "../../chat/message.ts";
import { textOf } from "../../chat/text.ts";
import { truncateMiddle, maskText, okResultOf, toolResultOf } from "../shortened/texts.ts";
import { withTexts } from "./shadow.ts";
import type { Shadow, ShownText } from "./shadow.ts";

/** Implements the stages without a model: results are shown shorter, calls and texts stay. */

const newestMessages = 10;
const newestToolMessages = 4;
const resultLength = 500;
const errorLength = 2_000;

/** Shows messages with shorter texts; null leaves one unchanged. With `media`, images and documents of results stay. */
export const shortenMessages = (
  shadow: Shadow,
  messages: readonly Message[],
  shorter: (message: Message) => string | null,
  media = false,
): Shadow => {
  const texts = new Map<Message, Record<number, ShownText>>();
  for (const message of messages) {
    const text = shorter(message);
    if (text !== null) texts.set(message, { 0: text });
  }
  return withTexts(shadow, texts, media);
};

/** Applies the first stage: shows `ok` results before `edge` as one line, except in the newest 10 messages. */
export const maskResults = (shadow: Shadow, edge: number): Shadow => {
  const { view } = shadow.context;
  const end = Math.max(0, Math.min(edge, view.length - newestMessages));
  return shortenMessages(shadow, view.slice(0, end), (message) => {
    const result = okResultOf(message);
    return result === null ? null : maskText(message, result);
  });
};

/**
 * Applies the second stage: cuts results before `edge` in the middle, except the newest 4 tool messages; errors
 * keep more.
 */
export const trimResults = (shadow: Shadow, edge: number): Shadow => {
  const { view } = shadow.context;
  const spared = new Set(view.filter(({ role }) => role === "tool").slice(-newestToolMessages));
  const old = view.slice(0, edge).filter((message) => !spared.has(message));
  const shorter = (message: Message): string | null => {
    const result = toolResultOf(message);
    if (result === null) return null;
    const text = textOf(result.content);
    const cut = truncateMiddle(text, result.status === "ok" ? resultLength : errorLength);
    return cut === text ? null : cut;
  };
  return shortenMessages(shadow, old, shorter, true);
};
