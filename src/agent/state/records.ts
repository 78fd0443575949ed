import type { Json, ResultStatus } from "../../chat/message.ts";
import type { Purpose, Usage } from "../../model/completer.ts";
import type { ModelErrorCode } from "../../model/error.ts";
import type { EndReason, RunState } from "./events.ts";
import type { RunResult } from "./run.ts";

/** Rows that a commit adds beside the live state. */

/** What a model call saw, in so few figures that its request can be built again from rows. */
export interface ContextSnapshot {
  /** Newest edit of the session, and newest message of the thread, that were there. */
  readonly edit: number;
  readonly pos: number;
  /** Estimated tokens of the request, and of the context window. */
  readonly size: number;
  readonly window: number;
  readonly max_tokens: number;
  /** Provider and model that were asked; the answer may name another. */
  readonly lane: { readonly provider: string; readonly model: string };
  readonly depth: number;
  readonly light: boolean;
  /** The session's model override, if it was the thread's, too. */
  readonly override: string | null;
  readonly hidden: readonly string[];
  /** Kinds of the effects that hid them, one for each; absent: none is hidden. */
  readonly hiders?: readonly string[];
  /** Newest message of the call before. */
  readonly previous: string | null;
  readonly schema: Json | null;
  /** SHA-256 of the body that was sent; null if the provider does not tell, or the call was broken off. */
  readonly hash: string | null;
}

/** One model attempt in the ledger. */
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
  /** Of turns' requests that left. */
  readonly saw?: ContextSnapshot;
}

/** A completed model call. */
export interface ReplyMetrics {
  readonly provider: string;
  readonly model: string;
  readonly usage: Usage;
  readonly cost: number | null;
  readonly estimated: boolean;
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

/** A finished call of the thread as effects and guards compare it: kept across runs, restarts and compaction. */
export interface CallRecord {
  /** 1, 2, 3 … per thread, never reused. */
  readonly n: number;
  readonly tool: string;
  /** SHA-256 of the key-sorted arguments: 96 bits as 16 characters. */
  readonly args: string;
  /** The same of status and output without fields the tool calls volatile, taken before any note. */
  readonly outcome: string;
  readonly status: ResultStatus;
  readonly run: string;
  readonly turn: number;
  /** It changed the workspace or a store. */
  readonly changed: boolean;
  readonly poll: boolean;
}

export interface BackgroundCommands {
  /** In the background, until `until` at the latest; those of a called agent's ended run count to its caller's. */
  readonly running: readonly { readonly exec: string; readonly run: string; readonly until: number }[];
  /** To be ended: kept until the sandbox has answered. */
  readonly ending: readonly string[];
  /** Failed tries in a row. */
  readonly tries: number;
  /** When the next try may begin. */
  readonly at: number;
}

export const noBackgroundCommands: BackgroundCommands = { running: [], ending: [], tries: 0, at: 0 };

export interface Reflection {
  /** Of the session and the run: two failures at the same moment are two rows. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly agent: string;
  readonly task: string;
  readonly summary: string;
  readonly caveats: readonly string[];
  readonly files: readonly string[];
}

export interface Outbox {
  readonly rows: readonly Reflection[];
  /** Entries of the store `outbox`: what is remembered. Absent: none. */
  readonly memories?: number;
  /** Failed deliveries in a row. */
  readonly tries: number;
  /** When the next one may begin. */
  readonly until: number;
}

/** USD of a cost in 10⁻⁹ USD; null if a price was unknown. */
export const toUsd = (cost: number | null): number | null => (cost === null ? null : cost / 1e9);
