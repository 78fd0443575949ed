import type { Agent, BoundTool, RunLimits } from "../../agent/definition/agent.ts";
import type { AgentCard, Delegation } from "../../agent/definition/delegation.ts";
import type { CallerConstraints } from "../../agent/state/child.ts";
import type { TeamAgent as AgentConfig, Team } from "../../config/team.ts";
import { workspacePath } from "../../sandbox/paths.ts";
import { narrowOptionalPaths, writableFrom } from "../../sandbox/writable.ts";
import { providerOf, resolveModel } from "../models/models.ts";
import { findCallable, mayDelegate } from "./callable.ts";
import type { PlacedAgent } from "./effective-tools.ts";

/** Derives the properties of a called agent: its model, its bounds, and the agents that it may call. */

const cardOf = (agent: AgentConfig): AgentCard => ({
  name: agent.name,
  description: agent.description,
  capabilities: agent.capabilities,
  skills_tags: agent.skills_tags,
  estimated_cost: agent.estimated_cost ?? null,
  async: agent.async,
});

/** Returns the agents that a placed agent may call, and the terms. */
export const delegationOf = (
  team: Team,
  cast: PlacedAgent,
  tools: ReadonlyMap<string, unknown>,
): Delegation => {
  const { delegation, options } = cast.agent;
  return {
    allowed: mayDelegate(team, cast),
    callable: findCallable(team, cast.agent).map(cardOf),
    names: team.agents.map(({ name }) => name),
    async: delegation.async,
    providers: delegation.providers,
    interactive: options.interaction_mode !== "blocking",
    workingDir: workspacePath(options.working_dir),
    manages: tools.has("answer_child"),
    maxChildrenPerCall: delegation.max_children_per_call,
    maxThreads: team.limits.threads.per_run,
    maxConcurrent: delegation.max_concurrent,
    maxContextLength: delegation.max_context_length,
    maxResultLength: delegation.max_result_length,
    maxHandoffs: options.max_handoffs,
    progressUpdates: delegation.progress_updates,
    announce: delegation.announce,
  };
};

/** Sets the provider of an agent's task, or else its caller's model if it has none of its own. */
export const applyCallersModel = (
  team: Team,
  { agent, callerConstraints }: PlacedAgent,
  override: string | null,
): AgentConfig => {
  if (callerConstraints === null) return agent;
  const chosen =
    callerConstraints.provider === null ? undefined : providerOf(team, callerConstraints.provider);
  if (chosen !== undefined) return { ...agent, provider: chosen.name, model: chosen.model };
  // A nameless agent has its caller's model, which that caller may have from its own caller.
  const callers = callerConstraints.chain.slice(callerConstraints.adHoc === null ? -1 : -2).toReversed();
  const model = callers
    .map((each) => team.agents.find(({ name }) => name === each)?.delegation.model)
    .find((each) => each !== undefined);
  if (override !== null || model === undefined || agent.model !== undefined) return agent;
  const target = resolveModel(team, model, agent);
  return target === null
    ? { ...agent, model }
    : { ...agent, provider: target.provider.name, model: target.model };
};

/** Returns the globs that bound the writes of an agent as its config says, relative to the workspace's root. */
const configuredPathsOf = ({ options }: AgentConfig): Agent["writablePaths"] =>
  options.writable_paths === undefined
    ? null
    : writableFrom(workspacePath(options.working_dir), options.writable_paths);

/** Returns the globs that bound an agent's writes: its own, narrowed by its caller's. */
export const writablePathsOf = ({ agent, callerConstraints }: PlacedAgent): Agent["writablePaths"] =>
  narrowOptionalPaths(configuredPathsOf(agent), callerConstraints?.writablePaths ?? null);

/** Returns the tools of an agent; lent tools write only where their lenders may, too. */
export const boundLentTools = (team: Team, cast: PlacedAgent, tools: Agent["tools"]): Agent["tools"] => {
  const own = writablePathsOf(cast);
  const boundBy = ({ lenders = [] }: BoundTool): Pick<BoundTool, "writablePaths"> => {
    if (lenders.length === 0) return {};
    const writablePaths = team.agents
      .filter(({ name }) => lenders.includes(name))
      .map(configuredPathsOf)
      .reduce(narrowOptionalPaths, own);
    return writablePaths === null ? {} : { writablePaths };
  };
  return new Map([...tools].map(([name, bound]) => [name, { ...bound, ...boundBy(bound) }]));
};

/** Limits a nameless agent to the turns that its caller gave it. */
export const narrowLimits = (limits: RunLimits, callerConstraints: CallerConstraints | null): RunLimits => {
  const turns = callerConstraints?.adHoc?.maxTurns ?? 0;
  const { maxIterations: own } = limits;
  return turns === 0 ? limits : { ...limits, maxIterations: own === 0 ? turns : Math.min(own, turns) };
};
