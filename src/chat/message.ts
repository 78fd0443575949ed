/** The conversation as plain values. Field names are the wire's, so a stored message is sent as it is. */

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

export type Role = "system" | "user" | "assistant" | "tool";
export type Origin = "human" | "agent" | "effect" | "system";

/** Data that only the model which sent it understands (signatures, encrypted reasoning); returned byte-exact to it alone. */
export interface Opaque {
  readonly provider: string;
  readonly model: string;
  readonly data: Json;
}

export interface TextPart {
  readonly type: "text";
  readonly text: string;
  readonly opaque?: Opaque;
}

/** A model's reasoning: no part of an answer, returned only to the model (`provider/model`) that wrote it. */
export interface ReasoningPart {
  readonly type: "reasoning";
  readonly text: string;
  readonly model: string;
  readonly opaque?: Opaque;
}

/** `blob` names stored bytes of this session; otherwise `url` is an https address. */
interface MediaFields {
  readonly blob?: string;
  readonly url?: string;
  readonly media_type: string;
  readonly name?: string;
}
export interface ImagePart extends MediaFields {
  readonly type: "image";
}
export interface DocumentPart extends MediaFields {
  readonly type: "document";
}

/** `args` is the raw JSON text as the model wrote it; it is parsed strictly at dispatch and never repaired. */
export interface ToolCallPart {
  readonly type: "tool_call";
  readonly id: string;
  readonly name: string;
  readonly args: string;
  readonly opaque?: Opaque;
  /** Set when the call must never run: it stood in a reply that was cut off, or behind the 64th call. */
  readonly invalid?: "truncated" | "too_many";
}

export type ResultStatus = "ok" | "error" | "denied" | "skipped" | "cancelled" | "unknown";
export type ContentPart = TextPart | ImagePart | DocumentPart;

/** `omitted` counts the characters cut from the content; `recall` names the stored full text. */
export interface ToolResultPart {
  readonly type: "tool_result";
  readonly call: string;
  readonly name: string;
  readonly status: ResultStatus;
  readonly content: readonly ContentPart[];
  readonly omitted?: number;
  readonly recall?: string;
}

export type Part = TextPart | ReasoningPart | ImagePart | DocumentPart | ToolCallPart | ToolResultPart;

/** `note`: runtime advice, rendered in a tag; `steering`: an input that joined a run; `partial`: kept from a cancelled reply; `pinned`: never shortened. */
export type Mark = "note" | "steering" | "partial" | "pinned" | "truncated";

/** Who took messages out of the view, and why. */
export interface Cause {
  readonly run: string | null;
  readonly turn: number | null;
  /** Kind of the effect; null: none did it. */
  readonly effect: string | null;
  readonly reason: string;
}

/** What a model sees of a message instead of some of its parts, made by an effect from the original. */
export interface MessageOverlay {
  /** Number of the edit that made it. */
  readonly edit: number;
  /** Kind of the effect. */
  readonly by: string;
  /** Run and turn in which it was made. */
  readonly run?: string;
  readonly turn?: number;
  readonly reason?: string;
  /** Text that stands for a part's text, by the part's index; of a result it stands for the whole content. */
  readonly texts: Readonly<Record<string, string>>;
  /** Images and documents of an overlaid result stay. */
  readonly media: boolean;
  /** Estimate of the message as it is shown. */
  readonly tokens: number;
}

/** A range of messages that one summary stands for. */
export interface Summary {
  /** Number of the edit that made it. */
  readonly edit: number;
  /** Kind of the effect. */
  readonly by: string;
  readonly reason?: string;
  /** First and last `pos` of the range. */
  readonly from: number;
  readonly to: number;
}

/**
 * One message of a thread. `pos` orders it; `id` and `pos` are never reused; `tokens` is the stored estimate of the
 * original.
 */
export interface Message {
  readonly id: string;
  readonly pos: number;
  readonly role: Role;
  readonly origin: Origin;
  readonly parts: readonly Part[];
  readonly at: number;
  readonly tokens: number;
  readonly sender?: string;
  /** Why an effect wrote the note. */
  readonly reason?: string;
  readonly marks?: readonly Mark[];
  /** Numbers of the remembered texts that it tells. */
  readonly memories?: readonly number[];
  /** Run and turn that wrote it. */
  readonly run?: string;
  readonly turn?: number;
  /** Set while the model sees something shorter; the original stays in `parts`. */
  readonly overlay?: MessageOverlay;
  /** Set on a summary, with its place in the order of the view; absent: `pos` is the place. */
  readonly summary?: Summary;
  readonly place?: number;
}

/** Tokens of a message as a model sees it. */
export const shownTokens = ({ tokens, overlay }: Message): number => overlay?.tokens ?? tokens;

/** Where a message stands in the order of the view. */
export const viewPlaceOf = ({ place, pos }: Message): number => place ?? pos;
