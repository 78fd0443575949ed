import type { Message, Part, ToolResultPart, ContentPart } from "./message.ts";

/** Cleans a text for storage: lone surrogates become U+FFFD, NUL is dropped. */
export const cleanText = (text: string): string => text.toWellFormed().replaceAll("\0", "");

/** The text of some parts, joined without separator and without reasoning. */
export const textOf = (parts: readonly (Part | Omit<ToolResultPart, "content">)[]): string =>
  parts.map((part) => (part.type === "text" ? part.text : "")).join("");

const isPair = (text: string, at: number): boolean => (text.codePointAt(at) ?? 0) > 0xffff;

/** Returns the index after `count` code points from an index on. A list of them would need many times the memory. */
export const skipCharacters = (text: string, count: number, from = 0): number => {
  let at = from;
  for (let left = count; left > 0 && at < text.length; left--) at += isPair(text, at) ? 2 : 1;
  return at;
};

/** Counts the code points of a text. */
export const countCharacters = (text: string): number => {
  let count = 0;
  for (let at = 0; at < text.length; at += isPair(text, at) ? 2 : 1) count += 1;
  return count;
};

/** The first `count` code points of a text; no character is split. */
export const firstCharacters = (text: string, count: number): string =>
  text.slice(0, skipCharacters(text, count));

/** The last `count` code points of a text; no character is split. */
export const lastCharacters = (text: string, count: number): string => {
  let at = text.length;
  for (let left = count; left > 0 && at > 0; left--) at -= isPair(text, at - 2) ? 2 : 1;
  return text.slice(at);
};

/** Splits a text into pieces of at most `length` UTF-16 units, at least one; no surrogate pair is split. */
export const splitText = (text: string, length: number): readonly string[] => {
  const pieces: string[] = [];
  let at = 0;
  do {
    const end = at + length;
    const next = /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end;
    pieces.push(text.slice(at, next));
    at = next;
  } while (at < text.length);
  return pieces;
};

/** One line of at most `count` characters, which events show of a longer text. */
export const preview = (text: string, count = 120): string =>
  firstCharacters(
    firstCharacters(text, count * 4)
      .replace(/\s+/g, " ")
      .trim(),
    count,
  );

/** Whether a message has content that a model can see: text that is not blank, a call, a result or media. */
export const hasContent = (message: Pick<Message, "parts">): boolean =>
  message.parts.some((part) => part.type !== "reasoning" && (part.type !== "text" || /\S/.test(part.text)));

const mostCharacters = 60;

/** Matches whitespace, control characters and invisible ones, but the joiner within emoji. */
const gaps = /[[\s\p{Cc}\p{Cf}]--[\u200d]]+/gv;

const visible = /[^\s\u200d]/;

/** Returns the beginning of a content's text in one line, cut at a word; null if nothing of it is visible. */
export const titleOf = (content: readonly ContentPart[]): string | null => {
  const texts = content.map((part) => (part.type === "text" ? firstCharacters(part.text, 1_000) : ""));
  const line = texts.join(" ").replaceAll(gaps, " ").trim();
  const beginning = firstCharacters(line, mostCharacters);
  if (!visible.test(line)) return null;
  if (beginning === line) return line;
  const end = line.charAt(beginning.length) === " " ? beginning.length : beginning.lastIndexOf(" ");
  return `${end > 0 ? beginning.slice(0, end) : beginning}…`;
};

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** Returns the words of a text in lower case and in order; languages without spaces have words, too. */
export const wordsOf = (text: string): readonly string[] =>
  [...segmenter.segment(text.normalize("NFKC").toLowerCase())].flatMap(({ segment, isWordLike }) =>
    isWordLike === true ? [segment] : [],
  );
