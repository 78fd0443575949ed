import type * as z from "zod";
import type { Json } from "../../chat/message.ts";
import { catchThrown } from "../../tools/errors.ts";
import type { EndReason } from "../state/events.ts";
import type { CallRecord } from "../state/records.ts";
import type { JsonState } from "./effect.ts";
import { requireKind } from "./effect.ts";

/** A guard judges the calls of a reply before any of them starts. */

/** Call of the reply that is being judged. */
export interface JudgedCall {
  readonly id: string;
  readonly tool: string;
  /** The digest of the arguments, as records hold it. */
  readonly args: string;
  /** Arguments as the model wrote them, parsed, or the raw text if they are not JSON; a person's edit is not judged. */
  readonly input: Json;
  readonly poll: boolean;
}

/** The situation of the judged call. */
export interface GuardFacts {
  /** Calls of the reply before this one; they have no outcome yet. */
  readonly earlier: readonly Pick<JudgedCall, "tool" | "args" | "poll">[];
  /** Number of calls of the reply after this one. */
  readonly later: number;
  readonly agent: string;
  readonly run: string;
  readonly turn: number;
  /** Number of turns before this one in the run: 0, 1, … */
  readonly iteration: number;
  /** Number of the first record after the first compaction since the last human input; null if there was none. */
  readonly compacted: number | null;
  /** Current time in milliseconds since the epoch. */
  readonly now: number;
}

/** Detected loop, reported by `loop_detected` in these fields. */
export interface DetectedLoop {
  readonly detector: string;
  readonly count: number;
  readonly message: string;
}

/** Fails the run after all its calls are answered. */
export interface GuardStop {
  readonly reason: string;
  readonly loop?: DetectedLoop;
  /** Reason of the end; `tool_loop` if omitted. */
  readonly end?: Extract<EndReason, "tool_loop" | "no_progress" | "budget_exceeded">;
  /** Counts the run as one that used up its turns. */
  readonly exhausted?: true;
}

/**
 * `warn`: the call runs, and `note` ends its result. `veto`: no call of the reply runs; each is `denied` with the
 * reason, and the model gets another turn. `stop`: the run fails, all calls answered. `until`: it waits till then.
 */
export type GuardVerdict<State = Json> =
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

/** What a guard may return when a call has its outcome. */
export interface AfterGuardResult<State = Json> {
  /** Note at the end of the result. */
  readonly note?: string;
  readonly state?: State;
  /** Ends the run. */
  readonly stop?: GuardStop;
}

/** What guards have in common with their definitions; their functions must be pure and answer at once. */
interface GuardHooks<Params, State> {
  readonly kind: string;
  readonly description?: string;
  readonly params: z.ZodObject;
  /** JSON state of at most 64 KiB per thread, reset with each human input, with each run, or never. */
  readonly state?: { readonly initial: State; readonly reset: "input" | "run" | "never" };
  /** Judges a call before it starts; `history` holds the finished calls since the last human input, oldest first. */
  readonly before: (
    call: JudgedCall,
    history: readonly CallRecord[],
    context: GuardFacts & { readonly params: Params; readonly state: State },
  ) => GuardVerdict<State>;
  /** Runs when a call has its outcome: `history` is what was there before its record. */
  readonly after?: (
    record: CallRecord,
    history: readonly CallRecord[],
    context: { readonly params: Params; readonly state: State; readonly now: number },
  ) => AfterGuardResult<State>;
}

/** The definition of a guard. */
export interface GuardDefinition<P extends z.ZodObject = z.ZodObject, State = Json> extends GuardHooks<
  z.output<P>,
  State
> {
  readonly params: P;
  /** Says how many of the newest records the guard sees; 30 if omitted. */
  readonly history?: (params: z.output<P>) => number;
}

/** Guard whose types of parameters and state are erased, so that lists can hold it. */
export interface Guard extends GuardHooks<unknown, Json> {
  readonly history: (params: unknown) => number;
}

/** Guard of an agent, with its parameters; each kind occurs once. */
export interface BoundGuard {
  readonly guard: Guard;
  readonly params: unknown;
}

const defaultHistory = 30;

/** Defines a built-in guard or a team's own. */
export const defineGuard = <P extends z.ZodObject, State = null>(
  definition: GuardDefinition<P, State> & JsonState<State>,
): Guard => {
  requireKind(definition.kind, "guard");
  return { history: () => defaultHistory, ...definition } as unknown as Guard;
};

/** What a guardrail decides about a final message. A `text` replaces the message; null means that nothing does. */
export type AnswerVerdict =
  | { readonly do: "accept" }
  | { readonly do: "replace"; readonly text: string | null }
  | { readonly do: "retry"; readonly why: string }
  | { readonly do: "fail"; readonly why: string; readonly text: string | null };

/** Checks a final message of an agent before it is accepted. */
export interface Guardrail {
  readonly kind: string;
  /** Judges a final message; an error that it throws fails the run. */
  readonly judge: (outcome: RunOutcome, run: MiddlewareRun) => AnswerVerdict;
  /** Checks words that are no finished answer, for secrets they reveal and not for their form. */
  readonly leak: (text: string) => string | null;
  /** The text that replaces words that may not be shown; null means that nothing does. */
  readonly text: string | null;
}

/** Removes from the words of a failed run what the guardrails forbid to reveal. */
export const removeLeaks = (guardrails: readonly Guardrail[], words: string): string =>
  guardrails.reduceRight((text, { leak, text: instead }) => {
    if (text === "") return text;
    const judged = catchThrown(() => leak(text));
    return "thrown" in judged || judged.given !== null ? (instead ?? "") : text;
  }, words);

/** Middleware wraps the runs of an agent: its hooks are pure and answer at once. */

/** Facts about a run that middleware sees. */
export interface MiddlewareRun {
  readonly id: string;
  readonly agent: string;
  /** 0 for the person's thread. */
  readonly depth: number;
  /** The text of the input or task that began the run. */
  readonly task: string;
  /** Start in milliseconds since the epoch. */
  readonly startedAt: number;
}

export interface StartResult {
  /** Note that the model reads before its first turn, of at most 8 000 characters. */
  readonly note?: string;
  /** Reason for which the run fails before its first turn. */
  readonly fail?: string;
}

/** Answer with which a run is about to end. */
export interface RunOutcome {
  /** The final text, or the report of a called agent; empty if the run ends without words. */
  readonly text: string;
  readonly reason: "end_turn" | "terminal_tool";
  readonly turns: number;
  /** Number of answers of the run that this middleware has sent back. */
  readonly retries: number;
}

/** Decision about an answer; an empty result accepts it. */
export interface FinishResult {
  /** Reason for which the run fails. */
  readonly fail?: string;
  /** Reason that the model gets to answer again; after 20 times the run fails for it. */
  readonly retry?: string;
  /** What stands in the answer's place. */
  readonly text?: string;
}

/**
 * Middleware with one hook or both; in lists the types of its parameters are erased. A hook that throws, or gives back
 * something else, ends the run `effect_failed`.
 */
export interface Middleware<Params = unknown> {
  readonly kind: string;
  /** Helps people to choose the middleware. */
  readonly description?: string;
  readonly params: z.ZodObject;
  /** Called before the first turn of a run; the outermost middleware comes first. */
  readonly start?: (run: MiddlewareRun, params: Params) => StartResult;
  /** Called before an answer is accepted, unless the run has failed; the innermost middleware comes first. */
  readonly finish?: (run: MiddlewareRun, outcome: RunOutcome, params: Params) => FinishResult;
}

/** The definition of middleware. */
export interface MiddlewareDefinition<P extends z.ZodObject = z.ZodObject> extends Middleware<z.output<P>> {
  readonly params: P;
}

/** Hook of an agent, with its parameters. */
export interface StartHook {
  readonly kind: string;
  readonly start: (run: MiddlewareRun) => StartResult;
}

/** Defines middleware of a team's own. */
export const defineMiddleware = <P extends z.ZodObject>(definition: MiddlewareDefinition<P>): Middleware => {
  requireKind(definition.kind, "middleware");
  return definition as unknown as Middleware;
};
