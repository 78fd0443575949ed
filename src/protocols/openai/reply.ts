import type { JsonObject } from "../../chat/json.ts";
import { fieldsOf } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { FinishReason, ModelEvent, ModelRequest } from "../../model/completer.ts";
import type { Decoder, Faults, WireTarget } from "../protocol.ts";
import { parseFrame } from "../protocol.ts";
import type { ReasoningDetails } from "../reasoning-details.ts";
import { createReasoningDetails } from "../reasoning-details.ts";
import type { SseFrame } from "../sse.ts";
import type { ThinkTags } from "../think-tags.ts";
import { createThinkTags } from "../think-tags.ts";
import { toolNamesByWire } from "../tool-names.ts";
import type { CallPiece, CallSlots } from "./calls.ts";
import { createCallSlots } from "./calls.ts";

/** Delta of a chat server; any field may be missing, null or of another type. */
interface ChatDelta {
  readonly content?: unknown;
  readonly refusal?: unknown;
  readonly reasoning_content?: unknown;
  readonly reasoning?: unknown;
  readonly reasoning_details?: unknown;
  readonly tool_calls?: unknown;
}

interface ChatChoice {
  readonly index?: number;
  readonly delta?: ChatDelta | null;
  /** The whole reply, which some servers send as one chunk, or once more with the last. */
  readonly message?: ChatDelta | null;
  readonly finish_reason?: string | null;
  readonly usage?: Json;
  readonly error?: Json;
}

/** Reasons in small letters: OpenAI's, and those with which Mistral, Google and Z.ai say that a reply is cut. */
const finishByReason: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["length", "length"],
  ["max_tokens", "length"],
  ["model_length", "context_full"],
  ["model_context_window_exceeded", "context_full"],
  ...["content_filter", "sensitive", "safety", "recitation", "blocklist", "prohibited_content", "spii"].map(
    (reason) => [reason, "filtered"] as const,
  ),
]);

/** Reasons of servers that gave up in the middle of a reply: half of it is none. */
const brokenOff = new Set(["error", "network_error", "insufficient_system_resource", "abort"]);

/** Reasons of Google for a call that it could not read and left out. */
const unreadableCall = new Set(["function_call_filter", "malformed_function_call", "unexpected_tool_call"]);

type TextKind = "text" | "reasoning" | "refusal";

interface OpenAiState {
  readonly faults: Faults;
  readonly requestId: string | undefined;
  readonly calls: CallSlots;
  readonly details: ReasoningDetails;
  readonly think: ThinkTags | undefined;
  readonly nextItem: () => number;
  /** Returns whether nothing of the reply has come yet. */
  readonly isEmpty: () => boolean;
  started: boolean;
  /** Item to which text is added now. */
  open: { readonly type: TextKind; readonly item: number } | undefined;
  /** Item of reasoning to which the details belong. */
  reasoning: number | undefined;
  state: "open" | "finished" | "done";
  /** The newest reason with which the reply ended; some servers send text after the first. */
  reason: string;
}

const closeItem = (state: OpenAiState, events: ModelEvent[]): void => {
  if (state.open !== undefined) events.push({ type: "item_end", item: state.open.item });
  state.open = undefined;
};

const addText = (state: OpenAiState, type: TextKind, text: unknown, events: ModelEvent[]): void => {
  if (typeof text !== "string" || text === "") return;
  if (state.open?.type !== type) {
    closeItem(state, events);
    state.open = { type, item: state.nextItem() };
    if (type === "reasoning") state.reasoning ??= state.open.item;
  }
  events.push({ type, item: state.open.item, text });
};

/**
 * Adds the pieces of a list, which Mistral sends for thoughts and citations: text, and reasoning with pieces of its
 * own.
 */
const addPieces = (state: OpenAiState, pieces: readonly unknown[], events: ModelEvent[]): void => {
  for (const piece of pieces) {
    const { text, thinking } = fieldsOf(piece);
    addText(state, "text", text, events);
    if (!Array.isArray(thinking)) continue;
    for (const thought of thinking) addText(state, "reasoning", fieldsOf(thought)["text"], events);
  }
};

const addContent = (state: OpenAiState, content: unknown, events: ModelEvent[]): void => {
  if (Array.isArray(content)) return addPieces(state, content, events);
  if (state.think === undefined) return addText(state, "text", content, events);
  if (typeof content !== "string") return;
  for (const { type, text } of state.think.feed(content)) addText(state, type, text, events);
};

/** Reads reasoning from one of three fields; servers that fill two of them repeat themselves. */
const addReasoning = (state: OpenAiState, delta: ChatDelta, events: ModelEvent[]): void => {
  const told = state.details.take(delta.reasoning_details);
  const text = [delta.reasoning_content, delta.reasoning, told].find(
    (each) => typeof each === "string" && each !== "",
  );
  addText(state, "reasoning", text, events);
};

const takeDelta = (state: OpenAiState, delta: ChatDelta, events: ModelEvent[]): void => {
  addReasoning(state, delta, events);
  addContent(state, delta.content, events);
  addText(state, "refusal", delta.refusal, events);
  if (!Array.isArray(delta.tool_calls) || delta.tool_calls.length === 0) return;
  if (state.state !== "open") throw state.faults.broken("a call after the reason of the end");
  closeItem(state, events);
  for (const piece of delta.tool_calls as readonly (CallPiece | null)[])
    if (piece !== null) state.calls.take(piece, events);
};

/** Notes that the reply has ended, by its `finish_reason`, before whose colon Google names the kind. */
const noteReason = (state: OpenAiState, reason: string): void => {
  const [kind = ""] = reason.toLowerCase().split(":");
  if (brokenOff.has(kind)) throw state.faults.inBand({ error: { message: "the reply ended with an error" } });
  if (unreadableCall.has(kind)) throw state.faults.broken("the provider could not read the model's call");
  state.state = "finished";
  state.reason = reason;
};

/** Ends a reply of which nothing more is awaited; an unknown reason is a plain stop. */
const endReply = (state: OpenAiState, events: ModelEvent[]): void => {
  if (state.state !== "finished") return;
  for (const { type, text } of state.think?.end() ?? []) addText(state, type, text, events);
  closeItem(state, events);
  const details = state.details.all();
  if (details.length > 0) {
    const item = state.reasoning ?? state.nextItem();
    events.push({ type: "opaque", item, data: { details } });
  }
  state.calls.end(events);
  state.state = "done";
  const [kind = ""] = state.reason.toLowerCase().split(":");
  events.push({ type: "finish", reason: finishByReason.get(kind) ?? "stop", raw: state.reason });
};

/** Starts the reply; Azure begins with a chunk about the prompt, which holds no choice and names no model yet. */
const startReply = (state: OpenAiState, { model, choices }: JsonObject, events: ModelEvent[]): void => {
  const isPrelude = model === "" && Array.isArray(choices) && choices.length === 0;
  if (state.started || isPrelude) return;
  state.started = true;
  const requestId = state.requestId === undefined ? {} : { requestId: state.requestId };
  events.push({ type: "start", model: typeof model === "string" ? model : "", ...requestId });
};

/** Throws for an error frame: `{error}`, a list of it (Gemini), an event or object named error, or one in a choice. */
const checkError = (faults: Faults, event: string, parsed: JsonObject): void => {
  const body = Array.isArray(parsed) ? (parsed[0] as JsonObject | undefined) : parsed;
  const error = body?.["error"] ?? (body?.["choices"] as readonly ChatChoice[] | undefined)?.[0]?.error;
  if (error !== undefined && error !== null) throw faults.inBand({ error });
  if (event === "error" || parsed["object"] === "error") throw faults.inBand(parsed);
};

/** Takes the usage of a chunk, or of its choice, as Moonshot reports it; an empty one says that it comes later. */
const takeUsage = (state: OpenAiState, usage: Json, events: ModelEvent[]): void => {
  if (typeof usage !== "object" || usage === null || Object.keys(usage).length === 0) return;
  events.push({ type: "usage", raw: usage });
  endReply(state, events);
};

/** Takes what a choice adds to the reply: its delta, and its message if nothing has been streamed. */
const takeChoice = (state: OpenAiState, { delta, message }: ChatChoice, events: ModelEvent[]): void => {
  if (delta) takeDelta(state, delta, events);
  if (message && state.isEmpty()) takeDelta(state, message, events);
};

const takeChunk = (state: OpenAiState, chunk: JsonObject, events: ModelEvent[]): void => {
  startReply(state, chunk, events);
  const choice = (chunk["choices"] as readonly ChatChoice[] | null | undefined)?.[0];
  if (choice) takeChoice(state, choice, events);
  if (typeof choice?.finish_reason === "string" && choice.finish_reason !== "")
    noteReason(state, choice.finish_reason);
  takeUsage(state, chunk["usage"] ?? choice?.usage ?? null, events);
};

/** Creates the decoder of the chat completions API in the dialects of all providers. */
export const createOpenAiDecoder = (
  request: ModelRequest,
  { traits }: WireTarget,
  faults: Faults,
  requestId: string | undefined,
): Decoder => {
  let items = 0;
  const nextItem = (): number => items++;
  const names = toolNamesByWire(request.tools);
  const state: OpenAiState = {
    faults,
    requestId,
    calls: createCallSlots(nextItem, (name) => names.get(name) ?? name),
    details: createReasoningDetails(traits.reasoningReplay === "reasoning_details"),
    think: traits.thinkTags ? createThinkTags() : undefined,
    nextItem,
    isEmpty: () => items === 0,
    started: false,
    open: undefined,
    reasoning: undefined,
    state: "open",
    reason: "",
  };
  /**
   * Reads a chunk. Once the reply has ended, only its usage is awaited: an unreadable chunk ends the wait, and
   * undoes nothing.
   */
  const readChunk = (data: string, events: ModelEvent[]): JsonObject | null => {
    try {
      return parseFrame(data, faults);
    } catch (error) {
      if (state.state === "open") throw error;
      endReply(state, events);
      return null;
    }
  };
  const frame = ({ event, data }: SseFrame, events: ModelEvent[]): void => {
    if (data.trim() === "[DONE]") return endReply(state, events);
    const chunk = state.state === "done" ? null : readChunk(data, events);
    if (chunk === null) return;
    checkError(faults, event, chunk);
    takeChunk(state, chunk, events);
  };
  return { frame, state: () => state.state, end: (events) => endReply(state, events) };
};
