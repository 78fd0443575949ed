import { freshSession } from "../agent/state/session.ts";
import type { Effect } from "../agent/definition/effect.ts";
import type { Guard, Middleware } from "../agent/definition/guard.ts";
import { estimateTokens } from "../chat/tokens.ts";
import type { TokenFamily } from "../chat/tokens.ts";
import type { TeamAgent as AgentConfig, Team } from "../config/team.ts";
import { definitionOf } from "../config/revision.ts";
import { guards as builtInGuards } from "../guards/index.ts";
import type { Completer } from "../model/completer.ts";
import { createCompleter, profiles as builtInProfiles } from "../providers/index.ts";
import type { SecretReader } from "../providers/secrets.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { Profile } from "../providers/profile.ts";
import type { McpClient } from "../toolboxes/mcp/port.ts";
import type { Toolbox } from "../tools/define-tool.ts";
import type { Egress } from "../tools/egress/egress.ts";
import { createLogLine } from "../tools/log-line.ts";
import type { Redactor } from "../tools/redaction.ts";
import { createAgents } from "./agents.ts";
import { briefingOf } from "./briefing.ts";
import { browserCloserOf, browserReachOf, unavailableWithoutBrowser } from "./browsers.ts";
import { callEdgesOf, declaredTools, effectiveTools, toolNamesOf } from "./tools/effective-tools.ts";
import type { ToolParts } from "./tools/effective-tools.ts";
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
import { sandboxesOf, unavailableIn, workspacesOf } from "./sandboxes.ts";
import { createServers, unseenServerTool, unseenServerTools } from "./tools/servers.ts";
import type { Servers } from "./tools/servers.ts";
import { bindingTextOf, resolveModelIds, createSecretCompleter } from "./secrets/secrets.ts";
import type { Bindings } from "./secrets/secrets.ts";

/** The only composition root: builds an engine from a compiled team and the Worker's bindings. */

export interface EngineOptions {
  readonly team: Team;
  /** Deployed team, which limits the agents of any other team to what it permits. */
  readonly ceiling?: Team;
  readonly env: Bindings;
  readonly toolboxes: readonly Toolbox[];
  /** Provider kinds of the team's extensions. */
  readonly profiles?: readonly Profile[];
  /** Wire formats of the team's extensions. */
  readonly protocols?: readonly Protocol[];
  /** Guards of the team's extensions. */
  readonly guards?: readonly Guard[];
  /** Effects of the team's extensions. */
  readonly effects?: readonly Effect[];
  /** Middleware of the team's extensions. */
  readonly middleware?: readonly Middleware[];
  /** Named checks of the team's extensions. */
  readonly checks?: readonly OutputCheck[];
  /** Client of the team's MCP servers; absent or null if it has none. */
  readonly mcp?: McpClient | null;
  readonly now?: () => number;
  /** Hosts of this deployment; defaults to those of the team file. */
  readonly ownHosts?: Pick<OwnHosts, "has">;
  /** Defaults to the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Returns the function that creates completers for `team`, whose model ids are resolved. */
const completerMakerOf = (
  { env, profiles = [], protocols = [] }: EngineOptions,
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
        bindings: env,
        now,
        field: `providers[${team.providers.indexOf(provider)}]`,
        extensions: profiles,
        ownProtocols: protocols,
      });
    const { learn } = redactor;
    return createSecretCompleter(env, target, (secret) => redactCompleter(create(secret), redactor), learn);
  };
};

/** Returns the token family of the team's first provider, by which images are counted. */
const familyOf = ({ providers }: Team): TokenFamily => {
  const kind = providers[0]?.kind ?? "";
  return kind === "anthropic" || kind === "gemini" ? kind : "openai-chat";
};

/** Adds the secrets that its agents' tools declare to a team's required secrets. */
const withToolSecrets = (team: Team, toolboxes: readonly Toolbox[]): Team => {
  const used = new Set(team.agents.flatMap((agent) => agent.toolboxes.map(({ name }) => name)));
  const secrets = [...new Set([...team.secrets, ...declaredSecrets(toolboxes, used)])].toSorted();
  return { ...team, secrets };
};

/** Lists the toolboxes of agents that need a missing binding. */
const findUnserved = ({ agents }: Team, unavailable: ReadonlyMap<string, string>): Engine["unserved"] =>
  agents.flatMap(({ name, toolboxes }) =>
    toolboxes.flatMap(({ name: toolbox }) => {
      const reason = unavailable.get(toolbox);
      return reason === undefined ? [] : [{ agent: name, toolbox, reason }];
    }),
  );

/** Returns the definitions that agents are bound to, including the team's own. */
const definitionsOf = ({ guards = [], effects = [], middleware = [], checks = [] }: EngineOptions) => ({
  guards: [...builtInGuards, ...guards],
  effects,
  middleware,
  checks,
});

/** Returns what the API shows of agents before any session. */
const listingsOf = (
  parts: ToolParts & { readonly servers: Servers },
  toolsIn: (agent: AgentConfig) => ReturnType<typeof effectiveTools>,
  agentOf: ReturnType<typeof createAgents>,
): Pick<Engine, "toolsOf" | "judgeCall" | "callsOf" | "windowOf"> => {
  const { team } = parts;
  const configOf = (name: string): AgentConfig | undefined => team.agents.find((each) => each.name === name);
  return {
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
    judgeCall: (name, { tool, input }, grants) => {
      if (configOf(name) === undefined) return null;
      const call = { name: tool, args: JSON.stringify(input) };
      const serverTools = unseenServerTool(team, tool);
      return agentOf(name, { ...freshSession, serverTools }).judge(call, grants, {
        depth: 0,
        untrusted: false,
        page: null,
      });
    },
    callsOf: (name) => {
      const agent = configOf(name);
      if (agent === undefined) return [];
      const unseen = parts.servers.toolboxes(unseenServerTools(team));
      return callEdgesOf({ team, toolboxes: [...parts.toolboxes, ...unseen] }, agent);
    },
    windowOf: (name, model, agent = "") => {
      const provider = providerOf(team, name);
      return provider === undefined ? 0 : modelWindowOf(team, { provider, model }, configOf(agent));
    },
  };
};

/** Builds the engine of a team, without any network access. */
export const createEngine = (options: EngineOptions): Engine => {
  const { env, profiles = [] } = options;
  const now = options.now ?? (() => Date.now());
  const team = resolveModelIds(options.team, env);
  const kinds = ["scripted", ...[...builtInProfiles, ...profiles].map(({ kind }) => kind)];
  const unavailable = new Map([...unavailableIn(env), ...unavailableWithoutBrowser(env)]);
  const browser = browserReachOf(team, env);
  const redactor = redactorOf(options.team, env);
  const egress = egressOf(options);
  const make = completerMakerOf(options, team, now, redactor, egress);
  const toolboxes = withReach(options.toolboxes, { env, team, egress, redactor, browser });
  const { ceiling = null, mcp: client = null } = options;
  const servers = createServers({ team, env, egress, redactor, client });
  const parts = {
    team,
    ceiling,
    toolboxes,
    servers,
    ...definitionsOf(options),
    kinds,
    unavailable,
    now,
    make,
  };
  const agentOf = createAgents(parts);
  const toolsIn = (agent: AgentConfig) => effectiveTools(parts, { agent, callerConstraints: null }, null);
  return {
    team: withToolSecrets(team, toolboxes),
    revision: team.revision,
    definition: JSON.stringify(definitionOf(options.team)),
    rules: rulesOf({ team, env, tools: toolsIn, toolNames: toolNamesOf(toolboxes) }),
    redactor,
    unserved: findUnserved(team, unavailable),
    logLine: createLogLine(redactor, team.redaction.names),
    isDevelopment: bindingTextOf(env, "LIMPET_DEV") === "1",
    budgets: teamBudgetsOf(team),
    agent: agentOf,
    storeRules: {
      onDependencyFailure: team.tasks.on_dependency_failure,
      sharedNotes: team.notes.scope !== "session",
    },
    briefing: briefingOf(team),
    servers,
    embedder: createEmbedders({ team, env, egress, redactor, profiles }),
    notesOwner: (agent) =>
      team.notes.scope === "session" ? null : { agent: team.notes.scope === "agent" ? agent : null },
    sandbox: sandboxesOf(team, env),
    workspace: workspacesOf(team, env),
    closeBrowser: browserCloserOf(browser),
    estimate: (content, media) => estimateTokens(content, { family: familyOf(team), media }),
    ...listingsOf(parts, toolsIn, agentOf),
  };
};

/** Returns a tool's safety class; if it depends on the arguments, the worst case. */
const safetyOf = (tool: Toolbox["tools"][number]): string => {
  try {
    return tool.safety({});
  } catch {
    return "unsafe";
  }
};
