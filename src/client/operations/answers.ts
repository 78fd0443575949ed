import type { Json } from "../../chat/message.ts";

/** This file is written by `npm run build` from the operation table; do not edit it. */

/** Fields of all events. */
interface EventEnvelope {
  readonly v: 1;
  /** Counts 1, 2, 3 … in the session, without gaps. */
  readonly seq: number;
  /** `<session>:<seq>`. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly session: string;
  /** `main`, or the thread of a called agent. */
  readonly thread: string;
  readonly agent: { readonly name: string; readonly prefix: string; };
  readonly run?: string;
  readonly turn?: number;
  readonly attempt?: number;
  readonly call?: string;
  /** The open item that the event begins or closes. */
  readonly item?: string;
  /** A task of a dispatched graph. */
  readonly node?: string;
}

/** Parts of answers, by their names in `GET /v1/openapi.json`. */
export interface AnswerSchemas {
  /** An agent of the team, with the tools that it has. */
  readonly Agent: {
    readonly name: string;
    readonly description?: string;
    readonly prefix: string;
    readonly provider: string;
    readonly model: string;
    readonly context_window: number;
    readonly tools: readonly { readonly name: string; readonly toolbox: string; readonly description: string; readonly safety: string; }[];
    readonly calls: readonly ({ readonly agent: string; readonly inherit: "own" | "intersect" | "union"; readonly tools: readonly string[]; })[];
    readonly skills: readonly string[];
    readonly effects: readonly string[];
    /** The share of the window at which messages are retired; null if none are. */
    readonly shrinks_at: number | null;
    /** What a person may begin with. */
    readonly starters?: readonly {
      readonly say: string;
      /** What it shows, in one line. */
      readonly shows: string;
    }[];
    readonly revision: string;
  };
  /** The agent's run in the thread is over. */
  readonly AgentEndEvent: EventEnvelope & {
    readonly type: "agent_end";
    readonly data: {
      readonly prefix: string;
      readonly parent: { readonly thread: string; readonly call: string; } | null;
      readonly state: "completed" | "failed" | "cancelled";
      readonly reason: AnswerSchemas["EndReason"];
      readonly summary?: string;
      readonly usage: AnswerSchemas["Usage"];
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** An agent begins its run in a thread; `parent` names the call that it works for. */
  readonly AgentStartEvent: EventEnvelope & {
    readonly type: "agent_start";
    readonly data: {
      readonly prefix: string;
      readonly depth: number;
      readonly parent: { readonly thread: string; readonly call: string; } | null;
      readonly label?: string;
      /** The beginning of its task. */
      readonly task?: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A question that only the outside can answer. */
  readonly Ask: {
    readonly id: string;
    readonly kind: "question" | "approval" | "client_tool" | "authorization" | "budget";
    readonly thread: string;
    /** The called agent that asks. */
    readonly agent?: string;
    readonly label?: string;
    readonly run: string;
    /** The call that waits; empty if a run waits. */
    readonly call: string;
    readonly status: "open" | "resolved" | "expired" | "cancelled";
    readonly opened_at: number;
    readonly seq: number;
    /** When its default is applied. */
    readonly expires_at: number;
    readonly question?: {
      readonly text: string;
      readonly options: readonly string[];
      readonly header?: string;
      readonly multi_select: boolean;
      readonly max_selections?: number;
      /** Whether only the options are accepted as answers. */
      readonly strict: boolean;
    };
    /** Paths of its input are relative to its directory; absent: to the workspace's root. */
    readonly approval?: {
      readonly tool: string;
      readonly input: Json;
      /** Folder of the workspace to which paths of the input are relative; absent: the workspace. */
      readonly directory?: string;
      /** The rule that requires the approval. */
      readonly rule: string;
      readonly reason?: string;
      /** What happens if nobody answers; absent: the call is denied. */
      readonly on_timeout?: "approve";
      /** What an answer with `remember` would allow from then on. */
      readonly remember?: { readonly tool: string; readonly pattern: string; };
    };
    /** An address for a person to open; with login, signing in there is the answer. */
    readonly authorization?: {
      readonly server: string;
      /** Needs the scope approvals:decide. */
      readonly url?: string;
      readonly login?: boolean;
    };
    readonly client_tool?: { readonly tool: string; readonly input: Json; };
    readonly budget?: {
      readonly scope: "run" | "session" | "tenant";
      /** The key of the limit, such as `max_tokens`. */
      readonly kind: string;
      /** In USD, milliseconds, tokens, calls or turns. */
      readonly limit: number;
      readonly spent: number;
      /** The lowest limit with which the run could go on. */
      readonly least: number;
    };
    readonly resolution?: { readonly decision: "approve" | "deny" | "edit" | "answer" | "result" | "cancel" | "expired"; readonly by: string; readonly remember?: "session" | "agent"; readonly body?: Json; };
  };
  /** The ask is no longer needed. */
  readonly AskCancelledEvent: EventEnvelope & {
    readonly type: "ask_cancelled";
    readonly data: {
      readonly ask: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** Nobody answered in time, and the default was applied. */
  readonly AskExpiredEvent: EventEnvelope & {
    readonly type: "ask_expired";
    readonly data: {
      readonly ask: string;
      readonly applied: Json;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The first valid answer arrived. */
  readonly AskResolvedEvent: EventEnvelope & {
    readonly type: "ask_resolved";
    readonly data: {
      readonly ask: string;
      readonly decision: "approve" | "deny" | "edit" | "answer" | "result" | "cancel";
      /** The id of the key that answered. */
      readonly by: string;
      readonly edited: boolean;
      /** How far the approval reaches beyond this call. */
      readonly remember?: "session" | "agent";
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** Somebody outside has to answer: a question, an approval, a client tool, a login, a higher limit. */
  readonly AskUserEvent: EventEnvelope & {
    readonly type: "ask_user";
    readonly data: {
      readonly ask: AnswerSchemas["Ask"];
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The attempt failed; this event replaces `llm_finish`: discard the text of the items that it names. */
  readonly AttemptAbortedEvent: EventEnvelope & {
    readonly type: "attempt_aborted";
    readonly data: {
      readonly items: readonly string[];
      readonly code: string;
      /** When the next attempt begins; null if none does. */
      readonly retry_at: number | null;
      /** The usage of the attempt as far as it is known: often an estimate. */
      readonly usage: AnswerSchemas["Usage"];
      readonly cost_usd: number | null;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A limit is used up: the run stops or asks for more. */
  readonly BudgetReachedEvent: EventEnvelope & {
    readonly type: "budget_reached";
    readonly data: {
      readonly scope: "run" | "session" | "tenant";
      /** The key of the limit, such as `max_tokens`. */
      readonly kind: string;
      /** In USD, milliseconds, tokens, calls or turns. */
      readonly limit: number;
      readonly spent: number;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The warning share of a limit is spent; once for each limit and run. */
  readonly BudgetWarningEvent: EventEnvelope & {
    readonly type: "budget_warning";
    readonly data: {
      readonly scope: "run" | "session" | "tenant";
      /** The key of the limit, such as `max_tokens`. */
      readonly kind: string;
      /** In USD, milliseconds, tokens, calls or turns. */
      readonly limit: number;
      readonly spent: number;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** What this deployment is and can do. */
  readonly Capabilities: { readonly version: "v1"; readonly team: string; readonly revision: string; readonly entry_agent: string; readonly limits: Readonly<Record<string, number>>; readonly kinds: Readonly<Record<string, readonly string[]>>; readonly surfaces: readonly string[]; readonly subprotocol: string; };
  /** The outcome of a change of the workspace. */
  readonly ChangedFiles: {
    readonly path: string;
    /** How many files changed. */
    readonly changed: number;
    readonly size?: number;
    readonly sha256?: string;
    /** Later reads of the session show at least this event. */
    readonly seq: number;
  };
  /** A note told the agent that this share of its turns is used. */
  readonly CheckpointEvent: EventEnvelope & {
    readonly type: "checkpoint";
    readonly data: {
      readonly fraction: number;
      readonly message: string;
      readonly text: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The chat was shortened by one stage, or could not be. */
  readonly CompactionEvent: EventEnvelope & {
    readonly type: "compaction";
    readonly data: {
      /** The kind of the effect, or `api` or `overflow`. */
      readonly effect: string;
      readonly stage: "mask" | "trim" | "window" | "full" | "partial" | "note" | "hard_clear" | "failed";
      readonly tokens_before: number;
      readonly tokens_after: number;
      readonly retired: { readonly from: string; readonly to: string; readonly count: number; } | null;
      readonly attempts: number;
      /** The id of the summary. */
      readonly message: string | null;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A part of an input or of a tool's output. */
  readonly ContentPart: {
    readonly type: "text";
    readonly text: string;
    /** Data that only the model that sent it understands. */
    readonly opaque?: { readonly provider: string; readonly model: string; readonly data: Json; };
  } | {
    readonly type: "image";
    /** Names bytes that the session keeps. */
    readonly blob?: string;
    readonly url?: string;
    readonly media_type: string;
    readonly name?: string;
  } | {
    readonly type: "document";
    /** Names bytes that the session keeps. */
    readonly blob?: string;
    readonly url?: string;
    readonly media_type: string;
    readonly name?: string;
  };
  /** What the model saw in a call, and what changed since the call before. */
  readonly ContextView: {
    readonly run: string;
    readonly turn: number;
    readonly call: number;
    readonly attempt: number;
    readonly purpose: string;
    readonly outcome: string;
    readonly calls: readonly ({
      readonly call: number;
      readonly purpose: string;
      readonly attempt: number;
      readonly outcome: string;
      readonly provider: string;
      readonly model: string;
      readonly at: number;
      /** Null while it is not known. */
      readonly usage: AnswerSchemas["Usage"] | null;
      readonly cost_usd: number | null;
      /** Whether the usage is estimated, because the call broke off before it was reported. */
      readonly estimated: boolean;
    })[];
    readonly agent: string;
    readonly thread: string;
    readonly provider: string;
    readonly model: string;
    readonly parameters: Readonly<Record<string, Json>>;
    readonly window: number;
    readonly size: number;
    readonly system: string;
    readonly tools: readonly { readonly name: string; readonly description: string; }[];
    readonly messages: readonly ({
      readonly id: string;
      readonly pos: number;
      readonly role: "system" | "user" | "assistant" | "tool";
      /** Who wrote it. */
      readonly origin: "human" | "agent" | "effect" | "system";
      readonly state: "full" | "overlaid" | "summary" | "note";
      /** The kind of the effect that did it. */
      readonly by: string | null;
      readonly reason: string | null;
      readonly tokens: number;
      readonly original_tokens: number;
      /** The calls that it asks for or answers. */
      readonly calls: readonly { readonly id: string; readonly tool: string; readonly args?: string; }[];
      readonly text: string;
    })[];
    readonly hidden: readonly ({ readonly id: string; readonly pos: number; readonly role: "system" | "user" | "assistant" | "tool"; readonly tokens: number; readonly by: string | null; readonly reason: string | null; readonly run: string | null; readonly turn: number | null; readonly why: string; })[];
    readonly hidden_tools: readonly ({ readonly name: string; readonly by: string | null; })[];
    /** The answered call that the changes are relative to; null for the first call of a thread. */
    readonly before: { readonly run: string; readonly turn: number; readonly size: number; } | null;
    readonly changes: readonly ({ readonly effect: string | null; readonly reason: string | null; readonly edit: "inject" | "overlay" | "retire" | "append" | "remove" | "request"; readonly messages: readonly string[]; readonly tokens_saved: number; })[];
    /** Whether this is what was sent, byte for byte; null: unknown. */
    readonly verified: boolean | null;
  };
  /** The context window is nearly full, or small for what the agent does. */
  readonly ContextWindowWarningEvent: EventEnvelope & { readonly type: "context_window_warning"; readonly data: { readonly kind: "utilization"; readonly utilization: number; readonly tokens: number; readonly limit: number; } | { readonly kind: "small_window"; readonly window: number; }; };
  /** A new key with its secret, which is shown this once. */
  readonly CreatedKey: {
    readonly id: string;
    readonly name: string | null;
    readonly tenant: string;
    readonly jurisdiction: "eu" | "us" | null;
    readonly scopes: readonly ("sessions:read" | "sessions:write" | "sessions:manage" | "asks:answer" | "approvals:decide" | "context:read" | "usage:read" | "tokens:mint" | "debug:read" | "admin")[];
    readonly created_at: number;
    readonly created_by: string;
    readonly expires_at: number | null;
    /** Null if the request was repeated. */
    readonly key: string | null;
  };
  /** A decision about a call, a plan or a budget, and who or what made it. */
  readonly Decision: { readonly id: string; readonly session: string; readonly seq: number; readonly at: number; readonly thread: string; readonly agent: string; readonly run: string | null; readonly call: string | null; readonly tool: string | null; readonly verdict: "allow" | "approved" | "ask" | "deny" | null; readonly rule: string | null; readonly ask: string | null; readonly answer: Json; readonly who: string | null; readonly remember: Json; readonly input_sha256: string | null; readonly action: string | null; readonly subject: string | null; };
  /** A task of a dispatched graph changed its state. */
  readonly DispatchProgressEvent: EventEnvelope & {
    readonly type: "dispatch_progress";
    readonly data: {
      readonly done: number;
      readonly total: number;
      readonly task: { readonly id: string; readonly agent: string; readonly state: "pending" | "running" | "success" | "failed" | "cancelled" | "timeout"; };
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The input after the edit. */
  readonly EditedInput: {
    readonly id: string;
    readonly thread: string;
    readonly content: readonly AnswerSchemas["ContentPart"][];
    readonly on_busy: "reject" | "queue" | "steer" | "interrupt" | "rollback";
    readonly sender: string | null;
    readonly origin: "human" | "agent";
    readonly status: "accepted" | "applied" | "withdrawn" | "returned";
    readonly at: number;
    readonly output_schema?: Json;
    readonly light?: boolean;
    readonly prior_episode_summaries?: readonly string[];
    /** The question of a called agent that it carries. */
    readonly question?: string;
    /** Each edit changes it; PATCH takes it as If-Match. */
    readonly version: number;
    /** Later reads of the session show at least this event. */
    readonly seq: number;
  };
  /** An effect added to what the model sees, shortened it or took tools away. */
  readonly EffectAppliedEvent: EventEnvelope & {
    readonly type: "effect_applied";
    readonly data: {
      readonly kind: string;
      readonly phase: "before_complete" | "after_complete";
      readonly injected: number;
      readonly overlaid: number;
      readonly retired: number;
      /** How many declared tools it took out of the turn. */
      readonly hidden: number;
      /** Whether it ends the run. */
      readonly stopped: boolean;
      readonly tokens_before: number;
      readonly tokens_after: number;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** Why a run ended. */
  readonly EndReason: "end_turn" | "terminal_tool" | "max_iterations" | "tool_loop" | "no_progress" | "budget_exceeded" | "deadline_exceeded" | "refusal" | "output_invalid" | "context_window_too_small" | "context_length_exceeded" | "provider_auth" | "provider_rate_limited" | "provider_overloaded" | "provider_timeout" | "provider_error" | "effect_failed" | "mcp_error" | "config_changed" | "storage_error" | "poisoned" | "internal" | "cancelled" | "interrupted" | "rolled_back" | "plan_denied";
  /** A summary of a call, which later runs may see. */
  readonly EpisodeRecordedEvent: EventEnvelope & {
    readonly type: "episode_recorded";
    readonly data: {
      readonly tool: string;
      readonly args: string;
      readonly success: boolean;
      readonly summary: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** An error occurred that the run survives, or is about to end with. */
  readonly ErrorEvent: EventEnvelope & {
    readonly type: "error";
    readonly data: {
      readonly code: string;
      readonly message: string;
      readonly retryable: boolean;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A durable record of the session. */
  readonly Event: AnswerSchemas["SessionCreatedEvent"] | AnswerSchemas["SessionUpdatedEvent"] | AnswerSchemas["SessionMigratedEvent"] | AnswerSchemas["ModelChangedEvent"] | AnswerSchemas["InputAcceptedEvent"] | AnswerSchemas["InputEditedEvent"] | AnswerSchemas["InputAppliedEvent"] | AnswerSchemas["InputWithdrawnEvent"] | AnswerSchemas["InputReturnedEvent"] | AnswerSchemas["SteeringInjectedEvent"] | AnswerSchemas["RunStartEvent"] | AnswerSchemas["RunWaitingEvent"] | AnswerSchemas["RunResumedEvent"] | AnswerSchemas["RunEndEvent"] | AnswerSchemas["AgentStartEvent"] | AnswerSchemas["AgentEndEvent"] | AnswerSchemas["TurnStartEvent"] | AnswerSchemas["TurnEndEvent"] | AnswerSchemas["TurnMetricsEvent"] | AnswerSchemas["MessageAddedEvent"] | AnswerSchemas["MessagesRetiredEvent"] | AnswerSchemas["ErrorEvent"] | AnswerSchemas["LlmRequestPreparingEvent"] | AnswerSchemas["LlmRequestStartEvent"] | AnswerSchemas["LlmReasoningEvent"] | AnswerSchemas["LlmTextEvent"] | AnswerSchemas["LlmToolPrepareEvent"] | AnswerSchemas["LlmFinishEvent"] | AnswerSchemas["AttemptAbortedEvent"] | AnswerSchemas["ProviderFailoverEvent"] | AnswerSchemas["ToolCallStartEvent"] | AnswerSchemas["ToolCacheHitEvent"] | AnswerSchemas["ToolCallParkedEvent"] | AnswerSchemas["ToolCallEndEvent"] | AnswerSchemas["FileChangeEvent"] | AnswerSchemas["EpisodeRecordedEvent"] | AnswerSchemas["VerifyEvent"] | AnswerSchemas["McpStatusEvent"] | AnswerSchemas["AskUserEvent"] | AnswerSchemas["AskResolvedEvent"] | AnswerSchemas["AskExpiredEvent"] | AnswerSchemas["AskCancelledEvent"] | AnswerSchemas["EffectAppliedEvent"] | AnswerSchemas["CompactionEvent"] | AnswerSchemas["ContextWindowWarningEvent"] | AnswerSchemas["CheckpointEvent"] | AnswerSchemas["PlanCreatedEvent"] | AnswerSchemas["LocalizationDoneEvent"] | AnswerSchemas["BudgetWarningEvent"] | AnswerSchemas["BudgetReachedEvent"] | AnswerSchemas["LoopDetectedEvent"] | AnswerSchemas["TaskChangedEvent"] | AnswerSchemas["StoreChangedEvent"] | AnswerSchemas["DispatchProgressEvent"] | AnswerSchemas["StatusUpdateEvent"];
  /** A file or folder of the workspace. */
  readonly File: {
    readonly name: string;
    /** `file` or `directory`. */
    readonly type: string;
    readonly size: number;
  };
  /** A file of the workspace changed, by a tool or, with `tool` null, by a person. */
  readonly FileChangeEvent: EventEnvelope & {
    readonly type: "file_change";
    readonly data: {
      readonly path: string;
      readonly op: "create" | "modify" | "delete" | "move";
      readonly from?: string;
      /** A unified diff. */
      readonly diff?: string;
      readonly tool: string | null;
      readonly message: string | null;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A permission that an approval left behind. */
  readonly Grant: { readonly id: string; readonly scope: "session" | "agent"; readonly session: string; readonly agent: string; readonly tool: string; readonly pattern: string; readonly by: string; readonly at: number; readonly expires_at: number | null; };
  /** A message that was handed to the session. */
  readonly Input: {
    readonly id: string;
    readonly thread: string;
    readonly content: readonly AnswerSchemas["ContentPart"][];
    readonly on_busy: "reject" | "queue" | "steer" | "interrupt" | "rollback";
    readonly sender: string | null;
    readonly origin: "human" | "agent";
    readonly status: "accepted" | "applied" | "withdrawn" | "returned";
    readonly at: number;
    readonly output_schema?: Json;
    readonly light?: boolean;
    readonly prior_episode_summaries?: readonly string[];
    /** The question of a called agent that it carries. */
    readonly question?: string;
    /** Each edit changes it; PATCH takes it as If-Match. */
    readonly version: number;
  };
  /** A message was stored, and will be applied, withdrawn or returned. */
  readonly InputAcceptedEvent: EventEnvelope & {
    readonly type: "input_accepted";
    readonly data: {
      readonly input: string;
      readonly content: Json;
      readonly on_busy: "reject" | "queue" | "steer" | "interrupt" | "rollback";
      readonly sender: string | null;
      /** The title of a session that had none: the beginning of this first message. */
      readonly title?: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The message has joined the chat, and a run works on it. */
  readonly InputAppliedEvent: EventEnvelope & {
    readonly type: "input_applied";
    readonly data: {
      readonly input: string;
      readonly message: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A waiting message was edited, moved, or may now join the run; the data is its new state. */
  readonly InputEditedEvent: EventEnvelope & {
    readonly type: "input_edited";
    readonly data: {
      readonly input: string;
      readonly content: Json;
      readonly on_busy: "reject" | "queue" | "steer" | "interrupt" | "rollback";
      /** The next input of the same thread; null if there is none. */
      readonly before: string | null;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The message could not be applied and goes back to its sender. */
  readonly InputReturnedEvent: EventEnvelope & {
    readonly type: "input_returned";
    readonly data: {
      readonly input: string;
      readonly content: Json;
      readonly reason: "cancelled" | "cleared" | "no_budget";
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The sender withdrew the message before it was applied, or before it arrived. */
  readonly InputWithdrawnEvent: EventEnvelope & {
    readonly type: "input_withdrawn";
    readonly data: {
      readonly input: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** An API key without its secret. */
  readonly Key: { readonly id: string; readonly name: string | null; readonly tenant: string; readonly jurisdiction: "eu" | "us" | null; readonly scopes: readonly ("sessions:read" | "sessions:write" | "sessions:manage" | "asks:answer" | "approvals:decide" | "context:read" | "usage:read" | "tokens:mint" | "debug:read" | "admin")[]; readonly created_at: number; readonly created_by: string; readonly expires_at: number | null; };
  /** A limit of a budget, with what is spent and left of it: tokens, USD, milliseconds of model time, or calls. */
  readonly Limit: {
    /** Whose limit it is; the tenant's day is listed once it is used up. */
    readonly scope: "run" | "session" | "tenant";
    readonly limit: number;
    readonly spent: number;
    readonly left: number;
    /** The share at which a warning is given. */
    readonly warn_at: number;
    readonly on_exceeded: "stop" | "ask";
  };
  /** An open ask with the session that waits for its answer; its title is null for callers who may not read sessions. */
  readonly ListedAsk: {
    readonly id: string;
    readonly kind: "question" | "approval" | "client_tool" | "authorization" | "budget";
    readonly thread: string;
    /** The called agent that asks. */
    readonly agent?: string;
    readonly label?: string;
    readonly run: string;
    /** The call that waits; empty if a run waits. */
    readonly call: string;
    readonly status: "open" | "resolved" | "expired" | "cancelled";
    readonly opened_at: number;
    readonly seq: number;
    /** When its default is applied. */
    readonly expires_at: number;
    readonly question?: {
      readonly text: string;
      readonly options: readonly string[];
      readonly header?: string;
      readonly multi_select: boolean;
      readonly max_selections?: number;
      /** Whether only the options are accepted as answers. */
      readonly strict: boolean;
    };
    /** Paths of its input are relative to its directory; absent: to the workspace's root. */
    readonly approval?: {
      readonly tool: string;
      readonly input: Json;
      /** Folder of the workspace to which paths of the input are relative; absent: the workspace. */
      readonly directory?: string;
      /** The rule that requires the approval. */
      readonly rule: string;
      readonly reason?: string;
      /** What happens if nobody answers; absent: the call is denied. */
      readonly on_timeout?: "approve";
      /** What an answer with `remember` would allow from then on. */
      readonly remember?: { readonly tool: string; readonly pattern: string; };
    };
    /** An address for a person to open; with login, signing in there is the answer. */
    readonly authorization?: {
      readonly server: string;
      /** Needs the scope approvals:decide. */
      readonly url?: string;
      readonly login?: boolean;
    };
    readonly client_tool?: { readonly tool: string; readonly input: Json; };
    readonly budget?: {
      readonly scope: "run" | "session" | "tenant";
      /** The key of the limit, such as `max_tokens`. */
      readonly kind: string;
      /** In USD, milliseconds, tokens, calls or turns. */
      readonly limit: number;
      readonly spent: number;
      /** The lowest limit with which the run could go on. */
      readonly least: number;
    };
    readonly resolution?: { readonly decision: "approve" | "deny" | "edit" | "answer" | "result" | "cancel" | "expired"; readonly by: string; readonly remember?: "session" | "agent"; readonly body?: Json; };
    readonly session: string;
    readonly session_title: string | null;
  };
  /** A message of a thread, with `retired=true` including its current form in the model's view. */
  readonly ListedMessage: {
    readonly id: string;
    /** Orders the messages of a thread; never used again. */
    readonly pos: number;
    readonly role: "system" | "user" | "assistant" | "tool";
    /** Who wrote it. */
    readonly origin: "human" | "agent" | "effect" | "system";
    readonly at: number;
    /** The estimated tokens of the original. */
    readonly tokens: number;
    readonly sender?: string;
    /** Why an effect wrote it. */
    readonly reason?: string;
    /** What is special about it. */
    readonly marks?: readonly ("note" | "steering" | "partial" | "pinned" | "plan" | "truncated")[];
    /** The numbers of the memories that it contains. */
    readonly memories?: readonly number[];
    readonly run?: string;
    readonly turn?: number;
    /** What the model sees instead of the message, while that is shortened. */
    readonly overlay?: {
      readonly edit: number;
      /** The kind of the effect. */
      readonly by: string;
      readonly run?: string;
      readonly turn?: number;
      readonly reason?: string;
      /** Texts by the index of the part that they replace. */
      readonly texts: Readonly<Record<string, string>>;
      /** Whether images and documents stay. */
      readonly media: boolean;
      readonly tokens: number;
    };
    /** Set on a summary: the first and last `pos` of the messages that it replaces. */
    readonly summary?: { readonly edit: number; readonly by: string; readonly reason?: string; readonly from: number; readonly to: number; };
    /** The position in the view, where it is not `pos`. */
    readonly place?: number;
    readonly parts: readonly AnswerSchemas["Part"][];
    /** With `retired=true`: how the model sees the message now. */
    readonly state?: "full" | "overlaid" | "retired";
    /** The kind of the effect that retired it. */
    readonly retired_by?: string | null;
    /** Why it was retired. */
    readonly retired_for?: string | null;
  };
  /** The model's reply is complete. */
  readonly LlmFinishEvent: EventEnvelope & {
    readonly type: "llm_finish";
    readonly data: {
      readonly finish_reason: "stop" | "tool_calls" | "length" | "context_full" | "refusal" | "filtered" | "paused";
      readonly usage: AnswerSchemas["Usage"];
      readonly cost_usd: number | null;
      readonly provider: string;
      readonly model: string;
      /** The provider's own id of the request. */
      readonly request_id: string | null;
      readonly first_byte_ms: number;
      readonly duration_ms: number;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The model begins to think: opens an item, which `reasoning_delta` frames grow. */
  readonly LlmReasoningEvent: EventEnvelope & {
    readonly type: "llm_reasoning";
    readonly data: {
      readonly preview: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The run is about to ask a model; effects may still change what it sees. */
  readonly LlmRequestPreparingEvent: EventEnvelope & {
    readonly type: "llm_request_preparing";
    readonly data: {
      readonly purpose: "turn" | "plan" | "repair" | "compaction" | "announce";
      readonly provider: string;
      readonly model: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The request is sent to the provider. */
  readonly LlmRequestStartEvent: EventEnvelope & {
    readonly type: "llm_request_start";
    readonly data: {
      readonly provider: string;
      readonly model: string;
      readonly purpose: "turn" | "plan" | "repair" | "compaction" | "announce";
      readonly messages: number;
      readonly tools: number;
      readonly estimated_tokens: number;
      readonly bytes: number;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The model begins to answer: opens an item, which `text_delta` frames grow and `message_added` closes. */
  readonly LlmTextEvent: EventEnvelope & {
    readonly type: "llm_text";
    readonly data: {
      readonly preview: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The model begins to write a tool call: opens an item, which `tool_input_delta` frames grow. */
  readonly LlmToolPrepareEvent: EventEnvelope & {
    readonly type: "llm_tool_prepare";
    readonly data: {
      readonly call: string;
      readonly tool: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The model was shown these files as those that the input may be about. */
  readonly LocalizationDoneEvent: EventEnvelope & {
    readonly type: "localization_done";
    readonly data: {
      readonly files: readonly string[];
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The agent repeats itself; `critical` ends the run. */
  readonly LoopDetectedEvent: EventEnvelope & {
    readonly type: "loop_detected";
    readonly data: {
      readonly detector: string;
      readonly level: "warning" | "critical";
      readonly count: number;
      readonly tool: string;
      readonly message: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** An MCP server as the tenant's sessions found it. */
  readonly McpServer: {
    readonly name: string;
    readonly state: "connected" | "failed" | "auth_needed" | "quarantined";
    readonly tools?: number;
    readonly error?: string;
    /** Tools that differ from what was approved. */
    readonly changes: readonly ({ readonly tool: string; readonly pinned: string | null; readonly found: string; })[];
    readonly checked_at: number;
  };
  /** An MCP server was reached, failed, needs a login, or offers tools that nobody approved. */
  readonly McpStatusEvent: EventEnvelope & {
    readonly type: "mcp_status";
    readonly data: {
      readonly server: string;
      readonly state: "connected" | "failed" | "auth_needed" | "quarantined";
      readonly tools?: readonly string[];
      readonly error?: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A message of a thread. */
  readonly Message: {
    readonly id: string;
    /** Orders the messages of a thread; never used again. */
    readonly pos: number;
    readonly role: "system" | "user" | "assistant" | "tool";
    /** Who wrote it. */
    readonly origin: "human" | "agent" | "effect" | "system";
    readonly at: number;
    /** The estimated tokens of the original. */
    readonly tokens: number;
    readonly sender?: string;
    /** Why an effect wrote it. */
    readonly reason?: string;
    /** What is special about it. */
    readonly marks?: readonly ("note" | "steering" | "partial" | "pinned" | "plan" | "truncated")[];
    /** The numbers of the memories that it contains. */
    readonly memories?: readonly number[];
    readonly run?: string;
    readonly turn?: number;
    /** What the model sees instead of the message, while that is shortened. */
    readonly overlay?: {
      readonly edit: number;
      /** The kind of the effect. */
      readonly by: string;
      readonly run?: string;
      readonly turn?: number;
      readonly reason?: string;
      /** Texts by the index of the part that they replace. */
      readonly texts: Readonly<Record<string, string>>;
      /** Whether images and documents stay. */
      readonly media: boolean;
      readonly tokens: number;
    };
    /** Set on a summary: the first and last `pos` of the messages that it replaces. */
    readonly summary?: { readonly edit: number; readonly by: string; readonly reason?: string; readonly from: number; readonly to: number; };
    /** The position in the view, where it is not `pos`. */
    readonly place?: number;
    readonly parts: readonly AnswerSchemas["Part"][];
  };
  /** A message joined the chat: of the person, the model, a tool or an effect. It closes the item of its text. */
  readonly MessageAddedEvent: EventEnvelope & {
    readonly type: "message_added";
    readonly data: {
      readonly message: AnswerSchemas["ReportedMessage"];
      /** False for text beside tool calls. */
      readonly final: boolean;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** Messages were removed from the model's view; they stay readable. */
  readonly MessagesRetiredEvent: EventEnvelope & {
    readonly type: "messages_retired";
    readonly data: {
      readonly messages: readonly string[];
      readonly by: "rollback" | "clear" | "rewind" | "guardrail";
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A model that turns may go to, and its health. */
  readonly Model: { readonly provider: string; readonly model: string; readonly window: number; readonly available: boolean; readonly reason: string | null; readonly until: number | null; };
  /** The session's model was changed; null is the agent's own. */
  readonly ModelChangedEvent: EventEnvelope & {
    readonly type: "model_changed";
    readonly data: {
      readonly from: string | null;
      readonly to: string | null;
      readonly scope: "main" | "tree";
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A note that agents share. */
  readonly Note: {
    readonly name: string;
    readonly content: string;
    /** The owner of the note, if each agent has its own. */
    readonly agent?: string;
  };
  /** A piece of a message. */
  readonly Part: {
    readonly type: "text";
    readonly text: string;
    /** Data that only the model that sent it understands. */
    readonly opaque?: { readonly provider: string; readonly model: string; readonly data: Json; };
  } | {
    readonly type: "reasoning";
    readonly text: string;
    /** The `provider/model` that wrote it. */
    readonly model: string;
    /** Data that only the model that sent it understands. */
    readonly opaque?: { readonly provider: string; readonly model: string; readonly data: Json; };
  } | {
    readonly type: "image";
    /** Names bytes that the session keeps. */
    readonly blob?: string;
    readonly url?: string;
    readonly media_type: string;
    readonly name?: string;
  } | {
    readonly type: "document";
    /** Names bytes that the session keeps. */
    readonly blob?: string;
    readonly url?: string;
    readonly media_type: string;
    readonly name?: string;
  } | {
    readonly type: "tool_call";
    readonly id: string;
    readonly name: string;
    /** The arguments as raw JSON text, as the model wrote them. */
    readonly args: string;
    /** Data that only the model that sent it understands. */
    readonly opaque?: { readonly provider: string; readonly model: string; readonly data: Json; };
    /** Set if the call never runs: the reply was cut off, or the call was beyond the 64th. */
    readonly invalid?: "truncated" | "too_many";
  } | {
    readonly type: "tool_result";
    readonly call: string;
    readonly name: string;
    readonly status: "ok" | "error" | "denied" | "skipped" | "cancelled" | "unknown";
    /** The exit code of a command that ended by itself. */
    readonly exit_code?: number;
    /** How many characters were cut from the content. */
    readonly omitted?: number;
    /** Names the stored full text. */
    readonly recall?: string;
    readonly content: readonly AnswerSchemas["ContentPart"][];
  };
  /** The agent wrote its plan, which this message holds. */
  readonly PlanCreatedEvent: EventEnvelope & {
    readonly type: "plan_created";
    readonly data: {
      readonly message: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The next attempt goes to another model of the fallback chain. */
  readonly ProviderFailoverEvent: EventEnvelope & {
    readonly type: "provider_failover";
    readonly data: {
      readonly from: string;
      readonly to: string;
      readonly code: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The message is stored; `run` is the one under way, or that the message began. */
  readonly Receipt: {
    readonly input: string;
    readonly status: "accepted" | "applied" | "withdrawn" | "returned";
    readonly run: string | null;
    /** The run is over already, such as one that no budget allows. */
    readonly run_state?: "completed" | "failed" | "cancelled";
    /** Later reads of the session show at least this event. */
    readonly seq: number;
    /** With `wait`: the open asks, if the run cannot go on until one is answered. */
    readonly asks?: readonly ({ readonly id: string; readonly kind: "question" | "approval" | "client_tool" | "authorization" | "budget"; })[];
  };
  /** A message as its event reports it: results of calls without the output that `tool_call_end` has brought. */
  readonly ReportedMessage: {
    readonly id: string;
    /** Orders the messages of a thread; never used again. */
    readonly pos: number;
    readonly role: "system" | "user" | "assistant" | "tool";
    /** Who wrote it. */
    readonly origin: "human" | "agent" | "effect" | "system";
    readonly at: number;
    /** The estimated tokens of the original. */
    readonly tokens: number;
    readonly sender?: string;
    /** Why an effect wrote it. */
    readonly reason?: string;
    /** What is special about it. */
    readonly marks?: readonly ("note" | "steering" | "partial" | "pinned" | "plan" | "truncated")[];
    /** The numbers of the memories that it contains. */
    readonly memories?: readonly number[];
    readonly run?: string;
    readonly turn?: number;
    /** What the model sees instead of the message, while that is shortened. */
    readonly overlay?: {
      readonly edit: number;
      /** The kind of the effect. */
      readonly by: string;
      readonly run?: string;
      readonly turn?: number;
      readonly reason?: string;
      /** Texts by the index of the part that they replace. */
      readonly texts: Readonly<Record<string, string>>;
      /** Whether images and documents stay. */
      readonly media: boolean;
      readonly tokens: number;
    };
    /** Set on a summary: the first and last `pos` of the messages that it replaces. */
    readonly summary?: { readonly edit: number; readonly by: string; readonly reason?: string; readonly from: number; readonly to: number; };
    /** The position in the view, where it is not `pos`. */
    readonly place?: number;
    readonly parts: readonly AnswerSchemas["ReportedPart"][];
  };
  /** A piece of a message as its event reports it. */
  readonly ReportedPart: {
    readonly type: "text";
    readonly text: string;
    /** Data that only the model that sent it understands. */
    readonly opaque?: { readonly provider: string; readonly model: string; readonly data: Json; };
  } | {
    readonly type: "reasoning";
    readonly text: string;
    /** The `provider/model` that wrote it. */
    readonly model: string;
    /** Data that only the model that sent it understands. */
    readonly opaque?: { readonly provider: string; readonly model: string; readonly data: Json; };
  } | {
    readonly type: "image";
    /** Names bytes that the session keeps. */
    readonly blob?: string;
    readonly url?: string;
    readonly media_type: string;
    readonly name?: string;
  } | {
    readonly type: "document";
    /** Names bytes that the session keeps. */
    readonly blob?: string;
    readonly url?: string;
    readonly media_type: string;
    readonly name?: string;
  } | {
    readonly type: "tool_call";
    readonly id: string;
    readonly name: string;
    /** The arguments as raw JSON text, as the model wrote them. */
    readonly args: string;
    /** Data that only the model that sent it understands. */
    readonly opaque?: { readonly provider: string; readonly model: string; readonly data: Json; };
    /** Set if the call never runs: the reply was cut off, or the call was beyond the 64th. */
    readonly invalid?: "truncated" | "too_many";
  } | {
    readonly type: "tool_result";
    readonly call: string;
    readonly name: string;
    readonly status: "ok" | "error" | "denied" | "skipped" | "cancelled" | "unknown";
    /** The exit code of a command that ended by itself. */
    readonly exit_code?: number;
    /** How many characters were cut from the content. */
    readonly omitted?: number;
    /** Names the stored full text. */
    readonly recall?: string;
    /** Absent if the call's `tool_call_end` has brought it. */
    readonly content?: readonly AnswerSchemas["ContentPart"][];
  };
  /** A run, from its first applied input to its end. */
  readonly Run: { readonly id: string; readonly thread: string; readonly agent: string; readonly inputs: readonly string[]; readonly state: "completed" | "failed" | "cancelled" | "running" | "waiting"; readonly reason: AnswerSchemas["EndReason"] | null; readonly error: string | null; readonly started_at: number; readonly ended_at: number | null; readonly turns: number; readonly result: AnswerSchemas["RunResult"] | null; };
  /** The run is over; the last event of every run, with its result. */
  readonly RunEndEvent: EventEnvelope & {
    readonly type: "run_end";
    readonly data: {
      readonly state: "completed" | "failed" | "cancelled";
      readonly reason: AnswerSchemas["EndReason"];
      readonly error: AnswerSchemas["RunProblem"] | null;
      /** The id of the final answer's message. */
      readonly message: string | null;
      readonly result: AnswerSchemas["RunResult"];
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** Why a run failed. */
  readonly RunProblem: { readonly type: string; readonly title: string; readonly status: number; readonly detail: string; readonly code: AnswerSchemas["EndReason"]; readonly retryable: boolean; };
  /** The result of a run, including the agents that worked for it. */
  readonly RunResult: {
    readonly session_id: string;
    readonly run_id: string;
    readonly provider: string;
    readonly model: string;
    readonly reason: AnswerSchemas["EndReason"];
    readonly duration_ms: number;
    readonly turns: number;
    readonly max_turns_used: boolean;
    readonly loop_detected: boolean;
    readonly no_progress_detected: boolean;
    readonly cost_exceeded: boolean;
    readonly truncated: boolean;
    readonly breach_verify: "not_run" | "passed" | "failed";
    readonly tool_calls: number;
    readonly tool_counts: Readonly<Record<string, number>>;
    /** The newest 200; `file_change` events name all. */
    readonly files_modified: readonly string[];
    /** The newest 200; `file_change` events name all. */
    readonly files_created: readonly string[];
    /** The newest 200; `file_change` events name all. */
    readonly files_deleted: readonly string[];
    readonly usage: AnswerSchemas["Usage"];
    /** Null if a price is not known. */
    readonly cost_usd: number | null;
    /** Whether some figures are estimates. */
    readonly estimated: boolean;
    readonly context_utilization: number;
    readonly tool_cache_hits: number;
    readonly tool_cache_misses: number;
    /** Milliseconds by tool. */
    readonly tool_timings: Readonly<Record<string, number>>;
    readonly compactions_applied: number;
    readonly longest_turn_ms: number;
    readonly episode_summary: string;
    readonly error: string | null;
    /** The final answer. */
    readonly text: string;
  };
  /** The run goes on after `run_waiting`. */
  readonly RunResumedEvent: EventEnvelope & {
    readonly type: "run_resumed";
    readonly data: {
      readonly by: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A run begins to work on its inputs. */
  readonly RunStartEvent: EventEnvelope & {
    readonly type: "run_start";
    readonly data: {
      readonly inputs: readonly string[];
      readonly revision: string;
      /** The limits of the run by name; null is none. */
      readonly budget: Json;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The run waits: for an answer, an agent or a time. */
  readonly RunWaitingEvent: EventEnvelope & {
    readonly type: "run_waiting";
    readonly data: {
      readonly on: readonly AnswerSchemas["WaitReason"][];
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A conversation. */
  readonly Session: {
    readonly id: string;
    /** The caller's own name of the session. */
    readonly ref: string | null;
    readonly agent: string;
    readonly prefix: string;
    readonly title: string | null;
    readonly metadata: Readonly<Record<string, string>>;
    readonly status: "idle" | "running" | "waiting";
    readonly waiting_for: readonly AnswerSchemas["WaitReason"][];
    readonly revision: string;
    /** Null is the agent's own. */
    readonly model: string | null;
    readonly usage: {
      readonly input: number;
      readonly output: number;
      readonly cacheRead: number;
      readonly cacheWrite: number;
      readonly total: number;
      /** Model calls. */
      readonly calls: number;
      readonly cost_usd: number | null;
      readonly estimated: boolean;
    };
    /** For each kind the limit with the least left now; null if there is none. Between runs, a limit per run is the unspent one of the next run. */
    readonly budget: { readonly max_tokens: AnswerSchemas["Limit"] | null; readonly max_cost_usd: AnswerSchemas["Limit"] | null; readonly max_duration: AnswerSchemas["Limit"] | null; readonly max_tool_calls: AnswerSchemas["Limit"] | null; };
    /** The newest event. */
    readonly head_seq: number;
    readonly open_asks: readonly string[];
    readonly queued_inputs: readonly string[];
    readonly last_run: string | null;
    /** How the last run ended. */
    readonly last_end: { readonly state: "completed" | "failed" | "cancelled"; readonly reason: AnswerSchemas["EndReason"]; } | null;
    readonly active_run: string | null;
    readonly interactive: boolean;
    readonly retention_days: number | null;
    readonly created_at: number;
    readonly updated_at: number;
  };
  /** The session exists; always the first event. */
  readonly SessionCreatedEvent: EventEnvelope & {
    readonly type: "session_created";
    readonly data: {
      readonly agent: string;
      readonly revision: string;
      readonly ref: string | null;
      readonly title: string | null;
      readonly metadata: Readonly<Record<string, string>>;
      /** The session and the event whose view a fork begins with. */
      readonly source?: { readonly session: string; readonly seq: number; };
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The session migrated to another revision of the team's definition. */
  readonly SessionMigratedEvent: EventEnvelope & {
    readonly type: "session_migrated";
    readonly data: {
      readonly from: string;
      readonly to: string;
      readonly changes: readonly Json[];
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A session as the tenant's list shows it, up to 5 s late. */
  readonly SessionSummary: {
    readonly id: string;
    readonly ref: string | null;
    readonly agent: string;
    readonly title: string | null;
    readonly metadata: Readonly<Record<string, string>>;
    readonly status: "idle" | "running" | "waiting" | "deleted";
    readonly revision: string;
    readonly head_seq: number;
    readonly created_at: number;
    readonly updated_at: number;
    readonly usage: {
      readonly input: number;
      readonly output: number;
      readonly cacheRead: number;
      readonly cacheWrite: number;
      readonly total: number;
      /** Model calls. */
      readonly calls: number;
      readonly cost_usd: number | null;
      readonly estimated: boolean;
    };
    /** How the last run ended. */
    readonly last_end: { readonly state: "completed" | "failed" | "cancelled"; readonly reason: AnswerSchemas["EndReason"]; } | null;
  };
  /** Fields of the session changed; `cleared` if the chat was retired, `message` and `pinned` if a message was pinned. */
  readonly SessionUpdatedEvent: EventEnvelope & { readonly type: "session_updated"; readonly data: Readonly<Record<string, Json>>; };
  /** The usage of the session. */
  readonly SessionUsage: {
    /** Since it was cleared. */
    readonly cumulative: { readonly input: number; readonly output: number; readonly cacheRead: number; readonly cacheWrite: number; readonly total: number; readonly cost_usd: number | null; readonly estimated: boolean; };
    readonly calls: number;
    /** Since it was created. */
    readonly lifetime: {
      readonly input: number;
      readonly output: number;
      readonly cacheRead: number;
      readonly cacheWrite: number;
      readonly total: number;
      /** Model calls. */
      readonly calls: number;
      readonly cost_usd: number | null;
      readonly estimated: boolean;
    };
    readonly by: readonly ({ readonly agent: string; readonly model: string; readonly provider: string; readonly calls: number; readonly usage: AnswerSchemas["Usage"]; readonly cost_usd: number | null; readonly estimated: boolean; })[];
    readonly status: "idle" | "running" | "waiting";
  };
  /** Everything that a client needs to start, at the event `seq`; `more` names the lists that did not fit. */
  readonly Snapshot: { readonly seq: number; readonly session: AnswerSchemas["Session"]; readonly threads: readonly AnswerSchemas["Thread"][]; readonly items: readonly ({ readonly item: string; readonly kind: "text" | "reasoning" | "tool_input" | "tool_output"; readonly thread: string; readonly attempt: number; readonly text: string; })[]; readonly runs: readonly AnswerSchemas["Run"][]; readonly more: { readonly messages: readonly { readonly thread: string; readonly before: number; }[]; readonly asks: string | null; readonly inputs: readonly string[]; }; readonly asks: readonly AnswerSchemas["Ask"][]; readonly inputs: readonly AnswerSchemas["Input"][]; readonly messages: readonly AnswerSchemas["Message"][]; };
  /** A value of the state store. */
  readonly StateEntry: { readonly key: string; readonly revision: number; readonly value: Json; };
  /** The agent describes in one line what it is doing. */
  readonly StatusUpdateEvent: EventEnvelope & {
    readonly type: "status_update";
    readonly data: {
      readonly text: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A message joined a run that was under way; it follows `input_applied`. */
  readonly SteeringInjectedEvent: EventEnvelope & {
    readonly type: "steering_injected";
    readonly data: {
      readonly input: string;
      readonly message: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A value of the state store or a note was set or deleted. */
  readonly StoreChangedEvent: EventEnvelope & {
    readonly type: "store_changed";
    readonly data: {
      readonly store: "state" | "notes";
      readonly key: string;
      readonly op: "set" | "delete";
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A task of the session's board. */
  readonly Task: {
    readonly id: string;
    readonly title: string;
    readonly description: string;
    readonly status: "pending" | "in_progress" | "completed" | "failed" | "cancelled";
    /** The thread that works on it, or last did. */
    readonly assignee: string | null;
    readonly blocked_by: readonly string[];
    readonly blocked: boolean;
    readonly blocked_reason: "dependency_failed" | null;
    readonly metadata: Readonly<Record<string, Json>>;
    readonly created_by: string;
    readonly created_at: number;
    readonly updated_at: number;
  };
  /** A task of the board was made or changed. */
  readonly TaskChangedEvent: EventEnvelope & {
    readonly type: "task_changed";
    readonly data: {
      readonly task: AnswerSchemas["Task"];
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** One agent's chat in the session: `main` is the person's. */
  readonly Thread: {
    readonly id: string;
    readonly agent: string;
    readonly parent: { readonly thread: string; readonly call: string; } | null;
    readonly depth: number;
    readonly run: string | null;
    readonly last_run: string | null;
    readonly status: "idle" | "running" | "waiting";
    /** Including the threads below it; for `main`, everything since the session was cleared. */
    readonly usage: AnswerSchemas["Usage"];
    readonly label?: string;
    readonly task?: string;
    readonly started_at?: number | null;
  } | { readonly id: string; readonly agent: string; readonly parent: { readonly thread: string; readonly call: string; } | null; readonly depth: number; readonly run: string | null; readonly last_run: string | null; readonly status: "ended"; readonly label: string; readonly task: string; readonly state: "completed" | "failed" | "cancelled" | null; readonly reason: AnswerSchemas["EndReason"] | null; readonly error: string | null; readonly turns: number; readonly usage: AnswerSchemas["Usage"] | null; readonly started_at: number; readonly ended_at: number | null; };
  /** A browser token for one session. */
  readonly Token: { readonly token: string; readonly session: string; readonly scopes: readonly ("sessions:read" | "sessions:write" | "sessions:manage" | "asks:answer" | "approvals:decide" | "context:read" | "usage:read" | "tokens:mint" | "debug:read" | "admin")[]; readonly expires_at: number; readonly origin: string | null; };
  /** The output of an equal earlier call answers this one. */
  readonly ToolCacheHitEvent: EventEnvelope & {
    readonly type: "tool_cache_hit";
    readonly data: {
      readonly tool: string;
      readonly input: Json;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The call is over, with its whole output. */
  readonly ToolCallEndEvent: EventEnvelope & {
    readonly type: "tool_call_end";
    readonly data: {
      readonly tool: string;
      /** `unknown` if it is not known after a crash whether the call ran. */
      readonly outcome: "ok" | "error" | "denied" | "cancelled" | "skipped" | "unknown";
      readonly output: Json;
      readonly details?: Json;
      readonly duration_ms: number;
      readonly cached: boolean;
      readonly truncated: boolean;
      readonly permission?: { readonly verdict: string; readonly by: string; };
      /** Of a call that the permissions denied. */
      readonly input?: Json;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The call waits for something outside, and the session may sleep. */
  readonly ToolCallParkedEvent: EventEnvelope & {
    readonly type: "tool_call_parked";
    readonly data: {
      readonly tool: string;
      readonly on: "ask" | "thread" | "exec" | "task" | "time";
      readonly until: number | null;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A tool call begins; its output streams as `tool_output_delta` if the tool does. */
  readonly ToolCallStartEvent: EventEnvelope & {
    readonly type: "tool_call_start";
    readonly data: {
      readonly tool: string;
      readonly toolbox: string;
      readonly input: Json;
      /** What happens to the call after a crash. */
      readonly safety: string;
      readonly permission: { readonly verdict: string; readonly by: string; };
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** The turn is over, with all its calls. */
  readonly TurnEndEvent: EventEnvelope & {
    readonly type: "turn_end";
    readonly data: {
      readonly calls: number;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** What the turn's model call used and cost, before `turn_end`. */
  readonly TurnMetricsEvent: EventEnvelope & {
    readonly type: "turn_metrics";
    readonly data: {
      readonly provider: string;
      readonly model: string;
      readonly usage: AnswerSchemas["Usage"];
      readonly cost_usd: number | null;
      readonly estimated: boolean;
      /** The share of the context window that is used. */
      readonly utilization: number;
      readonly cache_hits: number;
      readonly cache_misses: number;
      readonly duration_ms: number;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A turn begins: one model call, and the tool calls that it asks for. */
  readonly TurnStartEvent: EventEnvelope & {
    readonly type: "turn_start";
    readonly data: {
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** A file that is kept with the session; parts of messages name it as `file`. */
  readonly Upload: { readonly id: string; readonly name: string; readonly media_type: string; readonly size: number; readonly sha256: string; readonly created_at: number; };
  /** Tokens. `input` excludes cached ones, `output` includes reasoning. */
  readonly Usage: { readonly input: number; readonly output: number; readonly cacheRead: number; readonly cacheWrite: number; readonly total: number; };
  /** The usage of a group. */
  readonly UsageGroup: { readonly calls: number; readonly usage: { readonly input: number; readonly output: number; readonly cacheRead: number; readonly cacheWrite: number; readonly total: number; readonly cost_usd: number | null; readonly estimated: boolean; }; readonly key: string | null; };
  /** The edits of a turn are checked by a command: it begins, passes, fails. */
  readonly VerifyEvent: EventEnvelope & {
    readonly type: "verify";
    readonly data: {
      readonly state: "started" | "passed" | "failed" | "exhausted" | "error" | "skipped";
      /** Whether the run used up its turns and is checked before it ends. */
      readonly breach?: true;
      readonly attempt: number;
      readonly command: string;
      readonly exit_code?: number;
      readonly output_tail?: string;
      /** Longer than 64 KiB: texts were cut. */
      readonly truncated?: true;
      /** Of the whole input, if it was cut. */
      readonly input_sha256?: string;
    };
  };
  /** What a run waits for. */
  readonly WaitReason: {
    readonly kind: "ask" | "thread" | "exec" | "task" | "time" | "retry" | "budget" | "config";
    readonly ask?: string;
    readonly until?: number;
    /** What the deployment lacks. */
    readonly missing?: string;
  };
}

/** The answer of each operation; null has no body. */
export interface OperationAnswers {
  readonly create: AnswerSchemas["Session"];
  readonly get: AnswerSchemas["Session"];
  readonly patch: AnswerSchemas["Session"];
  readonly delete: null;
  readonly send: AnswerSchemas["Run"] | AnswerSchemas["Receipt"];
  readonly messages: {
    readonly data: readonly AnswerSchemas["ListedMessage"][];
    /** Pass it as `before` to see older ones; null at the first message. */
    readonly next_before: number | null;
  };
  readonly pin: {
    readonly message: string;
    readonly pinned: boolean;
    /** Later reads of the session show at least this event. */
    readonly seq: number;
  };
  readonly inputs: {
    readonly data: readonly AnswerSchemas["Input"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly input: AnswerSchemas["Input"];
  readonly edit_input: AnswerSchemas["EditedInput"];
  readonly withdraw: {
    readonly input: string;
    readonly status: "withdrawn";
    /** Later reads of the session show at least this event. */
    readonly seq: number;
  };
  readonly runs: {
    readonly data: readonly AnswerSchemas["Run"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly run: AnswerSchemas["Run"];
  readonly context: AnswerSchemas["ContextView"];
  readonly threads: {
    readonly data: readonly AnswerSchemas["Thread"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly cancel: {
    readonly run: string | null;
    /** Later reads of the session show at least this event. */
    readonly seq: number;
  };
  readonly asks: {
    readonly data: readonly AnswerSchemas["Ask"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly answer: AnswerSchemas["Ask"];
  readonly events: { readonly data: readonly AnswerSchemas["Event"][]; readonly next_after: number; readonly head_seq: number; };
  readonly snapshot: AnswerSchemas["Snapshot"];
  readonly clear: AnswerSchemas["Session"];
  readonly rewind: AnswerSchemas["Session"];
  readonly fork: AnswerSchemas["Session"];
  readonly migrate: {
    readonly from: string;
    readonly to: string;
    /** What changed of the session itself: an agent's new name, state of effects that are gone, a model no longer allowed. New texts and tools of the revision are not listed. */
    readonly changes: readonly Json[];
    readonly when: "now" | "next_run";
    readonly dry_run: boolean;
    /** Later reads of the session show at least this event. */
    readonly seq?: number;
  };
  readonly compact: {
    readonly run: string | null;
    /** Later reads of the session show at least this event. */
    readonly seq: number;
  };
  readonly usage: AnswerSchemas["SessionUsage"];
  readonly state: {
    readonly data: readonly AnswerSchemas["StateEntry"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly tasks: {
    readonly data: readonly AnswerSchemas["Task"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly notes: {
    readonly data: readonly AnswerSchemas["Note"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly workspace: {
    readonly data: readonly AnswerSchemas["File"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly delete_file: AnswerSchemas["ChangedFiles"];
  readonly uploads: {
    readonly data: readonly AnswerSchemas["Upload"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly capabilities: AnswerSchemas["Capabilities"];
  readonly agents: {
    readonly data: readonly AnswerSchemas["Agent"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly agent: AnswerSchemas["Agent"];
  readonly models: {
    readonly data: readonly AnswerSchemas["Model"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly reset_cooldowns: null;
  readonly reset_cooldown: null;
  readonly list_sessions: {
    readonly data: readonly AnswerSchemas["SessionSummary"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly mint_token: AnswerSchemas["Token"];
  readonly list_usage: { readonly data: readonly AnswerSchemas["UsageGroup"][]; readonly next_cursor: string | null; readonly prev_cursor: string | null; readonly total: { readonly calls: number; readonly usage: { readonly input: number; readonly output: number; readonly cacheRead: number; readonly cacheWrite: number; readonly total: number; readonly cost_usd: number | null; readonly estimated: boolean; }; }; };
  readonly list_asks: {
    readonly data: readonly AnswerSchemas["ListedAsk"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly list_audit: {
    readonly data: readonly AnswerSchemas["Decision"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly list_grants: {
    readonly data: readonly AnswerSchemas["Grant"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly revoke_grant: null;
  readonly explain_permission: { readonly verdict: "allow" | "ask" | "deny"; readonly by: string; readonly rule?: string; readonly reason?: string; readonly remember?: { readonly tool: string; readonly pattern: string; }; readonly error?: string; };
  readonly forget_subject: null;
  readonly list_mcp_servers: {
    readonly data: readonly AnswerSchemas["McpServer"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly connect_mcp_server: {
    readonly name: string;
    readonly state: "connected" | "failed" | "auth_needed" | "quarantined";
    readonly tools?: readonly string[];
    /** Tools that differ from what was approved, as the server offers them now. */
    readonly changes?: readonly ({ readonly tool: string; readonly pinned: string | null; readonly found: string; readonly description: string; readonly parameters: Json; })[];
    readonly error?: string;
    /** A person opens it to log in. */
    readonly url?: string;
  };
  readonly approve_mcp_server: { readonly approved: readonly { readonly tool: string; readonly hash: string; }[]; };
  readonly forget_mcp_login: null;
  readonly create_key: AnswerSchemas["CreatedKey"];
  readonly list_keys: {
    readonly data: readonly AnswerSchemas["Key"][];
    /** Pass it as `cursor` to go on; null at the end. */
    readonly next_cursor: string | null;
    readonly prev_cursor: string | null;
  };
  readonly get_key: AnswerSchemas["Key"];
  readonly edit_key: AnswerSchemas["Key"];
  readonly revoke_key: null;
}
