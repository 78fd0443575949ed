import { toUsd } from "../agent/state/records.ts";
import type { Session } from "../agent/state/session.ts";
import { costOf, spendingSince } from "../agent/state/budget.ts";
import type { Spending } from "../agent/state/budget.ts";

/** Returns a sum of spending in the form of the API. */
export const spendingView = (spending: Spending) => ({
  ...spending.usage,
  calls: spending.modelCalls,
  cost_usd: toUsd(costOf(spending)),
  estimated: spending.estimated > 0,
});

/** Returns what a session used since it was cleared, for the session and its tenant's list. */
export const totalsView = ({ spent, spentBefore }: Pick<Session, "spent" | "spentBefore">) =>
  spendingView(spendingSince(spent, spentBefore));
