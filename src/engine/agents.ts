import { missingAgent } from "../agent/definition/agent.ts";
import type { Agent, RunLimits } from "../agent/definition/agent.ts";
import type { CallerConstraints } from "../agent/state/child.ts";
import type { ClientTool, Session } from "../agent/state/session.ts";
import type { TeamAgent as AgentConfig, Team } from "../config/team.ts";
import { estimateRequest } from "../chat/tokens.ts";
import { workspacePath } from "../sandbox/paths.ts";
import { describeRule } from "../tools/permission.ts";
import {
  applyCallersModel,
  boundLentTools,
  delegationOf,
  narrowLimits,
  writablePathsOf,
} from "./tools/delegation.ts";
import {
  toolsBeyondDepth,
  declaredTools,
  effectiveTools,
  hasNoTools,
  toolNamesOf,
} from "./tools/effective-tools.ts";
import type { PlacedAgent } from "./tools/effective-tools.ts";
import { bindEffects, effectHistory } from "./effects.ts";
import { guardHistory, guardsOf } from "./guards.ts";
import { asksForTurns, runBoundsOf } from "./models/budgets.ts";
import { ceilingOf, rulesOver } from "./tools/ceiling.ts";
import type { Ceiling } from "./tools/ceiling.ts";
import { clientToolsOf } from "./tools/client-tools.ts";
import { findPathsClosedToSearch, createJudge } from "./tools/judge.ts";
import { findLacks } from "./tools/lacks.ts";
import type { Servers } from "./tools/servers.ts";
import type { Deployment } from "./tools/lacks.ts";
import { modelTargetsOf, modelTargetTo } from "./models/model-targets.ts";
import type { MakeCompleter } from "./models/model-targets.ts";
import { memoryOf } from "./models/memory.ts";
import { middlewareOf, timeoutsOf } from "./middleware.ts";
import type { OwnMiddleware } from "./middleware.ts";
import { outputProblems } from "./models/output-check.ts";
import { buildLightPrompt, buildPrompt } from "./prompt.ts";

/** Builds running agents from a compiled team, each once per isolate and kind of session. */

export interface AgentParts extends Deployment, OwnMiddleware {
  /** The deployed team, which limits this one; null if this is it. */
  readonly ceiling: Team | null;
  /** Maps toolboxes that this deployment cannot serve to the reason. */
  readonly unavailable: ReadonlyMap<string, string>;
  readonly make: MakeCompleter;
  readonly servers: Pick<Servers, "toolboxes">;
  readonly now: () => number;
}

const limitsOf = (team: Team, agent: AgentConfig): RunLimits => ({
  maxIterations: agent.options.max_iterations,
  askIterations: asksForTurns(team, agent),
  bounds: runBoundsOf(team, agent),
  ...timeoutsOf(agent),
});

const specsOf = (tools: Agent["tools"], client: readonly ClientTool[]): Agent["specs"] => [
  ...declaredTools(tools).map(({ tool: { name, description, schema } }) => ({ name, description, schema })),
  ...client.map(({ name, description, params }) => ({ name, description, schema: params })),
];

const asksOf = (
  team: Team,
  agent: AgentConfig,
  ceiling: Ceiling | null,
): Pick<Agent, "asks" | "approvalTimeout"> => {
  const rules = [
    ...rulesOver(team, agent),
    ...(ceiling === null ? [] : rulesOver(ceiling.team, ceiling.agent)),
  ];
  const { timeout, on_timeout } = team.limits.asks;
  return {
    asks: {
      timeoutMs: timeout,
      questionTimeoutMs: agent.options.question_timeout ?? timeout,
      onTimeout: on_timeout,
    },
    approvalTimeout: (by) => {
      const same = rules.filter((each) => by === describeRule(each));
      const approves = same.length > 0 && same.every((each) => each.on_timeout === "approve");
      return { timeoutMs: same[0]?.ask_timeout ?? timeout, onTimeout: approves ? "approve" : "deny" };
    },
  };
};

const promptsOf = (
  team: Team,
  { agent, callerConstraints }: PlacedAgent,
  specs: Agent["specs"],
  { callable }: Agent["delegation"],
  external: string,
): Agent["system"] => {
  const whole = buildPrompt(team, agent, {
    tools: new Set(specs.map(({ name }) => name)),
    callable,
    called: callerConstraints !== null,
    nameless: callerConstraints?.adHoc?.system ?? null,
    external,
  });
  const light = buildLightPrompt(team, agent);
  const tools = estimateRequest({ system: "", messages: [], tools: specs });
  return (facts) => {
    const { text, tokens } = facts.light ? light : whole;
    return { text, tokens: tokens + tools };
  };
};

const formatOf = (agent: AgentConfig): Agent["responseFormat"] => {
  const { response_format: type, response_schema: schema } = agent.options;
  if (type === undefined) return null;
  return { type, ...(schema === undefined ? {} : { schema }) };
};

const commandsOf = (
  { git, sandbox }: Team,
  { options }: AgentConfig,
): Pick<Agent, "commandTimeout" | "workingDir" | "repository"> => ({
  commandTimeout: {
    default: Math.min(options.command_timeout, sandbox.limits.wall) / 1_000,
    max: Math.min(options.max_command_timeout, sandbox.limits.wall) / 1_000,
  },
  workingDir: workspacePath(options.working_dir),
  repository: git.work_dir.startsWith("/") ? "." : git.work_dir,
});

/** Milliseconds of a command that checks the workspace; the sandbox's own limit applies, too. */
const verificationMs = 600_000;

const verificationOf = ({ sandbox }: Team, { options }: AgentConfig): Agent["verification"] => {
  const { verify_after_edit: afterEdit, verify_command: command } = options;
  const onBreach = options.verify_on_breach && command !== "";
  if (!afterEdit && !onBreach) return null;
  const { verify_broad_command: broad, max_verify_retries: retries } = options;
  return {
    afterEdit,
    onBreach,
    command,
    broad,
    retries,
    timeoutMs: Math.min(verificationMs, sandbox.limits.wall),
  };
};

type SessionVariant = Pick<
  Session,
  "model" | "modelScope" | "tools" | "clientTools" | "external" | "serverTools"
>;

/** Lists the MCP servers whose tools an agent names. */
const serversOf = (team: Team, agent: AgentConfig): Agent["servers"] =>
  hasNoTools(agent)
    ? []
    : team.mcp_servers
        .filter(({ name }) => agent.toolboxes.some((entry) => entry.name === name))
        .map(({ name, required }) => ({ name, required }));

/**
 * Returns the model of a session for an agent: it applies to `main`, and to other agents only if set for the whole
 * tree.
 */
const overrideOf = (
  { callerConstraints }: PlacedAgent,
  { model, modelScope }: SessionVariant,
): string | null => (callerConstraints === null || modelScope === "tree" ? model : null);

const targetsOf = (
  { team, make }: AgentParts,
  cast: PlacedAgent,
  variant: SessionVariant,
): Agent["targets"] => {
  const override = overrideOf(cast, variant);
  return modelTargetsOf(team, applyCallersModel(team, cast, override), override, make);
};

const buildAgent = (given: AgentParts, cast: PlacedAgent, variant: SessionVariant): Agent => {
  const { team, servers } = given;
  const parts = { ...given, toolboxes: [...given.toolboxes, ...servers.toolboxes(variant.serverTools)] };
  const { agent, callerConstraints } = cast;
  const tools = boundLentTools(team, cast, effectiveTools(parts, cast, variant.tools));
  const client = clientToolsOf(team, cast, tools, variant);
  const specs = specsOf(tools, client.tools);
  const known = new Set([...toolNamesOf(parts.toolboxes), ...variant.clientTools.map(({ name }) => name)]);
  const delegation = delegationOf(team, cast, tools);
  const format = formatOf(agent);
  const guarding = guardsOf(parts.guards, agent, tools);
  const target = (name: string) => modelTargetTo(team, agent, name, parts.make);
  const effects = bindEffects({ custom: parts.effects, target }, agent);
  const deeper = toolsBeyondDepth(parts, cast, variant.tools);
  const ceiling = ceilingOf(parts, cast, variant);
  const judged = { ...parts, agent, tools, client, known, beyondDepth: deeper, ceiling };
  return {
    name: agent.name,
    missing: null,
    prefix: agent.prefix,
    targets: targetsOf(parts, cast, variant),
    tools,
    specs,
    servers: serversOf(team, agent),
    toolsDisabled: hasNoTools(agent),
    system: promptsOf(team, cast, specs, delegation, variant.external?.text ?? ""),
    limits: narrowLimits(limitsOf(team, agent), callerConstraints),
    memory: memoryOf(agent),
    verification: verificationOf(team, agent),
    ...middlewareOf(agent, parts),
    delegation,
    maxConcurrency: agent.max_concurrency,
    effects,
    ...guarding,
    historySize: Math.max(guardHistory(guarding.guards), effectHistory(effects)),
    ...asksOf(team, agent, ceiling),
    warnIterations: agent.options.warn_iterations,
    noProgressTurns: agent.options.no_progress_turns,
    checkpoints: agent.options.checkpoints,
    reflectOnError: agent.options.reflect_on_error,
    ...commandsOf(team, agent),
    planBeforeExecute: agent.options.plan_before_execute,
    localize: agent.options.localize ? () => findPathsClosedToSearch(judged) : null,
    outputLimits: agent.options.tool_output_limits,
    cacheResults: agent.options.cache_tool_results,
    onInterrupt: agent.options.on_interrupt,
    writablePaths: writablePathsOf(cast),
    responseFormat: format,
    warningThreshold: agent.options.context_window_warning_threshold,
    checkOutput: (text, schema) =>
      outputProblems(
        text,
        schema === null ? (format?.type ?? null) : "json_schema",
        schema ?? format?.schema ?? null,
      ),
    judge: createJudge(judged),
  };
};

/**
 * Stands in for an agent whose run waits, with its limits and guardrails, with the prices of its models as far as they
 * are known, and with what becomes of its asks, calls and children.
 */
export const createWaitingAgent = (
  team: Team,
  own: OwnMiddleware,
  { agent, callerConstraints }: PlacedAgent,
  missing: string,
  targets: Agent["targets"] = [],
): Agent => {
  const standIn = missingAgent(agent.name, missing);
  return {
    ...standIn,
    prefix: agent.prefix,
    targets,
    limits: narrowLimits(limitsOf(team, agent), callerConstraints),
    guardrails: middlewareOf(agent, own).guardrails,
    ...asksOf(team, agent, null),
    delegation: delegationOf(team, { agent, callerConstraints: null }, new Map()),
    outputLimits: agent.options.tool_output_limits,
    onInterrupt: agent.options.on_interrupt,
  };
};

/** Returns the agent, or its stand-in if the definition or the deployment lacks something that it needs. */
const agentOf = (
  parts: AgentParts,
  name: string,
  callerConstraints: CallerConstraints | null,
  variant: SessionVariant,
): Agent => {
  const { agents } = parts.team;
  const agent = agents.find((each) => each.name === name);
  const missing = [name, ...(callerConstraints?.chain ?? [])].find(
    (each) => !agents.some((one) => one.name === each),
  );
  if (agent === undefined || missing !== undefined) return missingAgent(name, `agent ${missing ?? name}`);
  const cast = { agent, callerConstraints };
  const lacks = findLacks(parts, agent);
  return lacks.length === 0
    ? buildAgent(parts, cast, variant)
    : createWaitingAgent(parts.team, parts, cast, lacks.join(", "), targetsOf(parts, cast, variant));
};

/** What an agent was built for, besides its name: objects of a session, which are replaced when they change. */
interface BuiltAgent {
  readonly external: SessionVariant["external"];
  readonly servers: SessionVariant["serverTools"];
  readonly key: string;
  readonly agent: Agent;
}

const isBuiltFor = (
  built: BuiltAgent | undefined,
  { external, serverTools }: SessionVariant,
): built is BuiltAgent => built !== undefined && built.external === external && built.servers === serverTools;

/** Number of built agents that one isolate keeps, because sessions that name their own models must not fill it. */
const maxBuiltAgents = 256;

/** Finds or builds agents: plain sessions share one, and a session with its own tools or ceiling has its own. */
export const createAgents = (
  parts: AgentParts,
): ((name: string, session: SessionVariant, callerConstraints?: CallerConstraints | null) => Agent) => {
  const shared = new Map<string, BuiltAgent>();
  const special = new WeakMap<object, Map<string, BuiltAgent>>();
  const called = new WeakMap<CallerConstraints, BuiltAgent>();
  const shelf = ({ tools, clientTools, external, serverTools }: SessionVariant): Map<string, BuiltAgent> => {
    const lists = serverTools ?? external;
    if (tools === null && clientTools.length === 0 && lists === null) return shared;
    // What only one session has can identify the session here, because its own tools never change.
    const owner = lists ?? (clientTools.length > 0 ? clientTools : (tools ?? clientTools));
    const known = special.get(owner) ?? new Map<string, BuiltAgent>();
    special.set(owner, known);
    return known;
  };
  const found = (
    key: string,
    name: string,
    callerConstraints: CallerConstraints | null,
    session: SessionVariant,
  ): Agent => {
    const agents = shelf(session);
    const known = agents.get(key);
    if (isBuiltFor(known, session)) return known.agent;
    const agent = agentOf(parts, name, callerConstraints, session);
    if (agents.size >= maxBuiltAgents) agents.clear();
    agents.set(key, { key, agent, external: session.external, servers: session.serverTools });
    return agent;
  };
  return (name, session, callerConstraints = null) => {
    const { external, serverTools, model, modelScope } = session;
    const key = model === null ? name : `${name} ${model} ${modelScope}`;
    if (callerConstraints === null) return found(key, name, null, session);
    // A thread keeps the same object of its caller's constraints, so most look-ups need no text of them.
    const known = called.get(callerConstraints);
    if (isBuiltFor(known, session) && known.key === key) return known.agent;
    const agent = found(`${key} ${JSON.stringify(callerConstraints)}`, name, callerConstraints, session);
    called.set(callerConstraints, { key, external, servers: serverTools, agent });
    return agent;
  };
};
