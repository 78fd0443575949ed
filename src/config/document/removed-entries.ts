import type { Path } from "./diagnostics.ts";
import { formatPath } from "./diagnostics.ts";

/** Entries of wrong shape are taken out of their lists; what stands behind them moves up. */

/** Path of a list as written → the places, ascending, of the entries that were taken out of it. */
export type RemovedEntries = Map<string, readonly number[]>;

const placeAsWritten = (gone: readonly number[], place: number): number =>
  gone.reduce((at, each) => (each <= at ? at + 1 : at), place);

/** The path as written of a path in what is left. */
export const writtenPath = (removed: RemovedEntries, path: Path): Path => {
  if (removed.size === 0) return path;
  const written: (string | number)[] = [];
  for (const part of path) {
    const gone = typeof part === "number" ? removed.get(formatPath(written)) : undefined;
    written.push(gone === undefined ? part : placeAsWritten(gone, Number(part)));
  }
  return written;
};

/** Takes entries out of a list; `path` and `places` are those in what was left before. */
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
