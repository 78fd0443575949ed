import * as z from "zod";
import { budgetsSchema } from "./sections/budgets.ts";
import type { Effect } from "../agent/definition/effect.ts";
import type { Guard, Middleware } from "../agent/definition/guard.ts";
import { limitsSchema, retentionSchema, sessionsSchema } from "./sections/limits.ts";
import { effectSchemaOf } from "../effects/schema.ts";
import { modelsSchema } from "../model/schema.ts";
import { providerSchema } from "../providers/schema.ts";
import { sandboxSchema } from "../sandbox/schema.ts";
import { count, mapOf, name } from "../schema.ts";
import {
  browserSchema,
  egressSchema,
  filesystemSchema,
  gitSchema,
  httpSchema,
  mcpServerSchema,
  permissionsSchema,
} from "../tools/schema.ts";
import { middlewareSchemaOf } from "./sections/agent.ts";
import { agentSchemaOf, defaultsSchemaOf } from "./sections/agents.ts";
import type { AgentKinds } from "./sections/agents.ts";
import {
  accessSchema,
  contextSchema,
  debugSchema,
  notesSchema,
  observabilitySchema,
  redactionSchema,
  reflectionsSchema,
  scheduleSchema,
  tasksSchema,
  webhookSchema,
} from "./sections/operator.ts";

/** Returns the keys of `team.yaml` besides the three lists, each with its defaults. */
const sectionKeys = (kinds: AgentKinds) => ({
  entry_agent: name()
    .meta({ description: "Agent of a session that names none; omitted: the first.", "x-names": "agents" })
    .optional(),
  default_context_windows: mapOf(count()).prefault({}).describe("Provider kind → context tokens."),
  models: modelsSchema.prefault({}).describe("Model → values that override the catalogue."),
  defaults: defaultsSchemaOf(kinds).optional().describe("Keys that every agent has unless it sets them."),
  filesystem: filesystemSchema.prefault({}).describe("Files."),
  browser: browserSchema.prefault({}).describe("Browser."),
  git: gitSchema.prefault({}).describe("Git."),
  http: httpSchema.prefault({}).describe("HTTP."),
  egress: egressSchema.prefault({}).describe("What agents may reach over the network."),
  permissions: permissionsSchema.prefault({}).describe("What tools may do."),
  sandbox: sandboxSchema.prefault({}).describe("Where files and commands live."),
  context: contextSchema.prefault({}).describe("Project context."),
  sessions: sessionsSchema.prefault({}).describe("How sessions behave."),
  limits: limitsSchema.prefault({}).describe("Limits."),
  retention: retentionSchema.prefault({}).describe("How long things are kept."),
  budgets: budgetsSchema.prefault({}).describe("What may be spent."),
  access: accessSchema.prefault({}).describe("Who may call the API."),
  webhooks: z.array(webhookSchema).max(32).default([]).describe("Where events are delivered."),
  schedules: z.array(scheduleSchema).max(64).default([]).describe("Runs by the clock."),
  observability: observabilitySchema.prefault({}).describe("Logs, traces, metrics."),
  redaction: redactionSchema.prefault({}).describe("What is masked."),
  debug: debugSchema.prefault({}).describe("Settings for debugging."),
  reflections: reflectionsSchema.optional().describe("Lessons of failed runs; omitted: off."),
  tasks: tasksSchema.prefault({}).describe("The task board."),
  notes: notesSchema.prefault({}).describe("Shared notes."),
});

/** Kinds that a team's extensions add to its file. */
export interface OwnKinds {
  readonly effects: readonly Effect[];
  readonly guards: readonly Guard[];
  readonly middleware: readonly Middleware[];
}

/** Creates the schemas of `team.yaml`: of an agent, of the keys besides the three lists, and of the whole file. */
export const createTeamSchemas = ({ effects, guards, middleware }: OwnKinds) => {
  const kinds = { effect: effectSchemaOf(effects), middleware: middlewareSchemaOf(middleware), guards };
  const agent = agentSchemaOf(kinds);
  const sections = sectionKeys(kinds);
  const team = z.strictObject({
    providers: z.array(providerSchema).min(1).max(32).describe("Model providers; the first is the default."),
    agents: z.array(agent).min(1).max(64).describe("Agents; the first is the entry agent."),
    mcp_servers: z.array(mcpServerSchema).max(32).default([]).describe("MCP servers."),
    ...sections,
  });
  return { agent, sections: z.strictObject(sections), team };
};

export type TeamSchemas = ReturnType<typeof createTeamSchemas>;

/** Schemas of a team without extensions. */
export const plainTeamSchemas: TeamSchemas = createTeamSchemas({
  effects: [],
  guards: [],
  middleware: [],
});
