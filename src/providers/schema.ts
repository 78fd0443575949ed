import * as z from "zod";
import type { DeepReadonly } from "../schema.ts";
import {
  cacheSchema,
  fallbackSchema,
  rateLimitSchema,
  retrySchema,
  samplingKeys,
  timeoutsSchema,
} from "../model/schema.ts";
import { scriptSchema } from "../model/scripted/schema.ts";
import { count, duration, headersOf, name, text } from "../schema.ts";

/** The built-in provider kinds, in the order of the documentation. */
export const providerKinds = [
  "anthropic",
  "openai",
  "grok",
  "gemini",
  "workers-ai",
  "openai-compatible",
  "scripted",
] as const;

/** Headers that belong to the connection, in small letters. */
export const forbiddenHeaders: readonly string[] = ["host", "content-length", "cookie"];

/** The protocols between which providers of the OpenAI family choose. */
const openaiProtocols = ["openai-chat", "openai-responses"] as const;

/** How a compatible server deviates from the OpenAI protocol. */
const compatSchema = z.strictObject({
  max_tokens_field: z
    .enum(["max_tokens", "max_completion_tokens"])
    .optional()
    .describe("Field that carries the output cap; omitted: by kind."),
  system_role: z.enum(["system", "developer"]).default("system").describe("Role of the system prompt."),
  stream_usage: z.boolean().default(true).describe("Ask for usage in the stream."),
  reasoning_replay: z
    .enum(["none", "reasoning_content", "reasoning_details"])
    .default("none")
    .describe("Field in which reasoning goes back."),
  think_tags: z.boolean().default(false).describe("A leading <think>…</think> is reasoning."),
  schema: z.enum(["strict", "full", "minimal"]).optional().describe("How much JSON Schema the server takes."),
  images: z.boolean().default(false).describe("The server takes images."),
});

const batchSchema = z.strictObject({
  enabled: z.boolean().default(false).describe("Accepted and ignored: a session always streams."),
  collect_window: duration().optional().describe("Accepted and ignored."),
  poll_interval: duration().optional().describe("Accepted and ignored."),
  timeout: duration().optional().describe("Accepted and ignored."),
  max_batch_size: count(1).optional().describe("Accepted and ignored."),
});

/** A provider. Durations become milliseconds; `${NAME}` references stay unresolved. */
export const providerSchema = z.strictObject({
  name: name().describe("Name under which agents use this provider."),
  kind: z.string().meta({ description: "Which API it speaks.", "x-names": "provider_kinds" }),
  protocol: z
    .enum(openaiProtocols)
    .optional()
    .describe("Protocol of an OpenAI-like API; omitted: at the vendor's own servers by model, else by kind."),
  base_url: z.string().optional().describe("Address of the API; omitted: the vendor's."),
  api_key: z.string().optional().describe("Key, as a reference like ${ANTHROPIC_API_KEY}."),
  auth: z.enum(["bearer", "x-api-key"]).optional().describe("Header that carries the key; omitted: by kind."),
  model: text(200, 1).describe("Model that is used unless an agent names another."),
  context_window: z
    .union([count(), z.literal("auto")])
    .optional()
    .describe("Context tokens of its model; 0 = no compaction, auto = the catalogue; omitted: by kind."),
  max_tokens: count(1).default(16_384).describe("Most output tokens of one call."),
  ...samplingKeys,
  rate_limit: rateLimitSchema.prefault({}).describe("Limits of this provider over all sessions."),
  retry: retrySchema.prefault({}).describe("Bounds of retrying."),
  timeouts: timeoutsSchema.prefault({}).describe("Deadlines of one attempt."),
  cache: cacheSchema.prefault({}).describe("Prompt caching."),
  headers: headersOf(forbiddenHeaders).prefault({}).describe("Further headers of every request."),
  fallbacks: z.array(fallbackSchema).max(16).default([]).describe("Providers to try when this one fails."),
  compat: compatSchema.prefault({}).describe("Deviations of an OpenAI-compatible server."),
  binding: text(64, 1)
    .optional()
    .describe('Name of the Workers AI binding, like ai = { binding = "AI" } in wrangler.toml; omitted: AI.'),
  script: z
    .union([text(200, 1), scriptSchema])
    .optional()
    .describe("Script of a scripted provider: a file in the team folder, or inline."),
  allow_literal_secrets: z.boolean().default(false).describe("Let keys of this provider stand in the file."),
  batch: batchSchema.optional().describe("Accepted for older files; has no effect."),
});

/** A compiled provider, whose `script` is always parsed. */
export type ProviderConfig = DeepReadonly<
  Omit<z.output<typeof providerSchema>, "script"> & { script?: z.output<typeof scriptSchema> }
>;
