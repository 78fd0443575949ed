import type { Session } from "../../agent/state/session.ts";
import type { TeamAgent as AgentConfig, Team } from "../../config/team.ts";
import { clientToolsOf } from "./client-tools.ts";
import type { PlacedAgent, ToolParts } from "./effective-tools.ts";
import { effectiveTools } from "./effective-tools.ts";

/** What the deployed team leaves of an older revision: what an operator took back is gone for its sessions, too. */
export interface Ceiling {
  /** The deployed team, with the agents that it dropped. */
  readonly team: Team;
  readonly agent: AgentConfig;
  /** Tools that the agent would have if its session began now, the caller's own included. */
  readonly tools: ReadonlySet<string>;
}

interface Parts extends ToolParts {
  readonly ceiling: Team | null;
}

/** The ceiling over an agent where it stands; null: its team is the deployed one. */
export const ceilingOf = (
  { toolboxes, ceiling: team }: Parts,
  { agent: pinned, standing }: PlacedAgent,
  session: Pick<Session, "clientTools" | "tools">,
): Ceiling | null => {
  if (team === null) return null;
  const agent = team.agents.find(({ name }) => name === pinned.name) ?? pinned;
  const cast = { agent, standing };
  const own = effectiveTools({ team, toolboxes }, cast, session.tools);
  const client = clientToolsOf(team, cast, own, session);
  return { team, agent, tools: new Set([...own.keys(), ...client.tools.map(({ name }) => name)]) };
};

/** Rules that a team and an agent of it have. */
export const rulesOver = (team: Team, agent: AgentConfig): Team["permissions"]["rules"] => [
  ...team.permissions.rules,
  ...(agent.permissions?.rules ?? []),
];
