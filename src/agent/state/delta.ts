export type DeltaKind = "text_delta" | "reasoning_delta" | "tool_input_delta" | "tool_output_delta";

/** A live piece of an open item; never stored, superseded by the event that closes the item. */
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

/** What a streamed item is in the making of. */
export type ItemKind = "text" | "reasoning" | "tool_input" | "tool_output";
