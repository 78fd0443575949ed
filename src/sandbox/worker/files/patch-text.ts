import { workspacePath } from "../../paths.ts";
import { fail } from "../errors.ts";
import { surroundings } from "./edit-text.ts";

interface HunkLine {
  readonly mark: " " | "-" | "+";
  readonly text: string;
}

/** Hunk of an update: adjacent lines, of which those that stay or are removed must occur. */
interface Hunk {
  readonly headers: readonly string[];
  readonly lines: readonly HunkLine[];
  /** Texts of the lines that must occur. */
  readonly before: readonly string[];
  readonly atEnd: boolean;
}

/** Patch of one file. `add` holds the whole content. */
export type FilePatch =
  | { readonly kind: "add"; readonly path: string; readonly content: string }
  | { readonly kind: "delete"; readonly path: string }
  | {
      readonly kind: "update";
      readonly path: string;
      readonly moveTo?: string;
      readonly hunks: readonly Hunk[];
    };

interface Cursor {
  readonly lines: readonly string[];
  at: number;
}

function bad(cursor: Cursor, what: string): never {
  return fail("invalid_request", `patch line ${cursor.at + 1}: ${what}`);
}

const withoutReturn = (line: string): string => (line.endsWith("\r") ? line.slice(0, -1) : line);

const here = (cursor: Cursor): string => cursor.lines[cursor.at] ?? "";

const open = (cursor: Cursor): boolean => cursor.at < cursor.lines.length;

const isMarker = (line: string): boolean =>
  /^\*\*\* (Add File: |Update File: |Delete File: |End Patch$)/.test(line);

function named(cursor: Cursor, prefix: string): string {
  const name = here(cursor).slice(prefix.length).trim();
  if (name === "") bad(cursor, `${prefix.trim()} names no file`);
  cursor.at++;
  return workspacePath(name);
}

function readAdd(cursor: Cursor): FilePatch {
  const path = named(cursor, "*** Add File: ");
  const content: string[] = [];
  for (; open(cursor) && !isMarker(here(cursor)); cursor.at++) {
    if (!here(cursor).startsWith("+")) bad(cursor, "lines of an added file begin with +");
    content.push(`${here(cursor).slice(1)}\n`);
  }
  return { kind: "add", path, content: content.join("") };
}

/** Reads the lines after `@@` that locate a hunk; line numbers are ignored. */
function readHeaders(cursor: Cursor): string[] {
  const headers: string[] = [];
  for (; here(cursor).startsWith("@@"); cursor.at++) {
    const header = here(cursor).slice(2).trim();
    if (header !== "" && !/^-\d+(,\d+)? \+\d+(,\d+)? @@/.test(header)) headers.push(header);
  }
  return headers;
}

function readHunkLine(cursor: Cursor): HunkLine {
  const line = here(cursor);
  const mark = line.slice(0, 1) || " ";
  if (mark !== " " && mark !== "-" && mark !== "+")
    return bad(cursor, "lines of a hunk begin with a space, - or +");
  return { mark, text: line.slice(1) };
}

const textsWithout = (left: "-" | "+", lines: readonly HunkLine[]): readonly string[] =>
  lines.filter(({ mark }) => mark !== left).map(({ text }) => text);

function readHunk(cursor: Cursor): Hunk {
  const start = cursor.at;
  const headers = readHeaders(cursor);
  const lines: HunkLine[] = [];
  const isOpen = (): boolean => open(cursor) && !here(cursor).startsWith("@@") && !isMarker(here(cursor));
  for (; isOpen() && here(cursor) !== "*** End of File"; cursor.at++) lines.push(readHunkLine(cursor));
  const atEnd = here(cursor) === "*** End of File";
  if (atEnd) cursor.at++;
  const before = textsWithout("+", lines);
  if (before.join("\n") === textsWithout("-", lines).join("\n"))
    bad({ ...cursor, at: start }, "this hunk changes nothing; mark lines with - and +");
  return { headers, lines, before, atEnd };
}

function readUpdate(cursor: Cursor): FilePatch {
  const path = named(cursor, "*** Update File: ");
  const moves = here(cursor).startsWith("*** Move to: ");
  const moveTo = moves ? named(cursor, "*** Move to: ") : undefined;
  const hunks: Hunk[] = [];
  while (open(cursor) && !isMarker(here(cursor))) hunks.push(readHunk(cursor));
  if (hunks.length === 0 && moveTo === undefined) bad(cursor, `the update of ${path} has no hunk`);
  return { kind: "update", path, hunks, ...(moveTo === undefined ? {} : { moveTo }) };
}

/** Parses a whole patch; any line that does not belong is an error that names it. */
export function parsePatch(text: string): readonly FilePatch[] {
  const lines = text.trim().split("\n").map(withoutReturn);
  const cursor: Cursor = { lines, at: 0 };
  if (lines[0]?.trim() !== "*** Begin Patch")
    bad(cursor, "a patch begins with *** Begin Patch; git apply takes a diff");
  if (lines.at(-1)?.trim() !== "*** End Patch") {
    bad({ lines, at: lines.length - 1 }, "a patch ends with *** End Patch");
  }
  cursor.at = 1;
  const files: FilePatch[] = [];
  while (cursor.at < lines.length - 1) {
    const line = lines[cursor.at] ?? "";
    if (line.startsWith("*** Add File: ")) files.push(readAdd(cursor));
    else if (line.startsWith("*** Update File: ")) files.push(readUpdate(cursor));
    else if (line.startsWith("*** Delete File: ")) {
      files.push({ kind: "delete", path: named(cursor, "*** Delete File: ") });
    } else bad(cursor, "expected *** Add File, *** Update File or *** Delete File");
  }
  if (files.length === 0) bad(cursor, "the patch names no file");
  return files;
}

/** Returns for each first part of a list the length of its longest beginning that is also its end. */
function borders(list: readonly string[]): readonly number[] {
  const found = [0];
  for (let at = 1, length = 0; at < list.length; at++) {
    while (length > 0 && list[at] !== list[length]) length = found[length - 1] ?? 0;
    if (list[at] === list[length]) length++;
    found.push(length);
  }
  return found;
}

/** Returns all places from `start` on at which lines occur, in time linear in both (Knuth, Morris and Pratt). */
function placesOf(lines: readonly string[], wanted: readonly string[], start: number): ReadonlySet<number> {
  const places = new Set<number>();
  const back = borders(wanted);
  for (let at = start, length = 0; at < lines.length; at++) {
    while (length > 0 && lines[at] !== wanted[length]) length = back[length - 1] ?? 0;
    if (lines[at] === wanted[length]) length++;
    if (length < wanted.length) continue;
    places.add(at + 1 - length);
    length = back[length - 1] ?? 0;
  }
  return places;
}

/** Returns the lines at which a hunk may apply, from `start` on: after each of its headers, the first match. */
function candidates(lines: readonly string[], hunk: Hunk, start: number): number[] {
  const isAdding = hunk.before.length === 0;
  const places = isAdding ? null : placesOf(lines, hunk.before, start);
  const last = lines.length - hunk.before.length;
  const fits = (at: number): boolean => (!hunk.atEnd || at === last) && (places === null || places.has(at));
  if (hunk.headers.length === 0) return places === null ? [lines.length] : [...places].filter(fits);
  let regions = [{ from: start, end: lines.length + 1 }];
  for (const header of hunk.headers) {
    regions = regions.flatMap(({ from, end }) => {
      const heads: number[] = [];
      for (let at = from; at < Math.min(end, lines.length); at++) {
        if (lines[at]?.trim() === header.trim()) heads.push(at);
      }
      return heads.map((head, index) => ({ from: head + 1, end: heads[index + 1] ?? end }));
    });
  }
  return regions.flatMap(({ from, end }) => {
    for (let at = from; at < end; at++) if (fits(at)) return [at];
    return [];
  });
}

/** Returns the hunk without the empty lines at its end, which may only separate it from the next file of the patch. */
function withoutEmptyEnd(hunk: Hunk): Hunk {
  const end = hunk.lines.findLastIndex(({ mark, text }) => mark !== " " || text !== "") + 1;
  const lines = hunk.lines.slice(0, end);
  return { ...hunk, lines, before: textsWithout("+", lines) };
}

/** Returns the hunk in the form that fits from `start` on, and its place. */
function fitted(
  lines: readonly string[],
  hunk: Hunk,
  start: number,
): { used: Hunk; found: readonly number[] } {
  const found = candidates(lines, hunk, start);
  const shorter = found.length > 0 ? hunk : withoutEmptyEnd(hunk);
  if (shorter.before.length === hunk.before.length || shorter.before.length === 0)
    return { used: hunk, found };
  return { used: shorter, found: candidates(lines, shorter, start) };
}

/** Returns why a hunk does not fit, with the remedy: another order, another `@@` line, or the actual text. */
function misfitOf(lines: readonly string[], hunk: Hunk, start: number): string {
  const [earlier] = candidates(lines, hunk, 0);
  if (earlier !== undefined && earlier >= start)
    return `fits at line ${earlier + 1}, but its @@ line is above the hunk before it; remove that line`;
  if (earlier !== undefined)
    return `fits at line ${earlier + 1}, above the end of the hunk before it; order hunks as in the file, and join those that share lines`;
  const [anywhere] = candidates(lines, { ...hunk, headers: [] }, start);
  if (anywhere !== undefined && hunk.headers.length > 0)
    return `fits at line ${anywhere + 1}, but not below a line that reads ${JSON.stringify(hunk.headers.join(" @@ "))}`;
  return `does not fit the file. ${surroundings(lines.join("\n"), hunk.before.join("\n"))}`;
}

/**
 * Returns the lines that replace a hunk's: unchanged lines stay as they are, new ones get the line ends of that
 * place.
 */
function replaced(there: readonly string[], { lines }: Hunk, end: string): readonly string[] {
  let at = 0;
  return lines.flatMap(({ mark, text }) => {
    if (mark === "+") return [text + end];
    const line = there[at++] ?? text;
    return mark === " " ? [line] : [];
  });
}

/**
 * Applies the hunks of one file in order; each must fit exactly once after the one before it. A byte order mark
 * stays.
 */
export function applyHunks(path: string, text: string, hunks: readonly Hunk[]): string {
  const bom = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const lines = text.slice(bom.length).split("\n");
  const last = lines.pop() ?? "";
  const isWhole = last === "";
  if (!isWhole) lines.push(lines.at(-1)?.endsWith("\r") ? `${last}\r` : last);
  const bare = lines.map(withoutReturn);
  const pieces: (readonly string[])[] = [];
  let start = 0;
  hunks.forEach((hunk, index) => {
    const { used, found } = fitted(bare, hunk, start);
    const [at, second] = found;
    const name = `hunk ${index + 1} of ${path}`;
    if (at === undefined) return fail("no_match", `${name} ${misfitOf(bare, hunk, start)}`);
    if (second !== undefined) {
      return fail(
        "not_unique",
        `${name} fits at lines ${at + 1} and ${second + 1}; add context lines or an @@ line`,
      );
    }
    const end = (lines[at] ?? lines.at(-1) ?? "").endsWith("\r") ? "\r" : "";
    const after = at + used.before.length;
    pieces.push(lines.slice(start, at), replaced(lines.slice(at, after), used, end));
    start = after;
  });
  const joint = [...pieces, lines.slice(start)].flat().join("\n");
  if (!isWhole) return bom + withoutReturn(joint);
  return bom + (joint === "" ? "" : `${joint}\n`);
}
