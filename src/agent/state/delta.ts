import type { Purpose } from "../../model/completer.ts";

type DeltaKind = "text_delta" | "reasoning_delta" | "tool_input_delta" | "tool_output_delta";

/** Live piece of an open item: never stored, superseded by the event that closes the item. */
export interface Delta {
  readonly type: "delta";
  readonly kind: DeltaKind;
  readonly thread: string;
  readonly item: string;
  readonly attempt: number;
  /** UTF-16 units of the item before this piece. */
  readonly off: number;
  readonly data: string;
}

/** What a streamed item will become. */
export type ItemKind = "text" | "reasoning" | "tool_input" | "tool_output";

/** Frame of a provider's stream, shown live as it came, without secrets, and never stored. */
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
  /** Whether the data was cut. */
  readonly truncated?: true;
}
