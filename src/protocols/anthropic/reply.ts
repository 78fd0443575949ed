import type { Anthropic } from "@anthropic-ai/sdk";
import { fieldsOf, isJsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { FinishReason, ModelEvent, ModelRequest } from "../../model/completer.ts";
import type { Decoder, Faults } from "../protocol.ts";
import { parseFrame } from "../protocol.ts";
import type { SseFrame } from "../sse.ts";
import { toolNamesByWire } from "../tool-names.ts";
import { argumentNamesByWire, readArguments } from "./argument-names.ts";

type StreamEvent = Anthropic.Messages.RawMessageStreamEvent;

type EventOf<T extends StreamEvent["type"]> = Extract<StreamEvent, { type: T }>;

const finishByStopReason: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "context_full",
  refusal: "refusal",
  pause_turn: "paused",
} satisfies Record<Anthropic.Messages.StopReason, FinishReason>;

interface StreamBlock {
  readonly kind: "text" | "thinking" | "redacted_thinking" | "tool_use" | "unknown";
  signature: string;
  /** Input or signature that was sent whole at the start, for a call or thinking whose deltas bring none. */
  readonly whole: string;
  /** Names of arguments by their sent names; null if the input can be passed on as it arrives. */
  readonly names: ReadonlyMap<string, string> | null;
  /** Input that is held until its end, since its names are to be changed. */
  held: string;
  anyInput: boolean;
  ended: boolean;
}

interface AnthropicState {
  readonly faults: Faults;
  readonly names: ReadonlyMap<string, string>;
  readonly argumentNames: ReturnType<typeof argumentNamesByWire>;
  readonly requestId: string | undefined;
  readonly blocks: Map<number, StreamBlock>;
  started: boolean;
  reason: string | undefined;
  category: string | undefined;
  done: boolean;
}

const blockKinds = new Set(["text", "thinking", "redacted_thinking", "tool_use"]);

/** Reads a text of a frame; servers omit empty ones. */
const readFrameText = ({ faults }: AnthropicState, value: unknown): string => {
  if (value !== undefined && value !== null && typeof value !== "string")
    throw faults.broken("a value that is not a text");
  return value ?? "";
};

const startMessage = (
  state: AnthropicState,
  { message }: EventOf<"message_start">,
  events: ModelEvent[],
): void => {
  if (state.started) throw state.faults.broken("a second message_start");
  state.started = true;
  const requestId = state.requestId === undefined ? {} : { requestId: state.requestId };
  const { model, usage = null } = fieldsOf(message);
  events.push({ type: "start", model: typeof model === "string" ? model : "", ...requestId });
  events.push({ type: "usage", raw: usage });
};

type BlockContent = EventOf<"content_block_start">["content_block"];

const openCall = (
  state: AnthropicState,
  item: number,
  { id, name: given }: Extract<BlockContent, { type: "tool_use" }>,
): ModelEvent => {
  const name = readFrameText(state, given);
  if (name === "") throw state.faults.broken("a call without a name");
  return {
    type: "call",
    item,
    ...(typeof id === "string" ? { id } : {}),
    name: state.names.get(name) ?? name,
  };
};

/** Reads the start of a block; returns null for an unknown kind of block. */
const readBlockStart = (state: AnthropicState, item: number, content: BlockContent): ModelEvent | null => {
  if (content.type === "text") return { type: "text", item, text: readFrameText(state, content.text) };
  if (content.type === "thinking")
    return { type: "reasoning", item, text: readFrameText(state, content.thinking) };
  if (content.type === "redacted_thinking")
    return { type: "opaque", item, data: { redacted: readFrameText(state, content.data) } };
  return content.type === "tool_use" ? openCall(state, item, content) : null;
};

/** Reads what a block may bring whole at its start: the input of a call, the signature of thinking. */
const readWhole = (state: AnthropicState, content: BlockContent): string => {
  if (content.type === "thinking") return readFrameText(state, content.signature);
  return content.type === "tool_use" && content.input !== undefined ? JSON.stringify(content.input) : "";
};

const startBlock = (
  state: AnthropicState,
  { index, content_block: content }: EventOf<"content_block_start">,
  events: ModelEvent[],
): void => {
  if (typeof index !== "number" || !isJsonObject(content))
    throw state.faults.broken("a content block without number or content");
  if (state.blocks.has(index)) throw state.faults.broken("a content block that is already open");
  const kind = (blockKinds.has(content.type) ? content.type : "unknown") as StreamBlock["kind"];
  const event = readBlockStart(state, index, content);
  const names = event?.type === "call" ? (state.argumentNames.get(event.name) ?? null) : null;
  const whole = readWhole(state, content);
  state.blocks.set(index, { kind, signature: "", whole, names, held: "", anyInput: false, ended: false });
  if (event !== null) events.push(event);
};

const openBlock = (state: AnthropicState, index: number): StreamBlock => {
  const block = state.blocks.get(index);
  if (block === undefined || block.ended)
    throw state.faults.broken("a delta of a content block that is not open");
  return block;
};

const applyBlockDelta = (
  state: AnthropicState,
  { index, delta }: EventOf<"content_block_delta">,
  events: ModelEvent[],
): void => {
  const block = openBlock(state, index);
  if (block.kind === "unknown") return;
  if (!isJsonObject(delta)) throw state.faults.broken("a delta without content");
  if (delta.type === "text_delta")
    events.push({ type: "text", item: index, text: readFrameText(state, delta.text) });
  else if (delta.type === "thinking_delta")
    events.push({ type: "reasoning", item: index, text: readFrameText(state, delta.thinking) });
  else if (delta.type === "signature_delta") block.signature += readFrameText(state, delta.signature);
  else if (delta.type === "input_json_delta") {
    const json = readFrameText(state, delta.partial_json);
    if (json !== "") block.anyInput = true;
    if (block.names === null) events.push({ type: "call_input", item: index, json });
    else block.held += json;
  }
};

const stopBlock = (
  state: AnthropicState,
  { index }: EventOf<"content_block_stop">,
  events: ModelEvent[],
): void => {
  const block = openBlock(state, index);
  block.ended = true;
  const signature = block.kind === "thinking" ? block.signature || block.whole : "";
  if (signature !== "") events.push({ type: "opaque", item: index, data: { signature } });
  const left = block.anyInput ? block.held : block.whole;
  if (block.kind === "tool_use" && left !== "")
    events.push({
      type: "call_input",
      item: index,
      json: block.names === null ? left : readArguments(left, block.names),
    });
  events.push({ type: "item_end", item: index });
};

const applyMessageDelta = (
  state: AnthropicState,
  { delta, usage }: EventOf<"message_delta">,
  events: ModelEvent[],
): void => {
  if (typeof delta?.stop_reason === "string") state.reason = delta.stop_reason;
  const category: unknown = delta?.stop_details?.category;
  if (typeof category === "string" && /^\w{1,40}$/.test(category)) state.category = category;
  if (usage) events.push({ type: "usage", raw: usage as unknown as Json });
};

/** Ends the reply, which needs a stop reason and `message_stop`; an unknown reason is a plain stop. */
const finishMessage = (state: AnthropicState, events: ModelEvent[]): void => {
  const { reason, category } = state;
  if (reason === undefined) throw state.faults.broken("message_stop without a stop reason");
  for (const [item, block] of state.blocks)
    if (!block.ended) throw state.faults.broken(`message_stop while content block ${item} is open`);
  state.done = true;
  const about = category === undefined ? {} : { category };
  events.push({ type: "finish", reason: finishByStopReason[reason] ?? "stop", raw: reason, ...about });
};

const takeEvent = (state: AnthropicState, event: StreamEvent, events: ModelEvent[]): void => {
  if (!state.started && event.type !== "message_start")
    throw state.faults.broken("a reply without message_start");
  switch (event.type) {
    case "message_start":
      return startMessage(state, event, events);
    case "content_block_start":
      return startBlock(state, event, events);
    case "content_block_delta":
      return applyBlockDelta(state, event, events);
    case "content_block_stop":
      return stopBlock(state, event, events);
    case "message_delta":
      return applyMessageDelta(state, event, events);
    case "message_stop":
      return finishMessage(state, events);
  }
};

const knownEvents = new Set<unknown>([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
] satisfies StreamEvent["type"][]);

/**
 * Creates the decoder of the Messages API. Usage of `message_delta` replaces that of `message_start`, field by
 * field.
 */
export const createAnthropicDecoder = (
  request: ModelRequest,
  faults: Faults,
  requestId: string | undefined,
): Decoder => {
  const state: AnthropicState = {
    faults,
    names: toolNamesByWire(request.tools),
    argumentNames: argumentNamesByWire(request.tools),
    requestId,
    blocks: new Map(),
    started: false,
    reason: undefined,
    category: undefined,
    done: false,
  };
  const frame = ({ event, data }: SseFrame, events: ModelEvent[]): void => {
    if (state.done) return;
    const fields = parseFrame(data, faults);
    const type = fields["type"];
    if (type === "error" || event === "error") throw faults.inBand(fields);
    if (type === "ping") events.push({ type: "ping" });
    else if (knownEvents.has(type)) takeEvent(state, fields as unknown as StreamEvent, events);
  };
  const reasons = () => state.blocks.values().some(({ kind, ended }) => kind === "thinking" && !ended);
  return { frame, state: () => (state.done ? "done" : "open"), reasons };
};
