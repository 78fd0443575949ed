import { costOf } from "../state/usage.ts";
import { hasExceededCost } from "../budgets/bounds.ts";
import { summarizeRun } from "../calls/episodes.ts";
import { finalText } from "../context/answer.ts";
import type { EndReason } from "../state/events.ts";
import { toUsd } from "../state/records.ts";
import type { Run, RunResult } from "../state/run.ts";
import type { Thread } from "../state/thread.ts";
import type { Draft } from "../transaction/draft.ts";
import { utilizationOf } from "../transaction/estimate.ts";

/** Returns `run_end.result`, which has every field on every path, errors included. */
export const runResultOf = (
  draft: Draft,
  thread: Thread,
  run: Run,
  end: { readonly reason: EndReason; readonly error: string | null },
): RunResult => ({
  session_id: draft.state.id,
  run_id: run.id,
  provider: run.target.provider,
  model: run.target.model,
  reason: end.reason,
  duration_ms: Math.max(0, draft.context.now - run.startedAt),
  turns: run.turn,
  max_turns_used: end.reason === "max_iterations" || run.stop?.exhausted === true,
  loop_detected: end.reason === "tool_loop",
  no_progress_detected: end.reason === "no_progress",
  cost_exceeded: hasExceededCost(draft, thread.id),
  truncated: run.counters.truncated,
  breach_verify: (run.verification?.of === "breach" ? run.verification.outcome : null) ?? "not_run",
  tool_calls: run.spent.toolCalls,
  tool_counts: run.counters.toolCounts,
  files_modified: run.counters.files.modified,
  files_created: run.counters.files.created,
  files_deleted: run.counters.files.deleted,
  usage: run.spent.usage,
  cost_usd: toUsd(costOf(run.spent)),
  estimated: run.spent.estimated > 0,
  context_utilization: utilizationOf(thread, run.target.window),
  tool_cache_hits: run.counters.cacheHits,
  tool_cache_misses: run.counters.cacheMisses,
  tool_timings: run.counters.timings,
  compactions_applied: run.counters.compactions,
  longest_turn_ms: run.counters.longestTurnMs,
  episode_summary: summarizeRun(draft, run),
  error: end.error,
  text: finalText(thread, run),
});
