import { describe, expect, test } from "vitest";
import { countEndedCalls, findStreak, streakLength } from "../../src/guards/streaks.ts";

const call = (name: string, outcome = "same outcome") => ({ tool: "look", args: name, outcome });
const named = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, at) => call(`${prefix} ${at}`));

/** Counts calls one after the other, 16 at a time as the guard does. */
const after = (ended: readonly ReturnType<typeof call>[], before = "", strict = false): string => {
  let counts = before;
  for (let at = 0; at < ended.length; at += 16)
    counts = countEndedCalls(counts, ended.slice(at, at + 16), strict);
  return counts;
};

const longest = (counts: string, cycle: readonly ReturnType<typeof call>[]): number =>
  Math.max(...cycle.map((each) => streakLength(findStreak(counts, each))));

describe("EF-32: streaks beyond the window", () => {
  test("each call is counted for itself; another outcome begins anew", () => {
    const counts = after([call("a"), call("b"), call("a"), call("b", "other outcome")]);
    expect(["a", "b", "c"].map((name) => streakLength(findStreak(counts, call(name))))).toEqual([2, 1, 0]);
    expect(streakLength(findStreak("", call("a")))).toBe(0);
  });

  test("the same arguments of another tool are another call", () => {
    expect(findStreak(after([call("a")]), { tool: "put", args: "a" })).toBeUndefined();
  });

  test("strict counts whatever came of it", () => {
    const counts = after([call("a"), call("a", "other outcome"), call("a")], "", true);
    expect(streakLength(findStreak(counts, call("a")))).toBe(3);
  });

  test("★: cycles of any length are counted, whatever came before them, and what is kept is bounded", () => {
    for (const [before, length] of [
      [0, 120],
      [0, 256],
      [0, 2_000],
      [2_000, 100],
      [2_000, 250],
      [3_000, 1_000],
    ] as const) {
      const cycle = named("cycle", length);
      let counts = after(named("before", before));
      for (let round = 0; round < 29; round++) counts = after(cycle, counts);
      expect([before, length, longest(counts, cycle)]).toEqual([before, length, 29]);
      expect(counts.length).toBeLessThan(4_096);
    }
  });

  test("calls between are ignored: 100 that never come again, 29 times over", () => {
    let counts = "";
    for (let round = 0; round < 29; round++)
      counts = after([call("again"), ...named(`round ${round}`, 100)], counts);
    expect(streakLength(findStreak(counts, call("again")))).toBe(29);
  });
});
