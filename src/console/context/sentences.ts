import { countOf, formatCount, formatTokens } from "../parts/format.ts";
import { describeReason, describeRetirement, startSentence } from "./reasons.ts";
import type { ChangeSign, ContextView, SeenChange } from "./view.ts";
import { signOf } from "./view.ts";

/** What changed since the call before, in sentences and lines. */

const sumSaved = (changes: readonly SeenChange[]): number =>
  changes.reduce((sum, { tokens_saved: each }) => sum + each, 0);

const byEffects = (changes: readonly SeenChange[]): readonly SeenChange[] =>
  changes.filter(({ effect }) => effect !== null);

/** Effects work at two times: right after an answer, and before the call that is shown. */
const isEarly = ({ effect, reason }: SeenChange): boolean => effect !== null && reason === "after_complete";

/** Between two runs a person may have made the context smaller, so that a turn began with less. */
const isAsked = ({ reason }: SeenChange): boolean => reason === "api";

/** Tokens of the call before, and of this one before effects changed it. */
export const sizesOf = ({ size, changes, before }: ContextView) => {
  const beforeEffects = size + sumSaved(byEffects(changes));
  const early = changes.some(isAsked) ? 0 : sumSaved(changes.filter(isEarly));
  return {
    /** Null for the first call of a thread: all of it is new. */
    previous: before === null ? null : size + sumSaved(changes),
    beforeEffects,
    /** What the chat calls the tokens before the step; the same as before effects if none worked earlier. */
    atBegin: beforeEffects - early,
    now: size,
  };
};

/** Names what effects left out at each of their two times; null if all of it was left out before the call. */
export const describeSteps = (view: ContextView): string | null => {
  const { beforeEffects, atBegin, now } = sizesOf(view);
  const early = beforeEffects - atBegin;
  if (early <= 0) return null;
  const begin = `Left out: ${countOf(early, "token")} right after the answer before`;
  if (atBegin <= now) return `${begin}.`;
  const step = `${formatTokens(atBegin)} → ${formatTokens(now)}`;
  return `${begin}, and ${formatCount(atBegin - now)} as this turn began: ${step}.`;
};

const messagesOf = (changes: readonly SeenChange[], edit: SeenChange["edit"]): readonly string[] =>
  changes.flatMap((change) => (change.edit === edit ? change.messages : []));

const countMessages = (changes: readonly SeenChange[], edit: SeenChange["edit"]): number =>
  messagesOf(changes, edit).length;

/** Names messages by what they all are: `2 results`, `1 message`. */
const countKinds = ({ messages, hidden }: ContextView, ids: readonly string[]): string => {
  const roles = new Map<string, string>([...hidden, ...messages].map(({ id, role }) => [id, role]));
  return countOf(ids.length, ids.every((id) => roles.get(id) === "tool") ? "result" : "message");
};

const smallerWords = (view: ContextView): readonly string[] => {
  const { changes, messages } = view;
  const retired = countMessages(changes, "retire");
  const removed = countMessages(changes, "remove");
  const fresh = new Set(messagesOf(changes, "inject"));
  const summaries = messages.filter(({ id, state }) => state === "summary" && fresh.has(id)).length;
  const changed = new Set(messagesOf(changes, "overlay"));
  // What was shortened and then left is told by that it left.
  const shortened = messages.filter(({ id, state }) => state === "overlaid" && changed.has(id));
  const ids = shortened.map(({ id }) => id);
  const became = summaries === 1 ? "became one summary" : `became ${summaries} summaries`;
  return [
    ...(retired === 0
      ? []
      : [
          `${countOf(retired, "message")} ${summaries > 0 ? became : `${retired === 1 ? "was" : "were"} left out`}`,
        ]),
    ...(ids.length === 0 ? [] : [`${countKinds(view, ids)} ${ids.length === 1 ? "was" : "were"} shortened`]),
    ...(removed === 0 ? [] : [`${countOf(removed, "message")} ${removed === 1 ? "was" : "were"} taken away`]),
  ];
};

/** A part of the sentence that says what changed. */
interface Saying {
  readonly text: string;
  readonly strong: boolean;
}

const plain = (text: string): Saying => ({ text, strong: false });

const joinList = (words: readonly string[]): string =>
  words.length <= 1 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

/** Says in one sentence what was sent, what effects left out of it, and how. */
export const describeView = (view: ContextView): readonly Saying[] => {
  const { previous, beforeEffects, now } = sizesOf(view);
  const hasBefore = previous !== null;
  const difference = now - (previous ?? 0);
  const comparison = `, ${formatTokens(Math.abs(difference))} ${difference <= 0 ? "fewer" : "more"} than the call before`;
  const added = countMessages(view.changes, "append");
  const [first, ...more] = smallerWords(view);
  const begin = [
    plain(`Turn ${view.turn} sent `),
    { text: `${formatTokens(now)} tokens`, strong: true },
    plain(hasBefore ? comparison : ""),
  ];
  if (first === undefined)
    return [...begin, plain(hasBefore && added > 0 ? `: ${countOf(added, "message")} came.` : ".")];
  const leftOut = beforeEffects - now;
  return [
    ...begin,
    plain(
      leftOut > 0
        ? `, and left out ${formatTokens(leftOut)} of ${formatTokens(beforeEffects)} tokens: `
        : "; ",
    ),
    { text: first, strong: true },
    plain(more.length === 0 ? "." : ` and ${joinList(more)}.`),
  ];
};

/** One line for each thing that changed since the call before. */
export interface ChangeLine {
  readonly sign: ChangeSign;
  readonly text: string;
  /** The kind of the effect that did it. */
  readonly by: string | null;
  /** Why, and what else is to be known of it. */
  readonly notes: readonly string[];
  readonly tokens: number;
}

const overlayText = (view: ContextView, { messages: ids }: SeenChange): string => {
  const count = countKinds(view, ids);
  const shown = view.messages.filter(({ id }) => ids.includes(id));
  if (shown.length === 0) return `${count} shortened, then left out`;
  return shown.some(({ state }) => state === "overlaid") ? `${count} shortened` : `${count} sent whole again`;
};

const changeText = (view: ContextView, change: SeenChange): string => {
  const { edit, messages: ids, effect } = change;
  const count = ids.length;
  if (edit === "append") return countOf(count, "new message");
  if (edit === "overlay") return overlayText(view, change);
  if (edit === "retire") return `${countOf(count, "message")} left out`;
  if (edit === "remove") return `${countOf(count, "message")} taken away`;
  if (edit === "request") return "Another prompt or other tools";
  const isSummary = (id: string): boolean =>
    view.messages.some((message) => message.id === id && message.state === "summary");
  if (ids.every(isSummary)) return `${countOf(count, "summary", "summaries")} in their place`;
  return effect === null ? countOf(count, "note") : `${countOf(count, "note")} to the model`;
};

/** What left counts as it was sent last; its row counts the whole of it. */
const shortenedWords = ({ hidden }: ContextView, { edit, messages, tokens_saved: sent }: SeenChange) => {
  if (edit !== "retire" && edit !== "remove") return null;
  const whole = hidden.filter(({ id }) => messages.includes(id)).reduce((sum, { tokens }) => sum + tokens, 0);
  return whole > sent
    ? `${formatCount(whole)} tokens whole, already shortened to ${formatCount(sent)}`
    : null;
};

export const changeLines = (view: ContextView, shrinksAt: number | null): readonly ChangeLine[] =>
  view.changes.map((change) => {
    const { edit, effect: by, reason, tokens_saved: saved } = change;
    const describe = edit === "retire" ? describeRetirement : describeReason;
    const notes = [describe({ by, reason }, shrinksAt), shortenedWords(view, change)];
    return {
      sign: edit === "request" ? "~" : signOf[edit],
      text: changeText(view, change),
      by,
      notes: notes.flatMap((note) => (note === null ? [] : [startSentence(note)])),
      tokens: -saved,
    };
  });

/** What the request is made of. */
export const partsOf = (view: ContextView) => {
  const sum = (isResult: boolean): number =>
    view.messages
      .filter(({ role }) => (role === "tool") === isResult)
      .reduce((total, { tokens }) => total + tokens, 0);
  const [results, messages] = [sum(true), sum(false)];
  return [
    { name: "Tool results", tokens: results },
    { name: "Messages, notes, summary", tokens: messages },
    {
      name: `System prompt, ${countOf(view.tools.length, "tool")}`,
      tokens: Math.max(0, view.size - results - messages),
    },
  ];
};
