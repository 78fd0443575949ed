import { matchesGlob } from "../../sandbox/glob.ts";
import type { AgentShape, TeamDraft } from "../draft.ts";

/** Finds the tools that an agent may get, as far as the team file determines them. */

const calledBy = (draft: TeamDraft, { name, delegation }: AgentShape): readonly AgentShape[] =>
  draft.agents
    .map(({ value }) => value)
    .filter(
      (other) =>
        other.name !== name &&
        delegation.may_call.some((pattern) => matchesGlob(pattern, other.name, { segments: false })),
    );

/** Returns the tools with which an agent calls others. */
const callingTools = (draft: TeamDraft, agent: AgentShape): readonly string[] => {
  const { delegation, options, toolboxes } = agent;
  const calls = calledBy(draft, agent).length > 0;
  const listed = toolboxes.find(({ name }) => name === "agents")?.tools;
  const all = (draft.toolboxes.get("agents") ?? []).filter(
    (tool) => options.max_delegation_depth > 0 && (tool === "spawn_agent" ? delegation.ad_hoc : calls),
  );
  const handsOver = calls && options.max_handoffs > 0 ? ["handoff"] : [];
  return [...all.filter((tool) => listed?.includes(tool) ?? true), ...handsOver];
};

const ownTools = (draft: TeamDraft, agent: AgentShape): ReadonlySet<string> => {
  if (agent.options.tool_access.trim() !== "") return new Set();
  const listed = agent.toolboxes
    .filter(({ name }) => name !== "agents")
    .flatMap(({ name, tools }) =>
      (draft.toolboxes.get(name) ?? []).filter((tool) => tools?.includes(tool) ?? true),
    );
  return new Set([...listed, ...callingTools(draft, agent)]);
};

/** Maps each agent to the names of its tools, including those that callers lend it. */
export const toolsOfAgents = (draft: TeamDraft): ReadonlyMap<string, ReadonlySet<string>> => {
  const agents = draft.agents.map(({ value }) => value);
  const found = new Map(agents.map((agent) => [agent.name, ownTools(draft, agent)]));
  const lenders = agents.filter(({ delegation }) => delegation.inherit === "union");
  // A chain of callers is at most as long as the list of agents.
  for (const _ of agents)
    for (const lender of lenders)
      for (const { name, options } of calledBy(draft, lender))
        if (options.tool_access.trim() === "")
          found.set(name, new Set([...(found.get(name) ?? []), ...(found.get(lender.name) ?? [])]));
  return found;
};
