import type { ContentHits, SearchMatch } from "../../contract.ts";
import { createGlobMatcher } from "../../glob.ts";
import { folderOf, workspacePath, workspaceRoot } from "../../paths.ts";
import { fail } from "../errors.ts";
import type { Disk } from "../files/files.ts";
import { requireOpen } from "../files/locate.ts";
import type { Found } from "../files/tree.ts";
import type { ContentSearch, FileSearch } from "../requests.ts";
import { walkFiles, readText } from "./files.ts";
import type { LineTest } from "./line-test.ts";
import { lineTest } from "./line-test.ts";
import type { SearchPace } from "./pace.ts";
import { countGlobs, countWork, startPace } from "./pace.ts";
import { lineAt, shownContext, shownLine } from "./text-lines.ts";

/** Limits of one search: milliseconds, bytes read, characters shown. */
const maxTime = 10_000;

const maxBytes = 64 * 1024 * 1024;

const maxShown = 4 * 1024 * 1024;

const maxFileBytes = 8 * 1024 * 1024;

/** Cost of a line besides its text, in characters. */
const roundCost = 10;

interface Progress extends SearchPace {
  readonly matches: SearchMatch[];
  /** Number of matching lines, in `matches` or not. */
  total: number;
  /** Bytes read. */
  bytes: number;
  /** Characters in `matches`. */
  shown: number;
  /** Whether everything was tested so far: no file was too large, no line too long. */
  isWhole: boolean;
}

/**
 * Counts a matching line and builds the match while matches are still needed; returns how much text was read for
 * it.
 */
function addMatch(
  progress: Progress,
  query: ContentSearch,
  text: string,
  { path, line, start }: { path: string; line: number; start: number },
): number {
  progress.total += 1;
  if (progress.matches.length >= query.max_results || progress.shown >= maxShown) return 0;
  const match = { path, line, content: shownLine(text, start) };
  const { lines, span } = shownContext(text, start, query.context_lines);
  progress.shown += lines.reduce((sum, shown) => sum + shown.length, match.content.length);
  progress.matches.push(query.context_lines === 0 ? match : { ...match, context: lines });
  return span;
}

/** Adds the matching lines of a text; returns false once the time is up. */
async function searchText(
  disk: Disk,
  progress: Progress,
  query: ContentSearch,
  test: LineTest,
  { path, text }: { path: string; text: string },
): Promise<boolean> {
  for (let start = 0, line = 1; start < text.length; line += 1) {
    const { end, next } = lineAt(text, start);
    const looked = Math.min(end - start, test.reach);
    const isMatch = test.matches(text.slice(start, end));
    const span = isMatch ? addMatch(progress, query, text, { path, line, start }) : 0;
    if (!isMatch && looked < end - start) progress.isWhole = false;
    const going = countWork(disk, progress, looked + span + roundCost, looked * test.steps);
    if (going !== true && !(await going)) return false;
    start = next;
  }
  return true;
}

/** Adds the matches in a file; returns false once the search reaches a limit. */
async function searchFile(
  disk: Disk,
  progress: Progress,
  query: ContentSearch,
  test: LineTest,
  { path, entry }: Found,
): Promise<boolean> {
  progress.bytes += entry.size;
  if (progress.bytes > maxBytes || !(await countWork(disk, progress, path.length, 0))) return false;
  const text = readText(disk, entry);
  return text === null || searchText(disk, progress, query, test, { path, text });
}

/**
 * Finds lines that match a pattern, testing at most 16 KiB of each line and no file over 8 MiB. `total` counts all that were found before a
 * limit; `truncated` says that a limit was hit, or that a line without a match is longer than what was tested.
 */
export async function searchContent(disk: Disk, query: ContentSearch): Promise<ContentHits> {
  const test = lineTest(query);
  const start = requireOpen(disk, workspacePath(query.directory));
  const wanted = query.glob === undefined ? null : fileTest(query.glob, start);
  const matches: SearchMatch[] = [];
  const begun = { total: 0, bytes: 0, shown: 0, isWhole: true };
  const progress: Progress = { ...startPace(disk, maxTime), matches, ...begun };
  for await (const found of walkFiles(disk, progress, start)) {
    if (wanted !== null && !(await fits(disk, progress, wanted, found.path))) continue;
    if (found.entry.size > maxFileBytes) progress.isWhole = false;
    else if (!(await searchFile(disk, progress, query, test, found)))
      return { matches, total: progress.total, truncated: true };
  }
  const isWhole = progress.isWhole && !progress.isOver && progress.total === matches.length;
  return { matches, total: progress.total, truncated: !isWhole };
}

/** Expands the innermost alternatives of a glob, in braces, to one glob for each. */
function expandOnce(glob: string): readonly string[] {
  const [, start = "", inner, end = ""] = /^([^]*?)\{([^{}]*,[^{}]*)\}([^]*)$/.exec(glob) ?? [];
  return inner === undefined ? [glob] : inner.split(",").map((each) => start + each + end);
}

const mostAlternatives = 64;

/** Expands a glob with alternatives to one glob for each; with too many it stays as it is. */
function expandBraces(glob: string): readonly string[] {
  for (let globs: readonly string[] = [glob]; ;) {
    const next = globs.flatMap(expandOnce);
    if (next.length === globs.length) return globs;
    if (next.length > mostAlternatives) return [glob];
    globs = next;
  }
}

/** Test of paths, with the length of its globs. */
interface FileTest {
  readonly matches: (path: string) => boolean;
  readonly length: number;
}

/** Returns whether a path matches; yields to other work before, if it is time. */
async function fits(disk: Disk, pace: SearchPace, test: FileTest, path: string): Promise<boolean> {
  const going = countGlobs(disk, pace, path, test.length);
  return (going === true || (await going)) && test.matches(path);
}

/**
 * Creates the test of a glob: without a slash it matches names at any depth; with one it is relative to the
 * searched or file's folder, or to the root below `/workspace/`.
 */
function fileTest(glob: string, { path: start, entry }: Found): FileTest {
  const folder = entry.type === "file" ? folderOf(start) : start;
  const globs = expandBraces(glob);
  const tests = globs.map((each) => {
    const fromRoot = `${workspaceRoot}/`;
    if (each.startsWith(fromRoot)) return createGlobMatcher(each.slice(fromRoot.length));
    const matches = createGlobMatcher(each.includes("/") ? each.replace(/^\.?\//, "") : `**/${each}`);
    return (path: string): boolean => matches(folder === "." ? path : path.slice(folder.length + 1));
  });
  return { matches: (path) => tests.some((matches) => matches(path)), length: globs.join("").length };
}

/** Finds the paths of files that match a glob, newest first. */
export async function searchFiles(
  disk: Disk,
  { pattern, directory, max_results }: FileSearch,
): Promise<readonly string[]> {
  const start = requireOpen(disk, workspacePath(directory));
  const wanted = fileTest(pattern, start);
  const pace = startPace(disk, maxTime);
  const found: Found[] = [];
  for await (const file of walkFiles(disk, pace, start))
    if (await fits(disk, pace, wanted, file.path)) found.push(file);
  if (pace.isOver) fail("limit", "the search takes too long; name a smaller folder or a simpler pattern");
  const newest = found.sort((a, b) => b.entry.mtime - a.entry.mtime || (a.path < b.path ? -1 : 1));
  return newest.slice(0, max_results).map(({ path }) => path);
}
