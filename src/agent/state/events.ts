import type { Json, Message, Part, ToolResultPart } from "../../chat/message.ts";
import type { FinishReason, Purpose, Usage } from "../../model/completer.ts";
import type { FileChange } from "../../sandbox/contract.ts";
import type { Task } from "../../tools/stores.ts";
import type { Ask, CallOutcome, AskDecision, WaitReason } from "./ask.ts";
import type { BudgetFigures } from "./budget.ts";
import type { RunProblem, RunResult } from "./run.ts";

/** The durable events of a session and their data. */

/** State of a task of a graph. */
export type GraphState = "pending" | "running" | "success" | "failed" | "cancelled" | "timeout";

/** A call in short. */
export interface Episode {
  readonly tool: string;
  readonly args: string;
  readonly success: boolean;
  readonly summary: string;
}

export type RunState = "completed" | "failed" | "cancelled";

/** Reasons for which a run may fail. */
export const failureReasons = [
  "max_iterations",
  "tool_loop",
  "no_progress",
  "budget_exceeded",
  "deadline_exceeded",
  "refusal",
  "output_invalid",
  "context_window_too_small",
  "context_length_exceeded",
  "provider_auth",
  "provider_rate_limited",
  "provider_overloaded",
  "provider_timeout",
  "provider_error",
  "effect_failed",
  "mcp_error",
  "config_changed",
  "storage_error",
  "poisoned",
  "internal",
] as const;

export type FailureReason = (typeof failureReasons)[number];

export type EndReason =
  | "end_turn"
  | "terminal_tool"
  | FailureReason
  | "cancelled"
  | "interrupted"
  | "rolled_back"
  | "plan_denied";

export type OnBusy = "reject" | "queue" | "steer" | "interrupt" | "rollback";

type RetiredBy = "rollback" | "clear" | "rewind" | "guardrail";

/** Part of a reported message; a result without content has its output in `tool_call_end`. */
type ReportedPart =
  | Exclude<Part, ToolResultPart>
  | (Omit<ToolResultPart, "content"> & Partial<Pick<ToolResultPart, "content">>);

/** Message as an event reports it. */
export interface ReportedMessage extends Omit<Message, "parts"> {
  readonly parts: readonly ReportedPart[];
}

/** Reports the message of a result without the output, which the end of its call has brought. */
export const reportWithoutOutput = (message: Message): ReportedMessage => ({
  ...message,
  parts: message.parts.map((part) => {
    if (part.type !== "tool_result") return part;
    const { content: _, ...rest } = part;
    return rest;
  }),
});

interface EventData {
  session_created: {
    readonly agent: string;
    readonly revision: string;
    readonly ref: string | null;
    readonly title: string | null;
    readonly metadata: Readonly<Record<string, string>>;
    /** Session and event whose view a fork begins with. */
    readonly source?: { readonly session: string; readonly seq: number };
  };
  session_updated: Readonly<Record<string, Json>>;
  session_migrated: { readonly from: string; readonly to: string; readonly changes: readonly Json[] };
  model_changed: {
    readonly from: string | null;
    readonly to: string | null;
    readonly scope: "main" | "tree";
  };
  input_accepted: {
    readonly input: string;
    readonly content: Json;
    readonly on_busy: OnBusy;
    readonly sender: string | null;
    /** Title that the session has from its first message. */
    readonly title?: string;
  };
  input_edited: {
    readonly input: string;
    readonly content: Json;
    readonly on_busy: OnBusy;
    /** Input of the same thread that comes next; null: none. */
    readonly before: string | null;
  };
  input_applied: { readonly input: string; readonly message: string };
  input_withdrawn: { readonly input: string };
  input_returned: {
    readonly input: string;
    readonly content: Json;
    readonly reason: "cancelled" | "cleared" | "no_budget";
  };
  steering_injected: { readonly input: string; readonly message: string };
  run_start: { readonly inputs: readonly string[]; readonly revision: string; readonly budget: Json };
  run_waiting: { readonly on: readonly WaitReason[] };
  run_resumed: { readonly by: string };
  run_end: {
    readonly state: RunState;
    readonly reason: EndReason;
    readonly error: RunProblem | null;
    readonly message: string | null;
    readonly result: RunResult;
  };
  agent_start: {
    readonly prefix: string;
    readonly depth: number;
    readonly parent: { readonly thread: string; readonly call: string } | null;
    /** Name of a called agent for people and the beginning of its task. */
    readonly label?: string;
    readonly task?: string;
  };
  agent_end: {
    readonly prefix: string;
    readonly parent: { readonly thread: string; readonly call: string } | null;
    readonly state: RunState;
    readonly reason: EndReason;
    readonly summary?: string;
    readonly usage: Usage;
  };
  turn_start: Readonly<Record<string, never>>;
  turn_end: { readonly calls: number };
  turn_metrics: {
    readonly provider: string;
    readonly model: string;
    readonly usage: Usage;
    readonly cost_usd: number | null;
    readonly estimated: boolean;
    readonly utilization: number;
    readonly cache_hits: number;
    readonly cache_misses: number;
    readonly duration_ms: number;
  };
  llm_request_preparing: { readonly purpose: Purpose; readonly provider: string; readonly model: string };
  llm_request_start: {
    readonly provider: string;
    readonly model: string;
    readonly purpose: Purpose;
    readonly messages: number;
    readonly tools: number;
    readonly estimated_tokens: number;
    readonly bytes: number;
  };
  llm_reasoning: { readonly preview: string };
  llm_text: { readonly preview: string };
  llm_tool_prepare: { readonly call: string; readonly tool: string };
  llm_finish: {
    readonly finish_reason: FinishReason;
    readonly usage: Usage;
    readonly cost_usd: number | null;
    readonly provider: string;
    readonly model: string;
    readonly request_id: string | null;
    readonly first_byte_ms: number;
    readonly duration_ms: number;
  };
  attempt_aborted: {
    readonly items: readonly string[];
    readonly code: string;
    readonly retry_at: number | null;
    readonly usage: Usage;
    readonly cost_usd: number | null;
  };
  provider_failover: { readonly from: string; readonly to: string; readonly code: string };
  message_added: { readonly message: ReportedMessage; readonly final: boolean };
  messages_retired: {
    readonly messages: readonly string[];
    readonly by: RetiredBy;
  };
  tool_call_start: {
    readonly tool: string;
    readonly toolbox: string;
    readonly input: Json;
    readonly safety: string;
    readonly permission: { readonly verdict: string; readonly by: string };
  };
  tool_cache_hit: { readonly tool: string; readonly input: Json };
  tool_call_parked: {
    readonly tool: string;
    readonly on: "ask" | "thread" | "exec" | "task" | "time";
    /** Null if the run waits for others that have deadlines of their own. */
    readonly until: number | null;
  };
  tool_call_end: {
    readonly tool: string;
    readonly outcome: CallOutcome;
    readonly output: Json;
    readonly details?: Json;
    readonly duration_ms: number;
    readonly cached: boolean;
    readonly truncated: boolean;
    readonly permission?: { readonly verdict: string; readonly by: string };
    /** Set if the permissions denied the call: no earlier event has brought its arguments. */
    readonly input?: Json;
  };
  ask_user: { readonly ask: Ask };
  ask_resolved: {
    readonly ask: string;
    readonly decision: AskDecision;
    readonly by: string;
    readonly edited: boolean;
    readonly remember?: "session" | "agent";
  };
  ask_expired: { readonly ask: string; readonly applied: Json };
  ask_cancelled: { readonly ask: string };
  /** The tool is null for what a person changed. */
  file_change: FileChange & { readonly tool: string | null; readonly message: string | null };
  context_window_warning:
    | {
        readonly kind: "utilization";
        readonly utilization: number;
        readonly tokens: number;
        readonly limit: number;
      }
    | { readonly kind: "small_window"; readonly window: number };
  status_update: { readonly text: string };
  plan_created: { readonly message: string };
  /** Files that the model was shown as those that the input may be about. */
  localization_done: { readonly files: readonly string[] };
  checkpoint: {
    readonly fraction: number;
    /** The id of the note. */
    readonly message: string;
    readonly text: string;
  };
  effect_applied: {
    readonly kind: string;
    readonly phase: "before_complete" | "after_complete";
    readonly injected: number;
    readonly overlaid: number;
    readonly retired: number;
    /** Number of declared tools that the effect took out of the turn. */
    readonly hidden: number;
    /** Whether the effect ends the run. */
    readonly stopped: boolean;
    /** Tokens of the request as it stands. */
    readonly tokens_before: number;
    readonly tokens_after: number;
  };
  compaction: {
    /** The kind of the effect, or `api` or `overflow`. */
    readonly effect: string;
    readonly stage: "mask" | "trim" | "window" | "full" | "partial" | "note" | "hard_clear" | "failed";
    readonly tokens_before: number;
    readonly tokens_after: number;
    readonly retired: { readonly from: string; readonly to: string; readonly count: number } | null;
    readonly attempts: number;
    readonly message: string | null;
  };
  loop_detected: {
    readonly detector: string;
    readonly level: "warning" | "critical";
    readonly count: number;
    readonly tool: string;
    readonly message: string;
  };
  episode_recorded: Episode;
  verify: {
    readonly state: "started" | "passed" | "failed" | "exhausted" | "error" | "skipped";
    /** Whether this is the check before the end of a run that used up its turns. */
    readonly breach?: true;
    /** Number of checks that followed the same edits, from 1. */
    readonly attempt: number;
    /** Empty if none was configured and none was found. */
    readonly command: string;
    readonly exit_code?: number;
    /** The end of the output, or why the command could not be run. */
    readonly output_tail?: string;
  };
  task_changed: { readonly task: Task };
  dispatch_progress: {
    readonly done: number;
    readonly total: number;
    readonly task: { readonly id: string; readonly agent: string; readonly state: GraphState };
  };
  store_changed: {
    readonly store: "state" | "notes";
    readonly key: string;
    readonly op: "set" | "delete";
  };
  mcp_status: {
    readonly server: string;
    readonly state: "connected" | "failed" | "auth_needed" | "quarantined";
    /** Tools that the server offers, or that are quarantined. */
    readonly tools?: readonly string[];
    /** Says what is wrong with the server, or with some of its tools. */
    readonly error?: string;
  };
  budget_warning: BudgetFigures;
  budget_reached: BudgetFigures;
  error: { readonly code: string; readonly message: string; readonly retryable: boolean };
}

export type EventType = keyof EventData;

export type DataOf<T extends EventType> = EventData[T];

/** Event as a transition makes it; the commit adds `v seq id at session`. */
export type SessionEvent = {
  readonly [T in EventType]: {
    readonly type: T;
    readonly thread: string;
    readonly agent: { readonly name: string; readonly prefix: string };
    readonly run?: string;
    readonly turn?: number;
    readonly attempt?: number;
    readonly call?: string;
    readonly item?: string;
    /** Names a task of a dispatched graph. */
    readonly node?: string;
    readonly data: EventData[T];
  };
}[EventType];

/** Event as it is stored: `seq` counts 1, 2, 3 … per session, `at` is in milliseconds since the epoch. */
export type StoredEvent = SessionEvent & {
  readonly v: 1;
  readonly seq: number;
  readonly id: string;
  readonly at: number;
  readonly session: string;
};

type DeltaKind = "text_delta" | "reasoning_delta" | "tool_input_delta" | "tool_output_delta";

/** Live piece of an open item: never stored, superseded by the event that closes the item. */
export interface Delta {
  readonly type: "delta";
  readonly kind: DeltaKind;
  readonly thread: string;
  readonly item: string;
  readonly attempt: number;
  /** UTF-16 units of the item before this piece. */
  readonly off: number;
  readonly data: string;
}

/** What a streamed item will become. */
export type ItemKind = "text" | "reasoning" | "tool_input" | "tool_output";

/** Frame of a provider's stream, shown live as it came, without secrets, and never stored. */
export interface ProviderFrame {
  readonly type: "llm_provider_raw";
  readonly thread: string;
  readonly run: string;
  readonly turn: number;
  readonly purpose: Purpose;
  readonly attempt: number;
  readonly provider: string;
  readonly model: string;
  readonly data: string;
  /** Whether the data was cut. */
  readonly truncated?: true;
}
