import type { Effect } from "../agent/definition/effect.ts";
import type { Guard } from "../agent/definition/guard.ts";
import { estimateTokens } from "../chat/tokens.ts";
import type { TokenFamily } from "../chat/tokens.ts";
import type { TeamAgent as AgentConfig, Team } from "../config/team.ts";
import { definitionOf } from "../config/revision.ts";
import { guards as builtInGuards } from "../guards/index.ts";
import type { Completer } from "../model/completer.ts";
import { createCompleter, profiles as builtInProfiles } from "../providers/index.ts";
import type { SecretReader } from "../providers/secrets.ts";
import type { Profile } from "../providers/profile.ts";
import { createSandbox } from "../sandbox/client.ts";
import { sandboxId } from "../sandbox/id.ts";
import type { SkillFiles } from "../sandbox/contract.ts";
import type { Toolbox } from "../tools/define-tool.ts";
import type { Egress } from "../tools/egress/egress.ts";
import { createLogLine } from "../tools/log-line.ts";
import type { Redactor } from "../tools/redaction.ts";
import { createAgents } from "./agents.ts";
import { briefingOf } from "./briefing.ts";
import { callEdgesOf, declaredTools, effectiveTools, toolNamesOf } from "./tools/effective-tools.ts";
import { egressOf } from "./secrets/egress.ts";
import { teamBudgetsOf } from "./models/budgets.ts";
import type { Engine } from "./engine.ts";
import { redactorOf } from "./secrets/known-secrets.ts";
import type { MakeCompleter } from "./models/model-targets.ts";
import type { OutputCheck } from "./middleware.ts";
import { createEmbedders } from "./models/memory.ts";
import { teamOverrideOf, providerOf, modelWindowOf } from "./models/models.ts";
import type { OwnHosts } from "./secrets/own-hosts.ts";
import { declaredSecrets, withReach } from "./tools/reach.ts";
import { redactCompleter } from "./secrets/redact-completer.ts";
import { rulesOf } from "./rules.ts";
import { skillFilesOf } from "./skills.ts";
import { resolveModelIds, createSecretCompleter } from "./secrets/secrets.ts";
import type { Bindings } from "./secrets/secrets.ts";

/** This file is the only composition root: it builds an engine from a compiled team and the Worker's bindings. */

export interface EngineOptions {
  readonly team: Team;
  /** Limits a team that is not the deployed one: its agents may do nothing that the deployed team forbids. */
  readonly ceiling?: Team;
  readonly env: Bindings;
  readonly toolboxes: readonly Toolbox[];
  /** Lists the provider kinds of the team's extensions. */
  readonly profiles?: readonly Profile[];
  /** Lists the guards of the team's extensions. */
  readonly guards?: readonly Guard[];
  /** Lists the effects of the team's extensions. */
  readonly effects?: readonly Effect[];
  /** Lists the named checks of the team's extensions. */
  readonly checks?: readonly OutputCheck[];
  readonly now?: () => number;
  /** Defaults to the hosts of the team file. */
  readonly ownHosts?: Pick<OwnHosts, "has">;
  /** Defaults to the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Makes completers for `team`, whose model ids are resolved. */
const completerMakerOf = (
  { env, profiles = [] }: EngineOptions,
  team: Team,
  now: () => number,
  redactor: Redactor,
  egress: Egress,
): MakeCompleter => {
  return (target) => {
    const { provider, model } = target;
    const create = (secret: SecretReader): Completer =>
      createCompleter({
        config: provider,
        model,
        override: teamOverrideOf(team, model),
        secret,
        egress,
        now,
        field: `providers[${team.providers.indexOf(provider)}]`,
        extensions: profiles,
      });
    const { learn } = redactor;
    return createSecretCompleter(
      team,
      env,
      target,
      (secret) => redactCompleter(create(secret), redactor),
      learn,
    );
  };
};

interface SandboxFetcher {
  fetch(request: Request): Promise<Response>;
}
const isFetcher = (value: unknown): value is SandboxFetcher =>
  typeof value === "object" && value !== null && "fetch" in value;

const missingSandbox = "this deployment has no SANDBOX binding";

/** Fails every use of the sandbox by a custom tool; the built-in sandbox tools are not run at all. */
const noSandbox: SandboxFetcher = {
  fetch: async () => Response.json({ error: missingSandbox, code: "unsupported" }, { status: 501 }),
};

/** Lists toolboxes that are declared but answer `unavailable`, with the reason. */
const unavailableIn = (env: Bindings): ReadonlyMap<string, string> =>
  new Map(
    isFetcher(env["SANDBOX"]) ? [] : ["filesystem", "search", "exec"].map((box) => [box, missingSandbox]),
  );

const sandboxesOf = (team: Team, env: Bindings): Engine["sandbox"] => {
  const binding = env["SANDBOX"];
  const fetcher = isFetcher(binding) ? binding : noSandbox;
  const { limits, env: variables } = team.sandbox;
  const settings = { limits, env: variables };
  let known: SkillFiles | null | undefined;
  const skills = (): SkillFiles | null => (known === undefined ? (known = skillFilesOf(team)) : known);
  return (session) => createSandbox(fetcher, sandboxId(team.name, session, session.id), { settings, skills });
};

/** Images are counted by the family of the team's first provider. */
const familyOf = ({ providers }: Team): TokenFamily => {
  const kind = providers[0]?.kind ?? "";
  return kind === "anthropic" || kind === "gemini" ? kind : "openai-chat";
};

/** Adds to a team's required secrets those that its agents' tools declare. */
const withToolSecrets = (team: Team, toolboxes: readonly Toolbox[]): Team => {
  const used = new Set(team.agents.flatMap((agent) => agent.toolboxes.map(({ name }) => name)));
  const secrets = [...new Set([...team.secrets, ...declaredSecrets(toolboxes, used)])].toSorted();
  return { ...team, secrets };
};

/** Builds the engine of a team. Nothing here uses the network; completers load their SDK at the first call. */
export const createEngine = (options: EngineOptions): Engine => {
  const { env, profiles = [], effects = [], checks = [] } = options;
  const guards = [...builtInGuards, ...(options.guards ?? [])];
  const now = options.now ?? (() => Date.now());
  const team = resolveModelIds(options.team, env);
  const kinds = ["scripted", ...[...builtInProfiles, ...profiles].map(({ kind }) => kind)];
  const unavailable = unavailableIn(env);
  const redactor = redactorOf(options.team, env);
  const egress = egressOf(options);
  const make = completerMakerOf(options, team, now, redactor, egress);
  const toolboxes = withReach(options.toolboxes, { env, team: team.name, egress, redactor });
  const { ceiling = null } = options;
  const parts = { team, ceiling, toolboxes, guards, effects, checks, kinds, unavailable, now, make };
  const configOf = (name: string): AgentConfig | undefined => team.agents.find((each) => each.name === name);
  const toolsIn = (agent: AgentConfig) => effectiveTools(parts, { agent, standing: null }, null);
  return {
    team: withToolSecrets(team, toolboxes),
    revision: team.revision,
    definition: JSON.stringify(definitionOf(options.team)),
    rules: rulesOf({ team, env, tools: toolsIn, toolNames: toolNamesOf(toolboxes) }),
    redactor,
    logLine: createLogLine(redactor, team.redaction.names),
    budgets: teamBudgetsOf(team),
    agent: createAgents(parts),
    storeRules: {
      onDependencyFailure: team.tasks.on_dependency_failure,
      sharedNotes: team.notes.scope !== "session",
    },
    briefing: briefingOf(team),
    embedder: createEmbedders({ team, env, egress, redactor, profiles }),
    notesOwner: (agent) =>
      team.notes.scope === "session" ? null : { agent: team.notes.scope === "agent" ? agent : null },
    sandbox: sandboxesOf(team, env),
    estimate: (content, media) => estimateTokens(content, { family: familyOf(team), media }),
    toolsOf: (name) => {
      const agent = configOf(name);
      if (agent === undefined) return [];
      return declaredTools(toolsIn(agent)).map(({ tool, toolbox }) => ({
        name: tool.name,
        toolbox,
        description: tool.description,
        safety: safetyOf(tool),
      }));
    },
    callsOf: (name) => {
      const agent = configOf(name);
      return agent === undefined ? [] : callEdgesOf(parts, agent);
    },
    windowOf: (name, model, agent = "") => {
      const provider = providerOf(team, name);
      return provider === undefined ? 0 : modelWindowOf(team, { provider, model }, configOf(agent));
    },
  };
};

/** Returns a tool's class; if that depends on the arguments, it is the worst case. */
const safetyOf = (tool: Toolbox["tools"][number]): string => {
  try {
    return tool.safety({});
  } catch {
    return "unsafe";
  }
};
