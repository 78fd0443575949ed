import { expect, test } from "vitest";
import { estimateText } from "../../../src/chat/tokens.ts";
import {
  transcriptBudget,
  splitIntoChunks,
  chunkRatio,
  chunkSize,
  truncateToTokens,
} from "../../../src/effects/compaction/chunks.ts";
import type { TranscriptPiece } from "../../../src/effects/compaction/transcript.ts";

const piece = (start: number, tokens: number, messages = 1): TranscriptPiece => ({
  block: { start, end: start + messages },
  text: "abcd".repeat(tokens),
  tokens,
});

test("EF-20: the budget is the window over 1.2, less 4 096", () => {
  expect(transcriptBudget(128_000)).toBe(102_570);
  expect(transcriptBudget(16_000)).toBe(9_237);
  expect(transcriptBudget(0)).toBeLessThan(500);
});

test("EF-20: the ratio falls with the average message, between 0.15 and 0.4; of nothing it is 0.4", () => {
  expect(chunkRatio(null, 100_000)).toBe(0.4);
  expect(chunkRatio(0, 100_000)).toBe(0.4);
  expect(chunkRatio(20_000, 100_000)).toBeCloseTo(0.3);
  expect(chunkRatio(90_000, 100_000)).toBe(0.15);
});

test("EF-20: a chunk is that share of the budget, and 500 tokens at least; messages count, not blocks", () => {
  expect(chunkSize([], 128_000)).toBe(41_028);
  expect(chunkSize([piece(0, 51_200, 4)], 128_000)).toBe(Math.floor(102_570 * 0.35));
  expect(chunkSize([], 5_000)).toBe(500);
});

test("EF-20: pieces stay in order and whole, and fill the chunks from the first", () => {
  const chunks = splitIntoChunks(
    [piece(0, 400), piece(1, 400), piece(2, 400), piece(3, 200)],
    1_000,
    estimateText,
  );
  expect(chunks.map((chunk) => chunk.map(({ block }) => block.start))).toEqual([
    [0, 1],
    [2, 3],
  ]);
});

test("EF-20: a piece larger than a chunk is a chunk of its own, cut to its size", () => {
  const chunks = splitIntoChunks([piece(0, 400), piece(1, 4_000), piece(2, 400)], 1_000, estimateText);
  expect(chunks.map((chunk) => chunk.map(({ block }) => block.start))).toEqual([[0], [1], [2]]);
  expect(chunks[1]?.[0]?.tokens).toBeLessThanOrEqual(1_000);
  expect(chunks[1]?.[0]?.text).toMatch(/^abcd.*characters left out.*abcd$/s);
});

test("EF-20: a text is cut to tokens, not to characters", () => {
  const cut = truncateToTokens("🐚".repeat(5_000), 500, estimateText);
  expect(estimateText(cut)).toBeLessThanOrEqual(500);
  expect(estimateText(cut)).toBeGreaterThan(300);
  expect(truncateToTokens("short", 500, estimateText)).toBe("short");
});
