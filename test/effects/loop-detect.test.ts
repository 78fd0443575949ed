import { expect, test } from "vitest";
import { loopDetect } from "../../src/effects/loop-detect.ts";
import { human } from "./compaction/support.ts";
import type { Step } from "./compaction/support.ts";
import { contextOf, evaluated, grown, many, ranWith } from "./context.ts";

const call = (args: string, tool = "read"): NonNullable<Step["calls"]>[number] => ({
  tool,
  args,
  result: "x",
});
const turn = (...calls: NonNullable<Step["calls"]>): readonly Step[] => [{ calls }];
const a = call('{"path":"a","line":1}');
const b = call('{"path":"b"}', "search");
const c = call('{"path":"c"}', "list");

/** Iteration and count of each note. */
const counts = (turns: readonly (readonly Step[])[], params: object = {}): readonly string[] =>
  ranWith(loopDetect, turns, params).notes.map((note) => {
    const [, iteration, count] = /^(\d+): You have (?:called \S+|gone) (\d+) times/.exec(note) ?? [];
    return `${iteration}×${count}`;
  });

const same = (count: number) => many(count, () => turn(a));

test("EF-16: three identical calls are noted, with the tool and the count", () => {
  const { notes } = ranWith(loopDetect, same(3));
  expect(notes).toHaveLength(1);
  expect(notes[0]).toMatch(
    /^3: You have called read 3 times in a row with the same arguments\. .*different approach, or another tool/,
  );
});

test("EF-16 ★: fifteen identical calls are noted at 3 to 15, past the window", () => {
  const noted = counts(same(15));
  expect(noted).toEqual(Array.from({ length: 13 }, (_, index) => `${index + 3}×${index + 3}`));
});

test("EF-16: from twice the threshold on the note asks to stop and report", () => {
  const { notes } = ranWith(loopDetect, same(7));
  expect(notes.map((note) => /Stop: .*Report/.test(note))).toEqual([false, false, false, true, true]);
});

test("EF-16 ★: A-B ten times is a cycle, noted with both tools at each full repeat", () => {
  const { notes } = ranWith(
    loopDetect,
    many(20, (index) => turn(index % 2 === 0 ? a : b)),
  );
  expect(notes.map((note) => note.split(":")[0])).toEqual(["6", "8", "10", "12", "14", "16", "18", "20"]);
  expect(notes[0]).toContain(
    "You have gone 3 times through the same 2 calls with the same arguments: read, search.",
  );
});

test("EF-16: a cycle of three calls in one reply counts in their order", () => {
  expect(counts([turn(a, b, c), turn(a, b, c), turn(a, b, c), turn(a, b, c)])).toEqual(["3×3", "4×4"]);
  expect(counts([turn(a, b, c), turn(c, b, a), turn(b, a, c)])).toEqual([]);
});

test("EF-16 ★: arguments in another key order are the same call", () => {
  const turned = call('{ "line": 1, "path": "a" }');
  expect(counts([turn(a), turn(turned), turn(a)])).toEqual(["3×3"]);
});

test("EF-16: other arguments or another tool are another call", () => {
  expect(counts([turn(a), turn(a), turn(call('{"path":"a","line":2}'))])).toEqual([]);
  expect(counts([turn(a), turn(a), turn({ ...a, tool: "list" })])).toEqual([]);
});

test("EF-16: identical calls of one reply count each", () => {
  expect(counts([turn(b, a), turn(a)], { threshold: 2 })).toEqual(["2×2"]);
  expect(counts([turn(a, a, a)])).toEqual(["1×3"]);
});

test("EF-16: a broken streak is noted anew, also when both streaks end in one reply", () => {
  expect(counts([turn(a, a, a), turn(b), turn(a, a, a)])).toEqual(["1×3", "3×3"]);
  expect(counts([turn(a, a, a), turn(b, b, b)])).toEqual(["1×3", "2×3"]);
});

test("EF-16: a streak must reach the threshold within the window", () => {
  const cycle = many(6, (index) => turn(index % 2 === 0 ? a : b));
  expect(counts(cycle, { threshold: 3, window_size: 6 })).toEqual(["6×3"]);
  expect(counts(cycle, { threshold: 3, window_size: 5 })).toEqual([]);
});

test("EF-16: evaluated twice in a turn it speaks once; it may speak again when its state is new", () => {
  const { chat, states } = ranWith(loopDetect, same(3));
  const context = contextOf(chat, { iteration: 3 });
  expect(evaluated(loopDetect, context, {}, states.at(-1))).not.toHaveProperty("edits");
  expect(evaluated(loopDetect, context).edits).toHaveLength(1);
});

test("EF-16: nothing at iteration 0, and the calls of former runs do not count", () => {
  const before = same(5).reduce(
    (chat, steps, at) => grown(chat, steps, { run: "run_0", turn: at + 1 }),
    grown([], [human("Go")], { run: "run_0", turn: 0 }),
  );
  const view = grown(before, [human("Again"), ...turn(a)], { turn: 1 });
  expect(evaluated(loopDetect, contextOf(view, { iteration: 1 }))).not.toHaveProperty("edits");
  expect(evaluated(loopDetect, contextOf(before, { iteration: 0, run: "run_0" }))).toEqual({});
});

test("EF-16: a streak goes on though compaction took its messages out of the view", () => {
  const { chat, states } = ranWith(loopDetect, same(5));
  const view = grown(chat, turn(a), { turn: 6 }).slice(-2);
  const { edits } = evaluated(loopDetect, contextOf(view, { iteration: 6 }), {}, states.at(-1));
  expect(JSON.stringify(edits)).toContain("read 6 times");
});

test("EF-3: its state stays small however long the calls and the run are", () => {
  const long = call(JSON.stringify({ text: "x".repeat(10_000) }));
  const { states } = ranWith(
    loopDetect,
    many(40, () => turn(long, long, b)),
  );
  expect(Math.max(...states.map((state) => JSON.stringify(state).length))).toBeLessThan(500);
});
