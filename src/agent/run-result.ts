import type { Usage } from "../model/completer.ts";
import type { EndReason } from "./events.ts";

/** `run_end.result` (AP-28). */
export interface RunResult {
  readonly session_id: string;
  readonly run_id: string;
  readonly provider: string;
  readonly model: string;
  readonly reason: EndReason;
  readonly duration_ms: number;
  readonly turns: number;
  readonly max_turns_used: boolean;
  readonly loop_detected: boolean;
  readonly no_progress_detected: boolean;
  readonly cost_exceeded: boolean;
  readonly truncated: boolean;
  readonly breach_verify: "not_run" | "passed" | "failed";
  readonly tool_calls: number;
  readonly files_modified: readonly string[];
  readonly files_created: readonly string[];
  readonly files_deleted: readonly string[];
  readonly usage: Usage;
  readonly cost_usd: number | null;
  readonly estimated: boolean;
  readonly context_utilization: number;
  readonly tool_cache_hits: number;
  readonly tool_cache_misses: number;
  readonly tool_timings: Readonly<Record<string, number>>;
  readonly compactions_applied: number;
  readonly longest_turn_ms: number;
  readonly episode_summary: string;
  readonly error: string | null;
  readonly text: string;
}
