import * as z from "zod";
import type { DeepReadonly } from "../schema.ts";
import { count, duration, fraction, mapOf, name, text } from "../schema.ts";
import { efforts } from "./completer.ts";

export const effortSchema = z.enum(efforts);

/** Schema of the effort of a model's reasoning. */
const reasoningSchema = z
  .strictObject({
    effort: effortSchema.optional().describe("How hard the model thinks; none switches it off."),
    budget_tokens: count(1_024).optional().describe("Tokens for thinking, instead of an effort."),
    summary: z
      .enum(["auto", "none"])
      .optional()
      .describe(
        "Whether reasoning is summarised for the stream; omitted: auto, but none over openai-responses, where only verified organisations get it.",
      ),
  })
  .refine((value) => value.effort === undefined || value.budget_tokens === undefined, {
    error: "exclusive_keys: set effort or budget_tokens, not both",
  });

/** Schema of prompt caching. */
export const cacheSchema = z.strictObject({
  mode: z.enum(["auto", "off"]).default("auto").describe("auto sets cache breakpoints where they pay."),
  ttl: z.enum(["5m", "1h"]).default("5m").describe("How long the provider keeps a cached prefix."),
});

/** Schema of the deadlines of one attempt, in milliseconds. */
export const timeoutsSchema = z.strictObject({
  connect: duration({ min: "1ms", max: "13m" }).prefault("60s").describe("Time until the response headers."),
  idle: duration({ min: "1ms", max: "13m" }).prefault("90s").describe("Time without any byte."),
  content_idle: duration({ min: "1ms", max: "13m" })
    .prefault("5m")
    .describe("Time with nothing but pings, except while the model reasons."),
  total: duration({ min: "1ms", max: "13m" })
    .prefault("10m")
    .describe("Time of the whole attempt, at most 13m."),
});
export type Timeouts = DeepReadonly<z.output<typeof timeoutsSchema>>;

/** Schema of the limits of retries, in milliseconds. */
export const retrySchema = z.strictObject({
  max_wait: duration().prefault("10m").describe("The longest wait; a longer one fails the model target."),
});

/** Schema of tokens and requests per minute; 0 means no limit of that kind. */
export const rateLimitSchema = z.strictObject({
  input_tpm: count().default(0).describe("Input tokens per minute; 0 = no limit."),
  output_tpm: count().default(0).describe("Output tokens per minute; 0 = no limit."),
  rpm: count().default(0).describe("Requests per minute; 0 = no limit."),
  max_concurrent: count().default(0).describe("Calls at the same time; 0 = no limit."),
  max_retries: count(0, 20)
    .default(3)
    .describe("Further attempts after the first, per model target and turn."),
  base_delay: duration({ min: "1ms" })
    .prefault("1s")
    .describe("First wait before a retry; doubles each time."),
});

/** Schema of another provider to try, with its own model or another one. A bare name becomes `{provider}`. */
export const fallbackSchema = z.union([
  name().transform((provider): { provider: string; model?: string | undefined } => ({ provider })),
  z.strictObject({
    provider: name().describe("Name of the provider to fall back to."),
    model: text(200, 1).optional().describe("Its model; omitted: the provider's."),
  }),
]);

const perMillion = () => z.number().min(0).max(1_000_000);
const rates = {
  input: perMillion().describe("USD per million input tokens."),
  output: perMillion().describe("USD per million output tokens."),
  cache_read: perMillion().optional().describe("USD per million cached input tokens; omitted: 0.1 × input."),
  cache_write: perMillion()
    .optional()
    .describe("USD per million tokens written to the cache; omitted: input."),
  cache_write_1h: perMillion().optional().describe("The same for entries kept for an hour."),
};

/** Schema of prices in USD per million tokens. */
const priceSchema = z.strictObject({
  ...rates,
  above: z
    .strictObject(rates)
    .partial()
    .extend({ tokens: count(1).describe("Prompt tokens beyond which these prices apply.") })
    .optional()
    .describe("Prices of the whole call when its prompt is longer than this."),
});
export type Price = DeepReadonly<z.output<typeof priceSchema>>;

/** Schema of a model's capabilities. */
const capabilitiesSchema = z.strictObject({
  images: z.boolean().describe("Takes images."),
  documents: z.boolean().describe("Takes documents."),
  strict_schema: z.boolean().describe("Accepts a JSON Schema for its answer."),
  reasoning: z.enum(["none", "budget", "adaptive", "effort"]).describe("How its reasoning is set."),
  reasoning_off: z.boolean().describe("Its reasoning can be switched off."),
  sampling: z.boolean().describe("Accepts temperature and top_p."),
  forced_tool_with_reasoning: z.boolean().describe("May be forced to call a tool while reasoning."),
});
export type Capabilities = DeepReadonly<z.output<typeof capabilitiesSchema>>;

/** Schema of an entry of `models`, which overrides the catalogue. */
const modelSchema = z.strictObject({
  alias: text(64, 1).optional().describe("Another name under which a session may choose this model."),
  context_window: z
    .union([count(), z.literal("auto")])
    .optional()
    .describe("Context tokens; 0 = unknown, auto = as the catalogue says."),
  max_output: count(1).optional().describe("Most output tokens of one call."),
  price: priceSchema.optional().describe("USD per million tokens."),
  capabilities: capabilitiesSchema.partial().optional().describe("What the model can do."),
});

export type ModelOverride = DeepReadonly<z.output<typeof modelSchema>>;

export const modelsSchema = mapOf(modelSchema);

/** Sampling and output keys with which an agent may override its provider's. */
export const samplingKeys = {
  reasoning: reasoningSchema.optional().describe("How much the model thinks."),
  temperature: z.number().min(0).max(2).optional().describe("Sampling temperature, 0 to 2."),
  top_p: fraction().optional().describe("Nucleus sampling share, above 0 to 1."),
};
