import * as z from "zod";
import type { Middleware } from "../../agent/definition/guard.ts";
import { count, duration, fraction, name, text } from "../../schema.ts";

/** Schema of an agent's calls of others. */
export const delegationSchema = z.strictObject({
  inherit: z.enum(["own", "intersect", "union"]).default("own").describe("Which tools a called agent gets."),
  may_call: z
    .array(text(64, 1))
    .max(64)
    .default(["*"])
    .describe("Names or globs of agents it may call; []: none."),
  async: z.boolean().default(false).describe("It may call in the background."),
  ad_hoc: z.boolean().default(false).describe("It may start nameless agents."),
  model: text(200, 1).optional().describe("Model of called agents that have none."),
  providers: z.array(name()).max(32).default([]).describe("Providers its model may pick for a called agent."),
  max_children_per_call: count(1, 64).default(8).describe("Agents of one call."),
  max_concurrent: count(1, 64).default(5).describe("Tasks of a graph at the same time."),
  progress_updates: z.boolean().default(false).describe("Report each finished task of a graph in the chat."),
  max_context_length: count(0, 200_000).default(16_000).describe("Characters of context for a called agent."),
  max_result_length: count(0, 200_000).default(16_000).describe("Characters of its result."),
  announce: z
    .strictObject({
      timeout: duration().prefault("120s").describe("Time of an announcing run."),
      retries: count(0, 20).default(3).describe("Further tries."),
      backoff: duration().prefault("2s").describe("First wait between tries; doubles."),
    })
    .prefault({})
    .describe("How a background result is announced."),
});

export const capabilitySchema = z.strictObject({
  name: text(64, 1).describe("What it can do, like code-review."),
  languages: z.array(text(32, 1)).max(32).default([]).describe("Languages it can do it in."),
  strength: fraction().default(1).describe("How well it can do it, above 0 to 1."),
});

const timeoutSchema = z.strictObject({
  kind: z.literal("timeout").describe("Ends a run after some time."),
  params: z
    .strictObject({
      duration: duration({ min: "1s" }).describe("Time of a run."),
      count: z
        .enum(["active", "wall"])
        .default("active")
        .describe("By the time of work, without waits for people, or by the clock."),
    })
    .describe("Its parameters."),
});

const recoverySchema = z.strictObject({
  kind: z.literal("recovery").describe("Turns what a tool throws into an error result; always active."),
  params: z.strictObject({}).prefault({}).describe("None."),
});

const loggerSchema = z.strictObject({
  kind: z.literal("logger").describe("Writes a log line at start, finish and error of a run."),
  params: z
    .strictObject({
      level: z.enum(["error", "warn", "info", "debug"]).default("info").describe("Log level."),
      content: z.boolean().default(false).describe("Whether texts are logged."),
    })
    .prefault({})
    .describe("Its parameters."),
});

const outputGuardrailSchema = z.strictObject({
  kind: z.literal("output_guardrail").describe("Checks the final message before it is accepted."),
  params: z
    .strictObject({
      min_length: count().optional().describe("Least number of characters."),
      max_length: count(1).optional().describe("Greatest number of characters."),
      must_contain: z.array(text(1_000, 1)).max(100).default([]).describe("Texts that it must contain."),
      must_not_contain: z
        .array(text(1_000, 1))
        .max(100)
        .default([])
        .describe("Texts that it must not contain."),
      schema: z.record(z.string(), z.json()).optional().describe("JSON Schema of the message."),
      check: text(64, 1).optional().describe("Name of a check in extensions.ts."),
      on_fail: z.enum(["fail", "retry", "replace"]).default("fail").describe("What a violation causes."),
      max_retries: count(0, 20).default(2).describe("Number of retries, each with the reason."),
      text: text(16_000).optional().describe("Replacement text."),
    })
    .superRefine(({ on_fail: how, text: replacement }, context) => {
      if (how !== "replace" || replacement !== undefined) return;
      const message = "missing_key: on_fail: replace needs the text that takes the answer's place";
      context.addIssue({ code: "custom", path: ["text"], message });
    })
    .superRefine(({ min_length: least, max_length: most }, context) => {
      if (least === undefined || most === undefined || least <= most) return;
      const message = `out_of_range: no text has at most ${most} characters and at least ${least}`;
      context.addIssue({ code: "custom", path: ["min_length"], message });
    })
    .describe("Its parameters."),
});

const builtInMiddleware = [timeoutSchema, recoverySchema, loggerSchema, outputGuardrailSchema] as const;

type AnyMiddleware = z.output<(typeof builtInMiddleware)[number]>;
export type BuiltInMiddleware<Kind extends AnyMiddleware["kind"]> = Extract<AnyMiddleware, { kind: Kind }>;

/** Entry of an agent's `middleware`; the parameters of an extension's are checked by its schema. */
export type MiddlewareConfig = AnyMiddleware | { kind: string; params: Record<string, unknown> };

/** Built-in kinds of middleware. */
export const middlewareKinds: readonly string[] = builtInMiddleware.map(({ shape }) => shape.kind.value);

/** Returns whether an entry is of a built-in kind, so that its parameters are known. */
export const isMiddleware =
  <Kind extends AnyMiddleware["kind"]>(kind: Kind) =>
  (config: { readonly kind: string }): config is BuiltInMiddleware<Kind> =>
    config.kind === kind;

const ownMiddlewareSchema = ({ kind, description = "", params }: Middleware) =>
  z
    .strictObject({
      kind: z.literal(kind).describe("Kind of the middleware."),
      params: params.prefault({}).describe("Its parameters."),
    })
    .describe(description);

/** Returns the schema of an entry of an agent's `middleware`, first = outermost, for the built-in kinds and these. */
export const middlewareSchemaOf = (own: readonly Middleware[]): z.ZodType<MiddlewareConfig> =>
  z.discriminatedUnion("kind", [...builtInMiddleware, ...own.map(ownMiddlewareSchema)]);

/** Schema of an agent's `memory`. */
export const memorySchema = z.strictObject({
  scope: z
    .enum(["subject", "session", "tenant"])
    .default("subject")
    .describe("Owner of the memory; subject: that of metadata.subject, else the session."),
  recent: count(0, 200).default(20).describe("Number of the newest entries that are shown."),
  limit: count(0, 50).default(5).describe("Number of entries that are recalled."),
  threshold: fraction({ zero: true }).default(0.4).describe("How similar they must be."),
  min_words: count(0, 100).default(3).describe("Words of an input from which recall is tried."),
  write: z
    .boolean()
    .default(true)
    .describe("Whether inputs and answers are remembered; memory_append stays."),
  embedding: name().optional().describe("Provider whose model makes embeddings; omitted: full text only."),
});
