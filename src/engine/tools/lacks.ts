import type { Effect } from "../../agent/definition/effect.ts";
import type { Middleware, Guard } from "../../agent/definition/guard.ts";
import type { TeamAgent as AgentConfig, Team } from "../../config/team.ts";
import { isOfKind } from "../../effects/schema.ts";
import type { Toolbox } from "../../tools/define-tool.ts";
import { findUnknownEffects } from "../effects.ts";
import { guardKindsOf } from "../guards.ts";
import { findUnknownChecks, findUnknownMiddleware } from "../middleware.ts";
import type { OutputCheck } from "../middleware.ts";
import { providerOf } from "../models/models.ts";

/** Finds what a definition needs and this deployment lacks. */

export interface Deployment {
  /** Team with its model ids resolved. */
  readonly team: Team;
  readonly toolboxes: readonly Toolbox[];
  /** Built-in guards and those of the team's extensions. */
  readonly guards: readonly Guard[];
  /** Effects of the team's extensions. */
  readonly effects: readonly Effect[];
  /** Middleware and named checks of the team's extensions. */
  readonly middleware: readonly Middleware[];
  readonly checks: readonly OutputCheck[];
  /** Provider kinds that have a client. */
  readonly kinds: readonly string[];
}

const findLackedProvider = ({ team, kinds }: Deployment, name: string): readonly string[] => {
  const provider = providerOf(team, name);
  if (provider === undefined) return [`provider ${name}`];
  return kinds.includes(provider.kind) ? [] : [`provider kind ${provider.kind}`];
};

const findLackedTools = (
  { team, toolboxes }: Deployment,
  { name, tools = [] }: AgentConfig["toolboxes"][number],
): readonly string[] => {
  if (team.mcp_servers.some((server) => server.name === name)) return [];
  const box = toolboxes.find((each) => each.name === name);
  if (box === undefined) return ["core", "agents"].includes(name) ? [] : [`toolbox ${name}`];
  return tools
    .filter((tool) => !box.tools.some((each) => each.name === tool))
    .map((tool) => `tool ${tool} of toolbox ${name}`);
};

const findLackedGuards = ({ guards }: Deployment, agent: AgentConfig): readonly string[] =>
  guardKindsOf(agent)
    .filter((kind) => !guards.some((guard) => guard.kind === kind))
    .map((kind) => `guard ${kind}`);

const summaryProviders = ({ effects }: AgentConfig): readonly string[] =>
  effects.filter(isOfKind("compact")).flatMap(({ params }) => params.summary_provider ?? []);

/** Lists the missing providers, fallbacks, toolboxes, tools, guards, effects, middleware and checks of an agent, each once. */
export const findLacks = (deployment: Deployment, agent: AgentConfig): readonly string[] => {
  const provider = providerOf(deployment.team, agent.provider);
  const fallbacks = agent.fallbacks ?? provider?.fallbacks ?? [];
  const providers = [agent.provider, ...fallbacks.map((each) => each.provider), ...summaryProviders(agent)];
  const found = [
    ...providers.flatMap((name) => findLackedProvider(deployment, name)),
    ...agent.toolboxes.flatMap((entry) => findLackedTools(deployment, entry)),
    ...findLackedGuards(deployment, agent),
    ...findUnknownEffects(deployment.effects, agent).map((kind) => `effect ${kind}`),
    ...findUnknownMiddleware(deployment.middleware, agent).map((kind) => `middleware ${kind}`),
    ...findUnknownChecks(deployment.checks, agent).map((name) => `check ${name}`),
  ];
  return [...new Set(found)];
};
