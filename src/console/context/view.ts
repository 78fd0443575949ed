import type { SeenCall } from "./calls.ts";

/** What a model call saw, as the API tells it, and the rows that are made of it. */

export interface SeenMessage {
  readonly id: string;
  readonly pos: number;
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly origin: string;
  readonly state: "full" | "overlaid" | "summary" | "note";
  readonly by: string | null;
  readonly reason: string | null;
  readonly tokens: number;
  readonly original_tokens: number;
  readonly text: string;
  /** The calls that an assistant asked for, or those that a tool message answers. */
  readonly calls?: readonly { readonly id: string; readonly tool: string; readonly args?: string }[];
}

export interface HiddenMessage {
  readonly id: string;
  readonly pos: number;
  readonly role: string;
  readonly tokens: number;
  readonly by: string | null;
  readonly reason: string | null;
  readonly why: string;
}

export interface SeenChange {
  readonly effect: string | null;
  readonly reason: string | null;
  readonly edit: "inject" | "overlay" | "retire" | "append" | "remove" | "request";
  readonly messages: readonly string[];
  readonly tokens_saved: number;
}

export interface ContextView {
  readonly run: string;
  readonly turn: number;
  readonly call: number;
  readonly calls: readonly SeenCall[];
  readonly agent: string;
  readonly thread: string;
  readonly provider: string;
  readonly model: string;
  readonly parameters: { readonly max_tokens: number };
  readonly window: number;
  readonly size: number;
  readonly system: string;
  readonly tools: readonly { readonly name: string; readonly description: string }[];
  readonly messages: readonly SeenMessage[];
  readonly hidden: readonly HiddenMessage[];
  readonly hidden_tools: readonly { readonly name: string; readonly by: string | null }[];
  /** The call that the changes are against; null for the first of a thread. */
  readonly before: { readonly run: string; readonly turn: number; readonly size: number } | null;
  readonly changes: readonly SeenChange[];
  readonly verified: boolean | null;
}

export type ChangeSign = "+" | "~" | "−" | "";
/** A `retired` message is no longer sent. */
export type RowState = SeenMessage["state"] | "retired";

/** A row of the view: a message as it was sent, what was not sent any more, or what comes before all messages. */
export interface ContextRow {
  readonly id: string;
  readonly sign: ChangeSign;
  readonly state: RowState;
  /** Number of messages that a summary replaces. */
  readonly stands: number;
  readonly name: string;
  readonly isCode: boolean;
  readonly role: string;
  readonly beginning: string;
  readonly by: string | null;
  readonly reason: string | null;
  readonly tokens: number;
  readonly original: number;
  readonly text: string;
  readonly messages: readonly string[];
  /** Where the originals are; empty for what is no message. */
  readonly places: readonly number[];
}

/** Classes of the signs. */
export const signTones = { "+": "good", "~": "", "−": "bad", "": "" } as const;

/** What was done to a message as a sign. */
export const signOf: Readonly<Record<SeenChange["edit"], ChangeSign>> = {
  append: "+",
  inject: "+",
  overlay: "~",
  retire: "−",
  remove: "−",
  request: "",
};
