import type { EndReason } from "./events.ts";
import { problemKinds } from "./problem-body.ts";
import type { Kind } from "./problem-body.ts";

/** Why a run failed, as `run_end` says it: a problem like those of refused requests (AP-10), its code the end's reason. */
export interface RunProblem extends Kind {
  readonly type: string;
  readonly detail: string;
  readonly code: EndReason;
}

const kind = (status: number, title: string, retryable = false): Kind => ({ status, title, retryable });

type Failure = Exclude<EndReason, "end_turn" | "terminal_tool" | "cancelled" | "interrupted" | "rolled_back">;

/** The status is what a request would have got that waited for the run and could not tell of its failure otherwise. */
const kinds: Readonly<Record<Failure, Kind>> = {
  max_iterations: kind(422, "Turns used up"),
  tool_loop: kind(422, "Tool loop"),
  no_progress: kind(422, "No progress"),
  budget_exceeded: problemKinds.budget_exceeded,
  deadline_exceeded: kind(504, "Deadline exceeded"),
  refusal: kind(422, "Refused by the model"),
  output_invalid: kind(502, "Unusable output of the model"),
  context_window_too_small: problemKinds.context_window_too_small,
  context_length_exceeded: kind(422, "Context window full"),
  provider_auth: kind(502, "Refused by the provider"),
  provider_rate_limited: kind(429, "Rate limited by the provider", true),
  provider_overloaded: kind(503, "Provider overloaded", true),
  provider_timeout: problemKinds.provider_timeout,
  provider_error: problemKinds.provider_error,
  effect_failed: kind(500, "Effect failed"),
  config_changed: kind(409, "Config changed"),
  storage_error: problemKinds.storage_error,
  poisoned: kind(500, "Poisoned"),
  internal: problemKinds.internal,
};

/** Whether a run may fail for a reason; other ends are not for effects to bring. */
export const isFailure = (reason: string): boolean => Object.hasOwn(kinds, reason);

/** The problem of a run that failed; `error` null: the reason says all that is known. */
export const runProblem = (reason: EndReason, error: string | null): RunProblem => {
  const known: Partial<Record<EndReason, Kind>> = kinds;
  const { status, title, retryable } = known[reason] ?? problemKinds.internal;
  const detail = error ?? reason;
  return { type: `urn:limpet:problem:${reason}`, title, status, detail, code: reason, retryable };
};
