import { expect, test } from "vitest";
import { reflection } from "../../src/effects/reflection.ts";
import type { ResultStatus } from "../../src/chat/message.ts";
import { human, reply } from "./compaction/support.ts";
import type { Step } from "./compaction/support.ts";
import { contextOf, evaluated, grown, many, ranWith } from "./context.ts";

const turn = (...statuses: readonly ResultStatus[]): readonly Step[] => [
  { calls: statuses.map((status) => ({ result: "x", status })) },
];
const failing = (count: number) => many(count, () => turn("error"));

/** Iteration and count of each note. */
const counts = (turns: readonly (readonly Step[])[], params: object = {}): readonly string[] =>
  ranWith(reflection, turns, params).notes.map((note) => {
    const [, iteration, count] = /^(\d+): The tool calls of (\d+) replies/.exec(note) ?? [];
    return `${iteration}×${count}`;
  });

test("EF-17: two failed replies bring a note with the count that asks for analysis, root cause and strategy", () => {
  const { notes } = ranWith(reflection, failing(2));
  expect(notes).toHaveLength(1);
  expect(notes[0]).toMatch(/^2: .*2 replies in a row.*\n.*[Aa]nalyse.*\n.*root cause.*\n.*strategy/);
});

test("EF-17 ★: six failing replies bring notes with 2, 3, 4, 5, 6: its own notes do not break the streak", () => {
  expect(counts(failing(6))).toEqual(["2×2", "3×3", "4×4", "5×5", "6×6"]);
});

test("EF-17 ★: a success between starts anew", () => {
  expect(counts([...failing(3), turn("ok"), ...failing(2)])).toEqual(["2×2", "3×3", "6×2"]);
});

test("EF-17: a reply with an ok among its errors is a success; failures of one reply count once", () => {
  expect(counts([turn("error"), turn("error", "ok"), turn("error")])).toEqual([]);
  expect(counts([turn("error", "error", "error"), turn("error", "denied")])).toEqual(["2×2"]);
});

test("EF-17: denied, skipped and cancelled calls neither count nor break", () => {
  expect(counts([turn("denied"), turn("skipped"), turn("cancelled")])).toEqual([]);
  expect(counts([turn("error"), turn("denied"), turn("error")])).toEqual(["3×2"]);
});

test("EF-17: a message of a person breaks the streak, a reply without calls does not", () => {
  expect(counts([...failing(2), [human("Try this.")], ...failing(1)])).toEqual(["2×2"]);
  expect(counts([[...turn("error"), human("Try this.")], ...failing(2)])).toEqual(["3×2"]);
  expect(counts([turn("error"), [reply("Hm.")], turn("error")])).toEqual(["3×2"]);
});

test("EF-17: below the threshold there is no note", () => {
  expect(counts(failing(2), { failure_threshold: 3 })).toEqual([]);
  expect(counts(failing(1), { failure_threshold: 1 })).toEqual(["1×1"]);
});

test("EF-17: evaluated twice at one count it speaks once, and nothing at iteration 0", () => {
  const { chat, states } = ranWith(reflection, failing(2));
  const again = evaluated(reflection, contextOf(chat, { iteration: 2 }), {}, states.at(-1));
  expect(again).not.toHaveProperty("edits");
  expect(evaluated(reflection, contextOf(chat, { iteration: 0 }))).toEqual({});
});

test("EF-17: failures of former runs do not count", () => {
  const before = failing(4).reduce(
    (chat, steps, at) => grown(chat, steps, { run: "run_0", turn: at + 1 }),
    grown([], [human("Go")], { run: "run_0", turn: 0 }),
  );
  const view = grown(before, [{ from: "agent", say: "Again" }, ...turn("error")], { turn: 1 });
  expect(evaluated(reflection, contextOf(view, { iteration: 1 }))).not.toHaveProperty("edits");
});

test("EF-17: a streak goes on though compaction took its messages out of the view", () => {
  const { chat, states } = ranWith(reflection, failing(3));
  const view = grown(chat, turn("error"), { turn: 4 }).slice(-2);
  const { edits } = evaluated(reflection, contextOf(view, { iteration: 4 }), {}, states.at(-1));
  expect(JSON.stringify(edits)).toContain("of 4 replies");
});
