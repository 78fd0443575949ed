import { expect, test } from "vitest";
import { readToEnd } from "../../src/cli/client/pages.ts";

test("AP-53: a list that comes in pages is read to its end", async () => {
  const pages = new Map([
    [undefined, { data: [1, 2], next_cursor: "b" }],
    ["b", { data: [3], next_cursor: "c" }],
    ["c", { data: [4], next_cursor: null }],
  ]);
  const limits: number[] = [];
  const rows = await readToEnd(async ({ limit, cursor }) => {
    limits.push(limit);
    return pages.get(cursor) ?? { data: [], next_cursor: null };
  });
  expect(rows).toEqual([1, 2, 3, 4]);
  expect(limits).toEqual([200, 200, 200]);
});
