import { blockStart, blocksOf, isBlockPinned } from "../../chat/blocks.ts";
import type { Block } from "../../chat/blocks.ts";
import type { Message } from "../../chat/message.ts";

/** Finds the range of messages that a summary may replace. */

/** Whole blocks from the beginning of a view, without pinned ones. */
export interface MessageRange {
  readonly view: readonly Message[];
  /** Blocks to summarise, in order, without former summaries. */
  readonly blocks: readonly Block[];
  /** Summaries that the new one absorbs, so that there is never a second one. */
  readonly former: readonly Message[];
  /** Messages that leave the view, including former summaries, in order. */
  readonly gone: readonly Message[];
}

/** Returns the range before an index at which a block begins; it always includes a former summary. */
export const rangeBefore = (view: readonly Message[], edge: number): MessageRange => {
  const free = blocksOf(view).filter(({ start }) => !isBlockPinned(view, start));
  const inside = free.filter(({ start }) => start < edge);
  const isSummary = ({ start }: Block): boolean => view[start]?.summary !== undefined;
  const blocks = inside.filter((block) => !isSummary(block));
  const former = free.filter(isSummary);
  const all = blocks.length === 0 ? inside : free.filter((block) => block.start < edge || isSummary(block));
  return {
    view,
    blocks,
    former: former.flatMap(({ start }) => view[start] ?? []),
    gone: all.flatMap(({ start, end }) => view.slice(start, end)),
  };
};

/** Returns the index from which the newest turns begin, including the messages that they answer. */
const findNewestTurns = (view: readonly Message[], turns: number): number => {
  let at = view.length;
  for (let left = turns; left > 0 && at >= 0;) {
    at -= 1;
    if (view[at]?.role === "assistant") left -= 1;
  }
  while (at > 0 && view[at - 1]?.role === "user" && view[at - 1]?.summary === undefined) at -= 1;
  return Math.max(0, at);
};

/**
 * Returns the index of the first message that must stay whole: it is part of the newest turns, or no model call has
 * seen it.
 */
export const tailStart = (view: readonly Message[], unread: number, keepTurns = 0): number => {
  const tail = unread < view.length ? blockStart(view, unread) : view.length;
  return keepTurns === 0 ? tail : Math.min(tail, findNewestTurns(view, keepTurns));
};
