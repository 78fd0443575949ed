import type { ToolOutput } from "./define-tool.ts";

/** Codes of error results; from `unknown_agent` on they belong to calls of agents. */
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
  | "unclaimed"
  | "egress_denied"
  | "quarantined"
  | "unavailable"
  | "unsupported"
  | "failed"
  | "unknown_agent"
  | "self_delegation"
  | "not_callable"
  | "depth_exceeded"
  | "too_many_children"
  | "budget_exceeded"
  | "child_busy"
  | "child_ended"
  | "child_not_found"
  | "no_answer";

/** Returns the text of an error result. */
export const errorText = (code: ToolErrorCode, sentence: string): string => `${code}: ${sentence}`;

/** Refusal of what a model asked for; the sentence says what to do instead. */
export interface Refusal {
  readonly ok: false;
  readonly code: ToolErrorCode;
  readonly sentence: string;
}

export const refuse = (code: ToolErrorCode, sentence: string): Refusal => ({ ok: false, code, sentence });

/**
 * Returns an error result: the code, then a sentence with the remedy. It never holds a stack, a host path or a
 * secret.
 */
export const toolError = (code: ToolErrorCode, sentence: string): ToolOutput => ({
  content: errorText(code, sentence),
  isError: true,
});

/** Returns the message of a thrown value, for people and models: one line, no stack. */
export const errorMessageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";

/** What code of a team gave, or the message of what it threw. */
export type Outcome<T> = { readonly given: T } | { readonly thrown: string; readonly error: unknown };

/** Runs code that a team may have written; the message of what it throws is its own failure and nobody else's. */
export const catchThrown = <T>(run: () => T): Outcome<T> => {
  try {
    return { given: run() };
  } catch (error) {
    return { thrown: errorMessageOf(error), error };
  }
};

/** Returns the error result for a value that a tool threw. */
export const toToolError = (error: unknown): ToolOutput => toolError("failed", errorMessageOf(error));
