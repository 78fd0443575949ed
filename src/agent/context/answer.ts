import type { Message } from "../../chat/message.ts";
import { textOf } from "../../chat/text.ts";
import type { Run } from "../state/run.ts";
import type { Thread } from "../state/thread.ts";

/** The answer of a run is its last message, or all pieces of one that was cut off and went on. */
export const answerOf = (chat: readonly Message[], runId: string): readonly Message[] => {
  const said = chat.filter(({ run, role }) => run === runId && role === "assistant");
  const from = said.findLastIndex(
    ({ marks }, index) => index < said.length - 1 && marks?.includes("truncated") !== true,
  );
  return said.slice(from + 1);
};

/** It tells whether a run ended without an answer: on empty replies, or on text that a guardrail refused. */
export const isUnanswered = ({ counters }: Run): boolean => counters.empty > 0 || counters.withheld;

export const finalText = (thread: Thread, run: Run): string =>
  isUnanswered(run)
    ? ""
    : answerOf(thread.chat, run.id)
        .map(({ parts }) => textOf(parts))
        .join("");
