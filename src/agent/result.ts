import { textOf } from "../chat/text.ts";
import type { Message } from "../chat/message.ts";
import { episodesOf } from "./episodes.ts";
import type { EndReason, RunState } from "./events.ts";
import type { RunResult } from "./run-result.ts";
import { contextTokens } from "./usage.ts";
import type { Run, Session, Thread } from "./state.ts";

/** USD of a cost in 10⁻⁹ USD; null if a price was unknown. */
export const usd = (cost: number | null): number | null => (cost === null ? null : cost / 1e9);

/** Share of the window that the last call of a thread used (SE-36); 0 for an unknown window. */
export const utilizationOf = (thread: Thread, window: number): number =>
  window > 0 ? contextTokens(thread.lastUsage) / window : 0;

/** The last thing a run said: one message, or all pieces of one that was cut off and went on (SE-13). */
export const answerOf = (chat: readonly Message[], runId: string): readonly Message[] => {
  const said = chat.filter(({ run, role }) => run === runId && role === "assistant");
  const from = said.findLastIndex(
    ({ marks }, index) => index < said.length - 1 && marks?.includes("truncated") !== true,
  );
  return said.slice(from + 1);
};

/** Whether a run ended without an answer: on empty replies, or on words that a guardrail did not let pass. */
export const isUnanswered = ({ counters }: Run): boolean => counters.empty > 0 || counters.withheld === true;

const finalText = (thread: Thread, run: Run): string =>
  isUnanswered(run)
    ? ""
    : answerOf(thread.chat, run.id)
        .map(({ parts }) => textOf(parts))
        .join("");

/** `run_end.result` (AP-28): every field on every path, errors included (SE-44). */
export const resultOf = (
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
  cost_usd: usd(run.counters.cost),
  estimated: run.counters.estimated,
  context_utilization: utilizationOf(thread, run.lane.window),
  tool_cache_hits: run.counters.cacheHits,
  tool_cache_misses: run.counters.cacheMisses,
  tool_timings: run.counters.timings,
  compactions_applied: run.counters.compactions ?? 0,
  longest_turn_ms: run.counters.longestTurnMs,
  // Read by a retry alone, so that a run which completed does not pay for it.
  episode_summary: end.state === "completed" ? "" : episodesOf(thread.chat, run.id),
  error: end.error,
  text: finalText(thread, run),
});
