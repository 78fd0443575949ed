import * as z from "zod";
import type { DeepReadonly } from "../../schema.ts";
import { count, mapOf, name, text } from "../../schema.ts";
import { finishReasons, purposes } from "../completer.ts";

/** Defines the schema of scripts, from which the scripted provider answers without a network. */

const literalMatch = z.strictObject({
  equals: z.string().optional().describe("The whole text, any case."),
  starts_with: z.string().optional().describe("The beginning of the text, any case."),
  contains: z.string().optional().describe("A part of the text, any case."),
  words: z.array(text(100, 1)).min(1).optional().describe("Words that the text must all contain, any case."),
});

const lastMatch = z.strictObject({
  text: literalMatch.optional().describe("Text of the newest message."),
  tool: text(64, 1).optional().describe("Tool whose result is the newest message."),
  ok: z.boolean().optional().describe("Whether that result is a success."),
});

const whenSchema = z.strictObject({
  agent: name().optional().describe("Only for this agent."),
  purpose: z.enum(purposes).optional().describe("Only for calls of this purpose."),
  turn: count(1).optional().describe("Only in this turn of the run, from 1."),
  call: count(0).optional().describe("Only at this model call of the thread, from 0."),
  attempt: count(1).optional().describe("Only at this attempt of the call, from 1."),
  after: text(64, 1).optional().describe("Only if this scene was the thread's previous reply."),
  input: literalMatch.optional().describe("Text of the newest input."),
  last: lastMatch.optional().describe("Kind of the newest message."),
  times: count(1).optional().describe("At most this often in a thread."),
});

const textPieceSchema = z.union([
  z.string(),
  z.strictObject({
    repeat: z.string().describe("Text to repeat."),
    times: count(1, 1_000_000).describe("How often."),
  }),
]);

const pieceSchema = z.union([
  z.strictObject({ reasoning: textPieceSchema.describe("Reasoning text.") }),
  z.strictObject({ text: textPieceSchema.describe("Answer text.") }),
  z.strictObject({ refusal: z.string().describe("A refusal.") }),
  z
    .strictObject({
      call: text(64, 1).describe("Tool to call."),
      args: mapOf(z.json()).optional().describe("Its arguments; texts may contain templates."),
      raw_args: z.string().optional().describe("Its arguments as raw text, sent as it is."),
    })
    .refine((value) => value.args === undefined || value.raw_args === undefined, {
      error: "exclusive_keys: set args or raw_args, not both",
    }),
]);

const failures = ["network", "timeout", "truncated_stream", "protocol_error"] as const;

const failKeys = {
  times: count(1).default(1).describe("Number of attempts that fail so."),
  after_chars: count(0).optional().describe("Characters of the reply sent before it fails."),
};

const failSchema = z.union([
  z.strictObject({
    status: count(400, 599).describe("HTTP status of the failed attempt."),
    retry_after: z.number().min(0).optional().describe("Seconds in its Retry-After header."),
    ...failKeys,
  }),
  z.strictObject({ error: z.enum(failures).describe("Kind of the failure."), ...failKeys }),
  z.enum(failures).transform((error) => ({ error, times: 1 })),
]);

const usageSchema = z.strictObject({
  input: count().default(0).describe("Input tokens without cache."),
  output: count().default(0).describe("Output tokens."),
  cacheRead: count().default(0).describe("Tokens read from the cache."),
  cacheWrite: count().default(0).describe("Tokens written to the cache."),
  total: count().optional().describe("All tokens; omitted: the sum."),
});

const expectSchema = z.strictObject({
  tools: z.array(text(64, 1)).optional().describe("Tools that must be declared."),
  not_tools: z.array(text(64, 1)).optional().describe("Tools that must not be declared."),
  messages: count().optional().describe("Number of messages in the request."),
  last_contains: z.string().optional().describe("Text in the newest message."),
  system_contains: z.string().optional().describe("Text in the system prompt."),
});

const replyKeys = {
  reply: z.array(pieceSchema).max(100).default([]).describe("Pieces of the reply, in order."),
  finish: z.enum(finishReasons).optional().describe("Omitted: tool_calls with a call, else stop."),
  fail: z.array(failSchema).max(64).default([]).describe("Attempts that fail first, in order."),
  stall_ms: count(0, 3_600_000).default(0).describe("Milliseconds of silence before the reply."),
  usage: usageSchema
    .nullable()
    .optional()
    .describe("Reported usage; null = none reported; omitted: the estimate."),
  expect: expectSchema.optional().describe("What the request must look like, else the run fails."),
};

const sceneSchema = z.strictObject({
  name: text(64, 1).describe("Name of the scene."),
  when: whenSchema.prefault({}).describe("When it is played; the first scene that matches is."),
  ...replyKeys,
});

/** Whole script: `replies` by number of the call, or `scenes` by the content of the request. */
export const scriptSchema = z.strictObject({
  script: z.literal(1).default(1).describe("Version of this format."),
  pace: z
    .strictObject({
      chunk: count(1).default(24).describe("Code points per delta."),
      delay_ms: count(0, 60_000).default(0).describe("Milliseconds between deltas; 0 = at once."),
    })
    .prefault({})
    .describe("How fast text is streamed."),
  start: text(64, 1).optional().describe("Scene when nothing matches."),
  client_tools: z
    .array(text(64, 1))
    .max(32)
    .default([])
    .describe("Names of tools that the session's client brings, which the script calls."),
  replies: z
    .array(z.strictObject(replyKeys))
    .max(1_000)
    .default([])
    .describe("The n-th call gets the n-th reply."),
  scenes: z.array(sceneSchema).max(1_000).default([]).describe("Scenes; the first match is played."),
});

export type Script = DeepReadonly<z.output<typeof scriptSchema>>;
