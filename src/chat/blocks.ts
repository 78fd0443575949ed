import type { Message } from "./message.ts";

/** A block is a message with everything that may not be separated from it: an assistant message and its results. */

/** The index of the first message of the block that contains `at`. */
export const blockStart = (chat: readonly Message[], at: number): number => {
  let start = at;
  while (start > 0 && chat[start]?.role === "tool") start -= 1;
  return start;
};

/** The index after the last message of the block that contains `at`. */
export const blockEnd = (chat: readonly Message[], at: number): number => {
  let end = at + 1;
  while (chat[end]?.role === "tool") end += 1;
  return end;
};

/** Whether a message, and with it its block, must stay in the view unchanged. */
const isPinned = ({ marks = [] }: Message): boolean => marks.includes("pinned") || marks.includes("plan");

/** Whether the block that contains `at` is pinned. */
export const isBlockPinned = (chat: readonly Message[], at: number): boolean => {
  const end = blockEnd(chat, at);
  for (let index = blockStart(chat, at); index < end; index++) {
    const message = chat[index];
    if (message !== undefined && isPinned(message)) return true;
  }
  return false;
};

/** The bounds of a block: index of its first message, and the index after its last. */
export interface Block {
  readonly start: number;
  readonly end: number;
}

/** Lists the blocks of a chat in order. */
export const blocksOf = (chat: readonly Message[]): readonly Block[] => {
  const blocks: Block[] = [];
  for (let start = 0; start < chat.length; start = blocks.at(-1)?.end ?? chat.length)
    blocks.push({ start, end: blockEnd(chat, start) });
  return blocks;
};
