import type * as z from "zod";

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

/** Defines middleware with one hook or both; a hook that throws, or gives back something else, ends the run `effect_failed`. */
export interface MiddlewareDefinition<P extends z.ZodObject = z.ZodObject> {
  readonly kind: string;
  /** Helps people to choose the middleware. */
  readonly description?: string;
  readonly params: P;
  /** Called before the first turn of a run; the outermost middleware comes first. */
  readonly start?: (run: MiddlewareRun, params: z.output<P>) => StartResult;
  /** Called before an answer is accepted, unless the run has failed; the innermost middleware comes first. */
  readonly finish?: (run: MiddlewareRun, outcome: RunOutcome, params: z.output<P>) => FinishResult;
}

/** Middleware whose types of parameters are erased, so that lists can hold it. */
export interface Middleware extends Omit<MiddlewareDefinition, "start" | "finish"> {
  readonly start?: (run: MiddlewareRun, params: unknown) => StartResult;
  readonly finish?: (run: MiddlewareRun, outcome: RunOutcome, params: unknown) => FinishResult;
}

/** Hook of an agent, with its parameters. */
export interface StartHook {
  readonly kind: string;
  readonly start: (run: MiddlewareRun) => StartResult;
}

/** Defines middleware of a team's own; the kind must match `^[a-z][a-z0-9_]*$`. */
export const defineMiddleware = <P extends z.ZodObject>(definition: MiddlewareDefinition<P>): Middleware => {
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(definition.kind))
    throw new Error(`"${definition.kind}" is not a valid kind of middleware`);
  return definition as unknown as Middleware;
};
