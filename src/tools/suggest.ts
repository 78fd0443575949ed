/** Finds the nearest name, for "did you mean". */

/** Counts insertions, deletions, replacements and swaps of neighbours between two texts. */
export const editDistance = (a: string, b: string): number => {
  const swapped = (i: number, j: number): boolean =>
    i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
  const get = (row: readonly number[], index: number): number => row[index] ?? Infinity;
  let older: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = get(previous, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const best = Math.min(get(previous, j) + 1, get(row, j - 1) + 1, replaced);
      row.push(swapped(i, j) ? Math.min(best, get(older, j - 2) + 1) : best);
    }
    older = previous;
    previous = row;
  }
  return get(previous, b.length);
};

/** Returns the known name nearest to `name`, at most two edits or a third of its length away. */
export const findNearestName = (name: string, known: readonly string[]): string | null => {
  if (name.length > 100) return null;
  const limit = Math.max(2, Math.floor(name.length / 3));
  const ranked = known
    .filter((candidate) => Math.abs(candidate.length - name.length) <= limit)
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= limit && distance < candidate.length)
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.candidate ?? null;
};

/** Returns the unknown key of an object, with the intended one; null if all keys are known. */
export const findUnknownKey = (given: object, known: readonly string[]): string | null => {
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown === undefined) return null;
  const near = findNearestName(unknown, known);
  return `unknown key "${unknown}"; ${near === null ? `known: ${known.join(", ")}` : `did you mean "${near}"?`}`;
};
