import type { ResultStatus, ToolCallPart, ToolResultPart } from "./message.ts";

/** What the model is told of a call that has no outcome of its own. */
export const syntheticResults = {
  skipped: "skipped: Not started: a new message arrived first.",
  cancelled: "cancelled: It did not run.",
  cancelledRunning: "cancelled: It was running; it may have taken effect.",
  unknown:
    "unknown: The runtime was interrupted while this ran. Its outcome is unknown: check before repeating it.",
} as const;

/** A result part of plain text; an empty text says so, since no message may be empty. */
export const textResult = (
  call: Pick<ToolCallPart, "id" | "name">,
  status: ResultStatus,
  text: string,
): ToolResultPart => ({
  type: "tool_result",
  call: call.id,
  name: call.name,
  status,
  content: [{ type: "text", text: text === "" ? "(no output)" : text }],
});
