import { shownTokens } from "../chat/message.ts";
import type { Json, Message } from "../chat/message.ts";
import { shownParts } from "../chat/render.ts";
import { textOf } from "../chat/text.ts";
import type { ModelRequest } from "../model/completer.ts";
import type { LedgerRow } from "./records.ts";

/** The context view (EF-42): what a model call saw, told again from rows, and what had changed since the call before. */

/** The chat as a call saw it, and what had left it by then. */
export interface ChatThen {
  /** In the order of the view, with the overlays of that moment. */
  readonly shown: readonly Message[];
  /** What left it, with the edit that took it out. */
  readonly gone: readonly { readonly message: Message; readonly edit: number }[];
}

/** A call of the ledger with its chat. */
export interface Seen {
  readonly row: LedgerRow;
  readonly chat: ChatThen;
}

interface Change {
  /** Kind of the effect; null: no effect's doing. */
  readonly effect: string | null;
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

const byOf = (message: Message): string | null =>
  (isOverlaid(message) ? message.overlay?.by : undefined) ??
  message.summary?.by ??
  (isNote(message) ? (message.sender ?? null) : null);

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
  by: byOf(message),
  tokens: shownTokens(message),
  original_tokens: message.tokens,
  text: shownParts(message).map(partText).join("\n"),
});

const tokensOf = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + shownTokens(message), 0);

const change = (
  effect: string | null,
  edit: Change["edit"],
  messages: readonly Message[],
  saved: number,
): readonly Change[] =>
  messages.length === 0
    ? []
    : [{ effect, edit, messages: messages.map(({ id }) => id), tokens_saved: saved }];

/** The summary that took the place of what an edit retired, among everything that was ever there. */
const summaryOf = ({ shown, gone }: ChatThen, edit: number): Message | undefined =>
  shown.find(({ summary }) => summary?.edit === edit) ??
  gone.find(({ message }) => message.summary?.edit === edit)?.message;

const groupBy = <T>(items: readonly T[], key: (item: T) => string): ReadonlyMap<string, readonly T[]> => {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
};

/** What stands between two calls, so that their tokens differ by exactly this. */
const changesOf = (before: Seen | null, now: Seen): readonly Change[] => {
  const known = new Map(before?.chat.shown.map((message) => [message.id, message]) ?? []);
  const present = new Set(now.chat.shown.map(({ id }) => id));
  const fresh = now.chat.shown.filter(({ id }) => !known.has(id));
  const appended = fresh.filter((message) => !isNote(message) && message.summary === undefined);
  const notes = groupBy(fresh.filter(isNote), (message) => message.sender ?? "");
  const overlaid = now.chat.shown.filter((message) => {
    const old = known.get(message.id);
    return old !== undefined && old.overlay?.edit !== message.overlay?.edit;
  });
  const left = [...known.values()].filter(({ id }) => !present.has(id));
  const editOf = new Map(now.chat.gone.map(({ message, edit }) => [message.id, edit]));
  const retired = groupBy(left, ({ id }) => String(editOf.get(id) ?? 0));
  const rest = (now.row.saw?.size ?? 0) - tokensOf(now.chat.shown);
  const restBefore = before === null ? rest : (before.row.saw?.size ?? 0) - tokensOf(before.chat.shown);
  return [
    ...change(null, "append", appended, -tokensOf(appended)),
    ...[...notes].flatMap(([kind, messages]) => change(kind, "inject", messages, -tokensOf(messages))),
    ...[...groupBy(overlaid, (message) => message.overlay?.by ?? "")].flatMap(([kind, messages]) => {
      const old = messages.map(({ id }) => known.get(id) as Message);
      return change(kind, "overlay", messages, tokensOf(old) - tokensOf(messages));
    }),
    ...[...retired].flatMap(([edit, messages]) => {
      const summary = summaryOf(now.chat, Number(edit));
      return change(
        summary?.summary?.by ?? null,
        summary === undefined ? "remove" : "retire",
        messages,
        tokensOf(messages),
      );
    }),
    ...fresh.flatMap((message) =>
      message.summary === undefined
        ? []
        : change(message.summary.by, "inject", [message], -shownTokens(message)),
    ),
    ...(rest === restBefore
      ? []
      : [{ effect: null, edit: "request" as const, messages: [], tokens_saved: restBefore - rest }]),
  ];
};

const hiddenView = (chat: ChatThen): readonly Json[] =>
  chat.gone.map(({ message, edit }) => {
    const summary = summaryOf(chat, edit);
    return {
      id: message.id,
      role: message.role,
      tokens: message.tokens,
      by: summary?.summary?.by ?? null,
      why: summary === undefined ? "removed" : `summarised in ${summary.id}`,
    };
  });

/** The view as the API gives it; `verified`: the request, built again, has the hash of what was sent. */
export const sightView = (
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
    attempt: row.attempt,
    purpose: row.purpose,
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
    hidden_tools: row.saw?.hidden ?? [],
    changes: changesOf(before, now) as unknown as Json,
    verified,
  };
};
