import type { ContentPart, Json, Message } from "../../chat/message.ts";
import { titleOf, textOf } from "../../chat/text.ts";
import { deadlineOf } from "../budgets/limits.ts";
import { resetGuards } from "../calls/after-guards.ts";
import { endOpenCalls } from "../calls/tool-calls.ts";
import { withdrawPlan } from "../hooks/plan.ts";
import { skipQuestion, skipVerification } from "../hooks/preparing.ts";
import { rememberInput } from "../memory/memories.ts";
import type { Input, Thread } from "../state/thread.ts";
import { isAgentMessage, steeringInputsOf, waitingInputsOf } from "../state/thread.ts";
import type { Draft, ThreadDraft } from "../transaction/draft.ts";
import {
  agentOf,
  appendMessage,
  emit,
  runOf,
  threadOf,
  nextMessageId,
  appendNote,
  selectThread,
} from "../transaction/draft.ts";
import { beginAnswer, isUnanswered } from "../context/reports.ts";
import { parseJson } from "../../chat/json.ts";
import { truncateText, isLonger } from "../../chat/truncate.ts";
import { pauseAfter } from "../state/ask.ts";
import type { RunState } from "../state/events.ts";
import type { Run, RunEnding } from "../state/run.ts";

/** Accepts, applies, withdraws or returns inputs. */

const leaveInbox = (draft: Draft, input: Input, status: Input["status"]): void => {
  const thread = threadOf(draft, input.thread);
  thread.inbox = thread.inbox.filter(({ id }) => id !== input.id);
  draft.inputs.push({ ...input, status });
};

/** Reads the input from the inbox or from storage; undefined if the id is unknown. */
export const findInput = (draft: Draft, id: string): Input | undefined =>
  draft.inputs.findLast((each) => each.id === id) ?? draft.context.input(id) ?? undefined;

/** Returns whether the id of a number is taken; none is before the first input. */
const isIdTaken = (draft: Draft, number: number): boolean =>
  number > 1 && findInput(draft, `in_${number}`) !== undefined;

/** Returns the id that the sender of a new input chose, otherwise the next unused one. */
export const assignInputId = (draft: Draft, chosen?: string): string => {
  let number = draft.state.nextInput;
  if (chosen === undefined) while (isIdTaken(draft, number)) number += 1;
  draft.state.nextInput = number + 1;
  return chosen ?? `in_${number}`;
};

/** Gives a session that has never had a title the beginning of a person's first text as one, and returns it. */
const nameSession = ({ state }: Draft, { thread, origin, content }: Input): string | null => {
  if (state.named || thread !== "main" || origin !== "human") return null;
  const title = titleOf(content);
  if (title !== null) Object.assign(state, { title, named: true });
  return title;
};

/** Stores an input; its mode decides what it does to an active run. */
export const acceptInput = (draft: Draft, input: Input): void => {
  const receiver = selectThread(draft, input.thread);
  const { thread } = receiver;
  const title = nameSession(draft, input);
  const ahead = input.on_busy === "interrupt" || input.on_busy === "rollback";
  thread.inbox = ahead ? [input, ...thread.inbox] : [...thread.inbox, input];
  draft.inputs.push(input);
  const { id, content, on_busy, sender } = input;
  emit(receiver, "input_accepted", {
    input: id,
    content: content as unknown as Json,
    on_busy,
    sender,
    ...(title === null ? {} : { title }),
  });
  if (on_busy === "steer" && input.origin === "human") makeWay(receiver);
};

/** Makes way for a person who steers: gives up the calls and questions that a run has open. */
const makeWay = (draft: ThreadDraft): void => {
  if (draft.thread.run === null) return;
  endOpenCalls(draft, "skipped", "unstarted");
  skipQuestion(draft);
  skipVerification(draft);
  withdrawPlan(draft);
};

/** Makes an input a message of its thread. */
export const applyInput = (draft: Draft, input: Input, steering: boolean): void => {
  const receiver = selectThread(draft, input.thread);
  const { thread } = receiver;
  leaveInbox(draft, input, "applied");
  appendEpisodes(receiver, input);
  const message = nextMessageId(thread);
  emit(receiver, "input_applied", { input: input.id, message });
  if (steering) emit(receiver, "steering_injected", { input: input.id, message });
  const stored = appendMessage(receiver, {
    role: "user",
    origin: input.origin,
    parts: input.content,
    ...(input.sender === null ? {} : { sender: input.sender }),
    ...(steering ? { marks: ["steering"] } : {}),
  });
  if (thread.firstInput === null) thread.firstInput = stored;
  takeNoteOfInput(receiver, input);
};

/** Lets the memory and the guards of the agent take note of an input. */
export const takeNoteOfInput = (draft: ThreadDraft, input: Input): void => {
  rememberInput(draft, input);
  if (input.origin === "human") resetGuards(draft, "input");
};

export const withdrawInput = (draft: Draft, input: Input): void => {
  leaveInbox(draft, input, "withdrawn");
  emit(selectThread(draft, input.thread), "input_withdrawn", { input: input.id });
};

type GivenInput = Omit<Input, "sender" | "status" | "at" | "version"> & Partial<Pick<Input, "sender">>;

/** Creates an input that nobody has seen yet. */
export const createInput = (draft: Draft, given: GivenInput): Input => ({
  sender: null,
  status: "accepted",
  at: draft.context.now,
  version: 1,
  ...given,
});

/** A withdrawal may overtake its input, whose request is still on its way: the id is taken, so that it is refused. */
export const closeInputId = (draft: Draft, id: string): void => {
  const input = createInput(draft, { id, thread: "main", content: [], on_busy: "reject", origin: "human" });
  draft.inputs.push({ ...input, status: "withdrawn" });
  emit(selectThread(draft, "main"), "input_withdrawn", { input: id });
};

export const returnInput = (
  draft: Draft,
  input: Input,
  reason: "cancelled" | "cleared" | "no_budget",
): void => {
  leaveInbox(draft, input, "returned");
  emit(selectThread(draft, input.thread), "input_returned", {
    input: input.id,
    content: input.content as unknown as Json,
    reason,
  });
};

/** Returns whether it is the result of other agents' work; their questions do not concern a person. */
const isAgentResult = (input: Input): boolean => isAgentMessage(input) && input.question === undefined;

/** Returns whether an input of an inbox only goes to the chat: what agents send there steers, unless it is left to a stopped one. */
export const isLeftMessage = ({ origin, on_busy: onBusy }: Input): boolean =>
  origin === "agent" && onBusy === "queue";

/** Returns these inputs of an inbox to their sender after a cancel, except results. */
export const returnInputs = (draft: ThreadDraft, ids: readonly string[]): void => {
  for (const input of draft.thread.inbox)
    if (ids.includes(input.id) && !isAgentResult(input) && !isLeftMessage(input))
      returnInput(draft, input, "cancelled");
};

/** Appends what agents told as an answer that no model gave; a chat that a rollback has emptied begins with a note. */
const appendForPerson = (draft: ThreadDraft, parts: Input["content"]): Message => {
  if (draft.thread.chat.length === 0) appendNote(draft, "Work in the background has ended.");
  return appendMessage(draft, { role: "assistant", origin: "agent", parts }, true);
};

/** Appends a result to the chat as it is, since no run will take it. */
export const appendAgentResult = (draft: Draft, input: Input): void => {
  leaveInbox(draft, input, "applied");
  const receiver = selectThread(draft, input.thread);
  const { id: message } = appendForPerson(receiver, input.content);
  emit(receiver, "input_applied", { input: input.id, message });
};

/** Empties an inbox that no run will take: results stay in the chat, and other inputs return to their senders. */
export const emptyInbox = (draft: ThreadDraft, reason: "cleared" | "no_budget"): void => {
  for (const input of draft.thread.inbox)
    if (isAgentResult(input)) appendAgentResult(draft, input);
    else returnInput(draft, input, reason);
};

/** Gives an accepted input new content, another position in its inbox, or leave to join the run. */
export const changeInput = (
  draft: Draft,
  input: Input,
  change: {
    readonly content?: Input["content"];
    readonly place?: number;
    readonly on_busy?: "steer" | undefined;
  },
): Input => {
  const receiver = selectThread(draft, input.thread);
  const { thread } = receiver;
  const changed: Input = {
    ...input,
    ...(change.content === undefined ? {} : { content: change.content }),
    on_busy: change.on_busy ?? input.on_busy,
    version: input.version + 1,
  };
  const others = thread.inbox.filter(({ id }) => id !== input.id);
  const at = change.place ?? thread.inbox.findIndex(({ id }) => id === input.id);
  thread.inbox = others.toSpliced(at, 0, changed);
  draft.inputs.push(changed);
  const { id, content, on_busy } = changed;
  emit(receiver, "input_edited", {
    input: id,
    content: content as unknown as Json,
    on_busy,
    before: thread.inbox[thread.inbox.indexOf(changed) + 1]?.id ?? null,
  });
  if (change.on_busy === "steer") makeWay(receiver);
  return changed;
};

/** Lets steered inputs join the run with the newest schema; a person's gives an announcement a full run's time. */
export const joinSteeringInputs = (draft: ThreadDraft): void => {
  for (const input of steeringInputsOf(draft.thread)) {
    const run = runOf(draft);
    const { announces, startedAt } = run;
    run.inputs = [...run.inputs, input.id];
    run.outputSchema = input.output_schema ?? run.outputSchema;
    if (input.origin === "human") beginAnswer(draft);
    if (announces && input.origin === "human") run.deadline = deadlineOf(agentOf(draft), startedAt, false);
    applyInput(draft, input, true);
  }
};

/** Limits of a session's inboxes, since all of it is in its memory, also after each wake. */
export const inboxLimits = {
  /** Number of inputs of one thread. */
  inputs: 20,
  /** Characters of the text that waits for all threads: twice what one input may have. */
  characters: 2 ** 24,
} as const;

const lengthOf = (content: readonly ContentPart[]): number =>
  content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);

/** Finds the limit that a new or longer input would exceed if it waited; null if none. */
export const findInboxLimit = (
  draft: Draft,
  { id, thread, content }: Pick<Input, "thread" | "content"> & { readonly id?: string },
): keyof typeof inboxLimits | null => {
  const others = waitingInputsOf(draft.state).filter((input) => input.id !== id);
  if (others.filter((input) => input.thread === thread).length >= inboxLimits.inputs) return "inputs";
  const waiting = others.reduce((sum, input) => sum + lengthOf(input.content), 0);
  return waiting + lengthOf(content) > inboxLimits.characters ? "characters" : null;
};

/** Earlier attempts at an input's work are summarized by its sender and by the failed run. */

const mostEpisodes = 8;

const longestEpisodes = 4_000;

const episodesHeader = "Results of earlier attempts:";

const formatEpisodes = (summaries: readonly string[]): string =>
  [episodesHeader, ...summaries.map((summary, index) => `${index + 1}. ${summary}`)].join("\n");

/** Returns the summaries of a text: a JSON array of texts, or any other text as one summary. */
const parseEpisodes = (text: string): readonly unknown[] => {
  const value = parseJson(text);
  return Array.isArray(value) && value.every((each) => typeof each === "string") ? value : [text];
};

/** Selects the newest 8 summaries that fit into 4 000 characters, that of the thread's `own` failed run included. */
export const selectEpisodes = (given: string | readonly string[], own = ""): readonly string[] => {
  const listed = typeof given === "string" ? parseEpisodes(given) : given;
  const all = listed.includes(own) ? listed : [...listed, own];
  let kept = all
    .map((each) => String(each).trim())
    .filter((each) => each !== "")
    .slice(-mostEpisodes);
  while (kept.length > 1 && isLonger(formatEpisodes(kept), longestEpisodes)) kept = kept.slice(1);
  const [only = ""] = kept;
  const room = longestEpisodes - formatEpisodes([""]).length;
  return kept.length === 1 ? [truncateText(only, room)] : kept;
};

/** Adds one numbered note with the summaries before the input; none without summaries. */
const appendEpisodes = (draft: ThreadDraft, { prior_episode_summaries: summaries = [] }: Input): void => {
  if (summaries.length > 0) appendNote(draft, formatEpisodes(summaries), "episodes");
};

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

/**
 * Repeats agents' messages for a run that reports them, since the chat may have shrunk since they came. If it ends
 * with a reply to them, that was no answer, as a refusal.
 */
export const repeatAgentMessages = (draft: ThreadDraft): void => {
  const { chat, announce, run } = draft.thread;
  if (announce === null || run === null || run.light || run.turn > 1) return;
  for (const { content } of findAgentMessages(draft, announce.inputs))
    if (!chat.some(({ parts }) => textOf(parts).includes(textOf(content))))
      appendMessage(draft, { role: "user", origin: "agent", parts: content });
  if (draft.thread.chat.at(-1)?.role === "assistant")
    appendNote(draft, "The results above have not been reported yet. Report them.");
};

/** Appends undelivered results to the chat, which may have shrunk; agents' questions are none for a person. */
const appendUndelivered = (draft: ThreadDraft, inputs: readonly string[]): void => {
  draft.thread.announce = null;
  const text = findAgentMessages(draft, inputs)
    .filter(({ question }) => question === undefined)
    .map(({ content }) => textOf(content))
    .join("\n\n");
  if (text !== "") appendForPerson(draft, [{ type: "text", text }]);
};

/** Stops the announcements of a resting thread that a person stopped: nothing starts by itself any more. */
export const stopAnnouncement = (draft: ThreadDraft): void =>
  appendUndelivered(draft, draft.thread.announce?.inputs ?? []);

/** Settles the results that a run took: those it did not report are announced later or left in the chat. */
export const settleAnnouncement = (
  draft: ThreadDraft,
  run: Run,
  { state, reason }: Pick<RunEnding, "state" | "reason">,
): void => {
  const { thread } = draft;
  const { runs, inputs: known } = thread.announce ?? noAnnouncement;
  const taken = run.inputs.filter((id) => !known.includes(id));
  const messageIds = findAgentMessages(draft, taken).map(({ id }) => id);
  if (run.cancel?.reason === "cancelled") return appendUndelivered(draft, [...known, ...messageIds]);
  if (messageIds.length === 0 && runs.at(-1) !== run.id) return;
  const { retries, backoff } = agentOf(draft).delegation.announce;
  const tries = messageIds.length > 0 ? [run.id] : runs;
  const inputs = [...known, ...(run.announces && reason !== "rolled_back" ? taken : messageIds)];
  // A run that a person's own run replaces is no failed try; if that one completes, the announcement is over.
  const counted = state === "cancelled" ? tries.slice(0, -1) : tries;
  if (counted.length > retries || findAgentMessages(draft, inputs).length === 0)
    return appendUndelivered(draft, inputs);
  const until = draft.context.now + pauseAfter(tries.length - 1, backoff);
  thread.announce = { runs: counted, inputs, wait: { on: "retry", until } };
};
