import * as z from "zod";
import { finishReasons, purposes } from "../../../model/completer.ts";
import { askSchema, budgetFiguresSchema, decisionSchema } from "./asks.ts";
import { dataOf } from "./event-data.ts";
import { json, time } from "./schema-of.ts";
import { outcomeSchema, taskSchema, usageSchema } from "./values.ts";

/** Describes the events of model calls, tool calls, asks, files and shared stores. */

const permission = z.strictObject({ verdict: z.string(), by: z.string() });

export const modelEvents = {
  llm_request_preparing: {
    says: "The run is about to ask a model; effects may still change what it sees.",
    data: dataOf<"llm_request_preparing">()(
      z.strictObject({ purpose: z.enum(purposes), provider: z.string(), model: z.string() }),
    ),
  },
  llm_request_start: {
    says: "The request is sent to the provider.",
    data: dataOf<"llm_request_start">()(
      z.strictObject({
        provider: z.string(),
        model: z.string(),
        purpose: z.enum(purposes),
        messages: z.int(),
        tools: z.int(),
        estimated_tokens: z.int(),
        bytes: z.int(),
      }),
    ),
  },
  llm_reasoning: {
    says: "The model begins to think: opens an item, which `reasoning_delta` frames grow.",
    data: dataOf<"llm_reasoning">()(z.strictObject({ preview: z.string() })),
  },
  llm_text: {
    says: "The model begins to answer: opens an item, which `text_delta` frames grow and `message_added` closes.",
    data: dataOf<"llm_text">()(z.strictObject({ preview: z.string() })),
  },
  llm_tool_prepare: {
    says: "The model begins to write a tool call: opens an item, which `tool_input_delta` frames grow.",
    data: dataOf<"llm_tool_prepare">()(z.strictObject({ call: z.string(), tool: z.string() })),
  },
  llm_finish: {
    says: "The model's reply is complete.",
    data: dataOf<"llm_finish">()(
      z.strictObject({
        finish_reason: z.enum(finishReasons),
        usage: usageSchema,
        cost_usd: z.number().nullable(),
        provider: z.string(),
        model: z.string(),
        request_id: z.string().nullable().describe("The provider's own id of the request."),
        first_byte_ms: z.int(),
        duration_ms: z.int(),
      }),
    ),
  },
  attempt_aborted: {
    says: "The attempt failed; this event replaces `llm_finish`: discard the text of the items that it names.",
    data: dataOf<"attempt_aborted">()(
      z.strictObject({
        items: z.array(z.string()),
        code: z.string(),
        retry_at: time.nullable().describe("When the next attempt begins; null if none does."),
        usage: usageSchema.describe("The usage of the attempt as far as it is known: often an estimate."),
        cost_usd: z.number().nullable(),
      }),
    ),
  },
  provider_failover: {
    says: "The next attempt goes to another model of the fallback chain.",
    data: dataOf<"provider_failover">()(
      z.strictObject({ from: z.string(), to: z.string(), code: z.string() }),
    ),
  },
} as const;

export const toolEvents = {
  tool_call_start: {
    says: "A tool call begins; its output streams as `tool_output_delta` if the tool does.",
    data: dataOf<"tool_call_start">()(
      z.strictObject({
        tool: z.string(),
        toolbox: z.string(),
        input: json,
        safety: z.string().describe("What happens to the call after a crash."),
        permission,
      }),
    ),
  },
  tool_cache_hit: {
    says: "The output of an equal earlier call answers this one.",
    data: dataOf<"tool_cache_hit">()(z.strictObject({ tool: z.string(), input: json })),
  },
  tool_call_parked: {
    says: "The call waits for something outside, and the session may sleep.",
    data: dataOf<"tool_call_parked">()(
      z.strictObject({
        tool: z.string(),
        on: z.enum(["ask", "thread", "exec", "task", "time"]),
        until: time.nullable(),
      }),
    ),
  },
  tool_call_end: {
    says: "The call is over, with its whole output.",
    data: dataOf<"tool_call_end">()(
      z.strictObject({
        tool: z.string(),
        outcome: outcomeSchema.describe("`unknown` if it is not known after a crash whether the call ran."),
        output: json,
        details: z.exactOptional(json),
        duration_ms: z.int(),
        cached: z.boolean(),
        truncated: z.boolean(),
        permission: z.exactOptional(permission),
        input: z.exactOptional(json).describe("Of a call that the permissions denied."),
      }),
    ),
  },
  file_change: {
    says: "A file of the workspace changed, by a tool or, with `tool` null, by a person.",
    data: dataOf<"file_change">()(
      z.strictObject({
        path: z.string(),
        op: z.enum(["create", "modify", "delete", "move"]),
        from: z.exactOptional(z.string()),
        diff: z.exactOptional(z.string()).describe("A unified diff."),
        tool: z.string().nullable(),
        message: z.string().nullable(),
      }),
    ),
  },
  episode_recorded: {
    says: "A summary of a call, which later runs may see.",
    data: dataOf<"episode_recorded">()(
      z.strictObject({ tool: z.string(), args: z.string(), success: z.boolean(), summary: z.string() }),
    ),
  },
  verify: {
    says: "The edits of a turn are checked by a command: it begins, passes, fails.",
    data: dataOf<"verify">()(
      z.strictObject({
        state: z.enum(["started", "passed", "failed", "exhausted", "error", "skipped"]),
        breach: z
          .exactOptional(z.literal(true))
          .describe("Whether the run used up its turns and is checked before it ends."),
        attempt: z.int(),
        command: z.string(),
        exit_code: z.exactOptional(z.int()),
        output_tail: z.exactOptional(z.string()),
      }),
    ),
  },
  mcp_status: {
    says: "An MCP server was reached, failed, needs a login, or offers tools that nobody approved.",
    data: dataOf<"mcp_status">()(
      z.strictObject({
        server: z.string(),
        state: z.enum(["connected", "failed", "auth_needed", "quarantined"]),
        tools: z.exactOptional(z.array(z.string())),
        error: z.exactOptional(z.string()),
      }),
    ),
  },
} as const;

export const askEvents = {
  ask_user: {
    says: "Somebody outside has to answer: a question, an approval, a client tool, a login, a higher limit.",
    data: dataOf<"ask_user">()(z.strictObject({ ask: askSchema })),
  },
  ask_resolved: {
    says: "The first valid answer arrived.",
    data: dataOf<"ask_resolved">()(
      z.strictObject({
        ask: z.string(),
        decision: decisionSchema,
        by: z.string().describe("The id of the key that answered."),
        edited: z.boolean(),
        remember: z
          .exactOptional(z.enum(["session", "agent"]))
          .describe("How far the approval reaches beyond this call."),
      }),
    ),
  },
  ask_expired: {
    says: "Nobody answered in time, and the default was applied.",
    data: dataOf<"ask_expired">()(z.strictObject({ ask: z.string(), applied: json })),
  },
  ask_cancelled: {
    says: "The ask is no longer needed.",
    data: dataOf<"ask_cancelled">()(z.strictObject({ ask: z.string() })),
  },
} as const;

export const storeEvents = {
  task_changed: {
    says: "A task of the board was made or changed.",
    data: dataOf<"task_changed">()(z.strictObject({ task: taskSchema })),
  },
  store_changed: {
    says: "A value of the state store or a note was set or deleted.",
    data: dataOf<"store_changed">()(
      z.strictObject({ store: z.enum(["state", "notes"]), key: z.string(), op: z.enum(["set", "delete"]) }),
    ),
  },
  dispatch_progress: {
    says: "A task of a dispatched graph changed its state.",
    data: dataOf<"dispatch_progress">()(
      z.strictObject({
        done: z.int(),
        total: z.int(),
        task: z.strictObject({
          id: z.string(),
          agent: z.string(),
          state: z.enum(["pending", "running", "success", "failed", "cancelled", "timeout"]),
        }),
      }),
    ),
  },
  status_update: {
    says: "The agent describes in one line what it is doing.",
    data: dataOf<"status_update">()(z.strictObject({ text: z.string() })),
  },
} as const;

export const limitEvents = {
  budget_warning: {
    says: "The warning share of a limit is spent; once for each limit and run.",
    data: dataOf<"budget_warning">()(budgetFiguresSchema),
  },
  budget_reached: {
    says: "A limit is used up: the run stops or asks for more.",
    data: dataOf<"budget_reached">()(budgetFiguresSchema),
  },
  loop_detected: {
    says: "The agent repeats itself; `critical` ends the run.",
    data: dataOf<"loop_detected">()(
      z.strictObject({
        detector: z.string(),
        level: z.enum(["warning", "critical"]),
        count: z.int(),
        tool: z.string(),
        message: z.string(),
      }),
    ),
  },
} as const;
