/**
 * Computes unified diffs by Myers' algorithm, with a limit: texts that differ too much are shown as one
 * replacement.
 */

const maxDistance = 1000;

export interface Edit {
  readonly kind: "same" | "removed" | "added";
  readonly line: string;
}

/** Splits a text into lines with their ends; the last line may have none. */
export const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** Returns how far a diagonal (old minus new index) reaches at one distance; missing diagonals reach nothing. */
type Reach = (diagonal: number) => number;

const reachOf =
  (steps: Int32Array, distance: number): Reach =>
  (diagonal) =>
    steps[distance + 1 + diagonal] ?? 0;

/** Returns whether the best step onto a diagonal is an added line; otherwise it is a removed one. */
const comesByAdding = (reach: Reach, diagonal: number, distance: number): boolean =>
  diagonal === -distance || (diagonal !== distance && reach(diagonal - 1) < reach(diagonal + 1));

/**
 * Returns for each distance how far the diagonals reached before it; null if the texts differ by more than the
 * limit.
 */
function trace(before: readonly string[], after: readonly string[]): Int32Array[] | null {
  const bound = Math.min(before.length + after.length, maxDistance);
  const steps: Int32Array[] = [];
  const reached = new Int32Array(2 * bound + 3);
  const reach = reachOf(reached, bound);
  for (let distance = 0; distance <= bound; distance++) {
    steps.push(reached.slice(bound - distance, bound + distance + 3));
    for (let diagonal = -distance; diagonal <= distance; diagonal += 2) {
      const adding = comesByAdding(reach, diagonal, distance);
      let old = adding ? reach(diagonal + 1) : reach(diagonal - 1) + 1;
      while (old < before.length && old - diagonal < after.length && before[old] === after[old - diagonal])
        old++;
      reached[bound + 1 + diagonal] = old;
      if (old >= before.length && old - diagonal >= after.length) return steps;
    }
  }
  return null;
}

function backtrack(
  steps: readonly Int32Array[],
  before: readonly string[],
  after: readonly string[],
): Edit[] {
  const edits: Edit[] = [];
  let old = before.length;
  let now = after.length;
  for (let distance = steps.length - 1; distance >= 0; distance--) {
    const reach = reachOf(steps[distance] ?? new Int32Array(), distance);
    const diagonal = old - now;
    const adding = comesByAdding(reach, diagonal, distance);
    const start = adding ? reach(diagonal + 1) : reach(diagonal - 1) + 1;
    for (const floor = distance === 0 ? 0 : start; old > floor; old--, now--) {
      edits.push({ kind: "same", line: before[old - 1] ?? "" });
    }
    if (distance === 0) break;
    if (adding) edits.push({ kind: "added", line: after[--now] ?? "" });
    else edits.push({ kind: "removed", line: before[--old] ?? "" });
  }
  return edits.reverse();
}

/** Returns the lines of both texts, and which of them are in one alone. */
export function compareLines(before: readonly string[], after: readonly string[]): Edit[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  const shorter = Math.min(before.length, after.length) - head;
  while (tail < shorter && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const old = before.slice(head, before.length - tail);
  const now = after.slice(head, after.length - tail);
  const steps = trace(old, now);
  const same = (line: string): Edit => ({ kind: "same", line });
  const middle: Edit[] =
    steps !== null
      ? backtrack(steps, old, now)
      : [
          ...old.map((line): Edit => ({ kind: "removed", line })),
          ...now.map((line): Edit => ({ kind: "added", line })),
        ];
  return [...before.slice(0, head).map(same), ...middle, ...before.slice(before.length - tail).map(same)];
}

/** Returns the ranges of edits that form one hunk, with their context. */
function ranges(edits: readonly Edit[], context: number): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  edits.forEach((edit, index) => {
    if (edit.kind === "same") return;
    const last = found.at(-1);
    if (last !== undefined && index - context <= last.end) last.end = index + context + 1;
    else found.push({ start: Math.max(index - context, 0), end: index + context + 1 });
  });
  return found;
}

const position = (start: number, count: number): string => {
  const shown = count === 0 ? start : start + 1;
  return count === 1 ? `${shown}` : `${shown},${count}`;
};

/** Returns the unified diff of two texts with three lines of context; empty if they are equal. */
export const unifiedDiff = (nameBefore: string, nameAfter: string, before: string, after: string): string =>
  before === after
    ? ""
    : writeUnified(nameBefore, nameAfter, compareLines(linesOf(before), linesOf(after)), 3);

/** Writes edits as a unified diff with lines of context around each change. */
export function writeUnified(
  nameBefore: string,
  nameAfter: string,
  edits: readonly Edit[],
  context: number,
): string {
  const prefix = { same: " ", removed: "-", added: "+" };
  let old = 0;
  let now = 0;
  let done = 0;
  const hunks = ranges(edits, context).map(({ start, end }) => {
    const skipped = start - done;
    const inside = edits.slice(start, end);
    const oldCount = inside.filter((edit) => edit.kind !== "added").length;
    const nowCount = inside.filter((edit) => edit.kind !== "removed").length;
    const header = `@@ -${position(old + skipped, oldCount)} +${position(now + skipped, nowCount)} @@\n`;
    old += skipped + oldCount;
    now += skipped + nowCount;
    done = Math.min(end, edits.length);
    const body = inside.map(({ kind, line }) =>
      line.endsWith("\n")
        ? `${prefix[kind]}${line}`
        : `${prefix[kind]}${line}\n\\ No newline at end of file\n`,
    );
    return header + body.join("");
  });
  return `--- ${nameBefore}\n+++ ${nameAfter}\n${hunks.join("")}`;
}
