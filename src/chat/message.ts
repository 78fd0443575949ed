/** The conversation as plain values. Field names are those of the API, so a stored message is sent unchanged. */

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

export type Role = "system" | "user" | "assistant" | "tool";
export type Origin = "human" | "agent" | "effect" | "system";

/** Data that only the model which sent it understands (signatures, encrypted reasoning); it gets it back byte-exact. */
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

/** A model's reasoning: it is not part of an answer and returns only to the model (`provider/model`) that wrote it. */
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
  /** Set when the call must never run: it was in a reply that was cut off, or came after the 64th call. */
  readonly invalid?: "truncated" | "too_many";
}

export type ResultStatus = "ok" | "error" | "denied" | "skipped" | "cancelled" | "unknown";
export type ContentPart = TextPart | ImagePart | DocumentPart;

/**
 * `omitted` counts the characters cut from the content; `recall` names the stored full text. `exit_code` is that of a
 * command that ended by itself: its output is a finding, whatever the status.
 */
export interface ToolResultPart {
  readonly type: "tool_result";
  readonly call: string;
  readonly name: string;
  readonly status: ResultStatus;
  readonly content: readonly ContentPart[];
  readonly exit_code?: number;
  readonly omitted?: number;
  readonly recall?: string;
}

export type Part = TextPart | ReasoningPart | ImagePart | DocumentPart | ToolCallPart | ToolResultPart;

/**
 * `note`: runtime advice; `steering`: joined a run; `partial`: of a cancelled reply; `pinned`: never shortened, as is
 * the `plan` of a live run.
 */
export type Mark = "note" | "steering" | "partial" | "pinned" | "plan" | "truncated";

/** Says who took messages out of the view, and why. */
export interface Cause {
  readonly run: string | null;
  readonly turn: number | null;
  /** The kind of the effect; null if no effect did it. */
  readonly effect: string | null;
  readonly reason: string;
}

/** What a model sees of a message instead of some of its parts; an effect made it from the original. */
export interface MessageOverlay {
  /** The number of the edit that made it. */
  readonly edit: number;
  /** The kind of the effect. */
  readonly by: string;
  /** The run and turn in which it was made. */
  readonly run?: string;
  readonly turn?: number;
  readonly reason?: string;
  /** Texts that replace the text of a part, by its index; for a result the text replaces the whole content. */
  readonly texts: Readonly<Record<string, string>>;
  /** True if images and documents of an overlaid result stay. */
  readonly media: boolean;
  /** The estimate of the message as it is shown. */
  readonly tokens: number;
}

/** A range of messages that one summary stands for. */
export interface Summary {
  /** The number of the edit that made it. */
  readonly edit: number;
  /** The kind of the effect. */
  readonly by: string;
  readonly reason?: string;
  /** The first and last `pos` of the range. */
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
  /** The reason why an effect wrote the note. */
  readonly reason?: string;
  readonly marks?: readonly Mark[];
  /** The numbers of the memories that it contains. */
  readonly memories?: readonly number[];
  /** The run and turn that wrote it. */
  readonly run?: string;
  readonly turn?: number;
  /** Set while the model sees something shorter; the original stays in `parts`. */
  readonly overlay?: MessageOverlay;
  /** Set on a summary, whose `place` is its position in the view; without a `place`, `pos` is the position. */
  readonly summary?: Summary;
  readonly place?: number;
}

/** Lists the images and documents among a message's parts, without those that the result of a tool shows. */
export const attachmentsOf = (parts: readonly Part[]): readonly (ImagePart | DocumentPart)[] =>
  parts.filter((part) => part.type === "image" || part.type === "document");

/** Returns whether a document is a stored text, which every model can read as such. */
export const isStoredText = ({ type, blob, media_type: kind }: ImagePart | DocumentPart): boolean =>
  type === "document" && blob !== undefined && kind.startsWith("text/");

/** The tokens of a message as a model sees it. */
export const shownTokens = ({ tokens, overlay }: Message): number => overlay?.tokens ?? tokens;

/** The tokens of some messages as a model sees them. */
export const sumShownTokens = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + shownTokens(message), 0);

/** The position of a message in the order of the view. */
export const viewPlaceOf = ({ place, pos }: Message): number => place ?? pos;
