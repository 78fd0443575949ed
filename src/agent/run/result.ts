import type { ProblemKind } from "../../session/problems.ts";
import { problemKinds } from "../../session/problems.ts";
import { finalText } from "../context/answer.ts";
import { summarizeCalls } from "../memory/episodes.ts";
import type { EndReason, RunState } from "../state/events.ts";
import { toUsd } from "../state/records.ts";
import type { Run, RunProblem, RunResult } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Thread } from "../state/thread.ts";
import { utilizationOf } from "../transaction/estimate.ts";

const createKind = (status: number, title: string, retryable = false): ProblemKind => ({
  status,
  title,
  retryable,
});

type FailureReason = Exclude<
  EndReason,
  "end_turn" | "terminal_tool" | "cancelled" | "interrupted" | "rolled_back"
>;

/** The status is that of a request which waits for the run and has no other way to report its failure. */
const failureKinds: Readonly<Record<FailureReason, ProblemKind>> = {
  max_iterations: createKind(422, "Turns used up"),
  tool_loop: createKind(422, "Tool loop"),
  no_progress: createKind(422, "No progress"),
  budget_exceeded: problemKinds.budget_exceeded,
  deadline_exceeded: createKind(504, "Deadline exceeded"),
  refusal: createKind(422, "Refused by the model"),
  output_invalid: createKind(502, "Unusable output of the model"),
  context_window_too_small: problemKinds.context_window_too_small,
  context_length_exceeded: createKind(422, "Context window full"),
  provider_auth: createKind(502, "Refused by the provider"),
  provider_rate_limited: createKind(429, "Rate limited by the provider", true),
  provider_overloaded: createKind(503, "Provider overloaded", true),
  provider_timeout: problemKinds.provider_timeout,
  provider_error: problemKinds.provider_error,
  effect_failed: createKind(500, "Effect failed"),
  config_changed: createKind(409, "Config changed"),
  storage_error: problemKinds.storage_error,
  poisoned: createKind(500, "Poisoned"),
  internal: problemKinds.internal,
};

/** It tells whether a run may fail for a reason; effects may not bring other ends. */
export const isFailureReason = (reason: string): boolean => Object.hasOwn(failureKinds, reason);

/** A failed run has this problem; if `error` is null, the reason says all that is known. */
export const runProblemOf = (reason: EndReason, error: string | null): RunProblem => {
  const known: Partial<Record<EndReason, ProblemKind>> = failureKinds;
  const { status, title, retryable } = known[reason] ?? problemKinds.internal;
  const detail = error ?? reason;
  return { type: `urn:limpet:problem:${reason}`, title, status, detail, code: reason, retryable };
};

/** `run_end.result` has every field on every path, errors included. */
export const runResultOf = (
  session: Session,
  thread: Thread,
  run: Run,
  end: {
    readonly state: RunState;
    readonly reason: EndReason;
    readonly error: string | null;
    readonly now: number;
    readonly costExceeded: boolean;
  },
): RunResult => ({
  session_id: session.id,
  run_id: run.id,
  provider: run.lane.provider,
  model: run.lane.model,
  reason: end.reason,
  duration_ms: Math.max(0, end.now - run.startedAt),
  turns: run.turn,
  max_turns_used: end.reason === "max_iterations" || run.stop?.exhausted === true,
  loop_detected: end.reason === "tool_loop",
  no_progress_detected: end.reason === "no_progress",
  cost_exceeded: end.costExceeded,
  truncated: run.counters.truncated,
  breach_verify: "not_run",
  tool_calls: run.counters.toolCalls,
  files_modified: run.counters.files.modified,
  files_created: run.counters.files.created,
  files_deleted: run.counters.files.deleted,
  usage: run.usage,
  cost_usd: toUsd(run.counters.cost),
  estimated: run.counters.estimated,
  context_utilization: utilizationOf(thread, run.lane.window),
  tool_cache_hits: run.counters.cacheHits,
  tool_cache_misses: run.counters.cacheMisses,
  tool_timings: run.counters.timings,
  compactions_applied: run.counters.compactions,
  longest_turn_ms: run.counters.longestTurnMs,
  // Only a retry reads it, so that a completed run does not pay for it.
  episode_summary: end.state === "completed" ? "" : summarizeCalls(thread.chat, run.id),
  error: end.error,
  text: finalText(thread, run),
});
