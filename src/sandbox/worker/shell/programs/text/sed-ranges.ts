/** Ranges of lines in sed: `2,5`, `/a/,/b/`, `/a/,+2`, `0,/b/`. */

type Address =
  | number
  | "$"
  | { readonly offset: number }
  | { readonly pattern: string }
  | { readonly first: number };

interface Range {
  readonly start: Address;
  readonly end: Address;
}

/**
 * The ranges that go on after the current line, each with the number of its last line, if that is known, and those that
 * began with a number and are over.
 */
type Ranges = Map<unknown, number | "unknown" | "over">;

const lastLine = (end: Address, line: number): number | "unknown" => {
  if (typeof end === "number") return end;
  return typeof end === "object" && "offset" in end ? line + end.offset : "unknown";
};

type Matches = (address: Address) => Promise<boolean>;

/** Returns whether a range begins on a line, or, if an earlier command has read past its first line, goes on there. */
const begins = (start: Address, line: number, matches: Matches): boolean | Promise<boolean> =>
  typeof start === "number" ? line >= start : matches(start);

const reaches = (last: number | "unknown", line: number): boolean => last === "unknown" || last >= line;

/** Returns whether a range whose end is an earlier line holds a line. */
const holdsAlone = (start: Address, line: number): boolean => typeof start !== "number" || line === start;

const finish = (range: Range, ranges: Ranges): void => {
  if (typeof range.start === "number") ranges.set(range, "over");
  else ranges.delete(range);
};

/**
 * Returns whether a line is in a range. Its end is looked for from the line after the first one on, but for `0,/b/` and
 * `$`; an end that is the number of an earlier line leaves the first line alone. The shell's sed calls it.
 * @public
 */
export async function isInRange(
  range: Range,
  line: number,
  ranges: Ranges,
  matches: Matches,
): Promise<boolean> {
  const { start, end } = range;
  const known = ranges.get(range);
  const isFirst = known === undefined && start !== 0;
  if (known === "over" || (isFirst && !(await begins(start, line, matches)))) return false;
  const last = known ?? lastLine(end, line);
  const canEnd = !isFirst || end === "$";
  const isLast = last === "unknown" ? canEnd && (await matches(end)) : last <= line;
  if (isLast) finish(range, ranges);
  else ranges.set(range, last);
  return reaches(last, line) || (isFirst && holdsAlone(start, line));
}

/**
 * Returns whether lines of a range are still to come, so that `c` prints nothing yet. The shell's sed calls it.
 * @public
 */
export const goesOn = (ranges: Ranges, range: unknown): boolean => (ranges.get(range) ?? "over") !== "over";
