import type { Agent } from "../config/team.ts";
import type { Router, RouterEnv, ToolListing } from "./context.ts";
import { limits } from "./limits.ts";

/** What the team offers, as `GET /v1/capabilities`, `/v1/agents` and `/v1/models` tell it. Holds no secret. */

export interface AgentListing {
  readonly name: string;
  readonly description: string;
  readonly prefix: string;
  readonly provider: string;
  readonly model: string;
  readonly context_window: number;
  readonly tools: readonly ToolListing[];
  readonly skills: readonly string[];
  readonly effects: readonly string[];
  readonly revision: string;
}

const modelOf = (router: Router, agent: Agent): string =>
  agent.model ?? router.team.providers.find(({ name }) => name === agent.provider)?.model ?? "";

/** An agent with its effective tools (CF-26). */
export function describeAgent(router: Router, agent: Agent): AgentListing {
  const model = modelOf(router, agent);
  return {
    name: agent.name,
    description: agent.description,
    prefix: agent.prefix,
    provider: agent.provider,
    model,
    context_window: router.windowOf(agent.provider, model),
    tools: router.toolsOf(agent.name),
    skills: agent.skills,
    effects: agent.effects.map(({ kind }) => kind),
    revision: router.team.revision,
  };
}

/** Each provider's own model, and those that agents name. */
export function describeModels(router: Router): readonly Readonly<Record<string, unknown>>[] {
  const { providers, agents } = router.team;
  const pairs = [
    ...providers.map(({ name, model }) => `${name}/${model}`),
    ...agents.map((agent) => `${agent.provider}/${modelOf(router, agent)}`),
  ];
  return [...new Set(pairs)].map((pair) => {
    const at = pair.indexOf("/");
    const [provider, model] = [pair.slice(0, at), pair.slice(at + 1)];
    return { provider, model, context_window: router.windowOf(provider, model) };
  });
}

/** Limits, kinds and surfaces of this deployment. */
export const describeTeam = (router: Router): Readonly<Record<string, unknown>> => ({
  version: "v1",
  team: router.team.name,
  revision: router.team.revision,
  entry_agent: router.team.entry_agent,
  limits,
  kinds: {
    parts: ["text", "image", "document"],
    on_busy: ["reject", "queue", "steer", "interrupt", "rollback"],
    asks: ["question", "approval", "client_tool", "authorization", "budget"],
    providers: [...new Set(router.team.providers.map(({ kind }) => kind))],
  },
  surfaces: ["http", "sse", "websocket"],
  subprotocol: "limpet.v1",
});

/** Secrets that the team's config names and this environment lacks (CF-20): neither a text nor a Secrets Store binding. */
export const missingSecrets = (router: Router, env: RouterEnv): readonly string[] =>
  router.team.secrets.filter((name) => {
    const value = env[name];
    return typeof value === "string" ? value === "" : typeof value !== "object" || value === null;
  });
