/** This file reads lists of the API, which come in pages. */

/** A page has so many rows at most. */
export const pageLimit = 200;

/** What is asked for: a page, or the one behind it. */
interface PageQuery {
  readonly limit: number;
  readonly cursor?: string;
}

/** Reads a list to its end. */
export const readToEnd = async <T>(
  read: (query: PageQuery) => Promise<{ readonly data: readonly T[]; readonly next_cursor: string | null }>,
): Promise<readonly T[]> => {
  const rows: T[] = [];
  for (let query: PageQuery | null = { limit: pageLimit }; query !== null;) {
    const { data, next_cursor: cursor } = await read(query);
    rows.push(...data);
    query = cursor === null ? null : { limit: pageLimit, cursor };
  }
  return rows;
};
