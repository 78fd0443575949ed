import type { EffectContext } from "../../agent/definition/effect.ts";
import { truncateMiddle } from "../shortened/texts.ts";
import type { TranscriptPiece } from "./transcript.ts";

/** Divides a long transcript into calls. Sizes are tokens. */

const callOverhead = 4_096;
const safetyMargin = 1.2;
const baseRatio = 0.4;
const leastRatio = 0.15;
const leastChunk = 500;

/** Window that is assumed if none is known. */
export const unknownWindow = 128_000;

/** Returns the window of a summary: the run's or, if smaller, that of the model that writes the summary. */
export const summaryWindow = (window: number, { callWindow }: Pick<EffectContext, "callWindow">): number =>
  Math.min(window, callWindow === 0 ? unknownWindow : callWindow);

/** Returns the tokens of transcript that one call may carry. */
export const transcriptBudget = (window: number): number => Math.floor(window / safetyMargin) - callOverhead;

/** Budget below which no model is asked for a summary. */
export const leastBudget = 500;

/** Returns the share of the budget for a chunk: the larger the messages, the smaller the share. */
export const chunkRatio = (average: number | null, window: number): number =>
  average === null
    ? baseRatio
    : Math.min(baseRatio, Math.max(leastRatio, baseRatio - (0.5 * average) / window));

/** Returns the tokens that one chunk may have. */
export const chunkSize = (pieces: readonly TranscriptPiece[], window: number): number => {
  const messages = pieces.reduce((sum, { block }) => sum + block.end - block.start, 0);
  const total = pieces.reduce((sum, { tokens }) => sum + tokens, 0);
  const average = messages === 0 ? null : total / messages;
  return Math.max(leastChunk, Math.floor(transcriptBudget(window) * chunkRatio(average, window)));
};

const quotedTokens = 1_000;

/** Returns whether a chunk is quoted unchanged beside others: a summary of so little would not be shorter. */
export const isQuotable = (chunk: readonly TranscriptPiece[], size: number): boolean =>
  chunk.reduce((sum, { tokens }) => sum + tokens, 0) < Math.min(quotedTokens, size / 2);

/** Cuts a text in its middle until it has at most `max` tokens. */
export const truncateToTokens = (text: string, max: number, tokens: (text: string) => number): string => {
  let cut = text;
  let { length } = text;
  while (tokens(cut) > max && length > 0) {
    length = Math.floor((length * max) / (tokens(cut) + 16));
    cut = truncateMiddle(text, length);
  }
  return cut;
};

/** Groups items in order, so that no group is larger than `most`, unless one item alone is. */
export const groupBySize = <T>(
  items: readonly T[],
  most: number,
  sizeOf: (item: T) => number,
): readonly (readonly T[])[] => {
  const groups: T[][] = [];
  let room = 0;
  for (const item of items) {
    const size = sizeOf(item);
    const open = groups.at(-1);
    if (open !== undefined && size <= room) open.push(item);
    else {
      groups.push([item]);
      room = most;
    }
    room -= size;
  }
  return groups;
};

/** Groups pieces into chunks of at most `size`; a larger piece is a chunk of its own, with details cut. */
export const splitIntoChunks = (
  pieces: readonly TranscriptPiece[],
  size: number,
  tokens: (text: string) => number,
): readonly (readonly TranscriptPiece[])[] => {
  const fitted = pieces.map((piece) => {
    const text = truncateToTokens(piece.text, size, tokens);
    return text === piece.text ? piece : { ...piece, text, tokens: tokens(text) };
  });
  return groupBySize(fitted, size, (piece) => piece.tokens);
};
