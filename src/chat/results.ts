import type { ResultStatus, ToolCallPart, ToolResultPart } from "./message.ts";

/** The results that the model gets for calls without an outcome of their own. */
export const syntheticResults = {
  skipped: "skipped: Not started: a new message arrived first.",
  cancelled: "cancelled: It did not run.",
  cancelledRunning: "cancelled: It was running; it may have taken effect.",
  unknown:
    "unknown: The runtime was interrupted while this ran. Its outcome is unknown: check before repeating it.",
} as const;

/** Makes a result part of plain text; an empty text is replaced by a sentence, since no message may be empty. */
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

/** Makes the result of a call without an outcome of its own. */
export const syntheticResult = (
  call: Pick<ToolCallPart, "id" | "name">,
  how: keyof typeof syntheticResults,
): ToolResultPart => textResult(call, how === "cancelledRunning" ? "cancelled" : how, syntheticResults[how]);
