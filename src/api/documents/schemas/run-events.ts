import * as z from "zod";
import { dataOf } from "./event-data.ts";
import { json } from "./schema-of.ts";
import {
  endReasonSchema,
  onBusySchema,
  reportedMessageSchema,
  runProblemSchema,
  runResultSchema,
  runStateSchema,
  usageSchema,
  waitReasonSchema,
} from "./values.ts";

/** Describes the events of sessions, inputs, runs, agents and turns. */

const parent = z.strictObject({ thread: z.string(), call: z.string() }).nullable();

const metadata = z.record(z.string(), z.string());

export const sessionEvents = {
  session_created: {
    says: "The session exists; always the first event.",
    data: dataOf<"session_created">()(
      z.strictObject({
        agent: z.string(),
        revision: z.string(),
        ref: z.string().nullable(),
        title: z.string().nullable(),
        metadata,
        source: z
          .exactOptional(z.strictObject({ session: z.string(), seq: z.int() }))
          .describe("The session and the event whose view a fork begins with."),
      }),
    ),
  },
  session_updated: {
    says: "Fields of the session changed; `cleared` if the chat was retired, `message` and `pinned` if a message was pinned.",
    data: dataOf<"session_updated">()(z.record(z.string(), json)),
  },
  session_migrated: {
    says: "The session migrated to another revision of the team's definition.",
    data: dataOf<"session_migrated">()(
      z.strictObject({ from: z.string(), to: z.string(), changes: z.array(json) }),
    ),
  },
  model_changed: {
    says: "The session's model was changed; null is the agent's own.",
    data: dataOf<"model_changed">()(
      z.strictObject({
        from: z.string().nullable(),
        to: z.string().nullable(),
        scope: z.enum(["main", "tree"]),
      }),
    ),
  },
} as const;

export const inputEvents = {
  input_accepted: {
    says: "A message was stored, and will be applied, withdrawn or returned.",
    data: dataOf<"input_accepted">()(
      z.strictObject({
        input: z.string(),
        content: json,
        on_busy: onBusySchema,
        sender: z.string().nullable(),
        title: z
          .exactOptional(z.string())
          .describe("The title of a session that had none: the beginning of this first message."),
      }),
    ),
  },
  input_edited: {
    says: "A waiting message was edited, moved, or may now join the run; the data is its new state.",
    data: dataOf<"input_edited">()(
      z.strictObject({
        input: z.string(),
        content: json,
        on_busy: onBusySchema,
        before: z.string().nullable().describe("The next input of the same thread; null if there is none."),
      }),
    ),
  },
  input_applied: {
    says: "The message has joined the chat, and a run works on it.",
    data: dataOf<"input_applied">()(z.strictObject({ input: z.string(), message: z.string() })),
  },
  input_withdrawn: {
    says: "The sender withdrew the message before it was applied, or before it arrived.",
    data: dataOf<"input_withdrawn">()(z.strictObject({ input: z.string() })),
  },
  input_returned: {
    says: "The message could not be applied and goes back to its sender.",
    data: dataOf<"input_returned">()(
      z.strictObject({
        input: z.string(),
        content: json,
        reason: z.enum(["cancelled", "cleared", "no_budget"]),
      }),
    ),
  },
  steering_injected: {
    says: "A message joined a run that was under way; it follows `input_applied`.",
    data: dataOf<"steering_injected">()(z.strictObject({ input: z.string(), message: z.string() })),
  },
} as const;

export const runEvents = {
  run_start: {
    says: "A run begins to work on its inputs.",
    data: dataOf<"run_start">()(
      z.strictObject({
        inputs: z.array(z.string()),
        revision: z.string(),
        budget: json.describe("The limits of the run by name; null is none."),
      }),
    ),
  },
  run_waiting: {
    says: "The run waits: for an answer, an agent or a time.",
    data: dataOf<"run_waiting">()(z.strictObject({ on: z.array(waitReasonSchema) })),
  },
  run_resumed: {
    says: "The run goes on after `run_waiting`.",
    data: dataOf<"run_resumed">()(z.strictObject({ by: z.string() })),
  },
  run_end: {
    says: "The run is over; the last event of every run, with its result.",
    data: dataOf<"run_end">()(
      z.strictObject({
        state: runStateSchema,
        reason: endReasonSchema,
        error: runProblemSchema.nullable(),
        message: z.string().nullable().describe("The id of the final answer's message."),
        result: runResultSchema,
      }),
    ),
  },
  agent_start: {
    says: "An agent begins its run in a thread; `parent` names the call that it works for.",
    data: dataOf<"agent_start">()(
      z.strictObject({
        prefix: z.string(),
        depth: z.int(),
        parent,
        label: z.exactOptional(z.string()),
        task: z.exactOptional(z.string()).describe("The beginning of its task."),
      }),
    ),
  },
  agent_end: {
    says: "The agent's run in the thread is over.",
    data: dataOf<"agent_end">()(
      z.strictObject({
        prefix: z.string(),
        parent,
        state: runStateSchema,
        reason: endReasonSchema,
        summary: z.exactOptional(z.string()),
        usage: usageSchema,
      }),
    ),
  },
  turn_start: {
    says: "A turn begins: one model call, and the tool calls that it asks for.",
    data: dataOf<"turn_start">()(z.strictObject({})),
  },
  turn_end: {
    says: "The turn is over, with all its calls.",
    data: dataOf<"turn_end">()(z.strictObject({ calls: z.int() })),
  },
  turn_metrics: {
    says: "What the turn's model call used and cost, before `turn_end`.",
    data: dataOf<"turn_metrics">()(
      z.strictObject({
        provider: z.string(),
        model: z.string(),
        usage: usageSchema,
        cost_usd: z.number().nullable(),
        estimated: z.boolean(),
        utilization: z.number().describe("The share of the context window that is used."),
        cache_hits: z.int(),
        cache_misses: z.int(),
        duration_ms: z.int(),
      }),
    ),
  },
  message_added: {
    says: "A message joined the chat: of the person, the model, a tool or an effect. It closes the item of its text.",
    data: dataOf<"message_added">()(
      z.strictObject({
        message: reportedMessageSchema,
        final: z.boolean().describe("False for text beside tool calls."),
      }),
    ),
  },
  messages_retired: {
    says: "Messages were removed from the model's view; they stay readable.",
    data: dataOf<"messages_retired">()(
      z.strictObject({
        messages: z.array(z.string()),
        by: z.enum(["rollback", "clear", "rewind", "guardrail"]),
      }),
    ),
  },
  error: {
    says: "An error occurred that the run survives, or is about to end with.",
    data: dataOf<"error">()(
      z.strictObject({ code: z.string(), message: z.string(), retryable: z.boolean() }),
    ),
  },
} as const;
