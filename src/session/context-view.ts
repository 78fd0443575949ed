import type { LedgerRow, ContextSnapshot, RemovedMessage } from "../agent/state/records.ts";
import { toUsd } from "../agent/state/records.ts";
import type { Message } from "../chat/message.ts";
import { shownTokens, sumShownTokens } from "../chat/message.ts";
import { shownParts } from "../chat/render.ts";
import type { ModelRequest } from "../model/completer.ts";
import { firstCharacters, textOf } from "../chat/text.ts";

/** Builds the context view: what a model call saw, rebuilt from rows, and what has changed since another. */

/** Chat as a call saw it, and the messages that had left it by then. */
export interface PastChat {
  /** Messages in the order of the view, with the overlays they had then. */
  readonly shown: readonly Message[];
  /** Messages that had left. */
  readonly gone: readonly RemovedMessage[];
}

/** Model call from the ledger, or the one under way. */
export type RecordedCall = Omit<LedgerRow, "outcome" | "usage" | "estimated" | "cost" | "saw"> & {
  readonly outcome: LedgerRow["outcome"] | "in_flight";
  /** Absent while the call is under way. */
  readonly spent?: Pick<LedgerRow, "usage" | "estimated" | "cost">;
  readonly saw?: ContextSnapshot;
};

/** Call with the chat that it saw. */
export interface CallWithChat {
  readonly row: RecordedCall;
  readonly chat: PastChat;
}

interface ContextChange {
  /** Kind of the effect; null means that no effect made the change. */
  readonly effect: string | null;
  readonly reason: string | null;
  readonly edit: "inject" | "overlay" | "retire" | "append" | "remove" | "request";
  readonly messages: readonly string[];
  /** Tokens that the request lost; negative if the request gained some. */
  readonly tokens_saved: number;
}

const isNote = ({ marks, origin }: Message): boolean =>
  origin === "effect" && marks?.includes("note") === true;

/** An overlay without texts shows a pinned message whole again. */
const isOverlaid = ({ overlay }: Message): boolean =>
  overlay !== undefined && Object.keys(overlay.texts).length > 0;

const stateOf = (message: Message): "full" | "overlaid" | "summary" | "note" => {
  if (message.summary !== undefined) return "summary";
  if (isNote(message)) return "note";
  return isOverlaid(message) ? "overlaid" : "full";
};

/** Who caused a message to be shown as it is. */
interface ChangeAuthor {
  readonly effect: string | null;
  readonly reason: string | null;
}

const noAuthor: ChangeAuthor = { effect: null, reason: null };

const overlayAuthor = ({ overlay }: Message): ChangeAuthor =>
  overlay === undefined ? noAuthor : { effect: overlay.by, reason: overlay.reason ?? null };

const noteAuthor = (message: Message): ChangeAuthor => {
  const { summary, sender = null, reason = null } = message;
  if (summary !== undefined) return { effect: summary.by, reason: summary.reason ?? null };
  return isNote(message) ? { effect: sender, reason } : noAuthor;
};

const authorOf = (message: Message): ChangeAuthor =>
  isOverlaid(message) ? overlayAuthor(message) : noteAuthor(message);

const partText = (part: Message["parts"][number]): string => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool_call":
      return `${part.name}(${part.args})`;
    case "tool_result":
      return `[${part.status}] ${textOf(part.content)}`;
    case "image":
    case "document":
      return `[${part.type} ${part.media_type}]`;
  }
};

/** Names the calls that a message asks for or answers, so that a result can be shown with its arguments. */
const callsIn = ({ parts }: Message) =>
  parts.flatMap((part): readonly { readonly id: string; readonly tool: string; readonly args?: string }[] => {
    if (part.type === "tool_call") return [{ id: part.id, tool: part.name, args: part.args }];
    return part.type === "tool_result" ? [{ id: part.call, tool: part.name }] : [];
  });

const messageView = (message: Message) => ({
  id: message.id,
  pos: message.pos,
  role: message.role,
  origin: message.origin,
  state: stateOf(message),
  by: authorOf(message).effect,
  reason: authorOf(message).reason,
  tokens: shownTokens(message),
  original_tokens: message.tokens,
  text: shownParts(message).map(partText).join("\n"),
  calls: callsIn(message),
});

/** Groups the messages into one change for each author. */
const groupChanges = (
  edit: ContextChange["edit"],
  messages: readonly Message[],
  by: (message: Message) => ChangeAuthor,
  saved: (message: Message) => number,
): readonly ContextChange[] =>
  [...Map.groupBy(messages, (message) => JSON.stringify(by(message))).values()].flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [{ ...by(first), edit, ...sumChange(group, saved) }];
  });

const sumChange = (
  messages: readonly Message[],
  saved: (message: Message) => number,
): Pick<ContextChange, "messages" | "tokens_saved"> => ({
  messages: messages.map(({ id }) => id),
  tokens_saved: messages.reduce((sum, message) => sum + saved(message), 0),
});

/** Finds the summary that replaced what an edit retired, among all messages there ever were. */
const findSummary = ({ shown, gone }: PastChat, edit: number): Message | undefined =>
  shown.find(({ summary }) => summary?.edit === edit) ??
  gone.find(({ message }) => message.summary?.edit === edit)?.message;

const removalAuthor = ({ cause }: RemovedMessage): ChangeAuthor => ({
  effect: cause?.effect ?? null,
  reason: cause?.reason ?? null,
});

/** Describes the removed messages as one change for each edit. */
const removalChanges = (left: readonly RemovedMessage[]): readonly ContextChange[] =>
  [...Map.groupBy(left, ({ edit }) => edit).values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const by = removalAuthor(first);
    const messages = group.map(({ message }) => message);
    return [{ ...by, edit: by.effect === null ? "remove" : "retire", ...sumChange(messages, shownTokens) }];
  });

/** Lists what changed between two calls; their tokens differ by its sum. It includes what came and went in between. */
const changesOf = (before: CallWithChat | null, now: CallWithChat): readonly ContextChange[] => {
  const known = new Map(before?.chat.shown.map((message) => [message.id, message]) ?? []);
  const last = before?.row.saw?.pos ?? -1;
  const left = now.chat.gone.filter(({ message }) => known.has(message.id) || message.pos > last);
  const all = [...now.chat.shown, ...left.map(({ message }) => message)];
  const fresh = all.filter(({ id }) => !known.has(id));
  const isWritten = (message: Message): boolean => isNote(message) || message.summary !== undefined;
  const added = ({ tokens }: Message): number => -tokens;
  const overlaid = all.filter(({ id, overlay }) => overlay?.edit !== known.get(id)?.overlay?.edit);
  const shorter = (message: Message): number => {
    const old = known.get(message.id);
    return (old === undefined ? message.tokens : shownTokens(old)) - shownTokens(message);
  };
  const rest = otherTokensOf(now);
  const restBefore = before === null ? rest : otherTokensOf(before);
  return [
    ...groupChanges(
      "append",
      fresh.filter((message) => !isWritten(message)),
      () => noAuthor,
      added,
    ),
    ...groupChanges("inject", fresh.filter(isNote), noteAuthor, added),
    ...groupChanges("overlay", overlaid, overlayAuthor, shorter),
    ...removalChanges(left),
    ...groupChanges(
      "inject",
      fresh.filter(({ summary }) => summary !== undefined),
      noteAuthor,
      added,
    ),
    ...(rest === restBefore
      ? []
      : [{ ...noAuthor, edit: "request" as const, messages: [], tokens_saved: restBefore - rest }]),
  ];
};

/** Lists tools that the call did not have, with the effect that removed each. */
const hiddenTools = (saw: ContextSnapshot | undefined) =>
  Object.entries(saw?.hidden ?? {}).map(([name, by]) => ({ name, by }));

/** Counts the tokens of a request apart from its messages. */
const otherTokensOf = ({ row, chat }: CallWithChat): number =>
  (row.saw?.size ?? 0) - sumShownTokens(chat.shown);

const hiddenView = (chat: PastChat) =>
  chat.gone.map((gone) => {
    const { message, edit, cause } = gone;
    const { effect, reason } = removalAuthor(gone);
    const summary = findSummary(chat, edit);
    return {
      id: message.id,
      pos: message.pos,
      role: message.role,
      tokens: message.tokens,
      by: effect,
      reason,
      run: cause?.run ?? null,
      turn: cause?.turn ?? null,
      why: summary === undefined ? (reason ?? "removed") : `summarised in ${summary.id}`,
    };
  });

/** Says what a call used; no tokens mean that its usage is unknown. */
const spentView = ({ spent }: RecordedCall) => {
  const isKnown = spent !== undefined && spent.usage.total > 0;
  const { usage, cost, estimated } = isKnown ? spent : { usage: null, cost: null, estimated: false };
  return { usage, cost_usd: toUsd(cost), estimated };
};

const callView = (row: RecordedCall, index: number) => {
  const { purpose, attempt, outcome, provider, model, at } = row;
  return { call: index + 1, purpose, attempt, outcome, provider, model, at, ...spentView(row) };
};

/** Names the call that the changes are against; null for the first of a thread. */
const beforeView = (before: CallWithChat | null) =>
  before === null ? null : { run: before.row.run, turn: before.row.turn, size: before.row.saw?.size ?? 0 };

/** Builds the API's view with all calls of its turn; `verified` means that the rebuilt request has the sent hash. */
export const contextView = (
  calls: readonly RecordedCall[],
  before: CallWithChat | null,
  now: CallWithChat,
  request: ModelRequest,
  verified: boolean | null,
) => {
  const { row, chat } = now;
  const { system, tools, toolChoice, maxTokens, temperature, topP, reasoning, responseFormat } = request;
  return {
    run: row.run,
    turn: row.turn,
    call: calls.indexOf(row) + 1,
    attempt: row.attempt,
    purpose: row.purpose,
    outcome: row.outcome,
    calls: calls.map(callView),
    agent: row.agent,
    thread: row.thread,
    provider: row.provider,
    model: row.model,
    parameters: {
      max_tokens: maxTokens,
      tool_choice: toolChoice,
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { top_p: topP }),
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(responseFormat === undefined ? {} : { response_format: responseFormat }),
    },
    window: row.saw?.window ?? 0,
    size: row.saw?.size ?? 0,
    system,
    tools: tools.map(({ name, description }) => ({ name, description })),
    messages: chat.shown.map(messageView),
    hidden: hiddenView(chat),
    hidden_tools: hiddenTools(row.saw),
    before: beforeView(before),
    changes: changesOf(before, now),
    verified,
  };
};

type ContextView = ReturnType<typeof contextView>;

type ViewItem<Key extends keyof ContextView> = ContextView[Key] extends readonly (infer Item)[]
  ? Item
  : never;

const lineWidth = 96;

const toLine = (value: string): string => {
  const flat = value.replace(/\s+/g, " ").trim();
  return flat.length <= lineWidth ? flat : `${firstCharacters(flat, lineWidth - 1).trimEnd()}…`;
};

const byText = (what: string, by: string | null): string => (by === null ? what : `${what} by ${by}`);

const messageLine = (message: ViewItem<"messages">): string => {
  const { id, role, state, by, tokens, original_tokens: whole, text } = message;
  const size = tokens === whole ? `${tokens}` : `${tokens} of ${whole}`;
  return `  ${id}  ${role}, ${byText(state, by)}, ${size} tokens\n      ${toLine(text)}`;
};

const changeLine = ({ effect, edit, messages, tokens_saved }: ContextChange): string => {
  const count = messages.length;
  const who = effect === null ? "" : `${effect}: `;
  const tokens = `${tokens_saved < 0 ? "+" : ""}${-tokens_saved}`;
  return `  ${who}${edit} ${count} message${count === 1 ? "" : "s"}, ${tokens} tokens`;
};

const hiddenLine = ({ id, role, tokens, why }: ViewItem<"hidden">): string =>
  `  ${id}  ${role}, ${tokens} tokens, ${why}`;

/** Lists the calls of a turn that has several. */
const callLines = ({ call, calls }: ContextView): readonly string[] => {
  if (calls.length < 2) return [];
  const each = calls.map(({ call: n, purpose, outcome }) =>
    [n, ...(purpose === "repair" ? ["repair"] : []), outcome].join(" "),
  );
  return [`call ${call} of ${calls.length}: ${each.join(", ")}`];
};

const formatSection = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ["", title, ...lines];

const verificationText = (verified: boolean | null): string => {
  if (verified === null) return "not verified";
  return verified
    ? "these are the bytes that were sent"
    : "the bytes differ from those that were sent: the definition has changed since";
};

/** Renders a context view for people, with one line per message and one per change. */
export const formatContextView = (view: ContextView): string => {
  const { run, turn, agent, provider, model, outcome, size, window, before } = view;
  const removed = view.hidden_tools.map(({ name, by }) => byText(name, by)).join(", ");
  return [
    `${run}, turn ${turn}: ${agent} on ${provider}/${model}${outcome === "ok" ? "" : `, ${outcome}`}`,
    ...callLines(view),
    `${size} of ${window} tokens; ${verificationText(view.verified)}`,
    `tools: ${view.tools.map(({ name }) => name).join(", ")}${removed === "" ? "" : ` (taken out: ${removed})`}`,
    ...formatSection(
      before === null ? "came with this first call" : "changed since the call before",
      view.changes.map(changeLine),
    ),
    ...formatSection("system prompt", [`      ${toLine(view.system)}`]),
    ...formatSection("messages", view.messages.map(messageLine)),
    ...formatSection("out of view, still stored", view.hidden.map(hiddenLine)),
    "",
  ].join("\n");
};
