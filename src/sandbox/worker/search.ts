import { RE2JS } from "re2js";
import type { ContentHits, SearchMatch } from "../contract.ts";
import { globMatcher } from "../glob.ts";
import { folderOf, workspacePath } from "../paths.ts";
import { fail } from "./errors.ts";
import { children, contentOf, joined, type Disk, type Entry } from "./files.ts";
import { existing } from "./locate.ts";
import { ignoreFileNames, isIgnored, parseIgnoreFile, type IgnoreFile } from "./ignore.ts";
import type { ContentSearch, FileSearch } from "./requests.ts";
import type { Found } from "./tree.ts";

/** Bounds of one search: milliseconds, bytes read, characters of a shown line. */
const maxTime = 10_000;
const maxBytes = 64 * 1024 * 1024;
const maxLine = 500;
const maxFileBytes = 8 * 1024 * 1024;

function ignoreFilesIn(disk: Disk, path: string, entries: readonly Entry[]): IgnoreFile[] {
  return entries
    .filter(
      (entry) => entry.type === "file" && ignoreFileNames.includes(entry.name) && entry.size <= 64 * 1024,
    )
    .map((entry) => parseIgnoreFile(path, new TextDecoder().decode(contentOf(disk, entry))));
}

function* filesBelow(
  disk: Disk,
  path: string,
  folder: Entry,
  inherited: readonly IgnoreFile[],
): Generator<Found> {
  const entries = children(disk, folder.id);
  const rules = [...inherited, ...ignoreFilesIn(disk, path, entries)];
  for (const entry of entries) {
    const at = joined(path, entry.name);
    if (isIgnored(rules, at, entry.type === "directory")) continue;
    if (entry.type === "file" && disk.isClosed?.(at, "read") !== true) yield { path: at, entry };
    if (entry.type === "directory") yield* filesBelow(disk, at, entry, rules);
  }
}

/** Rules of the folders above a search's start. */
function rulesAbove(disk: Disk, path: string): IgnoreFile[] {
  if (path === ".") return [];
  const segments = path.split("/");
  return segments.flatMap((_, index) => {
    const folder = joined(...segments.slice(0, index));
    return ignoreFilesIn(disk, folder, children(disk, existing(disk, folder).entry.id));
  });
}

/** Files below a folder that no ignore file leaves out; a file gives itself. */
function* searched(disk: Disk, { path, entry }: Found): Generator<Found> {
  if (entry.type === "file") yield { path, entry };
  else yield* filesBelow(disk, path, entry, rulesAbove(disk, path));
}

/** Tests a line, in time linear in its length. */
function lineTest({ pattern, literal, ignore_case }: ContentSearch): (line: string) => boolean {
  if (literal) {
    const wanted = ignore_case ? pattern.toLowerCase() : pattern;
    return (line) => (ignore_case ? line.toLowerCase() : line).includes(wanted);
  }
  try {
    const compiled = RE2JS.compile(pattern, ignore_case ? RE2JS.CASE_INSENSITIVE : 0);
    return (line) => compiled.matcher(line).find();
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it cannot be read";
    return fail(
      "invalid_request",
      `pattern is not a valid RE2 expression (${reason}); for plain text pass literal: true`,
    );
  }
}

/** A file's text if it is text: whole characters, whatever the script; null for binary content. */
function textIn(disk: Disk, entry: Entry): string | null {
  const bytes = contentOf(disk, entry);
  if (bytes.subarray(0, 8192).includes(0)) return null;
  return new TextDecoder().decode(bytes);
}

const cutLine = (line: string): string => {
  const characters = line.length > maxLine ? [...line] : [];
  return characters.length > maxLine ? `${characters.slice(0, maxLine).join("")}…` : line;
};

/** A search gives way to other work between files, so that the clock moves and requests get their turn. */
const giveWay = async (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

interface Budget {
  readonly until: number;
  bytes: number;
}

/** Counts a file against the budget of a search; false once it is spent. */
async function affords(disk: Disk, budget: Budget, entry: Entry): Promise<boolean> {
  budget.bytes += entry.size;
  if (budget.bytes % (1024 * 1024) < entry.size) await giveWay();
  return budget.bytes <= maxBytes && disk.now() < budget.until;
}

function matchesIn(
  path: string,
  text: string,
  test: (line: string) => boolean,
  around: number,
): SearchMatch[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines.flatMap((line, index) => {
    if (!test(line)) return [];
    const match = { path, line: index + 1, content: cutLine(line) };
    if (around === 0) return [match];
    const context = lines.slice(Math.max(index - around, 0), index + around + 1).map(cutLine);
    return [{ ...match, context }];
  });
}

/** Lines that match a pattern (TB-15). `total` counts all that were found before a bound; `truncated` says that one was met. */
export async function searchContent(disk: Disk, query: ContentSearch): Promise<ContentHits> {
  const test = lineTest(query);
  const start = existing(disk, workspacePath(query.directory));
  const wanted = query.glob === undefined ? null : fileTest(query.glob, start);
  const budget: Budget = { until: disk.now() + maxTime, bytes: 0 };
  const matches: SearchMatch[] = [];
  let total = 0;
  for (const { path, entry } of searched(disk, start)) {
    if (entry.size > maxFileBytes || (wanted !== null && !wanted(path))) continue;
    if (!(await affords(disk, budget, entry))) return { matches, total, truncated: true };
    const text = textIn(disk, entry);
    if (text === null) continue;
    const found = matchesIn(path, text, test, query.context_lines);
    total += found.length;
    matches.push(...found.slice(0, query.max_results - matches.length));
  }
  return { matches, total, truncated: total > matches.length };
}

/** A glob without a slash names files at any depth; one with a slash is relative to the folder searched, or of the file. */
function fileTest(glob: string, { path: start, entry }: Found): (path: string) => boolean {
  const folder = entry.type === "file" ? folderOf(start) : start;
  const anchored = glob.includes("/");
  const matches = globMatcher(anchored ? glob.replace(/^\.?\//, "") : `**/${glob}`);
  return (path) => matches(folder === "." ? path : path.slice(folder.length + 1));
}

/** Paths of files that match a glob, newest first. */
export async function searchFiles(
  disk: Disk,
  { pattern, directory, max_results }: FileSearch,
): Promise<readonly string[]> {
  const start = existing(disk, workspacePath(directory));
  const wanted = fileTest(pattern, start);
  const found = [...searched(disk, start)].filter(({ path }) => wanted(path));
  const newest = found.sort((a, b) => b.entry.mtime - a.entry.mtime || (a.path < b.path ? -1 : 1));
  return newest.slice(0, max_results).map(({ path }) => path);
}
