import type { Purpose } from "../../model/completer.ts";

type DeltaKind = "text_delta" | "reasoning_delta" | "tool_input_delta" | "tool_output_delta";

/** A delta is a live piece of an open item: never stored, superseded by the event that closes the item. */
export interface Delta {
  readonly type: "delta";
  readonly kind: DeltaKind;
  readonly thread: string;
  readonly item: string;
  readonly attempt: number;
  /** The item has this many UTF-16 units before this piece. */
  readonly off: number;
  readonly data: string;
}

/** The kind says what a streamed item will become. */
export type ItemKind = "text" | "reasoning" | "tool_input" | "tool_output";

/** A frame of a provider's stream is shown live as it came, without secrets; it is never stored. */
export interface ProviderFrame {
  readonly type: "llm_provider_raw";
  readonly thread: string;
  readonly run: string;
  readonly turn: number;
  readonly purpose: Purpose;
  readonly attempt: number;
  readonly provider: string;
  readonly model: string;
  readonly data: string;
  /** The data was cut. */
  readonly truncated?: true;
}
