import type { ContentPart } from "./message.ts";
import { firstCharacters } from "./text.ts";

/** This file makes a title of a message. */

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
