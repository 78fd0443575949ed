import type { LedgerRow, Sight } from "../agent/state/records.ts";
import type { Cause, Json, Message } from "../chat/message.ts";
import { shownTokens } from "../chat/message.ts";
import { shownParts } from "../chat/render.ts";
import { textOf } from "../chat/text.ts";
import type { ModelRequest } from "../model/completer.ts";

/** The context view: what a model call saw, told again from rows, and what had changed since the call before. */

/** The chat as a call saw it, and what had left it by then. */
export interface ChatThen {
  /** In the order of the view, with the overlays of that moment. */
  readonly shown: readonly Message[];
  /** What left it, with the edit that took it out, and who did. */
  readonly gone: readonly Gone[];
}

interface Gone {
  readonly message: Message;
  readonly edit: number;
  /** null: a release that did not tell yet. */
  readonly cause: Cause | null;
}

/** A model call as the ledger has it, or the one under way. */
export type SeenCall = Omit<LedgerRow, "outcome" | "usage" | "estimated" | "cost" | "saw"> & {
  readonly outcome: LedgerRow["outcome"] | "in_flight";
  readonly saw?: Sight;
};

/** A call with its chat. */
export interface Seen {
  readonly row: SeenCall;
  readonly chat: ChatThen;
}

interface Change {
  /** Kind of the effect; null: no effect's doing. */
  readonly effect: string | null;
  readonly reason: string | null;
  readonly edit: "inject" | "overlay" | "retire" | "append" | "remove" | "request";
  readonly messages: readonly string[];
  /** Tokens that the request lost; negative: that it gained. */
  readonly tokens_saved: number;
}

const isNote = ({ marks, origin }: Message): boolean =>
  origin === "effect" && marks?.includes("note") === true;

/** A pinned message was given back whole by an overlay of nothing. */
const isOverlaid = ({ overlay }: Message): boolean =>
  overlay !== undefined && Object.keys(overlay.texts).length > 0;

const stateOf = (message: Message): "full" | "overlaid" | "summary" | "note" => {
  if (message.summary !== undefined) return "summary";
  if (isNote(message)) return "note";
  return isOverlaid(message) ? "overlaid" : "full";
};

/** Whose doing it is that a message is shown so. */
interface By {
  readonly effect: string | null;
  readonly reason: string | null;
}

const nobody: By = { effect: null, reason: null };

const overlayBy = ({ overlay }: Message): By =>
  overlay === undefined ? nobody : { effect: overlay.by, reason: overlay.reason ?? null };

/** Of a note or a summary. */
const writtenBy = (message: Message): By => {
  const { summary, sender = null, reason = null } = message;
  if (summary !== undefined) return { effect: summary.by, reason: summary.reason ?? null };
  return isNote(message) ? { effect: sender, reason } : nobody;
};

const byOf = (message: Message): By => (isOverlaid(message) ? overlayBy(message) : writtenBy(message));

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

const messageView = (message: Message): Json => ({
  id: message.id,
  role: message.role,
  origin: message.origin,
  state: stateOf(message),
  by: byOf(message).effect,
  reason: byOf(message).reason,
  tokens: shownTokens(message),
  original_tokens: message.tokens,
  text: shownParts(message).map(partText).join("\n"),
});

const tokensOf = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + shownTokens(message), 0);

/** The messages as one change for each who made it. */
const changes = (
  edit: Change["edit"],
  messages: readonly Message[],
  by: (message: Message) => By,
  saved: (message: Message) => number,
): readonly Change[] =>
  [...Map.groupBy(messages, (message) => JSON.stringify(by(message))).values()].flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [{ ...by(first), edit, ...sumOf(group, saved) }];
  });

const sumOf = (
  messages: readonly Message[],
  saved: (message: Message) => number,
): Pick<Change, "messages" | "tokens_saved"> => ({
  messages: messages.map(({ id }) => id),
  tokens_saved: messages.reduce((sum, message) => sum + saved(message), 0),
});

/** The summary that took the place of what an edit retired, among everything that was ever there. */
const summaryOf = ({ shown, gone }: ChatThen, edit: number): Message | undefined =>
  shown.find(({ summary }) => summary?.edit === edit) ??
  gone.find(({ message }) => message.summary?.edit === edit)?.message;

const causedBy = ({ cause }: Gone): By => ({
  effect: cause?.effect ?? null,
  reason: cause?.reason ?? null,
});

/** What left, one change for each edit. */
const retirements = (left: readonly Gone[]): readonly Change[] =>
  [...Map.groupBy(left, ({ edit }) => edit).values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const by = causedBy(first);
    const messages = group.map(({ message }) => message);
    return [{ ...by, edit: by.effect === null ? "remove" : "retire", ...sumOf(messages, shownTokens) }];
  });

/** What stands between two calls, so that their tokens differ by exactly this; what came and went between them is told, too. */
const changesOf = (before: Seen | null, now: Seen): readonly Change[] => {
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
  const rest = restOf(now);
  const restBefore = before === null ? rest : restOf(before);
  return [
    ...changes(
      "append",
      fresh.filter((message) => !isWritten(message)),
      () => nobody,
      added,
    ),
    ...changes("inject", fresh.filter(isNote), writtenBy, added),
    ...changes("overlay", overlaid, overlayBy, shorter),
    ...retirements(left),
    ...changes(
      "inject",
      fresh.filter(({ summary }) => summary !== undefined),
      writtenBy,
      added,
    ),
    ...(rest === restBefore
      ? []
      : [{ ...nobody, edit: "request" as const, messages: [], tokens_saved: restBefore - rest }]),
  ];
};

/** Tools that the call did not have, and the effect that took each away. */
const hiddenTools = (saw: Sight | undefined): readonly Json[] =>
  (saw?.hidden ?? []).map((name, at) => ({ name, by: saw?.hiders?.[at] ?? null }));

/** Tokens of a request beside its messages. */
const restOf = ({ row, chat }: Seen): number => (row.saw?.size ?? 0) - tokensOf(chat.shown);

const hiddenView = (chat: ChatThen): readonly Json[] =>
  chat.gone.map((gone) => {
    const { message, edit, cause } = gone;
    const { effect, reason } = causedBy(gone);
    const summary = summaryOf(chat, edit);
    return {
      id: message.id,
      role: message.role,
      tokens: message.tokens,
      by: effect,
      reason,
      run: cause?.run ?? null,
      turn: cause?.turn ?? null,
      why: summary === undefined ? (reason ?? "removed") : `summarised in ${summary.id}`,
    };
  });

const callView = ({ purpose, attempt, outcome, provider, model, at }: SeenCall, index: number): Json => ({
  call: index + 1,
  purpose,
  attempt,
  outcome,
  provider,
  model,
  at,
});

/** The view as the API gives it, with all calls of its turn; `verified`: the request, built again, has the hash of what was sent. */
export const sightView = (
  calls: readonly SeenCall[],
  before: Seen | null,
  now: Seen,
  request: ModelRequest,
  verified: boolean | null,
): { readonly [key: string]: Json } => {
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
      tool_choice: toolChoice as Json,
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { top_p: topP }),
      ...(reasoning === undefined ? {} : { reasoning: reasoning as Json }),
      ...(responseFormat === undefined ? {} : { response_format: responseFormat as unknown as Json }),
    },
    window: row.saw?.window ?? 0,
    size: row.saw?.size ?? 0,
    system,
    tools: tools.map(({ name, description }) => ({ name, description })),
    messages: chat.shown.map(messageView),
    hidden: hiddenView(chat),
    hidden_tools: hiddenTools(row.saw),
    changes: changesOf(before, now) as unknown as Json,
    verified,
  };
};

/** A context view for people: one line per message, one per change. */

type Fields = Readonly<Record<string, Json>>;

const fieldsOf = (value: Json | undefined): readonly Fields[] =>
  Array.isArray(value) ? (value as Fields[]) : [];

const text = (value: Json | undefined): string =>
  typeof value === "string" ? value : JSON.stringify(value ?? null);

const width = 96;

const line = (value: string): string => {
  const flat = value.replace(/\s+/g, " ").trim();
  return flat.length <= width ? flat : `${flat.slice(0, width - 1).trimEnd()}…`;
};

const messageLine = ({ id, role, state, by, tokens, original_tokens: whole, text: said }: Fields): string => {
  const size = tokens === whole ? text(tokens) : `${text(tokens)} of ${text(whole)}`;
  const how = by === null || by === undefined ? text(state) : `${text(state)} by ${text(by)}`;
  return `  ${text(id)}  ${text(role)}, ${how}, ${size} tokens\n      ${line(text(said))}`;
};

const changeLine = ({ effect, edit, messages, tokens_saved: saved }: Fields): string => {
  const count = Array.isArray(messages) ? messages.length : 0;
  const tokens = typeof saved === "number" ? -saved : 0;
  const who = effect === null ? "" : `${text(effect)}: `;
  return `  ${who}${text(edit)} ${count} message${count === 1 ? "" : "s"}, ${tokens > 0 ? "+" : ""}${tokens} tokens`;
};

const toolNames = (value: Json | undefined): string =>
  fieldsOf(value)
    .map(({ name }) => text(name))
    .join(", ");

/** The calls of a turn that has several. */
const callLines = (view: Fields): readonly string[] => {
  const calls = fieldsOf(view["calls"]);
  if (calls.length < 2) return [];
  const each = calls.map(({ call, purpose, outcome }) =>
    [text(call), ...(purpose === "repair" ? ["repair"] : []), text(outcome)].join(" "),
  );
  return [`call ${text(view["call"])} of ${calls.length}: ${each.join(", ")}`];
};

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ["", title, ...lines];

const checks: Readonly<Record<string, string>> = {
  true: "these are the bytes that were sent",
  false: "the bytes differ from those that were sent: the definition has changed since",
};

const hiddenTool = ({ name, by }: Fields): string =>
  by === null ? text(name) : `${text(name)} by ${text(by)}`;

/** Renders what `sightView` gives. */
export const sightText = (view: Fields): string => {
  const hidden = fieldsOf(view["hidden"]);
  const outcome = text(view["outcome"]);
  const removed = fieldsOf(view["hidden_tools"]).map(hiddenTool).join(", ");
  return [
    `${text(view["run"])}, turn ${text(view["turn"])}: ${text(view["agent"])} on ${text(view["provider"])}/${text(view["model"])}${outcome === "ok" ? "" : `, ${outcome}`}`,
    ...callLines(view),
    `${text(view["size"])} of ${text(view["window"])} tokens; ${checks[text(view["verified"])] ?? "not verified"}`,
    `tools: ${toolNames(view["tools"])}${removed === "" ? "" : ` (taken out: ${removed})`}`,
    ...section("changed since the call before", fieldsOf(view["changes"]).map(changeLine)),
    ...section("system prompt", [`      ${line(text(view["system"]))}`]),
    ...section("messages", fieldsOf(view["messages"]).map(messageLine)),
    ...section(
      "out of view, still stored",
      hidden.map(
        ({ id, role, why, tokens }) => `  ${text(id)}  ${text(role)}, ${text(tokens)} tokens, ${text(why)}`,
      ),
    ),
    "",
  ].join("\n");
};
