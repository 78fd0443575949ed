import { expect, test } from "vitest";
import type { NoteEntry } from "../../src/client/transcript.ts";
import { divideIntoPages } from "../../src/console/conversation/pages.ts";

/** AP-54: how the console keeps a long thread quick. */

const entry = (at: number): NoteEntry => ({
  kind: "note",
  id: `e${at}`,
  seq: at,
  at,
  event: {
    v: 1,
    id: `e${at}`,
    seq: at,
    at,
    session: "s",
    thread: "main",
    agent: { name: "a", prefix: "" },
    type: "error",
    data: { code: "internal", message: "Something", retryable: false },
  },
  ask: null,
});

test("AP-54: a change of one entry changes one page of a thread, and new ones the last", () => {
  const entries = Array.from({ length: 100 }, (_, at) => entry(at));
  const before = divideIntoPages(entries, []);
  expect(before.length).toBe(4);
  expect(before.flat()).toEqual(entries);
  const same = (after: typeof before): readonly boolean[] => after.map((page, at) => page === before[at]);
  expect(same(divideIntoPages([...entries], before))).toEqual([true, true, true, true]);
  expect(same(divideIntoPages(entries.with(40, entry(40)), before))).toEqual([true, false, true, true]);
  expect(same(divideIntoPages([...entries, entry(100)], before))).toEqual([true, true, true, false]);
});

test("AP-54: earlier entries get pages of their own: those that are shown stay as they are", () => {
  const entries = Array.from({ length: 100 }, (_, at) => entry(at));
  const before = divideIntoPages(entries.slice(41), []);
  const after = divideIntoPages(entries, before);
  expect(after.flat()).toEqual(entries);
  expect(after.map(({ length }) => length)).toEqual([32, 9, 32, 27]);
  expect(after.slice(2).map((page, at) => page === before[at])).toEqual([true, true]);
});
