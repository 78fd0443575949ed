import { parseJson } from "../chat/json.ts";
import type { JsonObject } from "../chat/json.ts";
import type { Json } from "../chat/message.ts";
import type { Effort, ModelEvent, ModelRequest } from "../model/completer.ts";
import type { Capabilities } from "../model/schema.ts";
import type { SchemaDialect } from "./json-schema.ts";
import type { SseFrame } from "./sse.ts";

/** How a provider deviates from its protocol's plain form; a provider file fills it in. */
export interface Traits {
  readonly tokensField: "max_tokens" | "max_completion_tokens";
  readonly systemRole: "system" | "developer";
  readonly streamUsage: boolean;
  readonly schema: SchemaDialect;
  /** Field in which reasoning goes back to a chat server. */
  readonly reasoningReplay: "none" | "reasoning_content" | "reasoning_details";
  /** A leading `<think>…</think>` is reasoning. */
  readonly thinkTags: boolean;
  /** Efforts that the server takes, lowest first. */
  readonly efforts: readonly Effort[];
  /** Sends `store: false` and a `prompt_cache_key` per thread. */
  readonly openaiFields: boolean;
  /** Calls carry Google's thought signatures, which must go back. */
  readonly thoughtSignatures: boolean;
}

/** The model that a request is for, as a protocol needs to know it. */
export interface WireTarget {
  readonly provider: string;
  readonly capabilities: Capabilities;
  /** Output tokens that the model gives at most. */
  readonly maxOutput: number;
  readonly traits: Traits;
}

/** A request ready to be sent. */
export interface WireRequest {
  readonly body: string;
  /** Parameters of the request that the model does not take and that were left out. */
  readonly dropped: readonly string[];
  /** Output tokens that the body allows, reasoning with a budget of its own included. */
  readonly maxTokens: number;
}

/** Turns the frames of one reply into events. */
export interface Decoder {
  /** Appends the events of a frame. Throws what `Faults` makes. */
  readonly frame: (frame: SseFrame, events: ModelEvent[]) => void;
  /** `open`: the reply goes on; `finished`: its end was told, only usage may follow; `done`: nothing follows. */
  readonly state: () => "open" | "finished" | "done";
}

/** What a decoder may find wrong; both end the attempt. */
export interface Faults {
  /** An error inside the stream: the frame's data, and the HTTP status it names. */
  readonly inBand: (body: Json, status?: number) => Error;
  /** A frame that is not understood; the sentence holds nothing of it. */
  readonly broken: (sentence: string) => Error;
}

/** Sends one post of a protocol; the key is put in here. */
export type Post = (
  url: string,
  init: {
    readonly method: "POST";
    readonly headers: Headers;
    readonly body: string;
    readonly signal: AbortSignal;
  },
) => Promise<Response>;

/** A wire format: pure in both directions. */
export interface Protocol {
  readonly path: string;
  /** The same request gives the same bytes. */
  readonly build: (request: ModelRequest, target: WireTarget) => WireRequest;
  readonly decoder: (
    request: ModelRequest,
    target: WireTarget,
    faults: Faults,
    requestId?: string,
  ) => Decoder;
  /** Posts a body to a URL, as the vendor's SDK would; error answers are answers. Loads the SDK at first use. */
  readonly post: (address: string, send: Post, body: string, signal: AbortSignal) => Promise<Response>;
}

/** The system prompt, and in words a format that the API cannot be given. */
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

/** Levels of a frame; what it holds is written as JSON again. */
const deepestFrame = 1_000;

/** A frame's data as a JSON object; Gemini's errors come as a list. */
export const parseFrame = (data: string, faults: Faults): JsonObject => {
  const value = parseJson(data, deepestFrame);
  if (value === undefined) throw faults.broken("a frame is not JSON, or nests without end");
  if (typeof value === "object" && value !== null) return value as JsonObject;
  throw faults.broken("a frame is not a JSON object");
};
