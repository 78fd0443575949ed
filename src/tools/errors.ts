import type { ToolOutput } from "./define-tool.ts";

/** Codes of error results (TB-3). */
export type ToolErrorCode =
  | "unknown_tool"
  | "invalid_arguments"
  | "not_permitted"
  | "denied"
  | "skipped"
  | "timeout"
  | "cancelled"
  | "unknown"
  | "not_found"
  | "exists"
  | "conflict"
  | "too_large"
  | "not_unique"
  | "no_match"
  | "limit"
  | "egress_denied"
  | "quarantined"
  | "unavailable"
  | "unsupported"
  | "failed";

/** An error result: the code, then a sentence with the way out. Never a stack, a host path or a secret. */
export const toolError = (code: ToolErrorCode, sentence: string): ToolOutput => ({
  content: `${code}: ${sentence}`,
  isError: true,
});
