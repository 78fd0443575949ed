import type { Cause, Json, Message, ResultStatus } from "../../chat/message.ts";
import type { Purpose, Usage } from "../../model/completer.ts";
import type { ModelErrorCode } from "../../model/error.ts";
import type { EndReason, RunState } from "./events.ts";
import type { RunResult } from "./run.ts";

/** The rows that a commit adds beside the live state. */

/** A context snapshot holds the few figures from which a model call's request can be rebuilt from rows. */
export interface ContextSnapshot {
  /** The newest edit of the session and the newest message of the thread at that time. */
  readonly edit: number;
  readonly pos: number;
  /** The estimated tokens of the request and those of the context window. */
  readonly size: number;
  readonly window: number;
  readonly max_tokens: number;
  /** The provider and model that were asked; the answer may name another. */
  readonly target: { readonly provider: string; readonly model: string };
  readonly depth: number;
  readonly light: boolean;
  /** The session's model override is kept here if it applied to the thread. */
  readonly override: string | null;
  readonly hidden: readonly string[];
  /** The effects of these kinds hid them, one for each; absent if none is hidden. */
  readonly hiders?: readonly string[];
  /** The newest message of the previous call. */
  readonly previous: string | null;
  readonly schema: Json | null;
  /** The SHA-256 of the sent body; null if the provider does not report it or the call was broken off. */
  readonly hash: string | null;
}

/** A row of the ledger is one model attempt. */
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
  /** Present for requests of turns that were sent. */
  readonly saw?: ContextSnapshot;
}

/** A row of the log says after which event an edit was made, so that a view of the past can be found again. */
export interface EditRow {
  /** The `seq` of the newest event at that time. */
  readonly after: number;
  readonly edit: number;
  /** If present, the states of a thread's effects that last beyond a run were these from then on. */
  readonly effects?: { readonly thread: string; readonly states: Readonly<Record<string, Json>> };
}

/** A place in the past is named by the number of an event or by a message of the thread. */
export type PastPlace = { readonly seq: number } | { readonly pos: number };

/** A turn boundary is a place in the past of a thread to which it may return. */
export interface TurnBoundary {
  /** The `seq` of the newest event before it. */
  readonly seq: number;
  /** The newest edit of the session at that time. */
  readonly edit: number;
  /** The newest message of the thread at that time, and the newest that a call had seen; -1 if there is none. */
  readonly pos: number;
  readonly seen: number;
  readonly lastUsage: Usage | null;
  /** The states of effects that last beyond a run. */
  readonly effects: Readonly<Record<string, Json>>;
}

/** A message of the past stands in the view of that time, or it had left that view. */
export interface PastMessage {
  /** The message, with the overlay of that time. */
  readonly message: Message;
  /** The edit that took it out of the view of now; 0 if it is in that view. */
  readonly retired: number;
  /** A later edit changed how it is shown. */
  readonly changed: boolean;
}

/** A past view holds the chat of a thread at a turn boundary. */
export interface PastView extends TurnBoundary {
  /** Messages in the order of the view. */
  readonly shown: readonly PastMessage[];
  /** Messages that had left the view by an edit, each with its cause. */
  readonly gone: readonly {
    readonly message: Message;
    readonly edit: number;
    readonly cause: Cause | null;
  }[];
}

/** The metrics of a completed model call. */
export interface ReplyMetrics {
  readonly provider: string;
  readonly model: string;
  readonly usage: Usage;
  readonly cost: number | null;
  readonly estimated: boolean;
}

/** A run that ended is shown like this by `GET …/runs/{run}`. */
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

/** Effects and guards compare finished calls by these records, kept across runs, restarts and compaction. */
export interface CallRecord {
  /** Numbers count 1, 2, 3 … per thread and are never reused. */
  readonly n: number;
  readonly tool: string;
  /** The SHA-256 of the key-sorted arguments: 96 bits as 16 characters. */
  readonly args: string;
  /** Digests status and output without the tool's volatile fields, before any note is added. */
  readonly outcome: string;
  readonly status: ResultStatus;
  readonly run: string;
  readonly turn: number;
  /** The call changed the workspace or a store. */
  readonly changed: boolean;
  readonly poll: boolean;
}

export interface BackgroundCommands {
  /** Commands that run in the background until `until` at most; those of an ended called run count to its caller's run. */
  readonly running: readonly { readonly exec: string; readonly run: string; readonly until: number }[];
  /** Commands that have to end; each is kept until the sandbox has answered. */
  readonly ending: readonly EndingCommand[];
}

export interface EndingCommand {
  readonly exec: string;
  /** Number of tries that failed. */
  readonly tries: number;
  /** When the next try may begin, in milliseconds since the epoch. */
  readonly at: number;
}

export const noBackgroundCommands: BackgroundCommands = { running: [], ending: [] };

export interface Reflection {
  /** Made of the session and the run, so that two failures at the same time are two rows. */
  readonly id: string;
  /** The time is in milliseconds since the epoch. */
  readonly at: number;
  readonly agent: string;
  readonly task: string;
  readonly summary: string;
  readonly caveats: readonly string[];
  readonly files: readonly string[];
}

/** What waits for the tenant's object: lessons, and the memories in the store `outbox`. */
export interface Outbox {
  readonly rows: readonly Reflection[];
  /** So many deliveries failed in a row. */
  readonly tries: number;
  /** The next delivery may begin then. */
  readonly until: number;
}

/** A cost in 10⁻⁹ USD is converted to USD; null if a price was unknown. */
export const toUsd = (cost: number | null): number | null => (cost === null ? null : cost / 1e9);
