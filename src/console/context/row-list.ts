import { countOf, formatCount } from "../parts/format.ts";
import type { KnownCalls } from "./names.ts";
import { callsById, nameMessage } from "./names.ts";
import { describeRetirement, startSentence } from "./reasons.ts";
import { signOf } from "./view.ts";
import type { ChangeSign, ContextRow, ContextView, HiddenMessage, SeenChange, SeenMessage } from "./view.ts";

/** The rows of a view, in the order of the request. */

const signsOf = (changes: readonly SeenChange[]): ReadonlyMap<string, ChangeSign> =>
  new Map(changes.flatMap(({ edit, messages }) => messages.map((id) => [id, signOf[edit]] as const)));

const flatten = (text: string): string => text.replace(/\s+/g, " ").trim().slice(0, 240);

const standsFor = ({ id }: SeenMessage, hidden: readonly HiddenMessage[]): number =>
  hidden.filter((message) => summaryOf(message) === id).length;

const firstWords = (text: string): string => flatten(text).slice(0, 80);

/** The summary that stands for a hidden message; null if none does. */
const summaryOf = ({ why }: HiddenMessage): string | null => /^summarised in (.+)$/.exec(why)?.[1] ?? null;

const sumTokens = (messages: readonly { readonly tokens: number }[]): number =>
  messages.reduce((sum, { tokens }) => sum + tokens, 0);

type Group = readonly [HiddenMessage, ...HiddenMessage[]];

/** Tokens of messages as they were sent last, if they left in this turn and had been shortened before. */
const shortenedTokens = (group: Group, { changes }: ContextView): number | null => {
  const left = changes.find(
    ({ edit, messages }) =>
      (edit === "retire" || edit === "remove") &&
      messages.length === group.length &&
      group.every(({ id }) => messages.includes(id)),
  );
  return left !== undefined && left.tokens_saved < sumTokens(group) ? left.tokens_saved : null;
};

const beginningOf = (group: Group, view: ContextView, shrinksAt: number | null): string => {
  const [first] = group;
  const shortened = shortenedTokens(group, view);
  const tokens = shortened === null ? [] : [`already shortened to ${formatCount(shortened)}`];
  const stands =
    summaryOf(first) === null ? describeRetirement(first, shrinksAt) : "the summary stands for them";
  const words = [...tokens, stands ?? "no longer sent"].join("; ");
  return startSentence(words);
};

/** The row of messages that one edit took away together. */
const hiddenRow = (
  group: Group,
  view: ContextView,
  signs: ReadonlyMap<string, ChangeSign>,
  shrinksAt: number | null,
): ContextRow => {
  const [{ id, role, by, reason }] = group;
  return {
    id: `hidden-${id}`,
    sign: group.some((message) => signs.get(message.id) === "−") ? "−" : "",
    state: "retired",
    stands: 0,
    name: countOf(group.length, "message"),
    isCode: false,
    role: group.every((message) => message.role === role) ? role : "mixed",
    beginning: beginningOf(group, view, shrinksAt),
    by,
    reason,
    tokens: 0,
    original: sumTokens(group),
    text: "",
    messages: group.map((message) => message.id),
    places: group.map(({ pos }) => pos),
  };
};

const messageRow = (
  view: ContextView,
  message: SeenMessage,
  signs: ReadonlyMap<string, ChangeSign>,
  calls: KnownCalls,
): ContextRow => {
  const { id, role, state, by, reason, tokens, original_tokens: original, text, pos } = message;
  const stands = standsFor(message, view.hidden);
  return {
    ...nameMessage(message, view.agent, calls),
    id,
    sign: signs.get(id) ?? "",
    state,
    stands,
    role,
    beginning: flatten(text.replace(/^\[ok\] /, "")),
    by,
    reason,
    tokens,
    original,
    text,
    messages: [id],
    places: [pos],
  };
};

const requestRow = (view: ContextView): ContextRow => {
  const sent = view.messages.reduce((sum, { tokens }) => sum + tokens, 0);
  const changed = view.changes.some(({ edit }) => edit === "request");
  return {
    id: "request",
    sign: changed ? "~" : "",
    state: "full",
    stands: 0,
    name: `System prompt, ${countOf(view.tools.length, "tool")}`,
    isCode: false,
    role: "system",
    beginning: firstWords(view.system),
    by: null,
    reason: null,
    tokens: Math.max(0, view.size - sent),
    original: Math.max(0, view.size - sent),
    text: `${view.system}\n\n${view.tools.map(({ name, description }) => `${name}: ${description}`).join("\n")}`,
    messages: [],
    places: [],
  };
};

/** The rows in the order of the request; what is gone stands where its summary does, or at the top. */
export const rowsOf = (view: ContextView, shrinksAt: number | null): readonly ContextRow[] => {
  const signs = signsOf(view.changes);
  const calls = callsById(view.messages);
  const groups = [...Map.groupBy(view.hidden, ({ why, by }) => `${why}\n${by ?? ""}`).values()].flatMap(
    ([first, ...rest]): readonly Group[] => (first === undefined ? [] : [[first, ...rest]]),
  );
  const ids = new Set(view.messages.map(({ id }) => id));
  const placeOf = ([first]: Group): string | null => {
    const summary = summaryOf(first);
    return summary !== null && ids.has(summary) ? summary : null;
  };
  const goneBefore = (place: string | null): readonly ContextRow[] =>
    groups
      .filter((group) => placeOf(group) === place)
      .map((group) => hiddenRow(group, view, signs, shrinksAt));
  return [
    requestRow(view),
    ...goneBefore(null),
    ...view.messages.flatMap((message) => [
      ...goneBefore(message.id),
      messageRow(view, message, signs, calls),
    ]),
  ];
};

/** A run of unchanged rows is one line until it is opened. */
export type FoldedRow =
  | { readonly kind: "row"; readonly row: ContextRow }
  | { readonly kind: "fold"; readonly rows: readonly ContextRow[] };

const isQuiet = ({ sign, state }: ContextRow): boolean => sign === "" && state !== "summary";

export const foldRows = (rows: readonly ContextRow[], opened: ReadonlySet<string>): readonly FoldedRow[] => {
  const folded: FoldedRow[] = [];
  // What is sent and what is not never stand in one line.
  let quiet: ContextRow[] = [];
  const close = (): void => {
    const id = quiet[0]?.id ?? "";
    if (quiet.length >= 2 && !opened.has(id)) folded.push({ kind: "fold", rows: quiet });
    else folded.push(...quiet.map((row) => ({ kind: "row" as const, row })));
    quiet = [];
  };
  for (const row of rows) {
    const [first] = quiet;
    if (!isQuiet(row) || (first !== undefined && isSent(first) !== isSent(row))) close();
    if (isQuiet(row)) quiet.push(row);
    else folded.push({ kind: "row", row });
  }
  close();
  return folded;
};

/** Names the state of a row in a word. */
export const nameState = ({ state, tokens, original }: ContextRow): string => {
  switch (state) {
    case "full":
      return "whole";
    case "overlaid":
      return tokens < original ? "shortened" : "changed";
    case "retired":
      return "left out";
    case "summary":
    case "note":
      return state;
  }
};

/** Says of a folded run how many rows it holds, which, and in what states they are. */
export const describeFold = (rows: readonly ContextRow[]) => {
  const isOfSent = rows.every(isSent);
  const states = [...Map.groupBy(rows, nameState)];
  const names = rows.map(({ name }) => name).join(", ");
  return {
    words: `${countMessages(rows)} ${isOfSent ? "unchanged" : "left out before"}: ${names}`,
    state:
      states.length === 1
        ? states.map(([name]) => name).join("")
        : states.map(([name, of]) => `${countMessages(of)} ${name}`).join(", "),
    tokens: rows.reduce((sum, { tokens, original }) => sum + (isOfSent ? tokens : original), 0),
    isSent: isOfSent,
  };
};

/** Something of it is not in the request: a part of its text, or all of it. */
export const isLeftOut = ({ state }: ContextRow): boolean => state === "overlaid" || state === "retired";

export const isSent = ({ state }: ContextRow): boolean => state !== "retired";

export const isChanged = ({ sign }: ContextRow): boolean => sign !== "";

/** Counts the messages that rows stand for; one that stands for none, as the system prompt, counts as one. */
export const countMessages = (rows: readonly ContextRow[]): number =>
  rows.reduce((sum, { messages }) => sum + Math.max(1, messages.length), 0);
