import type { Rules } from "../agent/commands/command.ts";
import type { Problem } from "../agent/problem.ts";
import type { Session } from "../agent/state.ts";
import { estimateTokens } from "../chat/tokens.ts";
import { missingReference, referencesIn, resolveReferences } from "../config/references.ts";
import type { Agent as AgentConfig, Team } from "../config/team.ts";
import { definitionOf } from "../config/revision.ts";
import { createCompleter } from "../providers/index.ts";
import type { Profile } from "../providers/profile.ts";
import { createSandbox } from "../sandbox/client.ts";
import { sandboxId } from "../sandbox/id.ts";
import type { Sandbox } from "../sandbox/contract.ts";
import type { Toolbox } from "../tools/define-tool.ts";
import { createEgress } from "../tools/egress.ts";
import { createAgents, toolsOf } from "./agents.ts";
import type { AgentParts } from "./agents.ts";
import type { Engine } from "./engine.ts";
import { modelProblem, windowOf } from "./lanes.ts";
import type { MakeCompleter } from "./lanes.ts";
import { schemaProblem } from "./output-check.ts";

/** The only composition root: a compiled team and the Worker's bindings become an engine. */

/** Bindings and variables of the Worker, by name. */
export type Bindings = Readonly<Record<string, unknown>>;

export interface EngineOptions {
  readonly team: Team;
  readonly env: Bindings;
  readonly toolboxes: readonly Toolbox[];
  /** Provider kinds of the team's extensions. */
  readonly profiles?: readonly Profile[];
  readonly now?: () => number;
  /** Absent: the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

const textOf = (env: Bindings, name: string): string | null => {
  const value = env[name];
  return typeof value === "string" && value !== "" ? value : null;
};

const makerOf = ({
  team,
  env,
  fetch: given,
  now,
  profiles = [],
}: Required<Pick<EngineOptions, "now">> & EngineOptions): MakeCompleter => {
  const egress = createEgress({
    ...team.egress,
    privateAllow: (textOf(env, "LIMPET_PRIVATE_EGRESS") ?? "")
      .split(",")
      .map((each) => each.trim())
      .filter((each) => each !== ""),
    fetch: given ?? ((input, init) => fetch(input, init)),
  });
  const secret = (text: string, field: string): string => {
    const resolved = resolveReferences(text, (name) => textOf(env, name));
    if (resolved.ok) return resolved.value;
    throw new Error(missingReference(field, resolved.missing[0] ?? "", team.name));
  };
  return ({ provider, model }) => {
    const field = `providers[${team.providers.indexOf(provider)}]`;
    return createCompleter({
      config: provider,
      model,
      override: team.models[model],
      secret,
      egress,
      now,
      field,
      extensions: profiles,
    });
  };
};

/** A secret that a session of this agent needs and that is not set (CF-20). */
const agentProblem = (team: Team, env: Bindings, agent: AgentConfig): Problem | null => {
  const index = team.providers.findIndex(({ name }) => name === agent.provider);
  const provider = team.providers[index];
  if (provider === undefined) return null;
  const texts = { api_key: provider.api_key, base_url: provider.base_url, model: provider.model };
  for (const [key, text] of [...Object.entries(texts), ...Object.entries(provider.headers)]) {
    const missing = referencesIn(text ?? "").names.find((name) => textOf(env, name) === null);
    if (missing === undefined) continue;
    return {
      code: "config_incomplete",
      detail: missingReference(`providers[${index}].${key}`, missing, team.name),
    };
  }
  return null;
};

const rulesOf = (team: Team, env: Bindings): Rules => {
  const agentOf = (name: string): AgentConfig | undefined => team.agents.find((each) => each.name === name);
  return {
    onBusy: team.sessions.on_busy,
    interactive: team.sessions.interactive,
    entryAgent: team.entry_agent,
    agentNames: team.agents.map(({ name }) => name),
    revision: team.revision,
    modelProblem: (model, name) => {
      const agent = agentOf(name);
      return agent === undefined ? null : modelProblem(team, model, agent);
    },
    agentProblem: (name) => {
      const agent = agentOf(name);
      return agent === undefined ? null : agentProblem(team, env, agent);
    },
    schemaProblem,
  };
};

interface Fetcher {
  fetch(request: Request): Promise<Response>;
}
const isFetcher = (value: unknown): value is Fetcher =>
  typeof value === "object" && value !== null && "fetch" in value;

const noSandbox: Fetcher = {
  fetch: async () =>
    Response.json({ error: "this deployment has no SANDBOX binding", code: "unsupported" }, { status: 501 }),
};

const sandboxesOf = (team: Team, env: Bindings): ((session: Session) => Sandbox) => {
  const binding = env["SANDBOX"];
  const fetcher = isFetcher(binding) ? binding : noSandbox;
  return ({ tenant, id }) => createSandbox(fetcher, sandboxId(team.name, tenant, id));
};

/** Builds the engine of a team. Nothing here touches the network; completers load their SDK at the first call. */
export const createEngine = (options: EngineOptions): Engine => {
  const { team, env, toolboxes } = options;
  const now = options.now ?? (() => Date.now());
  const parts: AgentParts = { team, toolboxes, now, make: makerOf({ ...options, now }) };
  const family = (team.providers[0]?.kind ?? "") === "anthropic" ? "anthropic" : "openai-chat";
  const configOf = (name: string): AgentConfig | undefined => team.agents.find((each) => each.name === name);
  return {
    team,
    revision: team.revision,
    definition: JSON.stringify(definitionOf(team)),
    rules: rulesOf(team, env),
    maxRunningThreads: team.sessions.max_running_threads,
    agent: createAgents(parts),
    sandbox: sandboxesOf(team, env),
    estimate: (content, media) => estimateTokens(content, { family, media }),
    toolsOf: (name) => {
      const agent = configOf(name);
      if (agent === undefined) return [];
      return [...toolsOf(parts, agent, null).values()].map(({ tool, toolbox }) => ({
        name: tool.name,
        toolbox,
        description: tool.description,
        safety: safetyOf(tool),
      }));
    },
    windowOf: (name, model) => {
      const provider = team.providers.find((each) => each.name === name);
      return provider === undefined ? 0 : windowOf(team, { provider, model });
    },
  };
};

/** A tool's class; one that depends on the arguments shows what it is at worst. */
const safetyOf = (tool: Toolbox["tools"][number]): string => {
  try {
    return tool.safety({});
  } catch {
    return "unsafe";
  }
};
