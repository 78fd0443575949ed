/** Patches as `git diff` and `diff -u` write them, read into the changes of files. */

export interface PatchLine {
  readonly mark: " " | "-" | "+";
  /** The line with its end, if it has one. */
  readonly text: string;
}

export interface PatchHunk {
  /** The line that the hunk begins at before and after, from 1; 0 in a file that does not exist. */
  readonly oldStart: number;
  readonly newStart: number;
  readonly lines: readonly PatchLine[];
}

/** The change of one file; a side that does not exist has no path. */
export interface PatchedFile {
  readonly from: string | null;
  readonly to: string | null;
  /** The modes of both sides, where the patch has them. */
  readonly oldMode: number | null;
  readonly newMode: number | null;
  readonly isRename: boolean;
  readonly isBinary: boolean;
  readonly hunks: readonly PatchHunk[];
}

/** An error in the form of a patch. */
export class BadPatch extends Error {}

const hunkStart = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Returns the path in a header, without its first folders and what stands after a tab; null for no file. */
function pathIn(text: string, strip: number): string | null {
  const name = text.replace(/\t.*$/, "").replace(/^"(.*)"$/, "$1");
  if (name === "/dev/null") return null;
  return name.split("/").slice(strip).join("/");
}

/** Lines of a patch that are read from the front. */
interface Cursor {
  readonly lines: readonly string[];
  at: number;
}

const here = ({ lines, at }: Cursor): string => lines[at] ?? "";

/** Returns the current line of a hunk: an editor may have removed the space of an empty one. */
const hunkLine = (cursor: Cursor): string =>
  here(cursor) === "" && cursor.at < cursor.lines.length - 1 ? " " : here(cursor);

const marks = { " ": " ", "-": "-", "+": "+" } as const;
const isMark = (text: string): text is PatchLine["mark"] => text in marks;

function readHunkLine(cursor: Cursor): PatchLine {
  const line = hunkLine(cursor);
  const mark = line.charAt(0);
  if (!isMark(mark))
    throw new BadPatch(`corrupt patch at line ${Math.min(cursor.at + 1, cursor.lines.length)}`);
  const isOpen = cursor.lines[cursor.at + 1]?.startsWith("\\") === true;
  cursor.at += isOpen ? 2 : 1;
  return { mark, text: line.slice(1) + (isOpen ? "" : "\n") };
}

function readHunk(cursor: Cursor): PatchHunk {
  const [, oldStart, oldCount = "1", newStart, newCount = "1"] = hunkStart.exec(here(cursor)) ?? [];
  let [old, after] = [Number(oldCount), Number(newCount)];
  const lines: PatchLine[] = [];
  cursor.at += 1;
  while (old > 0 || after > 0) {
    const line = readHunkLine(cursor);
    if (line.mark !== "+") old -= 1;
    if (line.mark !== "-") after -= 1;
    lines.push(line);
  }
  return { oldStart: Number(oldStart), newStart: Number(newStart), lines };
}

/** The fields of a header. */
interface Head {
  from: string | null | undefined;
  to: string | null | undefined;
  oldMode: number | null;
  newMode: number | null;
  isRename: boolean;
  isBinary: boolean;
}

const mode = (text: string): number => Number.parseInt(text, 8);

const headLines: readonly (readonly [RegExp, (head: Head, value: string, strip: number) => void])[] = [
  [/^old mode (\d+)/, (head, value) => (head.oldMode = mode(value))],
  [/^new mode (\d+)/, (head, value) => (head.newMode = mode(value))],
  [/^deleted file mode (\d+)/, (head, value) => ((head.oldMode = mode(value)), (head.to = null))],
  [/^new file mode (\d+)/, (head, value) => ((head.newMode = mode(value)), (head.from = null))],
  [/^rename from (.*)/, (head, value) => ((head.isRename = true), (head.from = value))],
  [/^rename to (.*)/, (head, value) => (head.to = value)],
  [/^(?:GIT binary patch|Binary files .* differ)()/, (head) => (head.isBinary = true)],
  [/^--- (.*)/, (head, value, strip) => (head.from = pathIn(value, strip))],
  [/^\+\+\+ (.*)/, (head, value, strip) => (head.to = pathIn(value, strip))],
];

/** Returns the path that both sides of a `diff --git` line name. */
function sharedPath(line: string, strip: number): string | undefined {
  const names = line.slice("diff --git ".length);
  const half = (names.length - 1) / 2;
  const [one, other] = [names.slice(0, half), names.slice(half + 1)].map((name) => pathIn(name, strip));
  return one !== null && one === other ? one : undefined;
}

function readHead(cursor: Cursor, strip: number): Head {
  const first = here(cursor);
  const isGit = first.startsWith("diff --git ");
  const path = isGit ? sharedPath(first, strip) : undefined;
  const head: Head = { from: path, to: path, oldMode: null, newMode: null, isRename: false, isBinary: false };
  if (isGit) cursor.at += 1;
  for (; cursor.at < cursor.lines.length; cursor.at += 1) {
    const line = here(cursor);
    if (line.startsWith("diff --git ") || hunkStart.test(line)) break;
    if (!isGit && head.to !== undefined) break;
    for (const [pattern, read] of headLines) {
      const [, value] = pattern.exec(line) ?? [];
      if (value !== undefined) read(head, value, strip);
    }
  }
  return head;
}

/** Reads a patch; `strip` folders are taken off the paths of its headers. */
export function readPatch(text: string, strip: number): readonly PatchedFile[] {
  // A patch whose headers end with CR was rewritten as a whole; in others, CR is part of the lines.
  const plain = /^--- .*\r$/m.test(text) ? text.replaceAll("\r\n", "\n") : text;
  const cursor: Cursor = { lines: plain.split("\n"), at: 0 };
  const changes: PatchedFile[] = [];
  while (cursor.at < cursor.lines.length) {
    const isStart = here(cursor).startsWith("diff --git ");
    const isPlainStart = here(cursor).startsWith("--- ") && cursor.lines[cursor.at + 1]?.startsWith("+++ ");
    if (!isStart && isPlainStart !== true) {
      if (hunkStart.test(here(cursor)))
        throw new BadPatch(`patch fragment without header at line ${cursor.at + 1}: ${here(cursor)}`);
      cursor.at += 1;
      continue;
    }
    const { from, to, ...head } = readHead(cursor, strip);
    const hunks: PatchHunk[] = [];
    while (hunkStart.test(here(cursor))) hunks.push(readHunk(cursor));
    changes.push({ ...head, from: from ?? null, to: to ?? null, hunks });
  }
  if (changes.length === 0) throw new BadPatch('No valid patches in input (allow with "--allow-empty")');
  return changes;
}

const opposite = { " ": " ", "-": "+", "+": "-" } as const;

/** Returns the reverse of a change. */
export const reverseChange = (change: PatchedFile): PatchedFile => ({
  ...change,
  from: change.to,
  to: change.from,
  oldMode: change.newMode,
  newMode: change.oldMode,
  hunks: change.hunks.map(({ oldStart, newStart, lines }) => ({
    oldStart: newStart,
    newStart: oldStart,
    lines: lines.map(({ mark, text }) => ({ mark: opposite[mark], text })),
  })),
});

const sideOf = ({ lines }: PatchHunk, without: "-" | "+"): readonly string[] =>
  lines.filter(({ mark }) => mark !== without).map(({ text }) => text);

/** Returns the line at which a hunk fits, the nearest to its own; a hunk at an end of the file must fit there; -1 if none fits. */
function placeOf(lines: readonly string[], hunk: PatchHunk, shift: number, least: number): number {
  const wanted = sideOf(hunk, "+");
  const fits = (at: number): boolean =>
    at >= least &&
    at + wanted.length <= lines.length &&
    wanted.every((text, index) => lines[at + index] === text);
  const expected = Math.max(0, (wanted.length === 0 ? hunk.oldStart : hunk.oldStart - 1) + shift);
  const leading = hunk.lines.findIndex(({ mark }) => mark !== " ");
  const trailing = hunk.lines.length - 1 - hunk.lines.findLastIndex(({ mark }) => mark !== " ");
  const isFixedAtStart = hunk.oldStart <= 1 && leading < trailing;
  if (isFixedAtStart) return fits(0) ? 0 : -1;
  if (trailing < leading) {
    const at = lines.length - wanted.length;
    return fits(at) ? at : -1;
  }
  for (let away = 0; away <= lines.length; away += 1) {
    if (fits(expected - away)) return expected - away;
    if (fits(expected + away)) return expected + away;
  }
  return -1;
}

/** Applies the hunks of a change to a text; a number is the first line of the hunk that does not fit. */
export function applyChange(text: string, { hunks }: PatchedFile): string | number {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  let [shift, least]: [number, number] = [0, 0];
  const result: string[] = [...lines];
  for (const hunk of hunks) {
    const at = placeOf(result, hunk, shift, least);
    if (at < 0) return hunk.oldStart;
    const [before, after] = [sideOf(hunk, "+"), sideOf(hunk, "-")];
    result.splice(at, before.length, ...after);
    shift += after.length - before.length;
    least = at + after.length;
  }
  return result.join("");
}
