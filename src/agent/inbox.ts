import type { ContentPart } from "../chat/message.ts";
import type { Draft } from "./draft.ts";
import type { Input } from "./state.ts";

/** What may wait in a session's inboxes: all of it is in its memory, also after each wake (SE-24, RE-P12). */
export const mostWaiting = {
  /** Inputs of one thread. */
  inputs: 20,
  /** Characters of the text that waits for all threads: twice what one input may have. */
  characters: 2 ** 24,
} as const;

const lengthOf = (content: readonly ContentPart[]): number =>
  content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);

/** Which limit an input would pass if it waited, be it new or longer than it was; null if there is room. */
export const inboxLacks = (
  draft: Draft,
  { id, thread, content }: Pick<Input, "thread" | "content"> & { readonly id?: string },
): keyof typeof mostWaiting | null => {
  const others = Object.values(draft.state.threads).flatMap(({ inbox }) =>
    inbox.filter((input) => input.id !== id),
  );
  if (others.filter((input) => input.thread === thread).length >= mostWaiting.inputs) return "inputs";
  const waiting = others.reduce((sum, input) => sum + lengthOf(input.content), 0);
  return waiting + lengthOf(content) > mostWaiting.characters ? "characters" : null;
};
