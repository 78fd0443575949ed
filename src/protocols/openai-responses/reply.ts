import type { OpenAI } from "openai";
import { fieldsOf, isJsonObject } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { FinishReason, ModelEvent, ModelRequest } from "../../model/completer.ts";
import type { Decoder, Faults, WireTarget } from "../protocol.ts";
import { parseFrame } from "../protocol.ts";
import type { SseFrame } from "../sse.ts";
import { toolNamesByWire } from "../tool-names.ts";

type EventType = OpenAI.Responses.ResponseStreamEvent["type"];

interface OutputItem {
  readonly index: number;
  /** Kind of its content; null for items of a kind that is not read. */
  readonly kind: "text" | "reasoning" | "call" | null;
  /** Whether any content arrived; otherwise the end of the item holds the whole. */
  filled: boolean;
  ended: boolean;
  /** Event and part of the piece before: reasoning has parts, and servers may stream it in two forms. */
  source: EventType | undefined;
  part: Json | undefined;
}

interface ResponsesState {
  readonly faults: Faults;
  readonly names: ReadonlyMap<string, string>;
  readonly requestId: string | undefined;
  readonly items: Map<number, OutputItem>;
  started: boolean;
  done: boolean;
}

type EventReader = (state: ResponsesState, event: JsonObject, events: ModelEvent[]) => void;

const kinds: ReadonlyMap<Json | undefined, OutputItem["kind"]> = new Map([
  ["message", "text"],
  ["reasoning", "reasoning"],
  ["function_call", "call"],
]);

const finishByReason: ReadonlyMap<Json | undefined, FinishReason> = new Map([
  ["content_filter", "filtered"],
  ["max_output_tokens", "length"],
]);

const readText = ({ faults }: ResponsesState, value: Json | undefined): string => {
  if (value !== undefined && value !== null && typeof value !== "string")
    throw faults.broken("a value that is not a text");
  return value ?? "";
};

const startReply = (state: ResponsesState, response: Json | undefined, events: ModelEvent[]): void => {
  if (state.started) return;
  state.started = true;
  const { model } = fieldsOf(response);
  const requestId = state.requestId === undefined ? {} : { requestId: state.requestId };
  events.push({ type: "start", model: typeof model === "string" ? model : "", ...requestId });
};

const openItem = (
  state: ResponsesState,
  { output_index: index, item }: JsonObject,
  events: ModelEvent[],
): OutputItem => {
  if (typeof index !== "number" || !isJsonObject(item))
    throw state.faults.broken("an item without number or content");
  if (state.items.has(index)) throw state.faults.broken("an item that is already open");
  const kind = kinds.get(item["type"]) ?? null;
  const opened: OutputItem = {
    index,
    kind,
    filled: false,
    ended: false,
    source: undefined,
    part: undefined,
  };
  state.items.set(index, opened);
  if (kind !== "call") return opened;
  const name = readText(state, item["name"]);
  if (name === "") throw state.faults.broken("a call without a name");
  const id = typeof item["call_id"] === "string" ? { id: item["call_id"] } : {};
  events.push({ type: "call", item: index, ...id, name: state.names.get(name) ?? name });
  return opened;
};

const fill = (
  item: OutputItem,
  type: "text" | "refusal" | "reasoning" | "call_input",
  text: string,
  events: ModelEvent[],
): void => {
  if (text === "") return;
  item.filled = true;
  events.push(
    type === "call_input" ? { type, item: item.index, json: text } : { type, item: item.index, text },
  );
};

const findItem = ({ items, faults }: ResponsesState, { output_index: index }: JsonObject): OutputItem => {
  const item = typeof index === "number" ? items.get(index) : undefined;
  if (item === undefined) throw faults.broken("a piece of an item that is not open");
  return item;
};

/** Creates the reader of a piece of an item's content. */
const readPieceAs =
  (type: "text" | "refusal" | "call_input"): EventReader =>
  (state, event, events) =>
    fill(findItem(state, event), type, readText(state, event["delta"]), events);

/** Creates the reader of a piece of reasoning; a blank line stands between its parts. */
const readReasoningOf =
  (source: EventType, partKey: string): EventReader =>
  (state, event, events) => {
    const item = findItem(state, event);
    item.source ??= source;
    if (item.source !== source) return;
    const gap = item.filled && event[partKey] !== item.part ? "\n\n" : "";
    item.part = event[partKey] ?? null;
    fill(item, "reasoning", gap + readText(state, event["delta"]), events);
  };

const readTexts = (state: ResponsesState, parts: Json | undefined, key = "text"): string =>
  (Array.isArray(parts) ? parts : [])
    .map((part: Json) => readText(state, fieldsOf(part)[key]))
    .filter((text) => text !== "")
    .join("\n\n");

/** Reads the content of an item of which nothing was streamed. */
const readWhole = (
  state: ResponsesState,
  opened: OutputItem,
  { content, summary, arguments: args }: JsonObject,
  events: ModelEvent[],
): void => {
  if (opened.kind === "call") fill(opened, "call_input", readText(state, args), events);
  if (opened.kind === "reasoning")
    fill(opened, "reasoning", readTexts(state, summary) || readTexts(state, content), events);
  if (opened.kind !== "text") return;
  fill(opened, "text", readTexts(state, content), events);
  fill(opened, "refusal", readTexts(state, content, "refusal"), events);
};

/** Returns what must go back with an item: encrypted reasoning, and the phase of a text. */
const opaqueOf = (
  { kind, filled }: OutputItem,
  { encrypted_content, phase }: JsonObject,
): Json | undefined => {
  if (kind === "reasoning" && typeof encrypted_content === "string" && encrypted_content !== "")
    return { encrypted_content };
  return kind === "text" && filled && typeof phase === "string" ? { phase } : undefined;
};

const endItem: EventReader = (state, event, events) => {
  const { output_index: index } = event;
  const opened =
    (typeof index === "number" ? state.items.get(index) : undefined) ?? openItem(state, event, events);
  const item = fieldsOf(event["item"]);
  if (!opened.filled) readWhole(state, opened, item, events);
  const data = opaqueOf(opened, item);
  if (data !== undefined) events.push({ type: "opaque", item: opened.index, data });
  opened.ended = true;
  events.push({ type: "item_end", item: opened.index });
};

const takeUsage = (response: JsonObject, events: ModelEvent[]): void => {
  if (isJsonObject(response["usage"])) events.push({ type: "usage", raw: response["usage"] });
};

const readFailure: EventReader = (state, event, events) => {
  const response = fieldsOf(event["response"]);
  takeUsage(response, events);
  throw state.faults.inBand({ error: response["error"] ?? null });
};

const isComplete = ({ status, incomplete_details: details }: JsonObject): boolean =>
  (status ?? "completed") === "completed" && (fieldsOf(details)["reason"] ?? null) === null;

/**
 * Ends the reply. Its status decides, since servers (vLLM) send cut replies as completed ones; a cut reply without a
 * known reason has reached its limit.
 */
const readEnd: EventReader = (state, event, events) => {
  const response = fieldsOf(event["response"]);
  if (response["status"] === "failed") return readFailure(state, event, events);
  const { reason } = fieldsOf(response["incomplete_details"]);
  const isWhole = event["type"] !== "response.incomplete" && isComplete(response);
  for (const { kind, ended } of state.items.values())
    if (isWhole && kind === "call" && !ended) throw state.faults.broken("the end while a call is open");
  takeUsage(response, events);
  const raw = isWhole ? "completed" : readText(state, reason);
  state.done = true;
  events.push({ type: "finish", reason: isWhole ? "stop" : (finishByReason.get(reason) ?? "length"), raw });
};

/** xAI has ended replies with an event of its own. */
const readers: Partial<Readonly<Record<EventType | "response.done", EventReader>>> = {
  "response.output_item.added": openItem,
  "response.output_text.delta": readPieceAs("text"),
  "response.refusal.delta": readPieceAs("refusal"),
  "response.function_call_arguments.delta": readPieceAs("call_input"),
  "response.reasoning_summary_text.delta": readReasoningOf(
    "response.reasoning_summary_text.delta",
    "summary_index",
  ),
  "response.reasoning_text.delta": readReasoningOf("response.reasoning_text.delta", "content_index"),
  "response.output_item.done": endItem,
  "response.completed": readEnd,
  "response.done": readEnd,
  "response.incomplete": readEnd,
  "response.failed": readFailure,
};

/** Creates the decoder of the Responses API. Items keep their places in the output. */
export const createResponsesDecoder = (
  request: ModelRequest,
  _target: WireTarget,
  faults: Faults,
  requestId: string | undefined,
): Decoder => {
  const state: ResponsesState = {
    faults,
    names: toolNamesByWire(request.tools),
    requestId,
    items: new Map(),
    started: false,
    done: false,
  };
  const frame = ({ event: name, data }: SseFrame, events: ModelEvent[]): void => {
    if (state.done || data.trim() === "[DONE]") return;
    const event = parseFrame(data, faults);
    const { type } = event;
    if (type === "error" || name === "error" || (event["error"] ?? null) !== null) throw faults.inBand(event);
    if (typeof type !== "string" || !type.startsWith("response.")) return;
    startReply(state, event["response"], events);
    readers[type as EventType]?.(state, event, events);
  };
  const reasons = () => state.items.values().some(({ kind, ended }) => kind === "reasoning" && !ended);
  return { frame, state: () => (state.done ? "done" : "open"), reasons };
};
