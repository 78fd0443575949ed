import { matchCapabilities } from "../../agent/definition/delegation.ts";
import type { CallerConstraints } from "../../agent/state/child.ts";
import type { TeamAgent as AgentConfig, Team } from "../../config/team.ts";
import { matchesGlob } from "../../sandbox/glob.ts";
import type { NameOf } from "../../toolboxes/agents/index.ts";

/** Who may call whom, and how deep. */

/** The agents that an agent may call, by name; never itself. */
export const findCallable = (team: Team, { name, delegation }: AgentConfig): readonly AgentConfig[] =>
  team.agents
    .filter(
      (other) =>
        other.name.toLowerCase() !== name.toLowerCase() &&
        delegation.may_call.some((pattern) => matchesGlob(pattern, other.name, { segments: false })),
    )
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** Whether a thread of this agent may start a child: by the smallest limit along its chain, its own included. */
export const mayDelegate = (
  team: Team,
  { agent, standing }: { readonly agent: AgentConfig; readonly standing: CallerConstraints | null },
): boolean => {
  const chain = standing?.chain ?? [];
  const above = team.agents.filter(({ name }) => chain.includes(name));
  const limits = [agent, ...above].map(({ options }) => options.max_delegation_depth);
  return chain.length + 1 <= Math.min(...limits);
};

/** The name a task's agent goes by: as configured, whatever its case, and the best match behind "auto". */
export const taskNameOf =
  (callable: readonly AgentConfig[]): NameOf =>
  ({ agent, task }) => {
    if (agent === null) return "";
    if (agent.toLowerCase() === "auto") return matchCapabilities(callable, task)[0]?.agentId ?? agent;
    return callable.find(({ name }) => name.toLowerCase() === agent.toLowerCase())?.name ?? agent;
  };
