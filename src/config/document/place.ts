import type { SourcePlace } from "./diagnostics.ts";

const lineStartsOf = (text: string): number[] => {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
};

/** Returns the offsets of characters that take two UTF-16 units. */
const pairsOf = (text: string): number[] =>
  Array.from(text.matchAll(/[\u{10000}-\u{10FFFF}]/gu), ({ index }) => index);

/** Counts the sorted numbers that are smaller than `bound`. */
const countBelow = (sorted: readonly number[], bound: number): number => {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((sorted[middle] ?? bound) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Creates a function from offsets of a text (UTF-16 units) to lines and columns (code points, from 1). */
export const createPlacer = (file: string, text: string): ((offset: number) => SourcePlace) => {
  const starts = lineStartsOf(text);
  const pairs = pairsOf(text);
  return (offset) => {
    const line = countBelow(starts, offset + 1);
    const start = starts[line - 1] ?? 0;
    const narrow = countBelow(pairs, offset) - countBelow(pairs, start);
    return { file, line, column: offset - start + 1 - narrow };
  };
};
