import type { Message } from "../../chat/message.ts";
import { textOf } from "../../chat/text.ts";
import type { Run } from "../state/run.ts";
import type { Thread } from "../state/thread.ts";

/** The last thing a run said: one message, or all pieces of one that was cut off and went on. */
export const answerOf = (chat: readonly Message[], runId: string): readonly Message[] => {
  const said = chat.filter(({ run, role }) => run === runId && role === "assistant");
  const from = said.findLastIndex(
    ({ marks }, index) => index < said.length - 1 && marks?.includes("truncated") !== true,
  );
  return said.slice(from + 1);
};

/** Whether a run ended without an answer: on empty replies, or on words that a guardrail did not let pass. */
export const isUnanswered = ({ counters }: Run): boolean => counters.empty > 0 || counters.withheld === true;

export const finalText = (thread: Thread, run: Run): string =>
  isUnanswered(run)
    ? ""
    : answerOf(thread.chat, run.id)
        .map(({ parts }) => textOf(parts))
        .join("");
