import { parseJson } from "../chat/json.ts";
import type { JsonObject } from "../chat/json.ts";
import type { Json } from "../chat/message.ts";
import type { Effort, ModelEvent, ModelRequest } from "../model/completer.ts";
import type { Capabilities } from "../model/schema.ts";
import type { SchemaDialect } from "./json-schema.ts";
import type { SseFrame } from "./sse.ts";

/** Deviations of a provider from its protocol's plain form; the provider's file sets them. */
export interface Traits {
  readonly tokensField: "max_tokens" | "max_completion_tokens";
  readonly systemRole: "system" | "developer";
  readonly streamUsage: boolean;
  readonly schema: SchemaDialect;
  /** Field in which reasoning is sent back to a chat server. */
  readonly reasoningReplay: "none" | "reasoning_content" | "reasoning_details";
  /** Whether a leading `<think>…</think>` is reasoning. */
  readonly thinkTags: boolean;
  /** Efforts that the server accepts, lowest first; none if a model that reasons decides itself how hard. */
  readonly efforts: readonly Effort[];
  /** Whether to send `store: false` and a `prompt_cache_key` per thread over chat completions. */
  readonly openaiFields: boolean;
  /** Whether to send a `prompt_cache_key` per thread over the Responses API, which other servers refuse. */
  readonly cacheKey: boolean;
  /** Whether calls carry Google's thought signatures, which must be returned. */
  readonly thoughtSignatures: boolean;
  /** Whether ids of calls have nine letters and digits, and no user's message follows results, as Mistral demands. */
  readonly strictTurns: boolean;
}

/** Facts about a request's model that a protocol needs. */
export interface WireTarget {
  readonly provider: string;
  readonly capabilities: Capabilities;
  /** Most output tokens of the model. */
  readonly maxOutput: number;
  readonly traits: Traits;
}

/** Request ready to be sent. */
export interface WireRequest {
  readonly body: string;
  /** Parameters that were omitted because the model does not accept them. */
  readonly droppedParameters: readonly string[];
  /** Output tokens that the body allows, including a separate reasoning budget. */
  readonly maxTokens: number;
  /** Computes the SHA-256 over the parts of the body, hex. */
  readonly digest: () => string;
}

/**
 * Decodes the frames of one reply to events: a `start`, items that begin with their first piece and end, a
 * `finish`.
 */
export interface Decoder {
  /** Appends the events of a frame. Throws the errors that `Faults` creates. */
  readonly frame: (frame: SseFrame, events: ModelEvent[]) => void;
  /**
   * Returns the state: `open`: the reply continues; `finished`: it has ended, only usage may follow; `done`:
   * nothing follows.
   */
  readonly state: () => "open" | "finished" | "done";
  /** Returns whether the model reasons, perhaps without showing it: then any byte is a sign of its work. */
  readonly reasons?: () => boolean;
  /** Appends the events that wait for the end of the stream, once it has come. */
  readonly end?: (events: ModelEvent[]) => void;
}

/** Errors that a decoder may find; both end the attempt. */
export interface Faults {
  /** Creates the error that an error frame inside the stream reports. */
  readonly inBand: (body: Json) => Error;
  /** Creates the error of an invalid frame; the sentence quotes nothing of it. */
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

/** Wire format, pure in both directions; answers are server-sent events. */
export interface Protocol {
  /** Name by which providers refer to the protocol. */
  readonly name: string;
  /** Path after the provider's address. */
  readonly path: string;
  /** Builds a request; the same request always has the same bytes. */
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

/** Returns the system prompt, with the output format in words unless the request holds its schema. */
export const systemText = ({ system, responseFormat }: ModelRequest, sendsSchema: boolean): string => {
  if (responseFormat === undefined || sendsSchema) return system;
  const { schema } = responseFormat;
  if (schema === undefined) return `${system}\n\nAnswer with one JSON object and nothing else.`;
  return `${system}\n\nAnswer with one JSON value and nothing else. It must match this JSON Schema: ${JSON.stringify(schema)}`;
};

/** Deepest nesting of a frame, whose content is formatted as JSON again. */
const deepestFrame = 1_000;

/** Parses a frame's data as a JSON object; Gemini sends errors as a list. */
export const parseFrame = (data: string, faults: Faults): JsonObject => {
  const value = parseJson(data, deepestFrame);
  if (value === undefined) throw faults.broken("a frame is not JSON, or nests without end");
  if (typeof value === "object" && value !== null) return value as JsonObject;
  throw faults.broken("a frame is not a JSON object");
};

/**
 * Posts with the headers of a vendor's SDK, without its telemetry. They never change, so the SDK, whose evaluation
 * was a tenth of a cold isolate's first reply, only provides types and the test of these headers.
 */
export const createPost = (fields: Readonly<Record<string, string>>): Protocol["post"] => {
  const headers = new Headers(fields);
  return (address, send, body, signal) => send(address, { method: "POST", headers, body, signal });
};
