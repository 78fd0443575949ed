/** Reads lists of the API, which are divided into pages. */

/** Most rows of a page. */
export const pageLimit = 200;

/** Query of a page, with the cursor of a later one. */
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
