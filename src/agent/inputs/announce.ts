import { pauseAfter } from "../state/wait.ts";
import { textOf } from "../../chat/text.ts";
import { isUnanswered } from "../context/answer.ts";
import type { EndReason, RunState } from "../state/events.ts";
import type { Input, Thread } from "../state/thread.ts";
import type { Run } from "../state/run.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, appendMessage, threadOf } from "../transaction/draft.ts";
import { findInput } from "./inputs.ts";
import { isAgentMessage } from "../state/thread.ts";

/** Keeps background results until the person has got them. */

/** Returns whether a run gave the person an answer; a light, a compacting and an unanswered run give none. */
export const hasAnnounced = (run: Run, state: RunState): boolean =>
  state === "completed" && !run.light && run.inputs.length > 0 && !isUnanswered(run);

const noAnnouncement: NonNullable<Thread["announce"]> = { runs: [], inputs: [], wait: null };

/** Returns what a run announces: unreported and new results; a new one restarts the tries. */
export const announcementOf = ({ announce }: Thread, run: Run): Thread["announce"] => {
  const { runs, inputs } = announce ?? noAnnouncement;
  const fresh = run.inputs.filter((id) => !inputs.includes(id));
  return { runs: [...(fresh.length === 0 ? runs : []), run.id], inputs: [...inputs, ...fresh], wait: null };
};

const isQuestionOpen = ({ state }: Draft, question: string): boolean =>
  Object.values(state.threads).some(({ child }) => child?.question?.id === question);

/** Lists messages of agents, and their questions as long as nobody has answered them. */
const findAgentMessages = (draft: Draft, ids: readonly string[]): readonly Input[] =>
  ids
    .flatMap((id) => findInput(draft, id) ?? [])
    .filter(
      (input) =>
        isAgentMessage(input) && (input.question === undefined || isQuestionOpen(draft, input.question)),
    );

/** Repeats agents' messages for a run that reports them, since the chat may have shrunk since they came. */
export const repeatAgentMessages = (draft: Draft, threadId: string): void => {
  const { chat, announce, run } = threadOf(draft, threadId);
  if (announce === null || run === null || run.light || run.turn > 1) return;
  for (const { content } of findAgentMessages(draft, announce.inputs))
    if (!chat.some(({ parts }) => textOf(parts).includes(textOf(content))))
      appendMessage(draft, threadId, { role: "user", origin: "agent", parts: content });
};

/** Appends undelivered results to the chat, which may have shrunk; agents' questions are none for a person. */
const appendUndelivered = (draft: Draft, threadId: string, inputs: readonly string[]): void => {
  threadOf(draft, threadId).announce = null;
  const text = findAgentMessages(draft, inputs)
    .filter(({ question }) => question === undefined)
    .map(({ content }) => textOf(content))
    .join("\n\n");
  if (text !== "")
    appendMessage(
      draft,
      threadId,
      { role: "assistant", origin: "agent", parts: [{ type: "text", text }] },
      true,
    );
};

/** Stops the announcements of a resting thread that a person stopped: nothing starts by itself any more. */
export const stopAnnouncement = (draft: Draft, threadId: string): void =>
  appendUndelivered(draft, threadId, threadOf(draft, threadId).announce?.inputs ?? []);

/** Settles the results that a run took: those it did not report are announced later or left in the chat. */
export const settleAnnouncement = (
  draft: Draft,
  threadId: string,
  run: Run,
  { state, reason }: { readonly state: RunState; readonly reason: EndReason },
): void => {
  const thread = threadOf(draft, threadId);
  const { runs, inputs: known } = thread.announce ?? noAnnouncement;
  const taken = run.inputs.filter((id) => !known.includes(id));
  const messageIds = findAgentMessages(draft, taken).map(({ id }) => id);
  if (run.cancel?.reason === "cancelled")
    return appendUndelivered(draft, threadId, [...known, ...messageIds]);
  if (messageIds.length === 0 && runs.at(-1) !== run.id) return;
  const { retries, backoff } = agentOf(draft, threadId).delegation.announce;
  const tries = messageIds.length > 0 ? [run.id] : runs;
  const inputs = [...known, ...(run.announces && reason !== "rolled_back" ? taken : messageIds)];
  // A run that a person's own run replaces is no failed try; if that one completes, the announcement is over.
  const counted = state === "cancelled" ? tries.slice(0, -1) : tries;
  if (counted.length > retries || findAgentMessages(draft, inputs).length === 0)
    return appendUndelivered(draft, threadId, inputs);
  const until = draft.context.now + pauseAfter(tries.length - 1, backoff);
  thread.announce = { runs: counted, inputs, wait: { on: "retry", until } };
};
