import { expect, test } from "vitest";
import { readPages } from "../../src/console/state/pages.ts";

/** AP-54: lists that come in pages are read to their end, or as far as they are asked for. */

interface ListPage {
  readonly data: readonly string[];
  readonly next_cursor?: string | null;
}

const pages: ReadonlyMap<string, ListPage> = new Map([
  ["", { data: ["a", "b"], next_cursor: "two/2" }],
  ["&cursor=two%2F2", { data: ["c"], next_cursor: "3" }],
  ["&cursor=3", { data: ["d"], next_cursor: null }],
]);

const read = async (cursor: string): Promise<ListPage> => {
  const page = pages.get(cursor);
  if (page === undefined) throw new Error(`no page has the cursor ${cursor}`);
  return page;
};

test("AP-54: a list is read to its end by its cursors", async () => {
  expect(await readPages(read)).toEqual({ rows: ["a", "b", "c", "d"], hasMore: false });
  expect(await readPages(async () => ({ data: ["only"] }))).toEqual({ rows: ["only"], hasMore: false });
});

test("AP-54: a list that is read in part says that it goes on", async () => {
  expect(await readPages(read, 2)).toEqual({ rows: ["a", "b", "c"], hasMore: true });
  expect(await readPages(read, 3)).toEqual({ rows: ["a", "b", "c", "d"], hasMore: false });
});
