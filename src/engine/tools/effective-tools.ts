import type { BoundTool } from "../../agent/definition/agent.ts";
import type { CallerConstraints } from "../../agent/state/child.ts";
import { builtInToolboxes, coreTools } from "../../config/known.ts";
import type { TeamAgent as AgentConfig, Team } from "../../config/team.ts";
import { matchesGlob } from "../../sandbox/glob.ts";
import type { Problem } from "../../session/problems.ts";
import { fieldProblem } from "../../session/problems.ts";
import { createAgentsToolbox, judgeByAgents } from "../../toolboxes/agents/index.ts";
import { handoff } from "../../toolboxes/core/handoff.ts";
import { requestInput } from "../../toolboxes/core/request-input.ts";
import { taskComplete } from "../../toolboxes/core/task-complete.ts";
import { createCoreToolbox } from "../../toolboxes/index.ts";
import type { Toolbox } from "../../tools/define-tool.ts";
import { findNearestName } from "../../tools/suggest.ts";
import type { ToolboxEntry } from "../../tools/toolbox.ts";
import { selectTools } from "../../tools/toolbox.ts";
import { findCallable, mayDelegate, taskNameOf } from "./callable.ts";
import { withServerNames } from "./servers.ts";

/** Decides alone which tools a thread's agent may use, both those declared and those that dispatch accepts. */

export interface ToolParts {
  readonly team: Team;
  readonly toolboxes: readonly Toolbox[];
}

/** Agent with its caller's constraints, which are null in `main`. */
export interface PlacedAgent {
  readonly agent: AgentConfig;
  readonly callerConstraints: CallerConstraints | null;
}

type BoundTools = ReadonlyMap<string, BoundTool>;

/** Returns tools under their own names, as a model and the API see them. */
export const declaredTools = (tools: BoundTools): readonly BoundTool[] =>
  [...tools.values()].filter(({ tool }) => tool.aliasOf === undefined && tool.withheld === undefined);

/** Returns whether a session's ceiling leaves a tool. */
export const isWithinCeiling = (name: string, ceiling: readonly string[] | null): boolean =>
  ceiling === null || ceiling.some((pattern) => matchesGlob(pattern, name, { segments: false }));

/** Lists the names of the tools that an agent may have in a deployment, apart from its callers' own. */
export const toolNamesOf = (toolboxes: readonly Toolbox[]): readonly string[] => [
  ...toolboxes.flatMap((box) => box.tools.map(({ name }) => name)),
  ...coreTools,
  ...(builtInToolboxes["agents"] ?? []),
];

/**
 * Returns why a ceiling is refused: one entry leaves no tool of this deployment or the caller; null if all are
 * good.
 */
export const ceilingProblem = (ceiling: readonly string[], known: readonly string[]): Problem | null => {
  const index = ceiling.findIndex(
    (entry) => !entry.includes("__") && !known.some((name) => isWithinCeiling(name, [entry])),
  );
  const entry = ceiling[index];
  if (entry === undefined) return null;
  const near = findNearestName(entry, known);
  const way = near === null ? "name tools that some agent here has" : `did you mean "${near}"?`;
  const message = `there is no tool "${entry}" here; ${way}`;
  return fieldProblem("invalid_request", `/tools/${index}`, message, { rule: "unknown_tool" });
};

const isNameless = (callerConstraints: CallerConstraints | null): boolean =>
  callerConstraints !== null && callerConstraints.adHoc !== null;

/** Returns whether `tool_access` denies an agent all tools. */
export const hasNoTools = ({ options }: AgentConfig): boolean => options.tool_access.trim() !== "";

/** Adds the alias to a whitelist: `delegate` and `spawn_agents` are one tool, so naming one permits both. */
const withAlias = ({ name, tools }: ToolboxEntry): ToolboxEntry => {
  if (name !== "agents" || tools === undefined) return tools === undefined ? { name } : { name, tools };
  const both = ["spawn_agents", "delegate"];
  return { name, tools: tools.some((tool) => both.includes(tool)) ? [...tools, ...both] : tools };
};

const selectOwnTools = (
  team: Team,
  agent: AgentConfig,
  available: readonly Toolbox[],
  implicit: readonly string[],
): BoundTools => {
  const entries = agent.toolboxes.filter(({ name }) => available.some((box) => box.name === name));
  const { tools } = selectTools(
    entries.map((entry) => withAlias(withServerNames(team, entry))),
    available,
    implicit,
  );
  return new Map(tools.map((bound) => [bound.tool.name, bound]));
};

/** Returns the tools of an agent after whitelists, regardless of its place in the call tree. */
const ownTools = ({ team, toolboxes }: ToolParts, agent: AgentConfig): BoundTools => {
  const skills = team.skills.filter(
    ({ name, description }) => description !== null && agent.skills.includes(name),
  );
  const inWorkspace = agent.toolboxes.some(({ name }) => name === "exec");
  const core = createCoreToolbox({ skills, inWorkspace, remembers: agent.memory !== undefined });
  return selectOwnTools(team, agent, [...toolboxes, core], ["ask", "core"]);
};

/** Tools that work on an agent's own data, so that a lent one would have nothing to work on. */
const personalTools: ReadonlySet<string> = new Set(["load_skill", "memory_search", "memory_append"]);

const inheritTools = (own: BoundTools, lent: BoundTools, caller: AgentConfig): BoundTools => {
  if (caller.delegation.inherit === "own") return own;
  if (caller.delegation.inherit === "intersect") return new Map([...own].filter(([name]) => lent.has(name)));
  const more = [...lent]
    .filter(([name]) => !own.has(name) && !personalTools.has(name))
    .map(([name, bound]) => [name, { ...bound, lenders: [caller.name, ...(bound.lenders ?? [])] }] as const);
  return new Map([...own, ...more]);
};

/** Agent of a chain of calls, without the tools that were hidden from its turn when it called the next. */
interface ChainLink {
  readonly agent: AgentConfig;
  readonly hidden: readonly string[];
}

/** Returns the tools of the last agent of a chain of calls, apart from orchestration. */
const chainTools = (
  parts: ToolParts,
  chain: readonly ChainLink[],
  ceiling: readonly string[] | null,
): BoundTools => {
  const last = chain.at(-1);
  if (last === undefined || hasNoTools(last.agent)) return new Map();
  const own = ownTools(parts, last.agent);
  const above = chain.slice(0, -1);
  const caller = above.at(-1)?.agent;
  const all = caller === undefined ? own : inheritTools(own, chainTools(parts, above, ceiling), caller);
  const isLeft = (name: string, { tool }: BoundTool): boolean =>
    isWithinCeiling(name, ceiling) && !last.hidden.includes(tool.aliasOf ?? name);
  return new Map([...all].filter(([name, bound]) => isLeft(name, bound)));
};

/**
 * Returns the tools to call agents, end or hand over a task and ask the caller: they follow depth and config, never
 * inheritance.
 */
const orchestrationTools = (
  { team }: ToolParts,
  cast: PlacedAgent,
  ceiling: readonly string[] | null,
  mayCall = mayDelegate(team, cast),
): BoundTools => {
  const { agent, callerConstraints } = cast;
  if (hasNoTools(agent)) return new Map();
  const nameless = isNameless(callerConstraints);
  const callable = findCallable(team, agent);
  const resolve = taskNameOf(callable);
  const agents = createAgentsToolbox({
    calls: callable.length > 0,
    adHoc: agent.delegation.ad_hoc,
    manages: managesChildren(agent, callable),
    nameOf: resolve,
  });
  const handsOver = !nameless && agent.options.max_handoffs > 0 && callable.length > 0;
  const core: Toolbox = {
    name: "core",
    description: "Tools of a called agent.",
    tools: [
      taskComplete,
      ...(handsOver ? [judgeByAgents(handoff, resolve)] : []),
      ...(callerConstraints?.interactive === true ? [requestInput] : []),
    ],
  };
  const delegates = !nameless && mayCall;
  const available = [...(callerConstraints === null ? [] : [core]), ...(delegates ? [agents] : [])];
  const names = available.map(({ name }) => name);
  const found = selectOwnTools(team, agent, available, names);
  return new Map([...found].filter(([name, { tool }]) => isWithinCeiling(tool.aliasOf ?? name, ceiling)));
};

/** Returns whether an agent may have children that it does not wait for, or that ask it. */
const managesChildren = (agent: AgentConfig, callable: readonly Pick<AgentConfig, "async">[]): boolean =>
  agent.delegation.async ||
  agent.options.interaction_mode !== "blocking" ||
  callable.some(({ async }) => async);

/** Returns the effective tools of a placed agent, below the session's ceiling. */
export const effectiveTools = (
  parts: ToolParts,
  cast: PlacedAgent,
  ceiling: readonly string[] | null,
): BoundTools => {
  const { agent, callerConstraints } = cast;
  const { chain = [], hidden = [] } = callerConstraints ?? {};
  const above = chain.flatMap((name, index): readonly ChainLink[] => {
    const caller = parts.team.agents.find((each) => each.name === name);
    return caller === undefined ? [] : [{ agent: caller, hidden: hidden[index] ?? [] }];
  });
  const nameless = isNameless(callerConstraints);
  const tools = chainTools(parts, nameless ? above : [...above, { agent, hidden: [] }], ceiling);
  return new Map([...tools, ...orchestrationTools(parts, cast, ceiling)]);
};

/** Returns the tools that an agent would have if it were not at its depth limit. */
export const toolsBeyondDepth = (
  parts: ToolParts,
  cast: PlacedAgent,
  ceiling: readonly string[] | null,
): ReadonlySet<string> =>
  new Set(mayDelegate(parts.team, cast) ? [] : orchestrationTools(parts, cast, ceiling, true).keys());

/** Agent that another may call from `main`, and the tools that it then has. */
export interface CallEdge {
  readonly agent: string;
  readonly inherit: "own" | "intersect" | "union";
  readonly tools: readonly string[];
}

/** Returns whether a name stands for nothing that a `server__*` beside it does not stand for. */
const isIncluded = (name: string, names: readonly string[]): boolean =>
  names.some((other) => other !== name && other.endsWith("__*") && name.startsWith(other.slice(0, -1)));

/** Lists every edge from an agent in `main` to those that it may call, with the tools of the called agent. */
export const callEdgesOf = (parts: ToolParts, caller: AgentConfig): readonly CallEdge[] => {
  const { inherit } = caller.delegation;
  const main = { agent: caller, callerConstraints: null };
  if (!mayDelegate(parts.team, main)) return [];
  const answers = effectiveTools(parts, main, null).has("answer_child");
  return findCallable(parts.team, caller).map((agent) => {
    const callerConstraints = {
      chain: [caller.name],
      hidden: [[]],
      interactive: answers && caller.options.interaction_mode !== "blocking",
      provider: null,
      writablePaths: null,
      adHoc: null,
    };
    const tools = declaredTools(effectiveTools(parts, { agent, callerConstraints }, null)).map(
      ({ tool }) => tool.name,
    );
    return { agent: agent.name, inherit, tools: tools.filter((name) => !isIncluded(name, tools)) };
  });
};
