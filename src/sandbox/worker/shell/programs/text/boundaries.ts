/** Backslashes in patterns. */

/**
 * Writes the boundaries of words `\<` and `\>` as `\b`, which the shell's own patterns know; inside brackets they are
 * characters, as is a backslash at the end of brackets.
 */
export function plainBoundaries(pattern: string): string {
  let plain = "";
  let bracket = -1;
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at);
    if (bracket < 0 && character === "\\") {
      at += 1;
      const next = pattern.charAt(at);
      plain += /[<>]/.test(next) ? "\\b" : `\\${next}`;
      continue;
    }
    if (bracket < 0 && character === "[") bracket = pattern.charAt(at + 1) === "^" ? at + 2 : at + 1;
    else if (character === "\\" && pattern.charAt(at + 1) === "]") plain += "\\";
    else if (character === "\n" || (character === "]" && at > bracket)) bracket = -1;
    plain += character;
  }
  return plain;
}
