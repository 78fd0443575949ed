import { expect, test } from "vitest";
import { wordsOf } from "../../../../src/chat/text.ts";
import {
  cosineSimilarity,
  packVector,
  queryWords,
  selectCandidates,
  unpackVector,
} from "../../../../src/engine/access/tenant/recall.ts";
import {
  addMemories,
  recallMemories,
  recentMemories,
} from "../../../../src/engine/access/tenant/memories.ts";
import { memoryTables } from "../tables.ts";

/** How remembered texts are found (AG-41). */

const candidate = (text: string, near: number | null = null) => ({
  text,
  words: new Set(wordsOf(text)),
  cosine: near,
});

const texts = (found: ReturnType<typeof selectCandidates<ReturnType<typeof candidate>>>): readonly string[] =>
  found.map(({ candidate: { text } }) => text);

const all = { limit: 10, threshold: 0 };

test("AG-41: words are found in any script; those that say nothing are no query, unless there are no others", () => {
  expect(wordsOf("Der Kiel-Kanal, 3.14!")).toEqual(["der", "kiel", "kanal", "3.14"]);
  expect(wordsOf("私の船はキールにあります").length).toBeGreaterThan(3);
  expect([...queryWords("Where is the boat?")]).toEqual(["boat"]);
  expect([...queryWords("who are you")]).toEqual(["who", "are", "you"]);
  expect(queryWords(Array.from({ length: 500 }, (_, n) => `word${n}`).join(" ")).size).toBe(64);
});

test("AG-41: a rare word counts more than one that all have; what shares nothing is never found", () => {
  const found = selectCandidates(
    ["boat red", "boat blue", "boat green", "boat anchor", "house"].map((text) => candidate(text)),
    queryWords("boat anchor"),
    all,
  );
  expect(texts(found)).toHaveLength(4);
  expect(texts(found)[0]).toBe("boat anchor");
  expect(found[0]?.score).toBe(1);
  expect(found[1]?.score).toBeLessThan(0.4);
});

test("AG-41: a long input needs no more than eight of its words", () => {
  const long = queryWords(Array.from({ length: 60 }, (_, n) => `word${n}`).join(" "));
  const eight = candidate("word1 word2 word3 word4 word5 word6 word7 word8");
  expect(selectCandidates([eight], long, all)[0]?.score).toBe(1);
  expect(selectCandidates([candidate("word1")], long, all)[0]?.score).toBeCloseTo(1 / 8);
});

test("AG-41: the threshold bounds both ways of finding, and equal is enough", () => {
  const near = [candidate("one", 0.4), candidate("two", 0.39), candidate("boat", null)];
  expect(texts(selectCandidates(near, queryWords("boat sail keel"), { limit: 10, threshold: 0.4 }))).toEqual([
    "one",
  ]);
  expect(texts(selectCandidates(near, queryWords("boat"), { limit: 10, threshold: 0.4 }))).toEqual([
    "boat",
    "one",
  ]);
});

test("AG-41: MMR with λ 0.7: the second is what adds, not what repeats the first", () => {
  const found = selectCandidates(
    [candidate("a b c d e", 0.9), candidate("a b c d f", 0.88), candidate("v w x y z", 0.7)],
    queryWords("q"),
    { limit: 2, threshold: 0.4 },
  );
  expect(texts(found)).toEqual(["a b c d e", "v w x y z"]);
  expect(found.map(({ score }) => score)).toEqual([0.9, 0.7]);
});

test("AG-41: packed vectors compare almost as the given ones; of different lengths they do not", () => {
  const of = (seed: number): readonly number[] =>
    Array.from({ length: 1_536 }, (_, n) => Math.sin(seed * (n + 1)));
  const exact = (a: readonly number[], b: readonly number[]): number => {
    const dot = (x: readonly number[], y: readonly number[]): number =>
      x.reduce((sum, each, n) => sum + each * (y[n] ?? 0), 0);
    return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  };
  for (const [a, b] of [
    [of(1), of(1.0001)],
    [of(1), of(2)],
    [of(3), of(3).map((each) => -each)],
  ] as const)
    expect(cosineSimilarity(unpackVector(packVector(a)), unpackVector(packVector(b)))).toBeCloseTo(
      exact(a, b),
      2,
    );
  expect(cosineSimilarity(unpackVector(packVector([1, 0])), unpackVector(packVector([1, 0, 0])))).toBe(0);
  expect(cosineSimilarity(unpackVector(packVector([0, 0])), unpackVector(packVector([1, 0])))).toBe(0);
});

const row = (n: number, more: object = {}) => ({
  id: `s/${n}`,
  at: n,
  owner: "subject:ada",
  session: "s",
  createdAt: 1,
  run: `run_${n}`,
  agent: "a",
  text: `Text number ${n}`,
  tags: [],
  vector: null,
  ...more,
});

const nothing = { session: "", runs: [], told: [] };

const query = { vector: null, limit: 5, threshold: 0, seen: nothing, beyond: 0 };

test("AG-41: rows are kept once by their id, and no more than 10 000 of an owner: the oldest leave, with their words", () => {
  const { tables } = memoryTables();
  const rows = Array.from({ length: 10_005 }, (_, n) => row(n + 1));
  addMemories(tables, rows);
  addMemories(tables, rows.slice(-5));
  expect(tables.read("SELECT count(*) AS n FROM memories")[0]?.["n"]).toBe(10_000);
  expect(recallMemories(tables, "subject:ada", { ...query, text: "5" })).toEqual([]);
  expect(recallMemories(tables, "subject:ada", { ...query, text: "10005" })[0]?.text).toBe(
    "Text number 10005",
  );
  expect(recentMemories(tables, "subject:ada", 2, nothing).map(({ text }) => text)).toEqual([
    "Text number 10005",
    "Text number 10004",
  ]);
  expect(recentMemories(tables, "subject:eve", 2, nothing)).toEqual([]);
});

test("AG-41: queries hold any characters", () => {
  const { tables } = memoryTables();
  addMemories(tables, [row(1, { text: "don't \"quote\" OR 1=1 NEAR(a) ' ; owner:o2 *" })]);
  for (const text of [
    "don't",
    '"quote"',
    "' OR 1=1; --",
    "NEAR(a b)",
    "owner:o1",
    "*",
    "",
    "\u0000",
    "NOT AND OR",
  ])
    expect(() => recallMemories(tables, "subject:ada", { ...query, text })).not.toThrow();
  expect(recallMemories(tables, "subject:ada", { ...query, text: "don't quote" })).toHaveLength(1);
});

test("AG-41: vectors of another model are not compared", () => {
  const { tables } = memoryTables();
  const vector = { by: "p/old", bytes: packVector([1, 0]) };
  addMemories(tables, [row(1, { vector })]);
  const found = (by: string) =>
    recallMemories(tables, "subject:ada", {
      ...query,
      text: "unlike",
      vector: { by, bytes: vector.bytes },
    });
  expect(found("p/old").map(({ score }) => score)).toEqual([1]);
  expect(found("p/new")).toEqual([]);
});
