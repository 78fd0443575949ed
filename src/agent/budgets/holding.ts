import { amountsOf, noSpending } from "../state/usage.ts";
import type { Bound, BudgetScope, TeamBudgets } from "../state/budget.ts";
import { budgetKinds } from "../state/budget.ts";
import type { Session } from "../state/session.ts";
import { applyRaises, sessionBounds } from "./bounds.ts";

/** The configured bounds of a run of the session's agent, and of the team. */
export interface ConfiguredBounds {
  readonly run: readonly Bound[];
  readonly team: TeamBudgets;
}

/** Limit with what was spent of it. */
export interface HoldingLimit extends Bound {
  readonly scope: BudgetScope;
  readonly spent: number;
}

/**
 * Returns the limits of the tenant's day once it is used up: until then the session knows only its own share.
 */
const usedUpDay = ({ funds }: Session, bounds: readonly Bound[]): readonly HoldingLimit[] => {
  const { out } = funds.tenant;
  return bounds
    .filter(({ kind }) => kind === out?.kind)
    .map((bound) => ({ ...bound, scope: "tenant", spent: bound.limit }));
};

/**
 * Returns, for each kind, the limit with the least left: of the run of `main`, of its next run, of the
 * session, or of the day.
 */
export const findHoldingLimits = (
  session: Session,
  { run, team }: ConfiguredBounds,
): readonly HoldingLimit[] => {
  const main = session.threads["main"]?.run;
  const spent = amountsOf(main?.spent ?? noSpending);
  const spentInAll = amountsOf(session.spent);
  const limits: readonly HoldingLimit[] = [
    ...applyRaises(run, main?.budget.raised ?? {}).map((bound) => ({
      ...bound,
      scope: "run" as const,
      spent: spent[bound.kind],
    })),
    ...sessionBounds({ state: session, context: { budgets: team } }).map((bound) => ({
      ...bound,
      scope: "session" as const,
      spent: spentInAll[bound.kind],
    })),
    ...usedUpDay(session, team.tenant),
  ];
  const leftOf = ({ limit, spent }: HoldingLimit): number => limit - spent;
  return budgetKinds.flatMap((kind) =>
    limits
      .filter((limit) => limit.kind === kind)
      .toSorted((one, other) => leftOf(one) - leftOf(other))
      .slice(0, 1),
  );
};
