import type { StoredEvent } from "../../client/index.ts";
import type { OpenSession, Transcript } from "../../client/transcript.ts";
import type { Json } from "../../chat/message.ts";
import { describeCall } from "../calls/verbs.ts";
import { escapeInLine } from "../parts/escape.ts";
import { explainFailure } from "../sessions/status.ts";

/** Sentences for who listens instead of looking: what happened, never pieces of text. */

interface Sentence {
  readonly text: string;
  /** It waits for the person. */
  readonly urgent: boolean;
}

const askWords: Readonly<Record<string, string>> = {
  question: "asks you",
  approval: "needs your approval",
  budget: "needs your decision",
  authorization: "needs you to sign in",
};

const say = (text: string, urgent = false): Sentence => ({ text: escapeInLine(text), urgent });

type EventOf<T extends StoredEvent["type"]> = Extract<StoredEvent, { readonly type: T }>;

type Sentences = {
  readonly [T in StoredEvent["type"]]?: (event: EventOf<T>, input: Json) => Sentence | null;
};

const outcomeWords: Readonly<Record<string, string>> = {
  ok: "",
  error: ", which failed",
  denied: ", which was denied",
};

const describeQuestion = ({ data: { ask }, agent }: EventOf<"ask_user">): Sentence | null => {
  const verb = askWords[ask.kind];
  const about = ask.question?.text ?? ask.approval?.tool ?? "";
  return verb === undefined ? null : say(`${ask.label ?? agent.name} ${verb}: ${about}`, true);
};

const describeEnd = ({ data, thread, agent }: EventOf<"run_end">): Sentence | null => {
  if (thread !== "main") return null;
  if (data.state === "failed") return say(`The run stopped: ${explainFailure(data.reason)}`, true);
  return say(data.state === "completed" ? `${agent.name} is done` : "The run was stopped");
};

const sentences: Sentences = {
  tool_call_end: ({ data: { tool, outcome }, agent }, input) => {
    const { verb, subject } = describeCall({ tool, input, state: "done", outcome });
    return say(`${agent.name}: ${verb} ${subject}${outcomeWords[outcome] ?? `, ${outcome}`}`);
  },
  ask_user: describeQuestion,
  message_added: ({ data: { final, message }, thread, agent }) =>
    final && thread === "main" && message.role === "assistant" ? say(`${agent.name} answered`) : null,
  agent_start: ({ thread, agent }) => (thread === "main" ? null : say(`${agent.name} began`)),
  run_end: describeEnd,
};

/** Says an event as a sentence; null for what is no news. */
const describeEvent = (event: StoredEvent, input: Json): Sentence | null =>
  (sentences[event.type] as ((event: StoredEvent, input: Json) => Sentence | null) | undefined)?.(
    event,
    input,
  ) ?? null;

const isOpenAsk = (event: StoredEvent, open: Transcript["asks"]): boolean =>
  event.type === "ask_user" && open.some(({ id }) => id === event.data.ask.id);

/**
 * Announces what happens while the page is live, and asks of the time between that are still open; of a session that is
 * new all that happened, since nobody was told of it. Returns how to end it.
 */
export const announceEvents = (
  { getEvents, getSnapshot, subscribe }: OpenSession,
  announce: (sentence: string, urgent?: boolean) => void,
  isNew: boolean,
): (() => void) => {
  /** The last event that was looked at; null before the first look. */
  let last: number | null = isNew ? 0 : null;
  /** Nothing of a new session has come yet. */
  let isUntold = isNew;
  let isFollowed = false;
  const inputs = new Map<string, Json>();
  const inputOf = (event: StoredEvent): Json => {
    const { call = "" } = event;
    if (event.type === "tool_call_start") inputs.set(call, event.data.input);
    const input = inputs.get(call) ?? null;
    if (event.type === "tool_call_end") inputs.delete(call);
    return input;
  };
  const look = (): void => {
    const { status, seq, asks } = getSnapshot();
    const isNews = isFollowed || isUntold;
    isFollowed = status === "live" || (isNews && status === "connecting");
    if (!isNews && !isFollowed) return;
    const events = getEvents();
    const known = last ?? seq;
    last = seq;
    isUntold &&= seq === 0;
    const first = events.findLastIndex(({ seq }) => seq <= known) + 1;
    for (const event of events.slice(first)) {
      const sentence = describeEvent(event, inputOf(event));
      if (sentence !== null && (isNews || isOpenAsk(event, asks))) announce(sentence.text, sentence.urgent);
    }
  };
  look();
  return subscribe(look);
};
