import type { Message } from "../../chat/message.ts";
import { textOf } from "../../chat/text.ts";
import type { Run } from "../state/run.ts";
import type { Thread } from "../state/thread.ts";
import type { Draft } from "../transaction/draft.ts";
import { runOf, threadOf } from "../transaction/draft.ts";

/** Returns the answer of a run: its last message, or all pieces of one that was continued; a plan is none. */
export const answerOf = (
  chat: readonly Message[],
  { id, answerFrom }: Pick<Run, "id" | "answerFrom">,
): readonly Message[] => {
  const said = chat.filter(
    ({ run, role, turn, pos }) => run === id && role === "assistant" && turn !== 0 && pos >= answerFrom,
  );
  const from = said.findLastIndex(
    ({ marks }, index) => index < said.length - 1 && marks?.includes("truncated") !== true,
  );
  return said.slice(from + 1);
};

/** Returns where an unfinished reply begins, which no effect takes out of the view; the chat's length if there is none. */
export const unfinishedReplyIndex = ({ chat, run }: Pick<Thread, "chat" | "run">): number => {
  const said = run === null ? [] : answerOf(chat, run);
  const newest = said.at(-1);
  const isUnfinished = newest === chat.at(-1) || newest?.marks?.includes("truncated") === true;
  const [piece] = isUnfinished ? said : [];
  return piece === undefined ? chat.length : chat.indexOf(piece);
};

/** Returns whether a run ended without an answer: on empty replies, or on text that a guardrail refused. */
export const isUnanswered = ({ counters }: Run): boolean => counters.empty > 0 || counters.withheld;

/** Returns the text of a run's answer so far, whatever became of it. */
export const answerText = ({ chat }: Thread, run: Run): string =>
  answerOf(chat, run)
    .map(({ parts }) => textOf(parts))
    .join("");

export const finalText = (thread: Thread, run: Run): string =>
  isUnanswered(run) ? "" : answerText(thread, run);

/** Begins a new answer, since something else was asked for: earlier text, even cut off, is no piece of it. */
export const beginAnswer = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  run.answerFrom = threadOf(draft, threadId).nextPos;
  run.counters.cutText = 0;
  run.counters.truncated = false;
};
