import { thrownText } from "../tools/errors.ts";

/** Checks of what an agent says (AG-37). */

/** Checks a final message before it is accepted. */
export interface Guardrail {
  /** Why the text may not pass; null if it may. What it throws fails the run. */
  readonly problem: (text: string) => string | null;
  /** The same for words that are no finished answer: not their form, only what they tell. */
  readonly leak: (text: string) => string | null;
  readonly onFail: "fail" | "retry" | "replace";
  readonly maxRetries: number;
  /** Stands for an answer that was not accepted; null = nothing does. */
  readonly text: string | null;
}

/** What a guardrail says of a text; what it throws is its own failure (AG-37). */
export const judgedBy = (
  problem: Guardrail["problem"],
  text: string,
): { readonly why: string | null } | { readonly thrown: string } => {
  try {
    return { why: problem(text) };
  } catch (error) {
    return { thrown: thrownText(error) };
  }
};

/** Words that are handed on though the run that said them failed: without what must not be told (AG-25). */
export const withoutLeaks = (guardrails: readonly Guardrail[], words: string): string =>
  guardrails.reduceRight((text, { leak, text: instead }) => {
    if (text === "") return text;
    const judged = judgedBy(leak, text);
    return "thrown" in judged || judged.why !== null ? (instead ?? "") : text;
  }, words);
