/** Finds lines by their positions, so that a text of millions of lines is not split into as many strings. */

/** Most characters of a shown line. */
const maxLine = 500;

/** Returns where the line that begins at `start` ends, without its line end, and where the next one begins. */
export function lineAt(text: string, start: number): { readonly end: number; readonly next: number } {
  const at = text.indexOf("\n", start);
  if (at < 0) return { end: text.length, next: text.length };
  return { end: at > start && text[at - 1] === "\r" ? at - 1 : at, next: at + 1 };
}

/** Returns where the line before the one at `start` begins. */
const lineBefore = (text: string, start: number): number =>
  start < 2 ? 0 : text.lastIndexOf("\n", start - 2) + 1;

/** Returns a line as it is shown: a copy, so that it does not keep the whole text in memory. */
export function shownLine(text: string, start: number): string {
  const { end } = lineAt(text, start);
  const characters = Array.from(text.slice(start, Math.min(end, start + 2 * maxLine + 2)));
  const shown = characters.slice(0, maxLine).join("");
  return characters.length > maxLine ? `${shown}…` : shown;
}

/** Lines as they are shown, and the length of the text that they cover. */
interface Shown {
  readonly lines: readonly string[];
  readonly span: number;
}

/** Returns the line that begins at `start` with up to `around` lines before and after it. */
export function shownContext(text: string, start: number, around: number): Shown {
  let from = start;
  let count = around + 1;
  for (; count <= 2 * around && from > 0; count += 1) from = lineBefore(text, from);
  const lines: string[] = [];
  let to = from;
  for (; lines.length < count && to < text.length; to = lineAt(text, to).next)
    lines.push(shownLine(text, to));
  return { lines, span: to - from };
}
