import type { Path } from "./diagnostics.ts";
import { formatPath } from "./diagnostics.ts";

/** Entries of wrong shape are removed from their lists, so that the following entries move up. */

/** Maps the path of a list as written to the ascending indexes of the entries that were removed from it. */
export type RemovedEntries = Map<string, readonly number[]>;

const placeAsWritten = (gone: readonly number[], place: number): number =>
  gone.reduce((at, each) => (each <= at ? at + 1 : at), place);

/** Converts a path in what is left to the path as written. */
export const writtenPath = (removed: RemovedEntries, path: Path): Path => {
  if (removed.size === 0) return path;
  const written: (string | number)[] = [];
  for (const part of path) {
    const gone = typeof part === "number" ? removed.get(formatPath(written)) : undefined;
    written.push(gone === undefined ? part : placeAsWritten(gone, Number(part)));
  }
  return written;
};

/** Removes entries from a list; `path` and `places` refer to what was left before. */
export const removeEntries = (
  removed: RemovedEntries,
  list: unknown[],
  path: Path,
  places: ReadonlySet<number>,
): void => {
  const key = formatPath(writtenPath(removed, path));
  const gone = removed.get(key) ?? [];
  const more = [...places].map((place) => placeAsWritten(gone, place));
  removed.set(
    key,
    [...gone, ...more].toSorted((a, b) => a - b),
  );
  const left = list.filter((_, place) => !places.has(place));
  list.length = 0;
  for (const entry of left) list.push(entry);
};
