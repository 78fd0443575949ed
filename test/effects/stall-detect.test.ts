import { expect, test } from "vitest";
import { stallDetect } from "../../src/effects/stall-detect.ts";
import type { Step } from "./compaction/support.ts";
import { contextOf, evaluated, many, ranWith, recordsOf } from "./context.ts";

type Call = NonNullable<Step["calls"]>[number];
const call = (args: string, more: Partial<Call> = {}): Call => ({
  tool: "exec_run",
  args,
  result: "not found",
  status: "error",
  ...more,
});
const turn = (...calls: readonly Call[]): readonly Step[] => [{ calls }];
const pair = [turn(call("a")), turn(call("b"))];
const circle = (count: number): readonly (readonly Step[])[] => many(count, (index) => pair[index % 2] ?? []);
const different = (count: number): readonly (readonly Step[])[] =>
  many(count, (index) => turn(call(`other ${index}`)));
const edit = (path: string): readonly Step[] =>
  turn(call(path, { tool: "fs_edit", result: "ok", status: "ok" }));
const changed = (tool: string): boolean => tool === "fs_edit";

const nudges = ({ notes }: { readonly notes: readonly string[] }): readonly string[] =>
  notes.map((note) => note.split(":")[0] ?? "");

test("EF-41 ★: A-B-A-B errors: a nudge when the window is full, then the end a window later", () => {
  const ran = ranWith(stallDetect, circle(30));
  expect(nudges(ran)).toEqual(["6"]);
  expect(ran.stop).toBe("12: no_progress");
});

test("EF-41 ★: twelve edits of twelve files that all answer ok are no stall", () => {
  const edits = many(12, (index) => edit(`src/${index}.ts`));
  const ran = ranWith(stallDetect, edits, {}, { changed });
  expect([nudges(ran), ran.stop]).toEqual([[], null]);
  const equal = ranWith(
    stallDetect,
    many(12, () => edit("src/a.ts")),
    {},
    { changed },
  );
  expect([nudges(equal), equal.stop]).toEqual([[], null]);
});

test("EF-41: a successful change clears what was counted, a failed one does not", () => {
  const fixed = ranWith(stallDetect, [...circle(5), edit("a"), ...circle(5)], {}, { changed });
  expect([nudges(fixed), fixed.stop]).toEqual([[], null]);
  const failedEdit = turn(call("a", { tool: "fs_edit" }));
  const failed = ranWith(
    stallDetect,
    many(6, () => failedEdit),
    {},
    { changed },
  );
  expect(nudges(failed)).toEqual(["6"]);
});

test("EF-41: reading the same again and again is a stall, though each call succeeds", () => {
  const reads = many(6, (index) => turn(call(`${index % 2}`, { tool: "fs_read", status: "ok" })));
  expect(nudges(ranWith(stallDetect, reads, {}, { changed }))).toEqual(["6"]);
});

test("EF-41: fewer calls than the window, and calls that differ, are no stall", () => {
  expect(nudges(ranWith(stallDetect, circle(5)))).toEqual([]);
  expect(nudges(ranWith(stallDetect, different(20)))).toEqual([]);
  const outcomes = many(12, (index) => turn(call("poll", { result: `${index} %` })));
  expect(nudges(ranWith(stallDetect, outcomes))).toEqual([]);
});

test("EF-41 ★: below the share it is cleared, and a later stall is nudged first", () => {
  const ran = ranWith(stallDetect, [...circle(6), ...different(6), ...circle(30)]);
  expect(nudges(ran)).toEqual(["6", "18"]);
  expect(ran.stop).toBe("24: no_progress");
});

test("EF-41: the smallest window can act with the default share", () => {
  const ran = ranWith(
    stallDetect,
    many(10, () => turn(call("a"))),
    { window: 3 },
  );
  expect([nudges(ran), ran.stop]).toEqual([["3"], "6: no_progress"]);
});

test("EF-41: calls of one reply count each", () => {
  const ran = ranWith(
    stallDetect,
    many(3, () => turn(...many(6, () => call("a")))),
  );
  expect([nudges(ran), ran.stop]).toEqual([["1"], "2: no_progress"]);
});

test("EF-41: calls of former runs do not count, and records that are gone begin it anew", () => {
  const { chat } = ranWith(
    stallDetect,
    many(5, () => turn(call("a"))),
  );
  const calls = recordsOf(chat);
  const evaluate = (given: typeof calls, state?: Parameters<typeof evaluated>[3]) =>
    evaluated(stallDetect, contextOf(chat, { calls: given }), { window: 3 }, state);
  expect(evaluate(calls)).toHaveProperty("edits");
  expect(evaluate(calls.map((record) => ({ ...record, run: "run_0" })))).toEqual({});
  const { state = null } = evaluate(calls.slice(0, 3));
  const later = calls.slice(0, 2).map((record, index) => ({ ...record, n: 40 + index }));
  expect(evaluate(later, state)).toEqual({ state: { last: 41, prints: expect.any(Array), since: null } });
});

test("EF-3: the state of the widest window stays far below 64 KiB", () => {
  const names = many(250, (index) =>
    turn(call(`${index % 3}`.repeat(16), { tool: "t".repeat(64), result: "x".repeat(16) })),
  );
  const { states } = ranWith(stallDetect, names, { window: 200, similarity_threshold: 1 });
  expect(Math.max(...states.map((state) => JSON.stringify(state).length))).toBeLessThan(32_000);
});

test("EF-41: waiting for something slow is no stall", () => {
  const waiting = { tool: "exec_wait", result: "still running", status: "ok" } as const;
  const turns = many(30, () => turn(call("job", waiting)));
  expect(nudges(ranWith(stallDetect, turns))).toEqual(["6"]);
  const ran = ranWith(stallDetect, turns, {}, { polls: (tool) => tool === "exec_wait" });
  expect([nudges(ran), ran.stop]).toEqual([[], null]);
});
