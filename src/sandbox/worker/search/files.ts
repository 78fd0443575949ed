import type { Disk, Entry } from "../files/files.ts";
import { listChildren, contentOf, joinPath } from "../files/files.ts";
import { requireEntry } from "../files/locate.ts";
import type { Found } from "../files/tree.ts";
import type { IgnoreFile } from "./ignore.ts";
import { ignoreFileNames, isIgnored, parseIgnoreFile } from "./ignore.ts";

/** Finds the files of a search, and reads their text. */

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
  passes: (entry: Entry) => boolean,
): Generator<Found> {
  const entries = listChildren(disk, folder.id);
  const rules = [...inherited, ...ignoreFilesIn(disk, path, entries)];
  for (const entry of entries) {
    const at = joinPath(path, entry.name);
    if (!passes(entry) || isIgnored(rules, at, entry.type === "directory")) continue;
    if (entry.type === "file" && disk.isClosed?.(at, "read") !== true) yield { path: at, entry };
    if (entry.type === "directory") yield* filesBelow(disk, at, entry, rules, passes);
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
 * Yields the files below a folder that no ignore file excludes and that pass, in order; for a file, the file
 * itself.
 */
export function* walkFiles(
  disk: Disk,
  { path, entry }: Found,
  passes: (entry: Entry) => boolean = () => true,
): Generator<Found> {
  if (entry.type === "file") yield { path, entry };
  else yield* filesBelow(disk, path, entry, rulesAbove(disk, path), passes);
}

/** Returns a file's text with whole characters of any script; null for binary content. */
export function readText(disk: Disk, entry: Entry): string | null {
  const bytes = contentOf(disk, entry);
  if (bytes.subarray(0, 8192).includes(0)) return null;
  return new TextDecoder().decode(bytes);
}
