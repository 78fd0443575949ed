/** Backslashes in patterns. */

const parts = /\\([^])|(\[\^?\]?[^\]\n]*)(\]?)/g;

/**
 * Writes the boundaries of words `\<` and `\>` as `\b`, which the shell's own patterns know; inside brackets they are
 * characters, as is a backslash at the end of brackets.
 */
export const plainBoundaries = (pattern: string): string =>
  pattern.replace(parts, (found, escaped: string | undefined, bracket = "", end = "") => {
    if (escaped === "<" || escaped === ">") return "\\b";
    return String(bracket).endsWith("\\") && end !== "" ? `${bracket}\\${end}` : found;
  });
