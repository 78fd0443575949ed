import type { Json } from "../../chat/message.ts";
import { describeCall } from "../conversation/verbs.ts";
import { countOf, formatTokens } from "../parts/format.ts";
import { parseJson } from "../parts/json.ts";

/** What a model call saw, as the API tells it, made into rows and sentences. */

export interface SeenMessage {
  readonly id: string;
  readonly pos: number;
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly origin: string;
  readonly state: "full" | "overlaid" | "summary" | "note";
  readonly by: string | null;
  readonly reason: string | null;
  readonly tokens: number;
  readonly original_tokens: number;
  readonly text: string;
  /** The calls that an assistant asked for, or those that a tool message answers. */
  readonly calls?: readonly { readonly id: string; readonly tool: string; readonly args?: string }[];
}

export interface HiddenMessage {
  readonly id: string;
  readonly pos: number;
  readonly role: string;
  readonly tokens: number;
  readonly by: string | null;
  readonly reason: string | null;
  readonly why: string;
}

export interface SeenChange {
  readonly effect: string | null;
  readonly reason: string | null;
  readonly edit: "inject" | "overlay" | "retire" | "append" | "remove" | "request";
  readonly messages: readonly string[];
  readonly tokens_saved: number;
}

export interface ContextView {
  readonly run: string;
  readonly turn: number;
  readonly call: number;
  readonly calls: readonly { readonly call: number; readonly purpose: string; readonly outcome: string }[];
  readonly agent: string;
  readonly thread: string;
  readonly provider: string;
  readonly model: string;
  readonly parameters: { readonly max_tokens: number };
  readonly window: number;
  readonly size: number;
  readonly system: string;
  readonly tools: readonly { readonly name: string; readonly description: string }[];
  readonly messages: readonly SeenMessage[];
  readonly hidden: readonly HiddenMessage[];
  readonly hidden_tools: readonly { readonly name: string; readonly by: string | null }[];
  readonly changes: readonly SeenChange[];
  readonly verified: boolean | null;
}

export type ChangeSign = "+" | "~" | "−" | "";
export type RowState = SeenMessage["state"] | "retired";

/** A row of the view: a message as it was sent, what was not sent any more, or what comes before all messages. */
export interface ContextRow {
  readonly id: string;
  readonly sign: ChangeSign;
  readonly state: RowState;
  /** The summary stands for so many messages. */
  readonly stands: number;
  readonly name: string;
  readonly isCode: boolean;
  readonly role: string;
  readonly beginning: string;
  readonly by: string | null;
  readonly reason: string | null;
  readonly tokens: number;
  readonly original: number;
  readonly text: string;
  readonly messages: readonly string[];
  /** Where the originals are; empty for what is no message. */
  readonly places: readonly number[];
}

const signOf: Readonly<Record<SeenChange["edit"], ChangeSign>> = {
  append: "+",
  inject: "+",
  overlay: "~",
  retire: "−",
  remove: "−",
  request: "",
};

const signsOf = (changes: readonly SeenChange[]): ReadonlyMap<string, ChangeSign> =>
  new Map(changes.flatMap(({ edit, messages }) => messages.map((id) => [id, signOf[edit]] as const)));

const flatten = (text: string): string => text.replace(/\s+/g, " ").trim().slice(0, 240);

const inputOf = (args: string | undefined): Json => (args === undefined ? null : parseJson(args));

interface NamedMessage {
  readonly name: string;
  readonly isCode: boolean;
}

type KnownCalls = ReadonlyMap<string, { readonly tool: string; readonly args?: string }>;

/** Names the results of a tool message by their calls: `exec_run npm test`. */
const nameResults = ({ calls = [] }: SeenMessage, known: KnownCalls): string =>
  calls
    .map(({ id, tool }) => {
      const input = inputOf(known.get(id)?.args);
      const { subject } = describeCall({ tool, input, state: "done", outcome: "ok" });
      return `${tool} ${subject}`.trim();
    })
    .join(", ");

const userNames: Readonly<Record<string, string>> = { human: "You", agent: "Task" };

/** Names a message by what a person would call it. */
const nameMessage = (message: SeenMessage, agent: string, known: KnownCalls): NamedMessage => {
  const { role, state, origin } = message;
  if (state === "summary") return { name: "Summary", isCode: false };
  if (state === "note") return { name: "Note to the model", isCode: false };
  if (role === "assistant") return { name: agent, isCode: false };
  if (role === "tool") return { name: nameResults(message, known) || "tool", isCode: true };
  return { name: userNames[origin] ?? "Runtime", isCode: false };
};

const standsFor = ({ id }: SeenMessage, hidden: readonly HiddenMessage[]): number =>
  hidden.filter((message) => summaryOf(message) === id).length;

const callsById = (messages: readonly SeenMessage[]) =>
  new Map(
    messages.flatMap(({ calls = [] }) =>
      calls.filter(({ args }) => args !== undefined).map((call) => [call.id, call] as const),
    ),
  );

const firstWords = (text: string): string => flatten(text).slice(0, 80);

/** The summary that stands for a hidden message; null if none does. */
const summaryOf = ({ why }: HiddenMessage): string | null => /^summarised in (.+)$/.exec(why)?.[1] ?? null;

const sumTokens = (messages: readonly { readonly tokens: number }[]): number =>
  messages.reduce((sum, { tokens }) => sum + tokens, 0);

type Group = readonly [HiddenMessage, ...HiddenMessage[]];

/** The row of messages that one edit took away together. */
const hiddenRow = (
  group: readonly [HiddenMessage, ...HiddenMessage[]],
  signs: ReadonlyMap<string, ChangeSign>,
): ContextRow => {
  const [first] = group;
  const { id, role, by, reason } = first;
  return {
    id: `hidden-${id}`,
    sign: group.some((message) => signs.get(message.id) === "−") ? "−" : "",
    state: "retired",
    stands: 0,
    name: countOf(group.length, "message"),
    isCode: false,
    role: group.every((message) => message.role === role) ? role : "mixed",
    beginning: summaryOf(first) === null ? (reason ?? "No longer sent") : "The summary below stands for them",
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
): ContextRow => {
  const { id, role, state, by, reason, tokens, original_tokens: original, text, pos } = message;
  const stands = standsFor(message, view.hidden);
  return {
    ...nameMessage(message, view.agent, callsById(view.messages)),
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
export const rowsOf = (view: ContextView): readonly ContextRow[] => {
  const signs = signsOf(view.changes);
  const groups = [...Map.groupBy(view.hidden, ({ why, by }) => `${why}\n${by ?? ""}`).values()].flatMap(
    ([first, ...rest]): readonly Group[] => (first === undefined ? [] : [[first, ...rest]]),
  );
  const ids = new Set(view.messages.map(({ id }) => id));
  const placeOf = ([first]: Group): string | null => {
    const summary = summaryOf(first);
    return summary !== null && ids.has(summary) ? summary : null;
  };
  const goneBefore = (place: string | null): readonly ContextRow[] =>
    groups.filter((group) => placeOf(group) === place).map((group) => hiddenRow(group, signs));
  return [
    requestRow(view),
    ...goneBefore(null),
    ...view.messages.flatMap((message) => [...goneBefore(message.id), messageRow(view, message, signs)]),
  ];
};

/** A run of unchanged rows is one line until it is opened. */
export type FoldedRow =
  | { readonly kind: "row"; readonly row: ContextRow }
  | { readonly kind: "fold"; readonly rows: readonly ContextRow[] };

const isQuiet = ({ sign, state }: ContextRow): boolean => sign === "" && state !== "summary";

export const foldRows = (rows: readonly ContextRow[], opened: ReadonlySet<string>): readonly FoldedRow[] => {
  const folded: FoldedRow[] = [];
  let quiet: ContextRow[] = [];
  const close = (): void => {
    const id = quiet[0]?.id ?? "";
    if (quiet.length >= 2 && !opened.has(id)) folded.push({ kind: "fold", rows: quiet });
    else folded.push(...quiet.map((row) => ({ kind: "row" as const, row })));
    quiet = [];
  };
  for (const row of rows) {
    if (isQuiet(row)) quiet.push(row);
    else {
      close();
      folded.push({ kind: "row", row });
    }
  }
  close();
  return folded;
};

export const isSent = ({ state }: ContextRow): boolean => state !== "retired";

export const isChanged = ({ sign }: ContextRow): boolean => sign !== "";

const saved = (changes: readonly SeenChange[]): number =>
  changes.reduce((sum, { tokens_saved: each }) => sum + each, 0);

/** Tokens of the call before, and of this one before effects changed it. */
export const sizesOf = ({ size, changes, turn, call }: ContextView) => ({
  /** Null for the first call of a session: all of it is new. */
  previous: turn === 1 && call === 1 && size + saved(changes) <= 0 ? null : size + saved(changes),
  beforeEffects: size + saved(changes.filter(({ effect }) => effect !== null)),
  now: size,
});

/** A part of the sentence that says what changed. */
interface Saying {
  readonly text: string;
  readonly strong: boolean;
}

const countMessages = (changes: readonly SeenChange[], edits: readonly SeenChange["edit"][]): number =>
  changes.filter(({ edit }) => edits.includes(edit)).reduce((sum, { messages }) => sum + messages.length, 0);

const smallerWords = ({ changes, messages }: ContextView): readonly string[] => {
  const retired = countMessages(changes, ["retire", "remove"]);
  const fresh = new Set(changes.filter(({ edit }) => edit === "inject").flatMap((change) => change.messages));
  const summaries = messages.filter(({ id, state }) => state === "summary" && fresh.has(id)).length;
  const overlaid = countMessages(changes, ["overlay"]);
  return [
    ...(retired === 0
      ? []
      : [
          summaries > 0
            ? `${countOf(retired, "message")} became one summary`
            : `${countOf(retired, "message")} no longer sent`,
        ]),
    ...(overlaid === 0
      ? []
      : [`${countOf(overlaid, "long result")} ${overlaid === 1 ? "shows" : "show"} only the beginning`]),
  ];
};

/** Says in one sentence what was sent and what made it smaller. */
export const describeView = (view: ContextView): readonly Saying[] => {
  const { previous, now } = sizesOf(view);
  const difference = previous === null ? 0 : now - previous;
  const added = countMessages(view.changes, ["append"]);
  const smaller = smallerWords(view);
  const comparison =
    previous === null || previous <= 0
      ? ""
      : `, ${formatTokens(Math.abs(difference))} ${difference <= 0 ? "fewer" : "more"} than the call before`;
  const rest =
    smaller.length > 0
      ? smaller.join(" and ")
      : added > 0 && previous !== null && previous > 0
        ? `${countOf(added, "message")} came`
        : "";
  return [
    { text: `Turn ${view.turn} sent `, strong: false },
    { text: `${formatTokens(now)} tokens`, strong: true },
    { text: `${comparison}${rest === "" ? "." : ": "}`, strong: false },
    ...(rest === ""
      ? []
      : [
          { text: smaller[0] ?? rest, strong: smaller.length > 0 },
          {
            text: `${smaller
              .slice(1)
              .map((more) => ` and ${more}`)
              .join("")}.`,
            strong: false,
          },
        ]),
  ];
};

/** One line for each thing that changed since the call before. */
export interface ChangeLine {
  readonly sign: ChangeSign;
  readonly text: string;
  readonly by: string | null;
  readonly reason: string | null;
  readonly tokens: number;
}

const changeText = ({ edit, messages, effect }: SeenChange, summaries: ReadonlySet<string>): string => {
  const count = messages.length;
  if (edit === "append") return countOf(count, "new message");
  if (edit === "overlay") return `${countOf(count, "message")} overlaid`;
  if (edit === "retire") return `${countOf(count, "message")} retired`;
  if (edit === "remove") return `${countOf(count, "message")} taken away`;
  if (edit === "request") return "Another prompt or other tools";
  if (messages.every((id) => summaries.has(id)))
    return `${countOf(count, "summary", "summaries")} in their place`;
  return effect === null ? countOf(count, "note") : `${countOf(count, "note")} to the model`;
};

export const changeLines = ({ changes, messages }: ContextView): readonly ChangeLine[] => {
  const summaries = new Set(messages.filter(({ state }) => state === "summary").map(({ id }) => id));
  return changes.map((change) => ({
    sign: change.edit === "request" ? "~" : signOf[change.edit],
    text: changeText(change, summaries),
    by: change.effect,
    reason: change.reason,
    tokens: -change.tokens_saved,
  }));
};

/** What the request is made of. */
export const partsOf = (view: ContextView) => {
  const sum = (wanted: (message: SeenMessage) => boolean): number =>
    view.messages.filter(wanted).reduce((total, { tokens }) => total + tokens, 0);
  const results = sum(({ role }) => role === "tool");
  const messages = sum(({ role }) => role !== "tool");
  return [
    { name: "Tool results", tokens: results },
    { name: "Messages, notes, summary", tokens: messages },
    {
      name: `System prompt, ${countOf(view.tools.length, "tool")}`,
      tokens: Math.max(0, view.size - results - messages),
    },
  ];
};
