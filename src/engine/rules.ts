import type { SessionRules } from "../session/define-operation.ts";
import type { Problem } from "../session/problems.ts";
import type { TeamAgent as AgentConfig, Team } from "../config/team.ts";
import type { BoundTool } from "../agent/definition/agent.ts";
import { clientToolProblem } from "./tools/client-tools.ts";
import { ceilingProblem } from "./tools/effective-tools.ts";
import { runBoundsOf, teamBudgetsOf } from "./models/budgets.ts";
import { firstProviderModel, mediaProblem, modelProblem } from "./models/models.ts";
import { schemaProblem } from "../tools/schema/json-schema-check.ts";
import { isFetcher, missingSandbox } from "./sandboxes.ts";
import { findUnsetSecret } from "./secrets/secrets.ts";
import type { Bindings } from "./secrets/secrets.ts";

/** Applies a team's definition to the commands of its sessions. */

interface RuleParts {
  /** Team with its model ids resolved. */
  readonly team: Team;
  readonly env: Bindings;
  readonly tools: (agent: AgentConfig) => ReadonlyMap<string, BoundTool>;
  /** Every tool that an agent may have here. */
  readonly toolNames: readonly string[];
}

/** Returns the problem of an unset secret that a session of this agent needs. */
const agentProblem = (team: Team, env: Bindings, agent: AgentConfig): Problem | null => {
  const target = firstProviderModel(team, agent, null);
  return target === null ? null : findUnsetSecret(team, env, target);
};

export const rulesOf = ({ team, env, tools, toolNames }: RuleParts): SessionRules => {
  const byName = new Map(team.agents.map((agent) => [agent.name, agent]));
  /** Answers a question about an agent that exists; callers check the name before. */
  const ask = <T>(name: string, question: (agent: AgentConfig) => T | null): T | null => {
    const agent = byName.get(name);
    return agent === undefined ? null : question(agent);
  };
  return {
    onBusy: team.sessions.on_busy,
    interactive: team.sessions.interactive,
    entryAgent: team.entry_agent,
    agentNames: [...byName.keys()],
    revision: team.revision,
    boundsOf: (name) => ({
      run: ask(name, (agent) => runBoundsOf(team, agent)) ?? [],
      team: teamBudgetsOf(team),
    }),
    modelProblem: (model, name) => ask(name, (agent) => modelProblem(team, env, model, agent)),
    agentProblem: (name) => ask(name, (agent) => agentProblem(team, env, agent)),
    mediaProblem: (parts, name, model) => ask(name, (agent) => mediaProblem(team, agent, model, parts)),
    clientToolProblem: (given, name) => ask(name, (agent) => clientToolProblem(given, tools(agent))),
    workspaceProblem: () =>
      isFetcher(env["SANDBOX"]) ? null : { code: "not_configured", detail: missingSandbox },
    ceilingProblem: (ceiling, client) =>
      ceilingProblem(ceiling, [...toolNames, ...client.map(({ name }) => name)]),
    schemaProblem,
    stores: {
      listed: new Set(team.agents.flatMap(({ toolboxes }) => toolboxes.map((each) => each.name))),
      notes: team.notes.scope,
      onDependencyFailure: team.tasks.on_dependency_failure,
    },
  };
};
