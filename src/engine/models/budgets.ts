import type { Bound, BudgetKind, TeamBudgets } from "../../agent/state/budget.ts";
import type { TeamAgent as AgentConfig, Team } from "../../config/team.ts";
import { isOfKind } from "../../effects/schema.ts";

/** Converts the budgets of the YAML to bounds. */

type BudgetSection = Team["budgets"]["run"];

const toNanoUsd = (usd: number | null): number | null => (usd === null ? null : Math.round(usd * 1e9));

const boundsOf = (section: BudgetSection, written: boolean): readonly Bound[] => {
  const { max_tokens, max_cost_usd, max_duration, max_tool_calls, warn_at, on_exceeded } = section;
  const limits: readonly (readonly [BudgetKind, number | null])[] = [
    ["tokens", max_tokens],
    ["cost", toNanoUsd(max_cost_usd)],
    ["time", max_duration],
    ["calls", max_tool_calls],
  ];
  return limits.flatMap(([kind, limit]) =>
    limit === null ? [] : [{ kind, limit, warnAt: warn_at, ask: on_exceeded === "ask", written }],
  );
};

/** Returns the bounds of `token_budget` and `time_budget`, which are configured among the effects. */
const effectBounds = ({ effects, guards }: AgentConfig): readonly Bound[] => {
  const ask = guards.budget.on_exceeded === "ask";
  const tokens = effects.filter(isOfKind("token_budget")).map(({ params }) => ({
    kind: "tokens" as const,
    limit: params.max_tokens,
    warnAt: params.warn_threshold,
  }));
  const time = effects.filter(isOfKind("time_budget")).map(({ params }) => ({
    kind: "time" as const,
    limit: params.max_duration,
    warnAt: params.warn_threshold,
  }));
  return [...tokens, ...time].map((bound) => ({ ...bound, ask, written: true }));
};

/** Lists all bounds on a run of an agent; the smallest of several limits of a kind applies. */
export const runBoundsOf = (team: Team, agent: AgentConfig): readonly Bound[] => [
  ...boundsOf(agent.guards.budget, true),
  ...effectBounds(agent),
  ...boundsOf(team.budgets.run, team.cost_limited),
];

/** Returns whether a person may allow a run of this agent more turns. */
export const asksForTurns = (team: Team, agent: AgentConfig): boolean =>
  agent.guards.budget.on_exceeded === "ask" || team.budgets.run.on_exceeded === "ask";

/** Returns the team's bounds apart from those of its agents. */
export const teamBudgetsOf = ({ budgets, cost_limited }: Team): TeamBudgets => ({
  session: boundsOf(budgets.session, cost_limited),
  tenant: boundsOf(budgets.tenant, cost_limited),
  refuseUnpriced: budgets.unknown_price === "refuse",
});
