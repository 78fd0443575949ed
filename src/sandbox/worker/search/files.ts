import type { Disk, Entry } from "../files/files.ts";
import { listChildren, contentOf, joinPath } from "../files/files.ts";
import { requireEntry } from "../files/locate.ts";
import type { Found } from "../files/tree.ts";
import type { IgnoreFile } from "./ignore.ts";
import { ignoreFileNames, isIgnored, parseIgnoreFile } from "./ignore.ts";
import type { SearchPace } from "./pace.ts";
import { countGlobs } from "./pace.ts";

/** Finds the files of a search, and reads their text. */

function ignoreFilesIn(disk: Disk, path: string, entries: readonly Entry[]): IgnoreFile[] {
  return entries
    .filter(
      (entry) => entry.type === "file" && ignoreFileNames.includes(entry.name) && entry.size <= 64 * 1024,
    )
    .map((entry) => parseIgnoreFile(path, new TextDecoder().decode(contentOf(disk, entry))));
}

/** Walk of a search through the tree. */
interface Walk {
  readonly disk: Disk;
  readonly pace: SearchPace;
  readonly passes: (entry: Entry) => boolean;
}

async function* filesBelow(
  walk: Walk,
  { path, entry: folder }: Found,
  inherited: readonly IgnoreFile[],
): AsyncGenerator<Found> {
  const { disk, pace, passes } = walk;
  const entries = listChildren(disk, folder.id);
  const rules = [...inherited, ...ignoreFilesIn(disk, path, entries)];
  const length = rules.reduce((sum, each) => sum + each.length, 0);
  for (const entry of entries) {
    const at = joinPath(path, entry.name);
    const going = countGlobs(disk, pace, at, length);
    if (going !== true && !(await going)) return;
    if (!passes(entry) || isIgnored(rules, at, entry.type === "directory")) continue;
    if (entry.type === "file" && disk.isClosed?.(at, "read") !== true) yield { path: at, entry };
    if (entry.type === "directory") yield* filesBelow(walk, { path: at, entry }, rules);
    if (pace.isOver) return;
  }
}

/** Returns the rules of the folders above a search's start. */
function rulesAbove(disk: Disk, path: string): IgnoreFile[] {
  if (path === ".") return [];
  const segments = path.split("/");
  return segments.flatMap((_, index) => {
    const folder = joinPath(...segments.slice(0, index));
    return ignoreFilesIn(disk, folder, listChildren(disk, requireEntry(disk, folder).entry.id));
  });
}

/**
 * Yields the files below a folder that no ignore file excludes and that pass, in order, until the time of the search
 * is up; for a file, the file itself.
 */
export async function* walkFiles(
  disk: Disk,
  pace: SearchPace,
  start: Found,
  passes: (entry: Entry) => boolean = () => true,
): AsyncGenerator<Found> {
  if (start.entry.type === "file") yield start;
  else yield* filesBelow({ disk, pace, passes }, start, rulesAbove(disk, start.path));
}

/** Returns a file's text with whole characters of any script; null for binary content. */
export function readText(disk: Disk, entry: Entry): string | null {
  const bytes = contentOf(disk, entry);
  if (bytes.subarray(0, 8192).includes(0)) return null;
  return new TextDecoder().decode(bytes);
}
