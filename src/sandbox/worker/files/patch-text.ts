import { workspacePath } from "../../paths.ts";
import { fail } from "../errors.ts";
import { isCrlf } from "./edit-text.ts";

/** One hunk of an update: adjacent lines that must occur, and their replacement. */
interface Hunk {
  readonly headers: readonly string[];
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly atEnd: boolean;
}

/** One file of a patch. `add` holds the whole content. */
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

function readHunk(cursor: Cursor): Hunk {
  const headers = readHeaders(cursor);
  const before: string[] = [];
  const after: string[] = [];
  for (; open(cursor) && !here(cursor).startsWith("@@") && !isMarker(here(cursor)); cursor.at++) {
    const line = here(cursor);
    if (line === "*** End of File") {
      cursor.at++;
      return { headers, before, after, atEnd: true };
    }
    const mark = line.slice(0, 1) || " ";
    if (!" -+".includes(mark)) bad(cursor, "lines of a hunk begin with a space, - or +");
    if (mark !== "+") before.push(line.slice(1));
    if (mark !== "-") after.push(line.slice(1));
  }
  return { headers, before, after, atEnd: false };
}

function readUpdate(cursor: Cursor): FilePatch {
  const path = named(cursor, "*** Update File: ");
  const moves = here(cursor).startsWith("*** Move to: ");
  const moveTo = moves ? named(cursor, "*** Move to: ") : undefined;
  const hunks: Hunk[] = [];
  while (open(cursor) && !isMarker(here(cursor))) {
    const start = cursor.at;
    const hunk = readHunk(cursor);
    if (hunk.before.join("\n") === hunk.after.join("\n")) {
      bad({ ...cursor, at: start }, "this hunk changes nothing; mark lines with - and +");
    }
    hunks.push(hunk);
  }
  if (hunks.length === 0 && moveTo === undefined) bad(cursor, `the update of ${path} has no hunk`);
  return { kind: "update", path, hunks, ...(moveTo === undefined ? {} : { moveTo }) };
}

/** Parses a whole patch; any line that does not belong is an error that names it. */
export function parsePatch(text: string): readonly FilePatch[] {
  const lines = text
    .trim()
    .split("\n")
    .map((line) => line.replace(/\r$/, ""));
  const cursor: Cursor = { lines, at: 0 };
  if (lines[0]?.trim() !== "*** Begin Patch") bad(cursor, "a patch begins with *** Begin Patch");
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

const fitsAt = (lines: readonly string[], wanted: readonly string[], at: number): boolean =>
  at >= 0 && at + wanted.length <= lines.length && wanted.every((line, index) => lines[at + index] === line);

/** The lines at which a hunk may apply, from `start` on: after each of its headers, the first match. */
function candidates(lines: readonly string[], hunk: Hunk, start: number): number[] {
  const fits = (from: number, end: number): number[] => {
    if (hunk.atEnd) {
      const last = lines.length - hunk.before.length;
      return last >= from && fitsAt(lines, hunk.before, last) ? [last] : [];
    }
    const found: number[] = [];
    for (let at = from; at < end && at <= lines.length; at++) {
      if (fitsAt(lines, hunk.before, at)) found.push(at);
    }
    return found;
  };
  if (hunk.headers.length === 0) return hunk.before.length === 0 ? [lines.length] : fits(start, Infinity);
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
  return [...new Set(regions.flatMap(({ from, end }) => fits(from, end).slice(0, 1)))];
}

/** Applies the hunks of one file in order; each must fit exactly once after the one before it. */
export function applyHunks(path: string, text: string, hunks: readonly Hunk[]): string {
  const newline = isCrlf(text) ? "\r\n" : "\n";
  const lines = text.split(newline);
  const endsWithNewline = lines.at(-1) === "";
  if (endsWithNewline) lines.pop();
  let start = 0;
  hunks.forEach((hunk, index) => {
    const [at, second] = candidates(lines, hunk, start);
    const name = `hunk ${index + 1} of ${path}`;
    if (at === undefined) return fail("no_match", `${name} does not fit the file; read it again`);
    if (second !== undefined) {
      return fail(
        "not_unique",
        `${name} fits at lines ${at + 1} and ${second + 1}; add context lines or an @@ line`,
      );
    }
    lines.splice(at, hunk.before.length, ...hunk.after);
    start = at + hunk.after.length;
  });
  const joint = lines.join(newline);
  return joint !== "" && (endsWithNewline || text === "") ? joint + newline : joint;
}
