import type { Message, Part, ToolCallPart, ToolResultPart } from "./message.ts";
import { renderMessage } from "./render.ts";
import { syntheticResult } from "./results.ts";
import { hasContent } from "./text.ts";
import { isDeeper, deepestInput } from "./json.ts";

/** This file defines what a provider may be sent, and the repairs that make any stored chat valid. */

export type RepairKind =
  | "result_missing"
  | "result_repeated"
  | "result_orphaned"
  | "result_moved"
  | "message_empty"
  | "message_mended"
  | "end_added"
  | "start_added"
  | Defect;

export interface Repair {
  readonly kind: RepairKind;
  readonly message: string;
  readonly pos: number;
}

export interface ChatView {
  /** Rendered messages, valid for every protocol. */
  readonly messages: readonly Message[];
  /** What had to be repaired; chats of the runtime's own transitions at most hold what no provider accepts. */
  readonly repairs: readonly Repair[];
}

const noCalls: readonly ToolCallPart[] = [];

export const callsOf = (message: Message): readonly ToolCallPart[] =>
  message.role === "assistant"
    ? message.parts.filter((part): part is ToolCallPart => part.type === "tool_call")
    : noCalls;

const resultOf = (message: Message | undefined): ToolResultPart | null => {
  const part = message?.role === "tool" ? message.parts[0] : undefined;
  return part?.type === "tool_result" ? part : null;
};

const partsOfRole: Readonly<Record<Message["role"], readonly Part["type"][]>> = {
  system: [],
  user: ["text", "image", "document"],
  assistant: ["text", "reasoning", "tool_call"],
  tool: ["tool_result"],
};

const fitsRole = ({ role }: Message, part: Part): boolean => partsOfRole[role].includes(part.type);

const wellFormedCache = new WeakSet<Message>();

/** Whether a message by itself may be sent: visible content, only parts of its role, one result in a tool message. */
const isWellFormedMessage = (message: Message): boolean => {
  if (wellFormedCache.has(message)) return true;
  const { role, parts } = message;
  const made =
    hasContent(message) &&
    parts.every((part) => fitsRole(message, part)) &&
    (role !== "tool" || parts.length === 1);
  if (made) wellFormedCache.add(message);
  return made;
};

/** The index after a complete block that starts at `at`, or -1 if a result is missing or misplaced. */
const endOfBlock = (chat: readonly Message[], at: number, calls: readonly ToolCallPart[]): number => {
  for (let index = 0; index < calls.length; index++) {
    if (resultOf(chat[at + 1 + index])?.call !== calls[index]?.id) return -1;
  }
  return at + 1 + calls.length;
};

/** Whether a chat is in order from an index at which no block is open; `ids` are the ids of the calls before it. */
const isOrdered = (chat: readonly Message[], from: number, ids: Set<string>): boolean => {
  let at = from;
  while (at < chat.length) {
    const message = chat[at] as Message;
    if (message.role === "tool") return false;
    const calls = callsOf(message);
    for (const { id } of calls) {
      if (ids.has(id)) return false;
      ids.add(id);
    }
    const end = endOfBlock(chat, at, calls);
    if (end < 0) return false;
    for (; at < end; at++) if (!isWellFormedMessage(chat[at] as Message)) return false;
  }
  return true;
};

const hasValidEnds = (chat: readonly Message[]): boolean =>
  chat[0]?.role === "user" && chat.at(-1)?.role !== "assistant";

const createRepair = (kind: RepairKind, { id, pos }: Message): Repair => ({ kind, message: id, pos });

/** Renders a message for a model and records what no provider would have accepted. */
const renderSendable = (message: Message, repairs: Repair[]): Message => {
  const { message: shown, defects } = makeSendable(renderMessage(message));
  for (const defect of defects) repairs.push(createRepair(defect, message));
  return shown;
};

/** A chat that was found valid. */
interface ValidChat {
  readonly chat: readonly Message[];
  readonly shown: readonly Message[];
  readonly repairs: readonly Repair[];
  /** The ids of its calls. */
  readonly ids: Set<string>;
}

/** The newest valid chat by its first message, so that in the next one only new messages are checked. */
const newestValid = new WeakMap<Message, ValidChat>();

const isPrefix = (before: readonly Message[], chat: readonly Message[]): boolean => {
  if (before.length > chat.length) return false;
  for (let at = before.length - 1; at >= 0; at--) if (before[at] !== chat[at]) return false;
  return true;
};

/** The view of a chat whose messages may be sent in stored order; null if it needs repairs. */
const viewAsIs = (chat: readonly Message[]): ChatView | null => {
  const first = chat[0];
  if (first === undefined || !hasValidEnds(chat)) return null;
  const known = newestValid.get(first);
  const sent =
    known !== undefined && isPrefix(known.chat, chat)
      ? known
      : { chat: [], shown: [], repairs: [], ids: new Set<string>() };
  newestValid.delete(first);
  if (!isOrdered(chat, sent.chat.length, sent.ids)) return null;
  const repairs = [...sent.repairs];
  const fresh = chat.slice(sent.chat.length).map((message) => renderSendable(message, repairs));
  const shown = [...sent.shown, ...fresh];
  newestValid.set(first, { chat, shown, repairs, ids: sent.ids });
  return { messages: shown, repairs };
};

const createSynthetic = (
  near: Message,
  suffix: string,
  fields: Partial<Message> & Pick<Message, "role" | "parts">,
): Message => ({
  id: `${near.id}~${suffix}`,
  pos: near.pos,
  origin: "system",
  at: near.at,
  tokens: 16,
  ...fields,
});

/** Makes the result of a call whose own result was lost. */
const createUnknownResult = (near: Message, call: ToolCallPart): Message =>
  createSynthetic(near, call.id, {
    role: "tool",
    parts: [syntheticResult(call, "unknown")],
  });

const createContinueNote = (near: Message): Message =>
  createSynthetic(near, "continue", {
    role: "user",
    sender: "runtime",
    marks: ["note"],
    parts: [{ type: "text", text: "Continue." }],
  });

/** Drops parts that the role cannot have, and renames call ids that an earlier message uses. */
const mendMessage = (message: Message, ids: Set<string>): Message => {
  let renamed = false;
  const parts = message.parts
    .filter((part) => fitsRole(message, part))
    .map((part) => {
      if (part.type !== "tool_call") return part;
      let { id } = part;
      for (let again = 2; ids.has(id); again++) id = `${part.id}_${again}`;
      ids.add(id);
      renamed ||= id !== part.id;
      return id === part.id ? part : { ...part, id };
    });
  return renamed || parts.length < message.parts.length ? { ...message, parts } : message;
};

/** Collects the first result of each call in stored order; later ones and those without a call are repairs. */
const collectResults = (chat: readonly Message[], repairs: Repair[]): Map<string, Message> => {
  const known = new Set(chat.flatMap((message) => callsOf(message).map((call) => call.id)));
  const results = new Map<string, Message>();
  for (const message of chat) {
    if (message.role !== "tool") continue;
    const result = resultOf(message);
    if (result === null || !known.has(result.call)) repairs.push(createRepair("result_orphaned", message));
    else if (results.has(result.call)) repairs.push(createRepair("result_repeated", message));
    else results.set(result.call, isWellFormedMessage(message) ? message : { ...message, parts: [result] });
  }
  return results;
};

const arrange = (stored: readonly Message[], repairs: Repair[]): Message[] => {
  const ids = new Set<string>();
  const chat = stored.map((message) => (message.role === "tool" ? message : mendMessage(message, ids)));
  const results = collectResults(chat, repairs);
  const shown: Message[] = [];
  for (const [index, message] of chat.entries()) {
    if (message.role === "tool") continue;
    if (!hasContent(message)) {
      repairs.push(createRepair("message_empty", message));
      continue;
    }
    if (message !== stored[index]) repairs.push(createRepair("message_mended", message));
    shown.push(message);
    const calls = callsOf(message);
    const inPlace = endOfBlock(chat, index, calls) >= 0;
    for (const call of calls) {
      const result = results.get(call.id);
      if (!inPlace)
        repairs.push(createRepair(result === undefined ? "result_missing" : "result_moved", message));
      shown.push(result ?? createUnknownResult(message, call));
    }
  }
  return shown;
};

/** Makes the view begin with a user message and not end with an answer. */
const mendEnds = (shown: Message[], head: Message, first: Message | null, repairs: Repair[]): void => {
  if (shown[0]?.role !== "user") {
    repairs.push(createRepair("start_added", head));
    shown.unshift(first ?? createContinueNote(head));
  }
  const last = shown.at(-1);
  if (last?.role !== "assistant") return;
  repairs.push(createRepair("end_added", last));
  shown.push(createContinueNote(last));
};

/**
 * Builds what a provider is sent of a chat (visible messages in order): the chat itself if valid, else a repaired
 * arrangement. `first` is the thread's first human input, used when the view would not start with a user message.
 */
export const buildView = (chat: readonly Message[], first: Message | null = null): ChatView => {
  const asIs = viewAsIs(chat);
  if (asIs !== null) return asIs;
  const repairs: Repair[] = [];
  const shown = arrange(chat, repairs);
  const head = shown[0] ?? chat[0] ?? first;
  if (head === null) return { messages: [], repairs };
  mendEnds(shown, head, first, repairs);
  return { messages: shown.map((message) => renderSendable(message, repairs)), repairs };
};

/** Mends what no provider accepts, whoever wrote it: lone surrogates and unfinished arguments. */

export type Defect = "text_mended" | "arguments_too_deep";

export interface Sendable {
  readonly message: Message;
  readonly defects: readonly Defect[];
}

/** Matches the escapes of a JSON text, both halves of a pair as one. */
const escapes =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}(?:\\u[dD][c-fC-F][\da-fA-F]{2})?|u[dD][c-fC-F][\da-fA-F]{2}|[^])/g;

/** The length of the escape of a single surrogate. */
const oneSurrogate = 6;

/** Replaces escapes of lone surrogates, which JSON allows and strict servers refuse, by U+FFFD. */
export const withWholeEscapes = (json: string): string =>
  json.includes("\\u") && /\\u[dD][89a-fA-F]/.test(json)
    ? json.replace(escapes, (escape) => (escape.length === oneSurrogate ? "\\ufffd" : escape))
    : json;

const longestInvalid = 2_000;

/** Wraps arguments that cannot be parsed in an object that contains them. */
export const wrapUnparsable = (args: string): string =>
  JSON.stringify({ _invalid: args.slice(0, longestInvalid).toWellFormed() });

/** Mends a text with lone surrogates. */
const mendText = (text: string, defects: Set<Defect>): string => {
  if (text.isWellFormed()) return text;
  defects.add("text_mended");
  return text.toWellFormed();
};

const mendArguments = (args: string, defects: Set<Defect>): string => {
  if (isDeeper(args, deepestInput)) {
    defects.add("arguments_too_deep");
    return wrapUnparsable(args);
  }
  const text = withWholeEscapes(args.toWellFormed());
  if (text !== args) defects.add("text_mended");
  return text;
};

/** Mends a part for sending; the defects found are added to `defects`. */
const mendPart = <P extends Part>(part: P, defects: Set<Defect>): P => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { ...part, text: mendText(part.text, defects) };
    case "tool_call":
      return { ...part, args: mendArguments(part.args, defects) };
    case "tool_result":
      return { ...part, content: part.content.map((each) => mendPart(each, defects)) };
    case "image":
    case "document": {
      const { name, url } = part;
      return {
        ...part,
        ...(name === undefined ? {} : { name: mendText(name, defects) }),
        ...(url === undefined ? {} : { url: mendText(url, defects) }),
      };
    }
  }
};

const sendableCache = new WeakMap<Message, Sendable>();

/** Makes a message that every provider accepts: the same object if nothing is wrong with it. */
const makeSendable = (message: Message): Sendable => {
  const before = sendableCache.get(message);
  if (before !== undefined) return before;
  const defects = new Set<Defect>();
  const parts = message.parts.map((part) => mendPart(part, defects));
  const sendable = { message: defects.size === 0 ? message : { ...message, parts }, defects: [...defects] };
  sendableCache.set(message, sendable);
  return sendable;
};
