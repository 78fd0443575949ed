import * as z from "zod";
import type { CallOutcome, WaitReason } from "../../../agent/state/ask.ts";
import type { EndReason, OnBusy, ReportedMessage, RunState } from "../../../agent/state/events.ts";
import { failureReasons } from "../../../agent/state/events.ts";
import type { Input } from "../../../agent/state/thread.ts";
import type { RunRecord } from "../../../agent/state/records.ts";
import type { RunProblem, RunResult } from "../../../agent/state/run.ts";
import type { ContentPart, Message, Part } from "../../../chat/message.ts";
import type { Usage } from "../../../model/completer.ts";
import type { Task } from "../../../tools/stores.ts";
import { json, nameSchema, schemaOf, time } from "./schema-of.ts";

/** Describes the objects that several answers and events hold. Times are milliseconds since the epoch. */

export const usageSchema = nameSchema(
  "Usage",
  "Tokens. `input` excludes cached ones, `output` includes reasoning.",
  schemaOf<Usage>()(
    z.strictObject({
      input: z.int(),
      output: z.int(),
      cacheRead: z.int(),
      cacheWrite: z.int(),
      total: z.int(),
    }),
  ),
);

const opaque = z.exactOptional(
  z
    .strictObject({ provider: z.string(), model: z.string(), data: json })
    .describe("Data that only the model that sent it understands."),
);

const text = z.strictObject({ type: z.literal("text"), text: z.string(), opaque });

const media = {
  blob: z.exactOptional(z.string()).describe("Names bytes that the session keeps."),
  url: z.exactOptional(z.string()),
  media_type: z.string(),
  name: z.exactOptional(z.string()),
};

const image = z.strictObject({ type: z.literal("image"), ...media });

const document = z.strictObject({ type: z.literal("document"), ...media });

const reasoning = z.strictObject({
  type: z.literal("reasoning"),
  text: z.string(),
  model: z.string().describe("The `provider/model` that wrote it."),
  opaque,
});

const toolCall = z.strictObject({
  type: z.literal("tool_call"),
  id: z.string(),
  name: z.string(),
  args: z.string().describe("The arguments as raw JSON text, as the model wrote them."),
  opaque,
  invalid: z
    .exactOptional(z.enum(["truncated", "too_many"]))
    .describe("Set if the call never runs: the reply was cut off, or the call was beyond the 64th."),
});

const contentPartSchema = nameSchema(
  "ContentPart",
  "A part of an input or of a tool's output.",
  schemaOf<ContentPart>()(z.discriminatedUnion("type", [text, image, document])),
);

const resultFields = {
  type: z.literal("tool_result"),
  call: z.string(),
  name: z.string(),
  status: z.enum(["ok", "error", "denied", "skipped", "cancelled", "unknown"]),
  exit_code: z.exactOptional(z.int()).describe("The exit code of a command that ended by itself."),
  omitted: z.exactOptional(z.int()).describe("How many characters were cut from the content."),
  recall: z.exactOptional(z.string()).describe("Names the stored full text."),
};

const toolResult = z.strictObject({ ...resultFields, content: z.array(contentPartSchema) });

const reportedResult = z.strictObject({
  ...resultFields,
  content: z
    .exactOptional(z.array(contentPartSchema))
    .describe("Absent if the call's `tool_call_end` has brought it."),
});

const partSchema = nameSchema(
  "Part",
  "A piece of a message.",
  schemaOf<Part>()(z.discriminatedUnion("type", [text, reasoning, image, document, toolCall, toolResult])),
);

const reportedPart = nameSchema(
  "ReportedPart",
  "A piece of a message as its event reports it.",
  z.discriminatedUnion("type", [text, reasoning, image, document, toolCall, reportedResult]),
);

const messageFields = {
  id: z.string(),
  pos: z.int().describe("Orders the messages of a thread; never used again."),
  role: z.enum(["system", "user", "assistant", "tool"]),
  origin: z.enum(["human", "agent", "effect", "system"]).describe("Who wrote it."),
  at: time,
  tokens: z.int().describe("The estimated tokens of the original."),
  sender: z.exactOptional(z.string()),
  reason: z.exactOptional(z.string()).describe("Why an effect wrote it."),
  marks: z.exactOptional(
    z
      .array(z.enum(["note", "steering", "partial", "pinned", "plan", "truncated"]))
      .describe("What is special about it."),
  ),
  memories: z.exactOptional(z.array(z.int())).describe("The numbers of the memories that it contains."),
  run: z.exactOptional(z.string()),
  turn: z.exactOptional(z.int()),
  overlay: z
    .exactOptional(
      z.strictObject({
        edit: z.int(),
        by: z.string().describe("The kind of the effect."),
        run: z.exactOptional(z.string()),
        turn: z.exactOptional(z.int()),
        reason: z.exactOptional(z.string()),
        texts: z.record(z.string(), z.string()).describe("Texts by the index of the part that they replace."),
        media: z.boolean().describe("Whether images and documents stay."),
        tokens: z.int(),
      }),
    )
    .describe("What the model sees instead of the message, while that is shortened."),
  summary: z
    .exactOptional(
      z.strictObject({
        edit: z.int(),
        by: z.string(),
        reason: z.exactOptional(z.string()),
        from: z.int(),
        to: z.int(),
      }),
    )
    .describe("Set on a summary: the first and last `pos` of the messages that it replaces."),
  place: z.exactOptional(z.number()).describe("The position in the view, where it is not `pos`."),
};

export const messageSchema = nameSchema(
  "Message",
  "A message of a thread.",
  schemaOf<Message>()(z.strictObject({ ...messageFields, parts: z.array(partSchema) })),
);

export const reportedMessageSchema = nameSchema(
  "ReportedMessage",
  "A message as its event reports it: results of calls without the output that `tool_call_end` has brought.",
  schemaOf<ReportedMessage>()(z.strictObject({ ...messageFields, parts: z.array(reportedPart) })),
);

export const runStateSchema = schemaOf<RunState>()(z.enum(["completed", "failed", "cancelled"]));

export const endReasonSchema = nameSchema(
  "EndReason",
  "Why a run ended.",
  schemaOf<EndReason>()(
    z.enum([
      "end_turn",
      "terminal_tool",
      ...failureReasons,
      "cancelled",
      "interrupted",
      "rolled_back",
      "plan_denied",
    ]),
  ),
);

export const onBusySchema = schemaOf<OnBusy>()(z.enum(["reject", "queue", "steer", "interrupt", "rollback"]));

export const outcomeSchema = schemaOf<CallOutcome>()(
  z.enum(["ok", "error", "denied", "cancelled", "skipped", "unknown"]),
);

export const waitReasonSchema = nameSchema(
  "WaitReason",
  "What a run waits for.",
  schemaOf<WaitReason>()(
    z.strictObject({
      kind: z.enum(["ask", "thread", "exec", "task", "time", "retry", "budget", "config"]),
      ask: z.exactOptional(z.string()),
      until: z.exactOptional(time),
      missing: z.exactOptional(z.string()).describe("What the deployment lacks."),
    }),
  ),
);

export const runProblemSchema = nameSchema(
  "RunProblem",
  "Why a run failed.",
  schemaOf<RunProblem>()(
    z.strictObject({
      type: z.string(),
      title: z.string(),
      status: z.int(),
      detail: z.string(),
      code: endReasonSchema,
      retryable: z.boolean(),
    }),
  ),
);

const counts = z.record(z.string(), z.number());

export const runResultSchema = nameSchema(
  "RunResult",
  "The result of a run, including the agents that worked for it.",
  schemaOf<RunResult>()(
    z.strictObject({
      session_id: z.string(),
      run_id: z.string(),
      provider: z.string(),
      model: z.string(),
      reason: endReasonSchema,
      duration_ms: z.int(),
      turns: z.int(),
      max_turns_used: z.boolean(),
      loop_detected: z.boolean(),
      no_progress_detected: z.boolean(),
      cost_exceeded: z.boolean(),
      truncated: z.boolean(),
      breach_verify: z.enum(["not_run", "passed", "failed"]),
      tool_calls: z.int(),
      tool_counts: counts,
      files_modified: z.array(z.string()).describe("The newest 200; `file_change` events name all."),
      files_created: z.array(z.string()).describe("The newest 200; `file_change` events name all."),
      files_deleted: z.array(z.string()).describe("The newest 200; `file_change` events name all."),
      usage: usageSchema,
      cost_usd: z.number().nullable().describe("Null if a price is not known."),
      estimated: z.boolean().describe("Whether some figures are estimates."),
      context_utilization: z.number(),
      tool_cache_hits: z.int(),
      tool_cache_misses: z.int(),
      tool_timings: counts.describe("Milliseconds by tool."),
      compactions_applied: z.int(),
      longest_turn_ms: z.int(),
      episode_summary: z.string(),
      error: z.string().nullable(),
      text: z.string().describe("The final answer."),
    }),
  ),
);

export const runSchema = nameSchema(
  "Run",
  "A run, from its first applied input to its end.",
  schemaOf<RunRecord>()(
    z.strictObject({
      id: z.string(),
      thread: z.string(),
      agent: z.string(),
      inputs: z.array(z.string()),
      state: z.enum(["completed", "failed", "cancelled", "running", "waiting"]),
      reason: endReasonSchema.nullable(),
      error: z.string().nullable(),
      started_at: time,
      ended_at: time.nullable(),
      turns: z.int(),
      result: runResultSchema.nullable(),
    }),
  ),
);

export const inputSchema = nameSchema(
  "Input",
  "A message that was handed to the session.",
  schemaOf<Input>()(
    z.strictObject({
      id: z.string(),
      thread: z.string(),
      content: z.array(contentPartSchema),
      on_busy: onBusySchema,
      sender: z.string().nullable(),
      origin: z.enum(["human", "agent"]),
      status: z.enum(["accepted", "applied", "withdrawn", "returned"]),
      at: time,
      output_schema: z.exactOptional(json),
      light: z.exactOptional(z.boolean()),
      prior_episode_summaries: z.exactOptional(z.array(z.string())),
      question: z.exactOptional(z.string()).describe("The question of a called agent that it carries."),
      version: z.int().describe("Each edit changes it; PATCH takes it as If-Match."),
    }),
  ),
);

export const taskSchema = nameSchema(
  "Task",
  "A task of the session's board.",
  schemaOf<Task>()(
    z.strictObject({
      id: z.string(),
      title: z.string(),
      description: z.string(),
      status: z.enum(["pending", "in_progress", "completed", "failed", "cancelled"]),
      assignee: z.string().nullable().describe("The thread that works on it, or last did."),
      blocked_by: z.array(z.string()),
      blocked: z.boolean(),
      blocked_reason: z.literal("dependency_failed").nullable(),
      metadata: z.record(z.string(), json),
      created_by: z.string(),
      created_at: time,
      updated_at: time,
    }),
  ),
);
