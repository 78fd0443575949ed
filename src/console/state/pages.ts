import type { Api } from "./api.ts";

/** Reads lists of the API, which come in pages. */

interface ListAnswer<T> {
  readonly data: readonly T[];
  /** Is absent where the list comes whole. */
  readonly next_cursor?: string | null;
}

interface ReadPagesOptions {
  /** So many pages are read at most. */
  readonly most?: number;
  readonly signal?: AbortSignal;
}

/** Reads a list; its address has a query already where it comes in pages. Tells whether it goes on. */
export const readPages = async <T>(
  api: Pick<Api, "read">,
  address: string,
  { most = Infinity, signal }: ReadPagesOptions = {},
): Promise<{ readonly rows: readonly T[]; readonly hasMore: boolean }> => {
  const rows: T[] = [];
  let cursor = "";
  for (let page = 0; page < most; page += 1) {
    const { data, next_cursor: next }: ListAnswer<T> = await api.read(
      `${address}${cursor}`,
      signal === undefined ? {} : { signal },
    );
    rows.push(...data);
    if (typeof next !== "string") return { rows, hasMore: false };
    cursor = `&cursor=${encodeURIComponent(next)}`;
  }
  return { rows, hasMore: true };
};
