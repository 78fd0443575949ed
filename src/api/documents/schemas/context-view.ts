import * as z from "zod";
import { json, nameSchema, time } from "./schema-of.ts";
import { messageSchema, usageSchema } from "./values.ts";

/** Describes the view of what a model call saw. */

const contextMessage = z.strictObject({
  id: z.string(),
  pos: z.int(),
  role: messageSchema.shape.role,
  origin: messageSchema.shape.origin,
  state: z.enum(["full", "overlaid", "summary", "note"]),
  by: z.string().nullable().describe("The kind of the effect that did it."),
  reason: z.string().nullable(),
  tokens: z.int(),
  original_tokens: z.int(),
  calls: z
    .array(z.strictObject({ id: z.string(), tool: z.string(), args: z.exactOptional(z.string()) }))
    .describe("The calls that it asks for or answers."),
  text: z.string(),
});

const contextCall = z.strictObject({
  call: z.int(),
  purpose: z.string(),
  attempt: z.int(),
  outcome: z.string(),
  provider: z.string(),
  model: z.string(),
  at: time,
  usage: usageSchema.nullable().describe("Null while it is not known."),
  cost_usd: z.number().nullable(),
  estimated: z
    .boolean()
    .describe("Whether the usage is estimated, because the call broke off before it was reported."),
});

const contextChange = z.strictObject({
  effect: z.string().nullable(),
  reason: z.string().nullable(),
  edit: z.enum(["inject", "overlay", "retire", "append", "remove", "request"]),
  messages: z.array(z.string()),
  tokens_saved: z.int(),
});

const hiddenMessage = z.strictObject({
  id: z.string(),
  pos: z.int(),
  role: messageSchema.shape.role,
  tokens: z.int(),
  by: z.string().nullable(),
  reason: z.string().nullable(),
  run: z.string().nullable(),
  turn: z.int().nullable(),
  why: z.string(),
});

export const contextSchema = nameSchema(
  "ContextView",
  "What the model saw in a call, and what changed since the call before.",
  z.strictObject({
    run: z.string(),
    turn: z.int(),
    call: z.int(),
    attempt: z.int(),
    purpose: z.string(),
    outcome: z.string(),
    calls: z.array(contextCall),
    agent: z.string(),
    thread: z.string(),
    provider: z.string(),
    model: z.string(),
    parameters: z.record(z.string(), json),
    window: z.int(),
    size: z.int(),
    system: z.string(),
    tools: z.array(z.strictObject({ name: z.string(), description: z.string() })),
    messages: z.array(contextMessage),
    hidden: z.array(hiddenMessage),
    hidden_tools: z.array(z.strictObject({ name: z.string(), by: z.string().nullable() })),
    before: z
      .strictObject({ run: z.string(), turn: z.int(), size: z.int() })
      .nullable()
      .describe("The answered call that the changes are relative to; null for the first call of a thread."),
    changes: z.array(contextChange),
    verified: z.boolean().nullable().describe("Whether this is what was sent, byte for byte; null: unknown."),
  }),
);
