import type { Completion, CompleteOptions, ModelRequest } from "../model/completer.ts";
import { ModelError } from "../model/error.ts";
import type { ModelFailure } from "../model/error.ts";
import type { Settlement } from "../model/gate.ts";
import type { Lane } from "./agent.ts";
import type { Outside } from "./outside.ts";

/** A model call, whoever makes it: its provider's gate is asked for a place before, and told of its end after (MO-29). */
export interface ModelCall {
  /** Names it at the gate. */
  readonly id: string;
  readonly lane: Lane;
  /** It has waited for its place, and has it. */
  readonly booked: boolean;
  /** Estimated input tokens, and output tokens it may have. */
  readonly input: number;
  readonly output: number;
}

/** `wait`: it leaves at `until`, or (`booked` false) asks again then. `late`: nobody wants it any more. */
export type Placed =
  | { readonly is: "free" }
  | { readonly is: "late" }
  | { readonly is: "wait"; readonly until: number; readonly booked: boolean }
  | { readonly is: "failed"; readonly failure: ModelFailure };

/**
 * The lane is given up (MO-26): its place is too far off, and who waited that long for a slot would wait again as long.
 * Our own limiter says nothing about the provider's health, so the gate is not told of this.
 */
const noPlace = ({ provider, model, retry }: Lane, startsIn: number): ModelFailure => ({
  code: "rate_limited",
  retryable: true,
  retryAfterMs: Math.max(startsIn, retry.maxWait + 1),
  provider,
  model,
  message: "the provider's rate limit leaves no place in time",
});

/** The gate's place for a call that is about to leave. */
export const placeFor = async (
  { host, places, signal }: Outside,
  { id, lane, booked, input, output }: ModelCall,
): Promise<Placed> => {
  if (lane.gate === null || booked) return { is: "free" };
  if (signal.aborted) return { is: "late" };
  const { status, startAt } = await places.ask(lane, { id, input, maxOutput: output });
  if (signal.aborted) return { is: "late" };
  const now = host.now();
  if (status === "rate_limited") return { is: "failed", failure: noPlace(lane, startAt - now) };
  if (status === "booked" && startAt <= now) return { is: "free" };
  return { is: "wait", until: startAt, booked: status === "booked" };
};

/** What came of a call that left; `known` = its provider, or the way there, failed as such things do. */
export type Outcome =
  | { readonly ok: true; readonly reply: Completion }
  | { readonly ok: false; readonly failure: ModelFailure; readonly known: boolean };

const failed = ({ provider, model }: Lane, error: unknown): Outcome => {
  if (error instanceof ModelError) return { ok: false, failure: error.failure, known: true };
  const message = `the request could not be made: ${error instanceof Error ? error.name : "error"}`;
  const failure = { code: "invalid_request", retryable: false, provider, model, message } as const;
  return { ok: false, failure, known: false };
};

const endOf = (outcome: Outcome): Pick<Settlement, "code" | "usage" | "holdUntil"> => {
  if (!outcome.ok) return { code: outcome.failure.code, usage: null, holdUntil: outcome.failure.holdUntil };
  const { usage, holdUntil } = outcome.reply;
  return { code: "ok", usage, holdUntil };
};

/** Makes a call that has its place, and stores what came of it; `exhausted` = its lane was given up. */
export const made = async <T extends { readonly exhausted: boolean }>(
  { places, signal }: Outside,
  { id, lane }: ModelCall,
  request: () => ModelRequest,
  store: (outcome: Outcome) => T | Promise<T>,
  options: Pick<CompleteOptions, "onDelta"> = {},
): Promise<T> => {
  places.used(lane, id);
  let outcome: Outcome;
  try {
    outcome = { ok: true, reply: await lane.completer.complete(request(), { signal, ...options }) };
  } catch (error) {
    outcome = failed(lane, error);
  }
  let exhausted = false;
  try {
    const stored = await store(outcome);
    ({ exhausted } = stored);
    return stored;
  } finally {
    places.ended(lane, id, { ...endOf(outcome), exhausted });
  }
};
