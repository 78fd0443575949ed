import { parseJson } from "../chat/json.ts";
import type { JsonObject } from "../chat/json.ts";
import type { Json } from "../chat/message.ts";
import type { Effort, ModelEvent, ModelRequest } from "../model/completer.ts";
import type { Capabilities } from "../model/schema.ts";
import type { SchemaDialect } from "./json-schema.ts";
import type { SseFrame } from "./sse.ts";

/** How a provider deviates from its protocol's plain form; the provider's file fills it in. */
export interface Traits {
  readonly tokensField: "max_tokens" | "max_completion_tokens";
  readonly systemRole: "system" | "developer";
  readonly streamUsage: boolean;
  readonly schema: SchemaDialect;
  /** The field in which reasoning returns to a chat server. */
  readonly reasoningReplay: "none" | "reasoning_content" | "reasoning_details";
  /** True if a leading `<think>…</think>` is reasoning. */
  readonly thinkTags: boolean;
  /** Efforts that the server accepts, lowest first. */
  readonly efforts: readonly Effort[];
  /** True to send `store: false` and a `prompt_cache_key` per thread. */
  readonly openaiFields: boolean;
  /** True if calls carry Google's thought signatures, which must be returned. */
  readonly thoughtSignatures: boolean;
}

/** The facts about a request's model that a protocol needs. */
export interface WireTarget {
  readonly provider: string;
  readonly capabilities: Capabilities;
  /** The most output tokens that the model gives. */
  readonly maxOutput: number;
  readonly traits: Traits;
}

/** A request ready to be sent. */
export interface WireRequest {
  readonly body: string;
  /** Parameters that were left out because the model does not accept them. */
  readonly droppedParameters: readonly string[];
  /** Output tokens that the body allows, including a separate reasoning budget. */
  readonly maxTokens: number;
  /** Computes the SHA-256 over the parts of the body, hex. */
  readonly digest: () => string;
}

/** Turns the frames of one reply into events: a `start`, items that begin with their first piece and end, a `finish`. */
export interface Decoder {
  /** Appends the events of a frame. Throws the errors that `Faults` makes. */
  readonly frame: (frame: SseFrame, events: ModelEvent[]) => void;
  /** `open`: the reply goes on; `finished`: it has ended, only usage may follow; `done`: nothing follows. */
  readonly state: () => "open" | "finished" | "done";
}

/** The errors that a decoder may find; both end the attempt. */
export interface Faults {
  /** An error inside the stream: the frame's data, and its HTTP status. */
  readonly inBand: (body: Json, status?: number) => Error;
  /** A frame that is not understood; the sentence quotes nothing of it. */
  readonly broken: (sentence: string) => Error;
}

/** Sends one post of a protocol and adds the key. */
export type Post = (
  url: string,
  init: {
    readonly method: "POST";
    readonly headers: Headers;
    readonly body: string;
    readonly signal: AbortSignal;
  },
) => Promise<Response>;

/** A wire format, pure in both directions; answers are server-sent events. */
export interface Protocol {
  /** Providers name it so. */
  readonly name: string;
  /** Follows the path of the provider's address. */
  readonly path: string;
  /** Builds a request; the same request gives the same bytes. */
  readonly build: (request: ModelRequest, target: WireTarget) => WireRequest;
  readonly decoder: (
    request: ModelRequest,
    target: WireTarget,
    faults: Faults,
    requestId?: string,
  ) => Decoder;
  /** Posts a body to a URL with the headers of the vendor's SDK; error statuses do not throw. */
  readonly post: (address: string, send: Post, body: string, signal: AbortSignal) => Promise<Response>;
}

/** The system prompt, with the output format in words where the API cannot enforce it. */
export const systemText = (
  { system, responseFormat }: ModelRequest,
  { capabilities }: WireTarget,
): string => {
  if (responseFormat === undefined) return system;
  const { schema } = responseFormat;
  if (schema === undefined) return `${system}\n\nAnswer with one JSON object and nothing else.`;
  if (capabilities.strict_schema) return system;
  return `${system}\n\nAnswer with one JSON value and nothing else. It must match this JSON Schema: ${JSON.stringify(schema)}`;
};

/** The deepest nesting of a frame; its content is written as JSON again. */
const deepestFrame = 1_000;

/** Parses a frame's data as a JSON object; Gemini sends errors as a list. */
export const parseFrame = (data: string, faults: Faults): JsonObject => {
  const value = parseJson(data, deepestFrame);
  if (value === undefined) throw faults.broken("a frame is not JSON, or nests without end");
  if (typeof value === "object" && value !== null) return value as JsonObject;
  throw faults.broken("a frame is not a JSON object");
};
