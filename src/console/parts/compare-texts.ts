import { compare, finish, plainPieces } from "./diff.ts";
import type { Diff, DiffLine } from "./diff.ts";
import { countOf } from "./format.ts";

/** Compares texts for who decides about them; it is not part of the first load. */

const endsLine = (text: string): boolean => text === "" || text.endsWith("\n");

/** The end of the last line is a line of its own where only one of the texts has it. */
const linesOf = (text: string, other: string): readonly string[] => {
  if (text === "") return [];
  const isSame = other === "" || endsLine(text) === endsLine(other);
  return (isSame ? text.replace(/\n$/, "") : text).split("\n");
};

/** So many unchanged lines stay around a change. */
const context = 3;

/** Folds long runs of unchanged lines. */
const foldSame = (lines: readonly DiffLine[]): readonly DiffLine[] => {
  const near = lines.map(() => false);
  for (const [at, { kind }] of lines.entries())
    if (kind !== "same") for (let each = at - context; each <= at + context; each += 1) near[each] = true;
  const folded: DiffLine[] = [];
  let hidden = 0;
  const close = (isEnd: boolean): void => {
    if (hidden > 0) {
      const where = isEnd ? "below" : folded.length === 0 ? "above" : "between";
      const text = `${countOf(hidden, "line")} ${where}`;
      folded.push({ kind: "gap", before: null, after: null, pieces: plainPieces(text) });
    }
    hidden = 0;
  };
  for (const [at, line] of lines.entries()) {
    if (near[at] !== true) hidden += 1;
    else {
      close(false);
      folded.push(line);
    }
  }
  close(true);
  return folded;
};

/** Compares two texts line by line; `from` is the number of their first line, null if nobody knows it. */
export const diffTexts = (before: string, after: string, from: number | null = 1): Diff => {
  let [old, now] = [0, 0];
  const numberOf = (line: number): number | null => (from === null ? null : from + line);
  const lines = compare(linesOf(before, after), linesOf(after, before)).map(({ kind, text }): DiffLine => {
    const line = {
      kind,
      before: kind === "added" ? null : numberOf(old),
      after: kind === "removed" ? null : numberOf(now),
      pieces: plainPieces(text),
    };
    if (kind !== "added") old += 1;
    if (kind !== "removed") now += 1;
    return line;
  });
  return finish(foldSame(lines));
};
