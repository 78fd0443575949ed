import type { Session } from "../../agent/state/session.ts";
import type { TeamAgent as AgentConfig, Team } from "../../config/team.ts";
import { clientToolsOf } from "./client-tools.ts";
import type { PlacedAgent, ToolParts } from "./effective-tools.ts";
import { effectiveTools } from "./effective-tools.ts";

/** What the deployed team permits of an older revision: tools withdrawn there are withdrawn from its sessions, too. */
export interface Ceiling {
  /** Deployed team, including the agents that it dropped. */
  readonly team: Team;
  readonly agent: AgentConfig;
  /** Tools that the agent would have if its session began now, including the caller's own. */
  readonly tools: ReadonlySet<string>;
}

interface Parts extends ToolParts {
  readonly ceiling: Team | null;
}

/** Returns the ceiling over a placed agent; null means that its team is the deployed one. */
export const ceilingOf = (
  { toolboxes, ceiling: team }: Parts,
  { agent: pinned, callerConstraints }: PlacedAgent,
  session: Pick<Session, "clientTools" | "tools">,
): Ceiling | null => {
  if (team === null) return null;
  const agent = team.agents.find(({ name }) => name === pinned.name) ?? pinned;
  const cast = { agent, callerConstraints };
  const own = effectiveTools({ team, toolboxes }, cast, session.tools);
  const client = clientToolsOf(team, cast, own, session);
  return { team, agent, tools: new Set([...own.keys(), ...client.tools.map(({ name }) => name)]) };
};

/** Lists the rules of a team and of one of its agents. */
export const rulesOver = (team: Team, agent: AgentConfig): Team["permissions"]["rules"] => [
  ...team.permissions.rules,
  ...(agent.permissions?.rules ?? []),
];
