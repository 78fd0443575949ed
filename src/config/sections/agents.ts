import * as z from "zod";
import type { Guard } from "../../agent/definition/guard.ts";
import type { EffectConfig } from "../../effects/schema.ts";
import { toolLoopsSchema, windowGuardSchema } from "../../guards/schema.ts";
import { fallbackSchema, samplingKeys } from "../../model/schema.ts";
import { count, name, text } from "../../schema.ts";
import { agentPermissionsSchema, toolboxEntrySchema } from "../../tools/schema.ts";
import type { MiddlewareConfig } from "./agent.ts";
import { capabilitySchema, delegationSchema, memorySchema } from "./agent.ts";
import { guardBudgetSchema } from "./budgets.ts";
import { optionsSchema } from "./options.ts";

const ownGuardSchema = ({ params, description = "" }: Guard) =>
  z
    .union([z.literal(false), params])
    .optional()
    .describe(description);

/** Returns the schema of an agent's `guards`, built-in ones and these: a key per kind, `false` = off. */
const guardsSchemaOf = (own: readonly Guard[]) =>
  z.strictObject({
    tool_loops: toolLoopsSchema.prefault({}).describe("Calls that are repeated."),
    context_window: windowGuardSchema.prefault({}).describe("Models with a small window."),
    budget: guardBudgetSchema.prefault({}).describe("What a run of this agent may spend."),
    ...(Object.fromEntries(own.map((guard) => [guard.kind, ownGuardSchema(guard)])) as object),
  });

/** Keys of `guards` that every team has. */
export const guardKeys: readonly string[] = Object.keys(guardsSchemaOf([]).shape);

/** Kinds that an agent's keys may use in this team. */
export interface AgentKinds {
  /** Schema of an entry of its `effects`. */
  readonly effect: z.ZodType<EffectConfig>;
  /** Schema of an entry of its `middleware`. */
  readonly middleware: z.ZodType<MiddlewareConfig>;
  /** Guards of the team's extensions. */
  readonly guards: readonly Guard[];
}

const prefixSchema = () =>
  text(32).refine((value) => !/[\r\n]/.test(value), { error: "invalid_value: a prefix is one line" });

/** Returns the keys of an agent that `defaults` may have, too. */
const sharedKeys = ({ effect, guards, middleware }: AgentKinds) => ({
  provider: name()
    .meta({ description: "Provider; omitted: the first one.", "x-names": "providers" })
    .optional(),
  model: text(200, 1).optional().describe("Model; omitted: the provider's."),
  fallbacks: z.array(fallbackSchema).max(16).optional().describe("Omitted: the provider's."),
  prefix: prefixSchema().default("🤖").describe("Sign before its messages, for clients."),
  toolboxes: z.array(toolboxEntrySchema).max(64).default([]).describe("What it can do; ask is always there."),
  skills: z
    .union([z.literal("none"), z.array(text(64, 1).meta({ "x-names": "skills" }))])
    .default([])
    .describe("Skills it knows; omitted or []: all, none: none."),
  effects: z.array(effect).max(32).optional().describe("What shapes its context; []: nothing."),
  options: optionsSchema.prefault({}).describe("How it runs."),
  guards: guardsSchemaOf(guards).prefault({}).describe("What stops it."),
  delegation: delegationSchema.prefault({}).describe("How it calls other agents."),
  capabilities: z.array(capabilitySchema).max(64).default([]).describe("Tasks for which others may call it."),
  skills_tags: z.array(text(64, 1)).max(64).default([]).describe("Tags on its card."),
  estimated_cost: z.enum(["cheap", "medium", "expensive"]).optional().describe("Cost on its card."),
  max_concurrency: count().default(0).describe("Runs of it at once in a session; 0 = unbounded."),
  async: z.boolean().default(false).describe("Calls to it run in the background."),
  permissions: agentPermissionsSchema.optional().describe("What its tools may do, besides the team's rules."),
  middleware: z.array(middleware).max(16).default([]).describe("Middleware around its runs."),
  memory: memorySchema.optional().describe("What it remembers between sessions."),
  ...samplingKeys,
  max_tokens: count(1).optional().describe("Output tokens of one call; omitted: the provider's."),
});

/** Returns the schema of an agent in a team with these kinds. */
export const agentSchemaOf = (kinds: AgentKinds) =>
  z.strictObject({
    name: name().describe("Name of the agent."),
    description: text(1_024).default("").describe("What it is for, for people and other agents."),
    instructions: text(64_000).default("").describe("Its instructions as literal text."),
    starters: z
      .array(
        z.strictObject({
          say: text(1_024, 1).describe("The message."),
          shows: text(256).default("").describe("What it shows, in a line."),
        }),
      )
      .max(24)
      .default([])
      .describe("First messages that clients offer to people, each with what it shows."),
    ...sharedKeys(kinds),
  });

const anyKind = { effect: z.custom<EffectConfig>(), middleware: z.custom<MiddlewareConfig>(), guards: [] };

/** Keys of an agent. */
export const agentKeys: ReadonlySet<string> = new Set(Object.keys(agentSchemaOf(anyKind).shape));

/** Returns the schema of `defaults`: any key of an agent but its name, description and instructions. */
export const defaultsSchemaOf = (kinds: AgentKinds) => z.strictObject(sharedKeys(kinds)).partial();
