import { matchCapabilities } from "../../agent/definition/delegation.ts";
import type { CallerConstraints } from "../../agent/state/child.ts";
import type { TeamAgent as AgentConfig, Team } from "../../config/team.ts";
import { matchesGlob } from "../../sandbox/glob.ts";
import type { NameOf } from "../../toolboxes/agents/index.ts";

/** Determines which agents may call which, and how deep. */

/** Lists the agents that an agent may call, by name, without the agent itself. */
export const findCallable = (team: Team, { name, delegation }: AgentConfig): readonly AgentConfig[] =>
  team.agents
    .filter(
      (other) =>
        other.name.toLowerCase() !== name.toLowerCase() &&
        delegation.may_call.some((pattern) => matchesGlob(pattern, other.name, { segments: false })),
    )
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** Returns whether an agent's thread may start a child, by the smallest limit along its chain, its own included. */
export const mayDelegate = (
  team: Team,
  {
    agent,
    callerConstraints,
  }: { readonly agent: AgentConfig; readonly callerConstraints: CallerConstraints | null },
): boolean => {
  const chain = callerConstraints?.chain ?? [];
  const above = team.agents.filter(({ name }) => chain.includes(name));
  const limits = [agent, ...above].map(({ options }) => options.max_delegation_depth);
  return chain.length + 1 <= Math.min(...limits);
};

/** Returns the name of a task's agent: as configured, whatever its case, and the best match behind "auto". */
export const taskNameOf =
  (callable: readonly AgentConfig[]): NameOf =>
  ({ agent, task }) => {
    if (agent === null) return "";
    if (agent.toLowerCase() === "auto") return matchCapabilities(callable, task)[0]?.agentId ?? agent;
    return callable.find(({ name }) => name.toLowerCase() === agent.toLowerCase())?.name ?? agent;
  };
