import { finalText } from "../context/answer.ts";
import { summarizeCalls } from "../memory/episodes.ts";
import type { EndReason, RunState } from "../state/events.ts";
import { toUsd } from "../state/records.ts";
import type { Run, RunResult } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Thread } from "../state/thread.ts";
import { utilizationOf } from "../transaction/estimate.ts";

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
  provider: run.target.provider,
  model: run.target.model,
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
  context_utilization: utilizationOf(thread, run.target.window),
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
