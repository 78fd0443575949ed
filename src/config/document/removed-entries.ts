import type { Path } from "./diagnostics.ts";
import { formatPath } from "./diagnostics.ts";

/** Tracks entries of wrong shape that are removed from their lists, so that the following entries move up. */

/** Maps the path of a list as written to the ascending indexes of the entries that were removed from it. */
export type RemovedEntries = Map<string, readonly number[]>;

const placeAsWritten = (removedPlaces: readonly number[], place: number): number =>
  removedPlaces.reduce((at, each) => (each <= at ? at + 1 : at), place);

/** Converts a path after removals to the path as written. */
export const writtenPath = (removed: RemovedEntries, path: Path): Path => {
  if (removed.size === 0) return path;
  const written: (string | number)[] = [];
  for (const part of path) {
    const removedPlaces = typeof part === "number" ? removed.get(formatPath(written)) : undefined;
    written.push(removedPlaces === undefined ? part : placeAsWritten(removedPlaces, Number(part)));
  }
  return written;
};

/** Removes entries from a list; `path` and `places` refer to the list before the removal. */
export const removeEntries = (
  removed: RemovedEntries,
  list: unknown[],
  path: Path,
  places: ReadonlySet<number>,
): void => {
  const key = formatPath(writtenPath(removed, path));
  const removedPlaces = removed.get(key) ?? [];
  const more = [...places].map((place) => placeAsWritten(removedPlaces, place));
  removed.set(
    key,
    [...removedPlaces, ...more].toSorted((a, b) => a - b),
  );
  const left = list.filter((_, place) => !places.has(place));
  list.length = 0;
  for (const entry of left) list.push(entry);
};
