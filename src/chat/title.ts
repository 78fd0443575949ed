import type { ContentPart } from "./message.ts";
import { firstCharacters } from "./text.ts";

/** This file makes a title of a message. */

const mostCharacters = 60;

/** Whitespace, control characters, and those that turn the direction of what follows. */
const gaps = /[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;

/** Returns the beginning of a content's text in one line, cut at a word; null if it has no text. */
export const titleOf = (content: readonly ContentPart[]): string | null => {
  const texts = content.map((part) => (part.type === "text" ? firstCharacters(part.text, 1_000) : ""));
  const line = texts.join(" ").replaceAll(gaps, " ").trim();
  const beginning = firstCharacters(line, mostCharacters);
  if (beginning === line) return line === "" ? null : line;
  const end = line.charAt(beginning.length) === " " ? beginning.length : beginning.lastIndexOf(" ");
  return `${end > 0 ? beginning.slice(0, end) : beginning}…`;
};
