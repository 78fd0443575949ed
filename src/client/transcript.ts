import type { Ask, CallOutcome, WaitReason } from "../agent/state/ask.ts";
import type { DataOf, OnBusy, ReportedMessage, StoredEvent } from "../agent/state/events.ts";
import type { RunRecord } from "../agent/state/records.ts";
import type { ContentPart, Json } from "../chat/message.ts";
import type { FinishReason, Purpose, Usage } from "../model/completer.ts";
import type { FileChange } from "../sandbox/contract.ts";

/**
 * The transcript is what a client shows of a session: plain readonly data, made of a snapshot and the events after it.
 * A part that has not changed stays the same object. Times are milliseconds since the epoch.
 */
export interface Transcript {
  /** It is `live` once everything up to now is here, `offline` between two tries, and `closed` for good. */
  readonly status: "connecting" | "live" | "offline" | "closed";
  /** It says why the status is `offline` or `closed`; the next success removes it. */
  readonly problem?: ProblemBody;
  /** The next try begins then; it is null unless the status is `offline`. */
  readonly retry_at: number | null;
  /** The transcript holds every event up to this number. */
  readonly seq: number;
  /** It is null until the first snapshot has come. */
  readonly session: TranscriptSession | null;
  /** `main` is the first; called threads follow in the order in which they began. */
  readonly threads: readonly TranscriptThread[];
  /** These asks are open, the oldest first; answered ones stay at their call or note. */
  readonly asks: readonly TranscriptAsk[];
  /** These inputs wait: those that the server has not acknowledged yet are `pending`. */
  readonly inputs: readonly TranscriptInput[];
  /** These are the newest runs of all threads, the oldest first. */
  readonly runs: readonly TranscriptRun[];
  /** It is what the session used since it was created or cleared, as far as events have told. */
  readonly usage: TranscriptUsage;
  /** Older entries exist, and `loadEarlier` brings them. */
  readonly earlier: boolean;
}

/** A problem as the API sends it: RFC 9457 with a code, and the fields it is about. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly retryable: boolean;
  readonly request_id?: string;
  readonly retry_after_ms?: number;
  readonly errors?: readonly { readonly pointer: string; readonly code: string; readonly message: string }[];
  readonly meta?: { readonly [key: string]: Json };
}

/** The session as `GET /v1/sessions/{id}` shows it, kept up to date by events. */
export interface TranscriptSession {
  readonly id: string;
  readonly ref: string | null;
  readonly agent: string;
  readonly prefix: string;
  readonly title: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** A waiting session is never shown as idle. */
  readonly status: "idle" | "running" | "waiting";
  readonly waiting_for: readonly WaitReason[];
  readonly revision: string;
  readonly model: string | null;
  /** It has the form of the API's `budget`; spending since the snapshot is not in it. */
  readonly budget: Json;
  readonly open_asks: readonly string[];
  readonly queued_inputs: readonly string[];
  readonly last_run: string | null;
  /** How the last run of `main` ended; null before the first end. */
  readonly last_end: Pick<DataOf<"run_end">, "state" | "reason"> | null;
  readonly active_run: string | null;
  readonly interactive: boolean;
  readonly retention_days: number | null;
  readonly created_at: number;
  readonly updated_at: number;
}

/** Tokens, model calls and cost; the cost is null if a price is unknown. */
export interface TranscriptUsage extends Usage {
  readonly calls: number;
  readonly cost_usd: number | null;
  readonly estimated: boolean;
}

/** A thread is one agent's chat: `main` is the person's, every called agent has its own. */
export interface TranscriptThread {
  readonly id: string;
  readonly agent: string;
  /** The prefix of its agent, such as an emoji; empty until an event has named it. */
  readonly prefix: string;
  /** A called agent has a name for people and the beginning of its task. */
  readonly label?: string;
  readonly task?: string;
  /** The thread and the call that called it; absent for `main`. */
  readonly parent?: { readonly thread: string; readonly call: string };
  readonly depth: number;
  /** A called thread that has ended says how: completed, failed or cancelled. */
  readonly state: "idle" | "running" | "waiting" | "completed" | "failed" | "cancelled";
  /** It says what a waiting thread waits for, and is empty otherwise. */
  readonly waiting_for: readonly WaitReason[];
  /** Its run under way; null if it has none. */
  readonly run: string | null;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  /** It says what a called agent came to, in short. */
  readonly summary?: string;
  /** It is what its model calls used, as far as events have told. */
  readonly usage: TranscriptUsage;
  /** Messages, calls and notes in the order in which they began. */
  readonly entries: readonly TranscriptEntry[];
}

export type TranscriptEntry = MessageEntry | CallEntry | NoteEntry;

interface EntryPlace {
  /** It is unique in its thread and stays, so that it can be the key of a list. */
  readonly id: string;
  /** The number of the event that began it. */
  readonly seq: number;
  readonly at: number;
  readonly run?: string;
  readonly turn?: number;
}

/**
 * A message of a person, an agent, an effect or the runtime. While a reply is streamed it is open: its parts grow, and
 * the stored message replaces them. Results of calls stand in the entries of their calls.
 */
export interface MessageEntry
  extends
    EntryPlace,
    Pick<ReportedMessage, "role" | "origin" | "parts" | "sender" | "reason" | "marks" | "summary"> {
  readonly kind: "message";
  /** The id of the stored message; null while it is open. */
  readonly message: string | null;
  /** Its number in its thread, by which `messages` pages; null while it is open. */
  readonly pos: number | null;
  readonly open: boolean;
  /** It answers the person: no call stands in the same reply. */
  readonly final: boolean;
  /** A summary stands for it in what the model sees; people still see it. */
  readonly summarised: boolean;
  /** The event held only the beginning of long texts; `loadWhole` brings the rest. */
  readonly truncated: boolean;
}

/** A tool call from the first piece of its arguments to its outcome. */
export interface CallEntry extends EntryPlace {
  readonly kind: "call";
  readonly call: string;
  /** The id of the message that asked for it; null while that is written. */
  readonly message: string | null;
  /** The number of the message that holds its result, by which `messages` pages; null until then. */
  readonly pos: number | null;
  readonly tool: string;
  /** The toolbox it is from; null until it has started. */
  readonly toolbox: string | null;
  readonly safety: string | null;
  /**
   * `preparing` while its arguments are written, `planned` until it starts, `waiting` for an ask, a child, a command or
   * the time in `waits`, then `running`, at last `done`.
   */
  readonly state: "preparing" | "planned" | "waiting" | "running" | "done";
  readonly waits: { readonly on: DataOf<"tool_call_parked">["on"]; readonly until: number | null } | null;
  /** The arguments as text while they are written. */
  readonly args: string;
  /** The parsed arguments, as an approver changed them; null until they are whole. */
  readonly input: Json;
  /** The SHA-256 of the whole input if `input` is only its beginning; the reply that asked for the call has all of it. */
  readonly input_sha256: string | null;
  /** What the tool has printed so far; empty if it shows nothing while it runs. */
  readonly live: string;
  /** The output as the model sees it, a text or content parts; null until the end. */
  readonly output: Json;
  /** It says more for people than the output does, such as an exit code. */
  readonly details: Json;
  readonly outcome: CallOutcome | null;
  /** The newest verdict about it and the rule or person that gave it. */
  readonly permission: { readonly verdict: string; readonly by: string } | null;
  /** The files that it changed, with diffs. */
  readonly changes: readonly FileChange[];
  /** The asks about it, the oldest first, each with its resolution once it has one. */
  readonly asks: readonly TranscriptAsk[];
  /** The threads that it called, in the order in which they began. */
  readonly children: readonly string[];
  /** What it last said about itself. */
  readonly note: string | null;
  /** How many tasks of a dispatched graph are done. */
  readonly progress: { readonly done: number; readonly total: number } | null;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly duration_ms: number | null;
  readonly cached: boolean;
  /** The output or the event was cut; `loadWhole` brings what the model saw. */
  readonly truncated: boolean;
}

/** Something else that happened and that people may want to see, as its event. */
export interface NoteEntry extends EntryPlace {
  readonly kind: "note";
  readonly event: NoteEvent;
  /** For an ask without a call, such as a plan's or a budget's, this is the ask as it is now. */
  readonly ask: TranscriptAsk | null;
}

/** Events of these types become notes; those about a call stand in the call's entry instead. */
type NoteType =
  | "session_created"
  | "session_updated"
  | "session_migrated"
  | "model_changed"
  | "input_returned"
  | "run_end"
  | "attempt_aborted"
  | "provider_failover"
  | "messages_retired"
  | "ask_user"
  | "file_change"
  | "compaction"
  | "context_window_warning"
  | "loop_detected"
  | "checkpoint"
  | "plan_created"
  | "localization_done"
  | "verify"
  | "status_update"
  | "budget_warning"
  | "budget_reached"
  | "mcp_status"
  | "error";

/** The event of a note. */
export type NoteEvent = Extract<StoredEvent, { readonly type: NoteType }>;

/** An ask with the time at which it was resolved, expired or cancelled; null while it is open. */
export interface TranscriptAsk extends Ask {
  /** Its texts are cut: `asks` of the API has the whole, which a person has to see before it is approved. */
  readonly truncated?: boolean;
  readonly closed_at: number | null;
  /** What was done instead of an answer when it expired, such as `approve`. */
  readonly applied?: Json;
}

/** An input that no run has taken up yet. */
export interface TranscriptInput {
  readonly id: string;
  readonly thread: string;
  readonly content: readonly ContentPart[];
  /** It is null where the deployment's default applies. */
  readonly on_busy: OnBusy | null;
  readonly sender: string | null;
  /** `pending` until the server has acknowledged it: it is sent again after each reconnect. */
  readonly state: "pending" | "accepted";
  readonly at: number;
}

/** A run with the turns that events have told of. */
export interface TranscriptRun extends RunRecord {
  readonly timeline: readonly TurnFacts[];
}

/** A turn: one model call that was answered, and the calls that it asked for. */
export interface TurnFacts {
  readonly turn: number;
  readonly started_at: number;
  readonly ended_at: number | null;
  /** Every model call of the turn, failed ones and those of effects too. */
  readonly model_calls: readonly ModelCallFacts[];
  /** The ids of its tool calls; their entries have the times. */
  readonly calls: readonly string[];
  /** What effects did to what the model sees. */
  readonly effects: readonly DataOf<"effect_applied">[];
  /** Tokens and cost of the turn and how full its context was; null until it ends. */
  readonly metrics: DataOf<"turn_metrics"> | null;
}

/** A model call, from its request to its answer or failure. */
export interface ModelCallFacts {
  readonly purpose: Purpose;
  /** It counts from 1; absent for a call of an effect. */
  readonly attempt?: number;
  readonly provider: string;
  readonly model: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly messages: number;
  readonly tools: number;
  readonly estimated_tokens: number;
  readonly first_byte_ms: number | null;
  readonly duration_ms: number | null;
  readonly finish_reason: FinishReason | null;
  /** The code of a failed call; null if it did not fail. */
  readonly failure: string | null;
  readonly usage: Usage | null;
  readonly cost_usd: number | null;
}

/** What `session.open()` gives: it fits `useSyncExternalStore(open.subscribe, open.getSnapshot)`. */
export interface OpenSession {
  /** Returns the same object until something changed. */
  readonly getSnapshot: () => Transcript;
  /** Calls back after changes, at most once for all that came together; returns how to stop it. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Returns the newest events that the transcript was made of, 2,000 at most, the oldest first; the array is never changed. */
  readonly getEvents: () => readonly StoredEvent[];
  /**
   * Adds older entries: those of 1,000 events, or of all from the event with the number `first` on, if these are more.
   * Resolves to whether still older ones exist.
   */
  readonly loadEarlier: (first?: number) => Promise<boolean>;
  /** Replaces the shortened texts of a truncated entry by the whole ones. */
  readonly loadWhole: (thread: string, entry: string) => Promise<void>;
  /** Tries to connect at once. */
  readonly reconnect: () => void;
  /**
   * Ends the connection; commands that were not answered are rejected. The WebSocket of Node keeps its process until the
   * server has said goodbye, too: where the network may be gone, end with `process.exit`.
   */
  readonly close: () => void;
}
