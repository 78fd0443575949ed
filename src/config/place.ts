import type { Place } from "./diagnostics.ts";

const startsOf = (text: string): number[] => {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
};

/** Turns offsets of a text (UTF-16 units) into lines and columns (code points, from 1). */
export const placer = (file: string, text: string): ((offset: number) => Place) => {
  const starts = startsOf(text);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    let column = 1;
    for (const _ of text.slice(starts[low] ?? 0, offset)) column += 1;
    return { file, line: low + 1, column };
  };
};
