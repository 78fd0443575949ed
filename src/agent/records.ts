import type { Json } from "../chat/message.ts";
import type { Purpose, Usage } from "../model/completer.ts";
import type { ModelErrorCode } from "../model/error.ts";
import type { EndReason, RunState } from "./events.ts";
import type { RunResult } from "./run-result.ts";

/** Rows that a commit adds beside the live state. */

/** What a model call saw, in so few figures that its request can be built again from rows (EF-42). */
export interface Sight {
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
  /** Of turns' requests that left. */
  readonly saw?: Sight;
}

/** A completed model call. */
export interface Reply {
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
