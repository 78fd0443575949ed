import type { Timers } from "./deadlines.ts";
import type { Json, Message, Part } from "../chat/message.ts";

/** Tokens of one call. `input` excludes cache; `output` includes reasoning; `total` is at least the sum of the four. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly total: number;
}

/** Declaration of a tool to a model; `schema` is JSON Schema 2020-12. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly schema: Json;
}

/** Efforts of a model's reasoning, lowest first. */
export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof efforts)[number];

export const purposes = ["turn", "plan", "repair", "compaction", "announce"] as const;
export type Purpose = (typeof purposes)[number];

export interface ResponseFormat {
  readonly type: "json_object" | "json_schema";
  readonly schema?: Json;
}

/** Origin of a request, for scripts, events and ledgers; never sent to a provider. */
export interface RequestOrigin {
  readonly session: string;
  readonly agent: string;
  readonly thread: string;
  readonly run: string;
  readonly turn: number;
  /** Number of completed model calls of this thread before this one. */
  readonly call: number;
  readonly attempt: number;
  readonly purpose: Purpose;
  /** True if the session may have calls that `messages` lacks; absent if it has every call so far. */
  readonly partial?: boolean;
}

/** Model call. `messages` is the valid view of the chat, already rendered. */
export interface ModelRequest {
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  readonly toolChoice: "auto" | "none" | "required" | { readonly tool: string };
  readonly maxTokens: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly reasoning?: {
    readonly effort?: Effort;
    readonly budgetTokens?: number;
    readonly summary?: "auto" | "none";
  };
  readonly responseFormat?: ResponseFormat;
  readonly cache: { readonly mode: "auto" | "off"; readonly ttl: "5m" | "1h" };
  /** Id of the newest message of the thread's previous call: it gets the second cache breakpoint. */
  readonly previousNewest?: string;
  /** Returns the base64 of a stored blob. */
  readonly media: (blob: string) => string;
  readonly context: RequestOrigin;
}

export const finishReasons = [
  "stop",
  "tool_calls",
  "length",
  "context_full",
  "refusal",
  "filtered",
  "paused",
] as const;
export type FinishReason = (typeof finishReasons)[number];

/** Event of a reply in progress. `item` numbers the open items of one reply in their order. */
export type ModelEvent =
  | { readonly type: "start"; readonly model: string; readonly requestId?: string }
  | { readonly type: "text" | "reasoning" | "refusal"; readonly item: number; readonly text: string }
  | { readonly type: "call"; readonly item: number; readonly id?: string; readonly name: string }
  | { readonly type: "call_input"; readonly item: number; readonly json: string }
  | { readonly type: "opaque"; readonly item: number; readonly data: Json }
  | { readonly type: "item_end"; readonly item: number }
  | { readonly type: "usage"; readonly raw: Json }
  | {
      readonly type: "finish";
      readonly reason: FinishReason;
      readonly raw: string;
      /** Subject of a refusal, in the provider's words. */
      readonly category?: string;
    }
  | { readonly type: "ping" };

/** Live piece of an open item: `off` is the number of UTF-16 units before it. */
export interface ItemDelta {
  readonly kind: "text" | "reasoning" | "tool_input";
  /** Index of the item in the reply. */
  readonly index: number;
  readonly off: number;
  readonly data: string;
  /** Set on the first delta of a `tool_input` item. */
  readonly call?: { readonly id: string; readonly name: string };
}

/** Whole reply. `cost` in 10⁻⁹ USD, null if the price is unknown. */
export interface Completion {
  readonly parts: readonly Part[];
  readonly finish: FinishReason;
  /** Subject of a refusal, in the provider's words. */
  readonly category?: string;
  readonly empty: boolean;
  readonly usage: Usage;
  readonly estimated: boolean;
  readonly cost: number | null;
  readonly provider: string;
  readonly model: string;
  readonly requestId?: string;
  /** Until when the provider's rate headers ask later calls to wait, milliseconds since the epoch. */
  readonly holdUntil?: number;
  /** Parameters that were omitted because the model does not accept them. */
  readonly droppedParameters?: readonly string[];
  /** Digest of the sent body, as `Completer.digest` returns it. */
  readonly requestHash?: string;
  readonly firstByteMs: number;
  readonly totalMs: number;
}

export interface CompleteOptions {
  readonly signal: AbortSignal;
  /** Timers of the caller; if absent, the platform's. */
  readonly timers?: Timers;
  /**
   * Called once per provider read with all deltas of that read, and never after the promise has settled; `isWhole`
   * means that the read included the end of the reply.
   */
  readonly onDelta?: (deltas: readonly ItemDelta[], isWhole: boolean) => void;
  /** Called once per provider read with the data of all its frames, unchanged; only if somebody may see them. */
  readonly onRaw?: (frames: readonly string[]) => void;
}

/** Calls one model. `complete` makes exactly one attempt, never sleeps and rejects with a `ModelError`. */
export interface Completer {
  readonly provider: string;
  readonly model: string;
  complete(request: ModelRequest, options: CompleteOptions): Promise<Completion>;
  /** Returns the body that `complete` would send, the same bytes for the same request. Absent if it cannot be known. */
  readonly body?: (request: ModelRequest) => string;
  /** Returns the SHA-256 over the parts of that body, hex: bodies with the same digest have the same bytes. */
  readonly digest?: (request: ModelRequest) => string;
}
