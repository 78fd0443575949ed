import { countOf } from "./format.ts";

/** Differences between texts, as lines to show; `compare-texts.ts` finds those of two texts. */

/** A piece of a line; marked pieces are the words that differ. */
export interface DiffPiece {
  readonly text: string;
  readonly marked: boolean;
}

export interface DiffLine {
  readonly kind: "same" | "added" | "removed" | "gap";
  /** Numbers from 1; null where the side has no such line or the numbers are not known. */
  readonly before: number | null;
  readonly after: number | null;
  readonly pieces: readonly DiffPiece[];
}

export interface Diff {
  readonly lines: readonly DiffLine[];
  readonly added: number;
  readonly removed: number;
  /** Only the beginning of the changes is known. */
  readonly isCut: boolean;
}

/** Longer texts are compared from both ends only. */
const mostCells = 250_000;

const commonStart = (a: readonly string[], b: readonly string[]): number => {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at += 1;
  return at;
};

const commonEnd = (a: readonly string[], b: readonly string[], start: number): number => {
  let at = 0;
  while (at < a.length - start && at < b.length - start && a.at(-1 - at) === b.at(-1 - at)) at += 1;
  return at;
};

/** Lengths of the longest common subsequences of the ends of both, row by row. */
const subsequences = (a: readonly string[], b: readonly string[]): Uint32Array => {
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  const lengthAt = (place: number): number => table[place] ?? 0;
  for (let row = a.length - 1; row >= 0; row -= 1)
    for (let column = b.length - 1; column >= 0; column -= 1) {
      const here = row * width + column;
      table[here] =
        a[row] === b[column]
          ? lengthAt(here + width + 1) + 1
          : Math.max(lengthAt(here + width), lengthAt(here + 1));
    }
  return table;
};

interface Step {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

const removeAll = (texts: readonly string[]): readonly Step[] =>
  texts.map((text) => ({ kind: "removed", text }));

const addAll = (texts: readonly string[]): readonly Step[] => texts.map((text) => ({ kind: "added", text }));

/** Walks from the start along what both have longest in common. */
const walk = (a: readonly string[], b: readonly string[], table: Uint32Array): readonly Step[] => {
  const width = b.length + 1;
  const commonFrom = (row: number, column: number): number => table[row * width + column] ?? 0;
  const steps: Step[] = [];
  let [row, column] = [0, 0];
  while (row < a.length && column < b.length) {
    const isSame = a[row] === b[column];
    const removes = isSame || commonFrom(row + 1, column) >= commonFrom(row, column + 1);
    steps.push({
      kind: isSame ? "same" : removes ? "removed" : "added",
      text: (removes ? a[row] : b[column]) ?? "",
    });
    if (removes) row += 1;
    if (isSame || !removes) column += 1;
  }
  return [...steps, ...removeAll(a.slice(row)), ...addAll(b.slice(column))];
};

const compareMiddle = (a: readonly string[], b: readonly string[]): readonly Step[] =>
  a.length * b.length > mostCells ? [...removeAll(a), ...addAll(b)] : walk(a, b, subsequences(a, b));

/** Compares two lists of texts, lines or words. */
export const compare = (a: readonly string[], b: readonly string[]): readonly Step[] => {
  const start = commonStart(a, b);
  const end = commonEnd(a, b, start);
  const same = (text: string): Step => ({ kind: "same", text });
  return [
    ...a.slice(0, start).map(same),
    ...compareMiddle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ];
};

const wordsOf = (line: string): readonly string[] =>
  line.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

/** A line without marked words. */
export const plainPieces = (text: string): readonly DiffPiece[] => [{ text, marked: false }];

const joinPieces = (steps: readonly Step[], skip: Step["kind"]): readonly DiffPiece[] => {
  const pieces: DiffPiece[] = [];
  for (const { kind, text } of steps) {
    if (kind === skip) continue;
    const marked = kind !== "same";
    const last = pieces.at(-1);
    if (last?.marked === marked) pieces[pieces.length - 1] = { text: last.text + text, marked };
    else pieces.push({ text, marked });
  }
  return pieces;
};

/** Marks the words that differ between two lines, if they have something in common. */
const markWords = (before: string, after: string): readonly [readonly DiffPiece[], readonly DiffPiece[]] => {
  const steps = compare(wordsOf(before), wordsOf(after));
  const shared = steps.reduce((sum, { kind, text }) => sum + (kind === "same" ? text.trim().length : 0), 0);
  return shared * 3 < Math.max(before.trim().length, after.trim().length)
    ? [plainPieces(before), plainPieces(after)]
    : [joinPieces(steps, "added"), joinPieces(steps, "removed")];
};

/** Marks the words of removed lines against the added lines that follow them, pair by pair. */
const markPairs = (removed: readonly DiffLine[], added: readonly DiffLine[]): readonly DiffLine[] => {
  const textOf = (line: DiffLine | undefined): string => line?.pieces[0]?.text ?? "";
  const pairs = removed.slice(0, added.length).map((line, at) => markWords(textOf(line), textOf(added[at])));
  const withPieces =
    (side: 0 | 1) =>
    (line: DiffLine, at: number): DiffLine => ({
      ...line,
      pieces: pairs[at]?.[side] ?? line.pieces,
    });
  return [...removed.map(withPieces(0)), ...added.map(withPieces(1))];
};

const withWords = (lines: readonly DiffLine[]): readonly DiffLine[] => {
  const made: DiffLine[] = [];
  for (let at = 0; at < lines.length;) {
    const takeKind = (from: number, kind: DiffLine["kind"]): readonly DiffLine[] => {
      const end = lines.findIndex((line, place) => place >= from && line.kind !== kind);
      return lines.slice(from, end === -1 ? lines.length : end);
    };
    const removed = takeKind(at, "removed");
    const added = takeKind(at + removed.length, "added");
    if (removed.length > 0) made.push(...markPairs(removed, added));
    else made.push(...lines.slice(at, at + Math.max(1, added.length)));
    at += Math.max(1, removed.length + added.length);
  }
  return made;
};

const countKind = (lines: readonly DiffLine[], wanted: DiffLine["kind"]): number =>
  lines.reduce((sum, { kind }) => sum + (kind === wanted ? 1 : 0), 0);

/** Marks the words that differ, and counts the lines. */
export const finish = (lines: readonly DiffLine[], isCut = false): Diff => ({
  lines: withWords(lines),
  added: countKind(lines, "added"),
  removed: countKind(lines, "removed"),
  isCut,
});

const headPattern = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Says how many lines a diff leaves out before a hunk. */
const gapBefore = (line: number, next: number): readonly DiffLine[] =>
  next <= line
    ? []
    : [{ kind: "gap", before: null, after: null, pieces: plainPieces(gapText(next - line, line > 1)) }];

const gapText = (count: number, isBetween: boolean): string =>
  `${countOf(count, "line")} ${isBetween ? "between" : "above"}`;

/** A sandbox ends a long diff with this line, an event a long text with an ellipsis. */
const cutPattern = /(?:\n\[the rest of this diff was omitted\]\n|…)$/;

/** Reads a unified diff. */
export const parseDiff = (unified: string): Diff => {
  const lines: DiffLine[] = [];
  let [before, after] = [1, 1];
  let inHunk = false;
  for (const text of unified.split("\n")) {
    const head = headPattern.exec(text);
    if (head !== null) {
      const [from, to] = [Math.max(1, Number(head[1])), Math.max(1, Number(head[2]))];
      lines.push(...gapBefore(after, to));
      [before, after] = [from, to];
      inHunk = true;
    } else if (inHunk && text.startsWith("+")) {
      lines.push({ kind: "added", before: null, after, pieces: plainPieces(text.slice(1)) });
      after += 1;
    } else if (inHunk && text.startsWith("-")) {
      lines.push({ kind: "removed", before, after: null, pieces: plainPieces(text.slice(1)) });
      before += 1;
    } else if (inHunk && text.startsWith(" ")) {
      lines.push({ kind: "same", before, after, pieces: plainPieces(text.slice(1)) });
      before += 1;
      after += 1;
    }
  }
  const isCut = cutPattern.test(unified);
  if (isCut) lines.push({ kind: "gap", before: null, after: null, pieces: plainPieces("and more") });
  return finish(lines, isCut);
};
