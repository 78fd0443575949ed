import { describe, expect, test } from "vitest";
import { findAlternation, detectLoops, callKeyOf, streakOf, worstOf } from "../../src/guards/detectors.ts";
import type { ComparedCall, DetectorSettings } from "../../src/guards/detectors.ts";

/** Calls as text: `a1` is tool a with outcome 1, `a?` has none yet. */
const seen = (text: string): readonly ComparedCall[] =>
  text
    .split(" ")
    .filter((each) => each !== "")
    .map((each) => ({
      tool: each.charAt(0),
      args: "x",
      outcome: each.charAt(1) === "?" ? null : each.charAt(1),
    }));

const settings: DetectorSettings = {
  warning_threshold: 3,
  critical_threshold: 5,
  global_circuit_breaker_threshold: 8,
  generic_repeat: true,
  known_poll_no_progress: true,
  ping_pong: true,
  strict: false,
};

const judged = (tool: string, poll = false) => ({ tool, args: "x", poll });

const found = (
  calls: string,
  tool: string,
  more: Partial<DetectorSettings> & { poll?: boolean; carried?: number } = {},
) =>
  detectLoops(judged(tool, more.poll), seen(calls), more.carried ?? 0, { ...settings, ...more }).map(
    ({ detector, level, count }) => `${detector} ${level} ${count}`,
  );

describe("EF-32: counts", () => {
  test.each([
    ["", 0],
    ["a1", 1],
    ["a1 a1 a1", 3],
    ["a1 a1 a2", 1],
    ["a2 a1 b1 a1 c3 a1", 3],
    ["a1 a1 a? a?", 4],
    ["a1 a? a?", 1],
    ["a? a?", 0],
    ["a1 a2 a?", 1],
  ])("a streak of %j is %d", (calls, expected) => {
    expect(streakOf(seen(calls), judged("a"))).toBe(expected);
  });

  test.each([
    ["", "a", null],
    ["b1", "a", null],
    ["a1 b1", "a", null],
    ["a1 b1 a1", "b", 4],
    ["a1 b1 a1 b1", "b", null],
    ["c1 a1 b1 a1 b1", "a", 5],
    ["a1 b1 c1 a1 b1 c1", "a", null],
  ])("%j and then %s alternate %j calls long", (calls, tool, expected) => {
    expect(findAlternation(seen(calls), judged(tool))?.count ?? null).toBe(expected);
  });

  test("an alternation is stable when both sides gave one outcome each, at least twice", () => {
    const stable = (calls: string, tool: string): boolean | undefined =>
      findAlternation(seen(calls), judged(tool))?.stable;
    expect(stable("a1 b2 a1 b2", "a")).toBe(true);
    expect(stable("a1 b2 a1 b3", "a")).toBe(false);
    expect(stable("a1 b2 a4 b2", "a")).toBe(false);
    expect(stable("a1 b2 a1", "b")).toBe(false);
    expect(stable("a? b? a? b?", "a")).toBe(false);
  });
});

describe("EF-32: detectors", () => {
  test.each([
    ["a1", "a", []],
    ["a1 a2", "a", ["generic_repeat warning 3"]],
    ["a1 a2 a3 a4 a5 a6 a7 a8 a9", "a", ["generic_repeat warning 10"]],
    ["a1 a1 a1 a1", "a", ["generic_repeat critical 5"]],
    ["a1 b1 a1 c1 a1 d1 a1 e1", "a", ["generic_repeat critical 5"]],
    ["a1 b2 a1 b2", "a", ["generic_repeat warning 3", "ping_pong critical 5"]],
    ["a1 b2 a1 b3", "a", ["generic_repeat warning 3", "ping_pong warning 5"]],
    ["a1 a1 a1 a1 a1 a1 a1", "a", ["global_circuit_breaker critical 8", "generic_repeat critical 8"]],
  ])("%j, then %s: %j", (calls, tool, expected) => {
    expect(found(calls, tool)).toEqual(expected);
  });

  test("each can be off; the breaker cannot", () => {
    const off = { generic_repeat: false, known_poll_no_progress: false, ping_pong: false };
    expect(found("a1 a1 a1 a1", "a", off)).toEqual([]);
    expect(found("a1 b1 a1 b1", "a", off)).toEqual([]);
    expect(found("a1 a1 a1 a1 a1 a1 a1", "a", off)).toEqual(["global_circuit_breaker critical 8"]);
  });

  test("a poll has its own detector, and no critical generic one", () => {
    expect(found("a1 a1 a1 a1", "a", { poll: true })).toEqual([
      "generic_repeat warning 5",
      "known_poll_no_progress critical 5",
    ]);
    expect(found("a1 a2 a3 a3", "a", { poll: true })).toEqual([
      "generic_repeat warning 5",
      "known_poll_no_progress warning 3",
    ]);
    expect(found("a1 a2 a3 a4", "a", { poll: true })).toEqual(["generic_repeat warning 5"]);
  });

  test("★ the breaker counts on beyond the window", () => {
    expect(found("a1", "a", { carried: 7 })).toEqual(["global_circuit_breaker critical 8"]);
    expect(found("a1", "a", { carried: 6 })).toEqual([]);
  });

  test("strict takes tool and arguments alone", () => {
    expect(found("a1 a2 a3 a4", "a", { strict: true })).toEqual(["generic_repeat critical 5"]);
    expect(found("a1 b1 a2 b2", "a", { strict: true })).toEqual([
      "generic_repeat warning 3",
      "ping_pong critical 5",
    ]);
  });

  test("the highest level wins, of several the first in the order of the table", () => {
    const worst = (calls: string, more = {}): string | undefined =>
      worstOf(detectLoops(judged("a"), seen(calls), 0, { ...settings, ...more }))?.detector;
    expect(worst("a1 b2 a1 b2")).toBe("ping_pong");
    expect(worst("a1 a1 a1 a1 a1 a1 a1")).toBe("global_circuit_breaker");
    expect(worst("a1 b2 a1 b2 a1 b2 a1 b2")).toBe("generic_repeat");
    expect(worst("a1 b3 a2 b2")).toBe("generic_repeat");
  });

  test("outcomes that nobody knows yet make nothing critical: calls of one reply", () => {
    expect(found("a? a? a? a? a? a? a?", "a")).toEqual(["generic_repeat warning 8"]);
    expect(found("a1 a? a? a? a? a? a?", "a")).toEqual(["generic_repeat warning 8"]);
    expect(found("a1 a1 a? a?", "a")).toEqual(["generic_repeat critical 5"]);
  });

  test("★ strict never finds less than outcomes do: 20 000 random sequences", () => {
    let state = 7;
    const next = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * below);
    };
    const rank = (found: readonly { readonly level: string }[]): number =>
      found.some(({ level }) => level === "critical") ? 2 : Math.min(1, found.length);
    const counts = [0, 0, 0];
    for (let round = 0; round < 20_000; round++) {
      const tools = 1 + next(3);
      const outcomes = 1 + next(2);
      const calls = Array.from({ length: next(14) }, (): ComparedCall => ({
        tool: "abc".charAt(next(tools)),
        args: "x",
        outcome: String(next(outcomes)),
      }));
      const call = { tool: "abc".charAt(next(tools)), args: "x", poll: next(4) === 0 };
      const aware = rank(detectLoops(call, calls, 0, settings));
      const strict = rank(detectLoops(call, calls, 0, { ...settings, strict: true }));
      expect(strict, JSON.stringify([call, calls])).toBeGreaterThanOrEqual(aware);
      const changed = calls.map((each, at) => ({ ...each, outcome: `new ${at}` }));
      expect(rank(detectLoops(call, changed, 0, settings)), "changing outcomes").toBeLessThan(2);
      counts[aware] = (counts[aware] ?? 0) + 1;
    }
    expect(Math.min(...counts)).toBeGreaterThan(500);
  });

  test("keys tell tools and arguments apart", () => {
    expect(callKeyOf({ tool: "a", args: "x" })).not.toBe(callKeyOf({ tool: "b", args: "x" }));
    expect(callKeyOf({ tool: "a", args: "x" })).not.toBe(callKeyOf({ tool: "a", args: "y" }));
  });
});
