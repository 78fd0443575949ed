import type { Json, Opaque, Part } from "../chat/message.ts";
import { utf8Length } from "../chat/tokens.ts";
import type { FinishReason, ItemDelta, ModelEvent, ModelRequest } from "./completer.ts";
import { modelError } from "./failure.ts";
import type { AttemptOrigin } from "./failure.ts";
import { mergeUsage } from "./usage.ts";

/** Limits of one reply: UTF-8 bytes of text and of a call's arguments, calls that may run, length of the model name. */
const replyLimits = { text: 4 * 1024 * 1024, args: 1024 * 1024, calls: 64, model: 200 } as const;

interface ReplyItem {
  readonly kind: "text" | "reasoning" | "call";
  /** Index among the parts; set with the first content, so that an empty item leaves no gap. */
  readonly index: number;
  readonly id: string;
  readonly givenId: string;
  readonly name: string;
  /** Text of earlier batches and of this one, separate so that the whole is joined only once. */
  text: string;
  fresh: string;
  touched: boolean;
  /** Whether a delta has announced the item. */
  announced: boolean;
  bytes: number;
  data: Json | undefined;
  ended: boolean;
}

/** State of a reply that is being collected: mutable and owned by one attempt. */
export interface OpenReply {
  readonly origin: AttemptOrigin;
  readonly ids: CallIds;
  /** Whether deltas are wanted. */
  readonly live: boolean;
  readonly items: Map<number, ReplyItem>;
  readonly parts: ReplyItem[];
  /** Items with new content in this batch. */
  dirty: ReplyItem[];
  readonly taken: Set<string>;
  textBytes: number;
  started: boolean;
  refused: boolean;
  model: string;
  requestId: string | undefined;
  rawUsage: Json | undefined;
  finish: FinishReason | undefined;
  category: string | undefined;
}

export const openReply = (origin: AttemptOrigin, ids: CallIds, live: boolean): OpenReply => ({
  origin,
  ids,
  live,
  items: new Map(),
  parts: [],
  dirty: [],
  taken: new Set(),
  textBytes: 0,
  started: false,
  refused: false,
  model: origin.model,
  requestId: undefined,
  rawUsage: undefined,
  finish: undefined,
  category: undefined,
});

const failOutOfOrder = (reply: OpenReply, what: string): never => {
  throw modelError("protocol_error", reply.origin, `The provider's stream is out of order: ${what}.`);
};

const failTooLarge = (reply: OpenReply, what: string): never => {
  throw modelError("protocol_error", reply.origin, `The provider's reply is too large: ${what}.`);
};

const addItem = (
  reply: OpenReply,
  key: number,
  kind: ReplyItem["kind"],
  name = "",
  givenId = "",
): ReplyItem => {
  const index = reply.parts.length;
  const id = kind === "call" ? chooseId(givenId, index, reply.ids, reply.taken) : "";
  reply.taken.add(id);
  const item: ReplyItem = {
    kind,
    index,
    id,
    givenId,
    name,
    text: "",
    fresh: "",
    touched: false,
    announced: false,
    bytes: 0,
    data: undefined,
    ended: false,
  };
  reply.items.set(key, item);
  reply.parts.push(item);
  return item;
};

/** Returns the open item with this number; creates a new one for text or reasoning. */
const openItem = (reply: OpenReply, key: number, kind: ReplyItem["kind"]): ReplyItem => {
  const item = reply.items.get(key) ?? (kind === "call" ? undefined : addItem(reply, key, kind));
  if (item === undefined) return failOutOfOrder(reply, "arguments of a call that was never opened");
  if (item.kind !== kind) return failOutOfOrder(reply, `${kind} for an item that is ${item.kind}`);
  if (item.ended) return failOutOfOrder(reply, `${kind} for an item that has ended`);
  return item;
};

const touch = (reply: OpenReply, item: ReplyItem): void => {
  if (item.touched) return;
  item.touched = true;
  reply.dirty.push(item);
};

const appendText = (reply: OpenReply, key: number, kind: ReplyItem["kind"], text: string): void => {
  const item = openItem(reply, key, kind);
  const bytes = utf8Length(text);
  if (kind === "call") {
    item.bytes += bytes;
    if (item.bytes > replyLimits.args) failTooLarge(reply, "more than 1 MiB of arguments in one call");
  } else {
    reply.textBytes += bytes;
    if (reply.textBytes > replyLimits.text) failTooLarge(reply, "more than 4 MiB of text");
  }
  item.fresh += text;
  touch(reply, item);
};

type ContentEvent = Extract<
  ModelEvent,
  { type: "text" | "reasoning" | "refusal" | "call" | "call_input" | "opaque" }
>;

const takeContent = (reply: OpenReply, event: ContentEvent): void => {
  if (("text" in event && event.text === "") || ("json" in event && event.json === "")) return;
  if (!reply.started) failOutOfOrder(reply, `${event.type} before the start`);
  if (reply.finish !== undefined) failOutOfOrder(reply, `${event.type} after the end`);
  if (event.type === "call") return openCall(reply, event);
  if (event.type === "opaque") return attachOpaque(reply, event);
  if (event.type === "call_input") return appendText(reply, event.item, "call", event.json);
  if (event.type === "refusal") reply.refused = true;
  appendText(reply, event.item, event.type === "reasoning" ? "reasoning" : "text", event.text);
};

const openCall = (reply: OpenReply, { item, name, id }: Extract<ModelEvent, { type: "call" }>): void => {
  if (reply.items.has(item)) failOutOfOrder(reply, "a call for an item that is already open");
  touch(reply, addItem(reply, item, "call", name, id));
};

/** Attaches opaque data to an item, of which the last is kept; an item with no other content is redacted reasoning. */
const attachOpaque = (reply: OpenReply, { item, data }: Extract<ModelEvent, { type: "opaque" }>): void => {
  (reply.items.get(item) ?? addItem(reply, item, "reasoning")).data = data;
};

const startReply = (reply: OpenReply, event: Extract<ModelEvent, { type: "start" }>): void => {
  if (reply.started) failOutOfOrder(reply, "a second start");
  reply.started = true;
  if (event.model !== "") reply.model = event.model.slice(0, replyLimits.model).toWellFormed();
  reply.requestId = event.requestId;
};

/** Applies one event; throws a `protocol_error` for an impossible order or a reply beyond its limits. */
export const takeEvent = (reply: OpenReply, event: ModelEvent): void => {
  if (event.type === "start") startReply(reply, event);
  else if (event.type === "usage") reply.rawUsage = mergeUsage(reply.rawUsage, event.raw);
  else if (event.type === "finish") {
    reply.finish ??= event.reason;
    reply.category ??= event.category;
  } else if (event.type === "item_end") endItem(reply, event.item);
  else if (event.type !== "ping") takeContent(reply, event);
};

/** Ends an item. Protocols also end items that never had content: those are unknown here. */
const endItem = (reply: OpenReply, key: number): void => {
  const item = reply.items.get(key);
  if (item !== undefined) item.ended = true;
};

/** Closes a batch and returns its content as at most one delta per item. */
export const takeDeltas = (reply: OpenReply): readonly ItemDelta[] => {
  const deltas: ItemDelta[] = [];
  for (const item of reply.dirty) {
    const { kind, index, id, name, fresh } = item;
    const off = item.text.length;
    if (reply.live) {
      if (kind !== "call") deltas.push({ kind, index, off, data: fresh });
      else if (item.announced) deltas.push({ kind: "tool_input", index, off, data: fresh });
      else deltas.push({ kind: "tool_input", index, off, data: fresh, call: { id, name } });
    }
    item.text += fresh;
    item.fresh = "";
    item.touched = false;
    item.announced = true;
  }
  reply.dirty = [];
  return deltas;
};

/** Finish reasons after which no call of the reply may run. */
const truncatingFinishes: ReadonlySet<FinishReason> = new Set([
  "length",
  "context_full",
  "refusal",
  "filtered",
  "paused",
]);

/** Returns the provider's reason, corrected by the content: calls mean `tool_calls`, refusal text means `refusal`. */
export const finishOf = (reply: OpenReply, reason: FinishReason): FinishReason => {
  if (reason !== "stop" && reason !== "tool_calls") return reason;
  if (reply.refused) return "refusal";
  return reply.parts.some(({ kind }) => kind === "call") ? "tool_calls" : "stop";
};

/** Returns the parts of the reply's message, in the model's order. */
export const partsOf = (reply: OpenReply, finish: FinishReason): Part[] => {
  let calls = 0;
  return reply.parts.map((item): Part => {
    const opaque = opaqueOf(reply.origin, item);
    const text = item.text + item.fresh;
    if (item.kind === "text") return { type: "text", text: text.toWellFormed(), ...opaque };
    if (item.kind === "reasoning") {
      const model = `${reply.origin.provider}/${reply.origin.model}`;
      return { type: "reasoning", text: text.toWellFormed(), model, ...opaque };
    }
    calls += 1;
    const invalid = truncatingFinishes.has(finish)
      ? "truncated"
      : calls > replyLimits.calls
        ? "too_many"
        : undefined;
    const call = { type: "tool_call", id: item.id, name: item.name, args: text } as const;
    return { ...call, ...opaque, ...(invalid !== undefined && { invalid }) };
  });
};

/** Returns the opaque data of a part: the protocol's own, else the provider's id of a renamed call as `{ id }`. */
const opaqueOf = ({ provider, model }: AttemptOrigin, item: ReplyItem): { opaque?: Opaque } => {
  const renamed = item.givenId !== "" && item.givenId !== item.id;
  const data = item.data ?? (renamed ? { id: item.givenId } : undefined);
  return data === undefined ? {} : { opaque: { provider, model, data } };
};

/** Call ids that a reply may keep, and new ones for the rest. */
interface CallIds {
  /** Returns whether the thread already has a call with this id. */
  readonly isKnown: (id: string) => boolean;
  /** True if the session may have calls that are missing here, so that another id cannot be known to be new. */
  readonly partial: boolean;
  /** Returns the id of the reply's n-th call, the same for every attempt of the same request. */
  readonly mint: (index: number) => string;
}

const usableId = /^[A-Za-z0-9_-]{1,40}$/;

/** Digests a string to 52 bits as 11 base-36 digits, for distribution only: not cryptographic. */
const spreadDigest = (text: string): string => {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    high = Math.imul(high ^ unit, 2654435761);
    low = Math.imul(low ^ unit, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return ((high >>> 0) * 0x100000 + (low >>> 12)).toString(36).padStart(11, "0");
};

type History = ModelRequest["messages"];

interface KnownCalls {
  readonly history: History;
  readonly ids: Set<string>;
}

/**
 * Known calls by the first message of a history, with which that of the next turn begins, too: a turn reads only
 * new messages.
 */
const knownCalls = new WeakMap<History[number], KnownCalls>();

const readCalls = (history: History): ReadonlySet<string> => {
  const [first] = history;
  if (first === undefined) return new Set();
  const before = knownCalls.get(first);
  const goesOn = before?.history.every((message, index) => message === history[index]) === true;
  const known = goesOn ? before : { history: [], ids: new Set<string>() };
  for (const { parts } of history.slice(known.history.length))
    for (const part of parts) if (part.type === "tool_call") known.ids.add(part.id);
  knownCalls.set(first, { history, ids: known.ids });
  return known.ids;
};

/** Collects the call ids of a request's history, and derives new ids from its context. */
export const createCallIds = ({ messages, context }: Pick<ModelRequest, "messages" | "context">): CallIds => {
  const { session, thread, run, turn, call, purpose, partial = false } = context;
  const mint = (index: number): string =>
    `call_${spreadDigest([session, thread, run, turn, call, purpose].join("\n"))}_${index}`;
  let ids: ReadonlySet<string> | null = null;
  const isKnown = (id: string): boolean => (ids ??= readCalls(messages)).has(id);
  return { isKnown, partial, mint };
};

/** Keeps the provider's id if it is usable and certainly new in thread and reply, otherwise creates one. */
const chooseId = (given: string, index: number, ids: CallIds, taken: ReadonlySet<string>): string => {
  const free = (id: string) => !taken.has(id) && !ids.isKnown(id);
  if (!ids.partial && usableId.test(given) && free(given)) return given;
  let id = ids.mint(index);
  for (let again = 2; !free(id); again++) id = `${ids.mint(index)}_${again}`;
  return id;
};
