import type { Purpose, Usage } from "../model/completer.ts";
import type { ModelErrorCode } from "../model/error.ts";
import type { EndReason, RunState } from "./events.ts";
import type { RunResult } from "./run-result.ts";

/** Rows that a commit adds beside the live state. */

/** One model attempt in the ledger (MO-33). */
export interface LedgerRow {
  readonly at: number;
  readonly thread: string;
  readonly agent: string;
  readonly run: string;
  readonly turn: number;
  readonly attempt: number;
  readonly purpose: Purpose;
  readonly provider: string;
  readonly model: string;
  readonly outcome: "ok" | ModelErrorCode | "interrupted";
  readonly usage: Usage;
  readonly estimated: boolean;
  readonly cost: number | null;
}

/** A run that ended, as `GET …/runs/{run}` shows it. */
export interface RunRecord {
  readonly id: string;
  readonly thread: string;
  readonly agent: string;
  readonly inputs: readonly string[];
  readonly state: RunState | "running" | "waiting";
  readonly reason: EndReason | null;
  readonly error: string | null;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly turns: number;
  readonly result: RunResult | null;
}
