import type { Anthropic } from "@anthropic-ai/sdk";
import { fieldsOf, isFields } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { FinishReason, ModelEvent, ModelRequest } from "../../model/completer.ts";
import type { Decoder, Faults } from "../protocol.ts";
import { parseFrame } from "../protocol.ts";
import type { Frame } from "../sse.ts";
import { namesBack } from "../tool-names.ts";

type StreamEvent = Anthropic.Messages.RawMessageStreamEvent;

type Of<T extends StreamEvent["type"]> = Extract<StreamEvent, { type: T }>;

const reasons: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "context_full",
  refusal: "refusal",
  pause_turn: "paused",
} satisfies Record<Anthropic.Messages.StopReason, FinishReason>;

interface Block {
  readonly kind: "text" | "thinking" | "redacted_thinking" | "tool_use" | "unknown";
  signature: string;
  /** Input told whole at the start, for a call whose deltas stay empty. */
  readonly input: string;
  anyInput: boolean;
  ended: boolean;
}

interface State {
  readonly faults: Faults;
  readonly names: ReadonlyMap<string, string>;
  readonly requestId: string | undefined;
  readonly blocks: Map<number, Block>;
  started: boolean;
  reason: string | undefined;
  category: string | undefined;
  done: boolean;
}

const kinds = new Set(["text", "thinking", "redacted_thinking", "tool_use"]);

/** A text of a frame; servers leave out what is empty. */
const textIn = ({ faults }: State, value: unknown): string => {
  if (value !== undefined && value !== null && typeof value !== "string")
    throw faults.broken("another value where a text belongs");
  return value ?? "";
};

const start = (state: State, { message }: Of<"message_start">, events: ModelEvent[]): void => {
  if (state.started) throw state.faults.broken("a second message_start");
  state.started = true;
  const requestId = state.requestId === undefined ? {} : { requestId: state.requestId };
  const { model, usage = null } = fieldsOf(message);
  events.push({ type: "start", model: typeof model === "string" ? model : "", ...requestId });
  events.push({ type: "usage", raw: usage });
};

type Content = Of<"content_block_start">["content_block"];

const openCall = (
  state: State,
  item: number,
  { id, name: given }: Extract<Content, { type: "tool_use" }>,
): ModelEvent => {
  const name = textIn(state, given);
  if (name === "") throw state.faults.broken("a call without a name");
  return {
    type: "call",
    item,
    ...(typeof id === "string" ? { id } : {}),
    name: state.names.get(name) ?? name,
  };
};

/** What the start of a block tells already; null of a block that is not known. */
const told = (state: State, item: number, content: Content): ModelEvent | null => {
  if (content.type === "text") return { type: "text", item, text: textIn(state, content.text) };
  if (content.type === "thinking") return { type: "reasoning", item, text: textIn(state, content.thinking) };
  if (content.type === "redacted_thinking")
    return { type: "opaque", item, data: { redacted: textIn(state, content.data) } };
  return content.type === "tool_use" ? openCall(state, item, content) : null;
};

const blockStart = (
  state: State,
  { index, content_block: content }: Of<"content_block_start">,
  events: ModelEvent[],
): void => {
  if (typeof index !== "number" || !isFields(content))
    throw state.faults.broken("a content block without number or content");
  if (state.blocks.has(index)) throw state.faults.broken("a content block that is open already");
  const kind = (kinds.has(content.type) ? content.type : "unknown") as Block["kind"];
  const input =
    content.type === "tool_use" && content.input !== undefined ? JSON.stringify(content.input) : "";
  state.blocks.set(index, { kind, signature: "", input, anyInput: false, ended: false });
  const event = told(state, index, content);
  if (event !== null) events.push(event);
};

const openBlock = (state: State, index: number): Block => {
  const block = state.blocks.get(index);
  if (block === undefined || block.ended)
    throw state.faults.broken("a delta of a content block that is not open");
  return block;
};

const blockDelta = (
  state: State,
  { index, delta }: Of<"content_block_delta">,
  events: ModelEvent[],
): void => {
  const block = openBlock(state, index);
  if (block.kind === "unknown") return;
  if (!isFields(delta)) throw state.faults.broken("a delta without content");
  if (delta.type === "text_delta")
    events.push({ type: "text", item: index, text: textIn(state, delta.text) });
  else if (delta.type === "thinking_delta")
    events.push({ type: "reasoning", item: index, text: textIn(state, delta.thinking) });
  else if (delta.type === "signature_delta") block.signature += textIn(state, delta.signature);
  else if (delta.type === "input_json_delta") {
    const json = textIn(state, delta.partial_json);
    if (json !== "") block.anyInput = true;
    events.push({ type: "call_input", item: index, json });
  }
};

const blockStop = (state: State, { index }: Of<"content_block_stop">, events: ModelEvent[]): void => {
  const block = openBlock(state, index);
  block.ended = true;
  if (block.signature !== "")
    events.push({ type: "opaque", item: index, data: { signature: block.signature } });
  if (block.kind === "tool_use" && !block.anyInput && block.input !== "")
    events.push({ type: "call_input", item: index, json: block.input });
  events.push({ type: "item_end", item: index });
};

const messageDelta = (state: State, { delta, usage }: Of<"message_delta">, events: ModelEvent[]): void => {
  if (typeof delta?.stop_reason === "string") state.reason = delta.stop_reason;
  const category: unknown = delta?.stop_details?.category;
  if (typeof category === "string" && /^\w{1,40}$/.test(category)) state.category = category;
  if (usage) events.push({ type: "usage", raw: usage as unknown as Json });
};

/** The end counts only with a stop reason told before `message_stop`; an unknown reason is a plain stop. */
const stop = (state: State, events: ModelEvent[]): void => {
  const { reason, category } = state;
  if (reason === undefined) throw state.faults.broken("message_stop without a stop reason");
  for (const [item, block] of state.blocks)
    if (!block.ended) throw state.faults.broken(`message_stop while content block ${item} is open`);
  state.done = true;
  const about = category === undefined ? {} : { category };
  events.push({ type: "finish", reason: reasons[reason] ?? "stop", raw: reason, ...about });
};

const take = (state: State, event: StreamEvent, events: ModelEvent[]): void => {
  if (!state.started && event.type !== "message_start")
    throw state.faults.broken("a reply without message_start");
  switch (event.type) {
    case "message_start":
      return start(state, event, events);
    case "content_block_start":
      return blockStart(state, event, events);
    case "content_block_delta":
      return blockDelta(state, event, events);
    case "content_block_stop":
      return blockStop(state, event, events);
    case "message_delta":
      return messageDelta(state, event, events);
    case "message_stop":
      return stop(state, events);
  }
};

const known = new Set<unknown>([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
] satisfies StreamEvent["type"][]);

/** Reads a stream of the Messages API. Usage of `message_delta` replaces that of `message_start`, field by field. */
export const anthropicDecoder = (
  request: ModelRequest,
  faults: Faults,
  requestId: string | undefined,
): Decoder => {
  const state: State = {
    faults,
    names: namesBack(request.tools),
    requestId,
    blocks: new Map(),
    started: false,
    reason: undefined,
    category: undefined,
    done: false,
  };
  const frame = ({ event, data }: Frame, events: ModelEvent[]): void => {
    if (state.done) return;
    const fields = parseFrame(data, faults);
    const type = fields["type"];
    if (type === "error" || event === "error") throw faults.inBand(fields);
    if (type === "ping") events.push({ type: "ping" });
    else if (known.has(type)) take(state, fields as unknown as StreamEvent, events);
  };
  return { frame, state: () => (state.done ? "done" : "open") };
};
