import { expect, test } from "vitest";
import { holds, missesOf, quantile, createResults } from "./table.ts";
import type { Results, Row } from "./table.ts";

const rowOf = (results: Results, name: string): Row => {
  const row = results.rows(["ratios"]).find(({ spec }) => spec.name.startsWith(name));
  if (row === undefined) throw new Error(`there is no figure ${name}`);
  return row;
};

test("a ratio compares the figures of one pass, and its median counts", () => {
  const results = createResults();
  for (const [limpet, floor] of [
    [10, 10],
    [60, 20],
    [3, 2],
  ] as const) {
    results.add("loop20Cpu", limpet);
    results.add("loop20Cpu", floor, "floor");
  }
  const row = rowOf(results, "turn with a tool call at 20 turns, CPU");
  expect([row.min, row.median, row.max, row.passes]).toEqual([1, 1.5, 3, 3]);
  expect(holds(row)).toBe(true);
});

test("a median beyond its limit misses, from above and from below", () => {
  const results = createResults();
  results.add("firstDelta", 3.01);
  results.add("crowdRate", 49);
  results.add("crowdRate", 100, "floor");
  expect(holds(rowOf(results, "first delta"))).toBe(false);
  expect(holds(rowOf(results, "200 sessions at once, 5 turns each, sessions"))).toBe(false);
  expect(missesOf([rowOf(results, "first delta")])).toEqual([
    "first delta after the model's first byte: 3.01 ms, limit ≤ 3 ms",
  ]);
});

test("a figure with a limit that was not measured misses it", () => {
  const row = rowOf(createResults(), "first delta");
  expect(row.median).toBeNaN();
  expect(holds(row)).toBe(false);
});

test("a quantile is the value that so large a share lies below", () => {
  const values = Array.from({ length: 200 }, (_, index) => 200 - index);
  expect(quantile(values, 0.99)).toBe(199);
  expect(quantile([7], 0.99)).toBe(7);
});
