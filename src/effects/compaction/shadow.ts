import { isBlockPinned } from "../../chat/blocks.ts";
import { shownTokens, sumShownTokens } from "../../chat/message.ts";
import type { Message, Part } from "../../chat/message.ts";
import { shownParts } from "../../chat/render.ts";
import { textOf } from "../../chat/text.ts";
import type { ChatEdit, EffectContext, OverlayEdit } from "../../agent/definition/effect.ts";

/** Computes shadows: views after pending edits, with their sizes. */

export type ShownText = OverlayEdit["overlay"]["text"];

interface ShortenedMessage {
  readonly texts: Readonly<Record<number, ShownText>>;
  /** Whether images and documents of a result stay. */
  readonly media: boolean;
  readonly tokens: number;
}

/** Messages that leave the view (pinned ones between them stay), and the text that replaces the first run of them. */
export interface Retirement {
  readonly runs: readonly (readonly Message[])[];
  readonly summary: string | null;
}

export interface Shadow {
  readonly context: Pick<EffectContext, "view" | "tokens">;
  /** Tokens of the coming request apart from the view. */
  readonly base: number;
  readonly shortened: ReadonlyMap<string, ShortenedMessage>;
  readonly retired: Retirement | null;
  /** Tokens of the coming request. */
  readonly size: number;
}

/** Tokens that every message costs in addition to its parts. */
const messageTokens = 4;

/** Returns the tokens of a summary as a message. */
export const summaryTokens = (tokens: (text: string) => number, text: string): number =>
  messageTokens + tokens(text);

/** Returns the shadow of the unchanged view. */
export const shadowOf = (context: Pick<EffectContext, "view" | "tokens">, size: number): Shadow => ({
  context,
  base: size - sumShownTokens(context.view),
  shortened: new Map(),
  retired: null,
  size,
});

/** Returns the tokens of a message as the shadow shows it, whether retired or not. */
const tokensIn = ({ shortened }: Shadow, message: Message): number =>
  shortened.get(message.id)?.tokens ?? shownTokens(message);

/** Returns the tokens of several messages as the shadow shows them. */
export const tokensOf = (shadow: Shadow, messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + tokensIn(shadow, message), 0);

const measureShadow = (shadow: Shadow): Shadow => {
  const gone = new Set(shadow.retired?.runs.flat());
  const kept = shadow.context.view.filter((message) => !gone.has(message));
  const summary = shadow.retired?.summary ?? null;
  const more = summary === null ? 0 : summaryTokens(shadow.context.tokens, summary);
  return { ...shadow, size: shadow.base + tokensOf(shadow, kept) + more };
};

const textTokens = (parts: readonly Part[], tokens: (text: string) => number): number =>
  parts.reduce((sum, part) => (part.type === "text" ? sum + tokens(part.text) : sum), 0);

const isMediaPart = ({ type }: Part): boolean => type === "image" || type === "document";

/** Returns the current tokens of one part of a person's or model's message; its media share theirs evenly. */
const partTokens = (message: Message, at: number, tokens: (text: string) => number): number => {
  const parts = shownParts(message);
  const part = parts[at];
  if (part?.type === "text") return tokens(part.text);
  const rest = shownTokens(message) - messageTokens - textTokens(parts, tokens);
  return rest / Math.max(1, parts.filter(isMediaPart).length);
};

/** Returns the longest form of a text, whatever id it gets. */
export const longestForm = (text: ShownText): string => (typeof text === "string" ? text : text("b0000"));

/** Returns the tokens of a tool message that shows `text`; its media cost the tokens that its own text does not. */
const resultTokens = (
  message: Message,
  text: string,
  media: boolean,
  tokens: (text: string) => number,
): number => {
  const [part] = message.parts;
  if (!media || part?.type !== "tool_result") return messageTokens + tokens(text);
  return message.tokens - tokens(textOf(part.content)) + tokens(text);
};

const shortenMessage = (
  { context: { tokens }, shortened }: Shadow,
  message: Message,
  wanted: ShortenedMessage["texts"],
  media: boolean,
): ShortenedMessage => {
  const texts = { ...shortened.get(message.id)?.texts, ...wanted };
  const [first] = Object.values(texts);
  if (message.role === "tool" && first !== undefined)
    return { texts, media, tokens: resultTokens(message, longestForm(first), media, tokens) };
  const change = Object.entries(texts).reduce(
    (sum, [at, text]) => sum + tokens(longestForm(text)) - partTokens(message, Number(at), tokens),
    0,
  );
  return { texts, media, tokens: Math.ceil(shownTokens(message) + change) };
};

/** Texts that replace parts of messages, by message and index of the part. */
export type TextsByMessage = ReadonlyMap<Message, Readonly<Record<number, ShownText>>>;

/**
 * Returns the shadow with shorter texts; ignores texts that are not shorter, and those for pinned blocks. With
 * `media`, images and documents of results stay.
 */
export const withTexts = (shadow: Shadow, texts: TextsByMessage, media = false): Shadow => {
  const { view } = shadow.context;
  const shortened = new Map(shadow.shortened);
  for (const [index, message] of view.entries()) {
    const wanted = texts.get(message);
    if (wanted === undefined || isBlockPinned(view, index)) continue;
    const made = shortenMessage(shadow, message, wanted, media);
    if (made.tokens < tokensIn(shadow, message)) shortened.set(message.id, made);
  }
  return measureShadow({ ...shadow, shortened });
};

/** Returns the shadow with some messages replaced by a text; this undoes an earlier retirement. */
export const withRetired = (shadow: Shadow, retired: Retirement): Shadow =>
  measureShadow({ ...shadow, retired });

const retirementEdits = ({ runs, summary }: Retirement): readonly ChatEdit[] =>
  runs
    .filter((run) => run.length > 0)
    .flatMap((run, index) => {
      const [from, to] = [run[0]?.id, run.at(-1)?.id];
      if (from === undefined || to === undefined) return [];
      return [{ retire: { from, to, ...(index === 0 && summary !== null ? { summary } : {}) } }];
    });

/** Returns the edits that turn the view into the shadow; messages that leave are not shortened first. */
export const editsOf = ({ context, shortened, retired }: Shadow): readonly ChatEdit[] => {
  const gone = new Set(retired?.runs.flat().map(({ id }) => id));
  const overlays = context.view
    .filter(({ id }) => !gone.has(id))
    .flatMap(({ id }) => {
      const { texts = {}, media = false } = shortened.get(id) ?? {};
      return Object.entries(texts).map(([at, text]) => ({
        overlay: { message: id, part: Number(at), text, ...(media ? { media } : {}) },
      }));
    });
  return [...overlays, ...(retired === null ? [] : retirementEdits(retired))];
};
