/** Backslashes and brackets in patterns. */

/** Source of a pattern for brackets, such as `[^]/[:alpha:]]`; a backslash in them is a character. */
export const bracketSource = String.raw`\[\^?\]?(?:\[([:=.])[^\]\n]*?\1\]|[^\]\n])*\]`;

const parts = new RegExp(String.raw`${bracketSource}|\\([^])`, "g");

/**
 * Writes the boundaries of words `\<` and `\>` as `\b`, which the shell's own patterns know; inside brackets they are
 * characters, as is a backslash at their end, which escapes the end there unless it is escaped itself.
 */
export const plainBoundaries = (pattern: string): string =>
  pattern.replace(parts, (found, _, escaped: string | undefined) => {
    if (escaped !== undefined) return escaped === "<" || escaped === ">" ? "\\b" : found;
    return /[^\\](?:\\\\)*\\\]$/.test(found) ? `${found.slice(0, -1)}\\]` : found;
  });

/** Escapes a delimiter in brackets with a class, such as `[[:alpha:]/]`, where the shell's sed would end the pattern. */
export const escapeInBrackets = (pattern: string, delimiter: string): string =>
  pattern.replace(parts, (found) =>
    found.includes("[:") ? found.replaceAll(delimiter, `\\${delimiter}`) : found,
  );

/** Returns whether a pattern refers to a group of its own, such as `\1`. */
export const hasBackReference = (pattern: string): boolean =>
  Array.from(pattern.matchAll(parts), ([, , escaped = ""]) => escaped).some((each) => /[1-9]/.test(each));
