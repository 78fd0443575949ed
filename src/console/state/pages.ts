/** Reads lists of the API, which come in pages. */

interface ListAnswer<T> {
  readonly data: readonly T[];
  /** Absent if the API returns the whole list at once. */
  readonly next_cursor?: string | null;
}

/** Reads at most so many pages of a list, by what the query of each ends with. Tells whether the list goes on. */
export const readPages = async <T>(
  read: (cursor: string) => Promise<ListAnswer<T>>,
  most = Infinity,
): Promise<{ readonly rows: readonly T[]; readonly hasMore: boolean }> => {
  const rows: T[] = [];
  let cursor = "";
  for (let page = 0; page < most; page += 1) {
    const { data, next_cursor: next } = await read(cursor);
    rows.push(...data);
    if (typeof next !== "string") return { rows, hasMore: false };
    cursor = `&cursor=${encodeURIComponent(next)}`;
  }
  return { rows, hasMore: true };
};
