import { expect, test } from "vitest";
import { progress } from "../../src/effects/progress.ts";
import { chatOf, human, use } from "./compaction/support.ts";
import { contextOf, evaluated, many, ranWith } from "./context.ts";

const turns = (count: number) => many(count, () => [use("x")]);
const iterations = (params: object, tools: readonly string[] = ["write_note"]): readonly string[] =>
  ranWith(progress, turns(9), params, { tools }).notes.map((note) => note.split(":")[0] ?? "");

test("EF-18: an interval of 3 asks at iterations 3, 6 and 9, never at 0", () => {
  expect(iterations({ interval: 3 })).toEqual(["3", "6", "9"]);
  expect(iterations({ interval: 1 })).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
});

test("EF-18: it asks for a note on what is done, what remains and what blocks", () => {
  const { notes } = ranWith(progress, turns(5), {}, { tools: ["write_note"] });
  expect(notes).toHaveLength(1);
  expect(notes[0]).toMatch(/^5: .*write_note.*done.*remains.*blocks/);
});

test("EF-18 ★: without write_note among the run's tools it never asks", () => {
  expect(iterations({ interval: 3 }, ["read_note", "fs_read"])).toEqual([]);
});

test("EF-18: a repair turn of the same iteration is not asked again", () => {
  const context = contextOf(chatOf([human("Go")]), { iteration: 3, tools: ["write_note"] });
  const { state = null, edits } = evaluated(progress, context, { interval: 3 });
  expect(edits).toHaveLength(1);
  expect(evaluated(progress, context, { interval: 3 }, state)).toEqual({});
});
