import type * as z from "zod";
import type { Json } from "../../chat/message.ts";
import { errorMessageOf } from "../../tools/errors.ts";
import type { EndReason } from "../state/events.ts";
import type { CallRecord } from "../state/records.ts";

/** What a guard is: it judges the calls of a reply before any of them starts. */

/** A call of the reply that is being judged. */
export interface JudgedCall {
  readonly id: string;
  readonly tool: string;
  /** Digest of the arguments, as records have it. */
  readonly args: string;
  /** Arguments as the model wrote them: their value, or the raw text if they are no JSON. */
  readonly input: Json;
  readonly poll: boolean;
}

/** Where the judged call stands. */
export interface GuardFacts {
  /** The reply's calls before this one: they have no outcome yet. */
  readonly earlier: readonly Pick<JudgedCall, "tool" | "args" | "poll">[];
  /** Calls of the reply behind this one. */
  readonly later: number;
  readonly agent: string;
  readonly run: string;
  readonly turn: number;
  /** Turns before this one in the run: 0, 1, … */
  readonly iteration: number;
  /** Number of the first record after the first compaction since the last human input; null if there was none. */
  readonly compacted: number | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A loop that was found, as `loop_detected` tells of it. */
export interface DetectedLoop {
  readonly detector: string;
  readonly count: number;
  readonly message: string;
}

/** A run fails, all its calls answered. */
export interface GuardStop {
  readonly reason: string;
  readonly loop?: DetectedLoop;
  /** Omitted: `tool_loop`. */
  readonly end?: Extract<EndReason, "tool_loop" | "no_progress" | "budget_exceeded">;
  /** The run counts as one that used up its turns. */
  readonly exhausted?: true;
}

/**
 * `warn`: the call runs, and `note` ends its result. `veto`: no call of the reply runs; each is `denied` with the reason, and
 * the model gets another turn. `stop`: the run fails, all calls answered. `until`: the call waits till then.
 */
export type GuardVerdict<State extends Json = Json> =
  | { readonly do: "allow"; readonly state?: State; readonly until?: number }
  | {
      readonly do: "warn";
      readonly note: string | null;
      readonly loop?: DetectedLoop;
      readonly state?: State;
      readonly until?: number;
    }
  | { readonly do: "veto"; readonly reason: string; readonly loop?: DetectedLoop; readonly state?: State }
  | (GuardStop & { readonly do: "stop"; readonly state?: State });

/** What a guard says when a call has its outcome. */
export interface AfterGuardResult<State extends Json = Json> {
  /** Ends the result. */
  readonly note?: string;
  readonly state?: State;
  /** Ends the run. */
  readonly stop?: GuardStop;
}

/** A guard as written; its functions must be pure and answer at once. */
export interface GuardDefinition<P extends z.ZodObject = z.ZodObject, State extends Json = Json> {
  readonly kind: string;
  readonly description: string;
  readonly params: P;
  /** JSON of at most 64 KiB per thread; it begins anew with each human input, with each run, or never. */
  readonly state?: { readonly initial: State; readonly reset: "input" | "run" | "never" };
  /** How many of the newest records it wants to see; omitted: 30. */
  readonly history?: (params: z.output<P>) => number;
  /** `history` holds the finished calls since the last human input, oldest first. */
  readonly before: (
    call: JudgedCall,
    history: readonly CallRecord[],
    context: GuardFacts & { readonly params: z.output<P>; readonly state: State },
  ) => GuardVerdict<State>;
  /** A call has its outcome: `history` is what was there before its record. */
  readonly after?: (
    record: CallRecord,
    history: readonly CallRecord[],
    context: { readonly params: z.output<P>; readonly state: State; readonly now: number },
  ) => AfterGuardResult<State>;
}

type AnyGuard = GuardDefinition;

/** A guard with the types of its parameters and state forgotten, as lists hold it. */
export interface Guard extends Omit<AnyGuard, "before" | "after" | "history"> {
  readonly history: (params: unknown) => number;
  readonly before: (
    call: JudgedCall,
    history: readonly CallRecord[],
    context: GuardFacts & { readonly params: unknown; readonly state: Json },
  ) => GuardVerdict;
  readonly after?: (
    record: CallRecord,
    history: readonly CallRecord[],
    context: { readonly params: unknown; readonly state: Json; readonly now: number },
  ) => AfterGuardResult;
}

/** A guard of an agent, with its parameters; each kind stands once. */
export interface BoundGuard {
  readonly guard: Guard;
  readonly params: unknown;
}

const defaultHistory = 30;

/** Makes a guard. A built-in or a team's own; the kind must match `^[a-z][a-z0-9_]*$`. */
export const defineGuard = <P extends z.ZodObject, State extends Json = null>(
  definition: GuardDefinition<P, State>,
): Guard => {
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(definition.kind))
    throw new Error(`"${definition.kind}" is no kind of guard`);
  return { history: () => defaultHistory, ...definition } as unknown as Guard;
};

/** Checks of what an agent says. */

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

/** What a guardrail says of a text; what it throws is its own failure. */
export const applyGuardrail = (
  problem: Guardrail["problem"],
  text: string,
): { readonly why: string | null } | { readonly thrown: string } => {
  try {
    return { why: problem(text) };
  } catch (error) {
    return { thrown: errorMessageOf(error) };
  }
};

/** Words that are handed on though the run that said them failed: without what must not be told. */
export const removeLeaks = (guardrails: readonly Guardrail[], words: string): string =>
  guardrails.reduceRight((text, { leak, text: instead }) => {
    if (text === "") return text;
    const judged = applyGuardrail(leak, text);
    return "thrown" in judged || judged.why !== null ? (instead ?? "") : text;
  }, words);
