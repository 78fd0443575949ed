import type { Word, WordPart } from "./script-syntax.ts";

/** Brackets of patterns, as in `${text//[$'\n']/,}`, which the shell does not read if there are quotes in them. */

const escapeAll = (text: string): string => text.replaceAll(/[\\\]^'"[-]/g, String.raw`\$&`);

/** Returns what a part means inside brackets; null if that is known only while the script runs. */
const textInside = (part: WordPart): string | null => {
  if (part.type === "Literal") return part.value;
  if (part.type === "SingleQuoted" || part.type === "Escaped") return escapeAll(part.value);
  if (part.type !== "DoubleQuoted") return null;
  const texts = part.parts.map((inner) => ("value" in inner ? escapeAll(inner.value) : null));
  return texts.includes(null) ? null : texts.join("");
};

/** Returns the parts that a bracket takes up, and what follows it in the last of them; null if it is not closed. */
const bracketAt = (parts: readonly WordPart[], start: number) => {
  let text = "";
  for (let at = start; at < parts.length; at += 1) {
    const part = parts[at];
    const inside = part === undefined ? null : textInside(part);
    if (inside === null) return null;
    const end = part?.type === "Literal" ? inside.indexOf("]", /^[\^!]?$/.test(text) ? 1 : 0) : -1;
    if (end >= 0)
      return { count: at + 1 - start, text: text + inside.slice(0, end + 1), rest: inside.slice(end + 1) };
    text += inside;
  }
  return null;
};

/** Joins brackets whose beginning, quotes and end are parts of their own. */
export const joinBrackets = ({ parts }: Word): void => {
  for (const [at, part] of parts.entries()) {
    if (part.type !== "Glob" || !part.pattern.endsWith("[")) continue;
    const bracket = bracketAt(parts, at + 1);
    if (bracket === null) continue;
    part.pattern += bracket.text;
    const rest: WordPart[] = bracket.rest === "" ? [] : [{ type: "Literal", value: bracket.rest }];
    parts.splice(at + 1, bracket.count, ...rest);
  }
};
