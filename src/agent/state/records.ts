import type { Cause, Json, Message, ResultStatus } from "../../chat/message.ts";
import type { RefusedBefore } from "../../chat/refused.ts";
import type { Purpose, Usage } from "../../model/completer.ts";
import type { ModelErrorCode } from "../../model/error.ts";
import type { EndReason, RunState } from "./events.ts";
import type { Retry } from "./ask.ts";
import type { RunResult } from "./run.ts";
import type { OnDependencyFailure } from "./board.ts";

/** The rows that a commit adds beside the live state. */

/** Few figures from which a model call's request can be rebuilt from rows. */
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
  /** Model override of the session, if it applied to the thread. */
  readonly override: string | null;
  /** Tools that effects took out of the turn: the kind of the effect by the name of the tool. */
  readonly hidden: Readonly<Record<string, string>>;
  /** The newest message of the previous call. */
  readonly previous: string | null;
  readonly schema: Json | null;
  /** What the target had refused of the chat, which was left out. */
  readonly refused_before: RefusedBefore;
  /** The SHA-256 of the sent body; null if the provider does not report it or the call was broken off. */
  readonly hash: string | null;
}

/** Row of the ledger: one model attempt. */
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

/** Row that says after which event an edit was made, so that a view of the past can be found again. */
export interface EditRow {
  /** The `seq` of the newest event at that time. */
  readonly after: number;
  readonly edit: number;
  /** States of a thread's effects that last beyond a run, from this edit on; absent if it did not change them. */
  readonly effects?: { readonly thread: string; readonly states: Readonly<Record<string, Json>> };
}

/** Place in the past, named by the number of an event or by a message of the thread. */
export type PastPlace = { readonly seq: number } | { readonly pos: number };

/** Place in the past of a thread to which it may return. */
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

/** Message that is in the view of a past time, or had left that view. */
export interface PastMessage {
  /** The message, with the overlay of that time. */
  readonly message: Message;
  /** The edit that took it out of the view of now; 0 if it is in that view. */
  readonly retired: number;
  /** Whether a later edit changed how the message is shown. */
  readonly changed: boolean;
}

/** Message that had left the view by an edit. */
export interface RemovedMessage {
  readonly message: Message;
  readonly edit: number;
  /** Cause of the removal; null if none was recorded. */
  readonly cause: Cause | null;
}

/** Chat of a thread at a turn boundary. */
export interface PastView extends TurnBoundary {
  /** Messages in the order of the view. */
  readonly shown: readonly PastMessage[];
  /** Messages that had left the view. */
  readonly gone: readonly RemovedMessage[];
}

/** The metrics of a completed model call. */
export interface ReplyMetrics {
  readonly provider: string;
  readonly model: string;
  readonly usage: Usage;
  readonly cost: number | null;
  readonly estimated: boolean;
}

/** Ended run, as `GET …/runs/{run}` shows it. */
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

/** Finished call as effects and guards compare it, kept across runs, restarts and compaction. */
export interface CallRecord {
  /** Number of the record: 1, 2, 3 … per thread, never reused. */
  readonly n: number;
  readonly tool: string;
  /** The SHA-256 of the key-sorted arguments: 96 bits as 16 characters. */
  readonly args: string;
  /** Digests status and output without the tool's volatile fields, before any note is added. */
  readonly outcome: string;
  readonly status: ResultStatus;
  readonly run: string;
  readonly turn: number;
  /** Whether the call changed the workspace or a store. */
  readonly changed: boolean;
  readonly poll: boolean;
}

export interface BackgroundCommands {
  /** Commands that run in the background until `until` at most; those of an ended called run count to its caller's run. */
  readonly running: readonly { readonly exec: string; readonly run: string; readonly until: number }[];
  /** Commands that have to end; each is kept until the sandbox has answered. */
  readonly ending: readonly EndingCommand[];
}

export interface EndingCommand extends Retry {
  readonly exec: string;
}

export const noBackgroundCommands: BackgroundCommands = { running: [], ending: [] };

export interface Reflection {
  /** Made of the session and the run, so that two failures at the same time are two rows. */
  readonly id: string;
  /** Time in milliseconds since the epoch. */
  readonly at: number;
  readonly agent: string;
  readonly task: string;
  readonly summary: string;
  readonly caveats: readonly string[];
  readonly files: readonly string[];
}

/** What waits for the tenant's object: lessons, and the memories in the store `outbox`. */
export interface Outbox extends Retry {
  readonly rows: readonly Reflection[];
}

/** Converts a cost in 10⁻⁹ USD to USD; null if a price was unknown. */
export const toUsd = (cost: number | null): number | null => (cost === null ? null : cost / 1e9);

/**
 * Entries are values and notes of the session, outputs of a task graph, lessons of failed runs, inputs that are
 * remembered once their run has ended, rows on their way to the tenant's object, and files kept with the session.
 */
export type EntryStore = "state" | "notes" | "graph" | "reflections" | "inputs" | "outbox" | "files";

/** All of an entry but its value. */
export interface EntryHead {
  readonly key: string;
  /** The `seq` of the event that reports the entry, so it is never reused. */
  readonly revision: number;
  /** Size in bytes. */
  readonly size: number;
  /** Beginning of the value, as a list shows it. */
  readonly head: string;
}

/** Reads the stored entries. */
export interface EntryReader {
  readonly entry: (
    store: EntryStore,
    key: string,
  ) => { readonly revision: number; readonly value: Json } | null;
  /** Returns the heads sorted by key. */
  readonly heads: (store: EntryStore) => readonly EntryHead[];
}

/** Entry as a commit writes it; null removes it. */
export interface EntryChange extends EntryHead {
  readonly store: EntryStore;
  readonly json: string | null;
}

/** Rules for the stores, from the definition. */
export interface StoreRules {
  readonly onDependencyFailure: OnDependencyFailure;
  /** Whether notes live outside the session, which then only reports its writes to them. */
  readonly sharedNotes: boolean;
}
