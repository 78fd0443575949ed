import type { Api } from "../state/api.ts";

/** Reads a list of the API to its end; its address has a query already where the list comes in pages. */
export const readAll = async <T>(
  api: Pick<Api, "read">,
  address: string,
  signal: AbortSignal,
): Promise<readonly T[]> => {
  const rows: T[] = [];
  for (let next: string | null | undefined = ""; typeof next === "string";) {
    const page: { readonly data: readonly T[]; readonly next_cursor?: string | null } = await api.read(
      next === "" ? address : `${address}&cursor=${encodeURIComponent(next)}`,
      { signal },
    );
    rows.push(...page.data);
    next = page.next_cursor;
  }
  return rows;
};
