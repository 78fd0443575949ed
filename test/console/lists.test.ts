import { expect, test } from "vitest";
import type { Api } from "../../src/console/state/api.ts";
import { readPages } from "../../src/console/state/pages.ts";

/** AP-54: lists that come in pages are read to their end, or as far as they are asked for. */

const pages: Readonly<Record<string, object>> = {
  "/files?limit=2": { data: ["a", "b"], next_cursor: "two/2" },
  "/files?limit=2&cursor=two%2F2": { data: ["c"], next_cursor: "3" },
  "/files?limit=2&cursor=3": { data: ["d"], next_cursor: null },
  "/tasks": { data: ["only"] },
};

const api: Pick<Api, "read"> = {
  read: async <T>(address: string): Promise<T> => {
    const page = pages[address];
    if (page === undefined) throw new Error(`nothing is at ${address}`);
    return page as T;
  },
};

test("AP-54: a list is read to its end by its cursors", async () => {
  expect(await readPages(api, "/files?limit=2")).toEqual({ rows: ["a", "b", "c", "d"], hasMore: false });
  expect(await readPages(api, "/tasks")).toEqual({ rows: ["only"], hasMore: false });
});

test("AP-54: a list that is read in part says that it goes on", async () => {
  expect(await readPages(api, "/files?limit=2", { most: 2 })).toEqual({
    rows: ["a", "b", "c"],
    hasMore: true,
  });
  expect(await readPages(api, "/files?limit=2", { most: 3 })).toEqual({
    rows: ["a", "b", "c", "d"],
    hasMore: false,
  });
});
