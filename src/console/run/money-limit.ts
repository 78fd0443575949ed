import type { Json } from "../../chat/message.ts";
import { formatUsd } from "../parts/format.ts";
import { fieldsOf, numberOf } from "../parts/json.ts";

/** What may be spent, in words. Only the panel shows it, so that the first page does not load it. */

/** The limit in USD that holds now, and what is left of it. */
export interface MoneyLimit {
  readonly scope: "run" | "session" | "tenant";
  readonly limit: number;
  readonly spent: number;
  /** A warning is given when so much is spent. */
  readonly warnAt: number;
}

const scopes: readonly MoneyLimit["scope"][] = ["run", "session", "tenant"];

/** Reads the limit of money from the API's budget; null if there is none. */
export const readMoneyLimit = (budget: Json): MoneyLimit | null => {
  const fields = fieldsOf(fieldsOf(budget)["max_cost_usd"]);
  const [limit, spent, share] = [fields["limit"], fields["spent"], fields["warn_at"]].map(numberOf);
  const scope = scopes.find((each) => each === fields["scope"]);
  if (scope === undefined || limit == null || spent == null || share == null) return null;
  return { scope, limit, spent, warnAt: share * limit };
};

/** Says what is left; between runs a limit of runs is that of the next one, of which nothing is spent. */
export const describeMoneyLimit = ({ scope, limit, spent }: MoneyLimit, isRunning: boolean): string => {
  if (scope === "run" && !isRunning) return `The next run may spend ${formatUsd(limit)}`;
  const left =
    spent > limit
      ? `${formatUsd(spent - limit, spent)} over the ${formatUsd(limit)}`
      : `${formatUsd(limit - spent, spent)} left of ${formatUsd(limit)}`;
  return `${left} for ${{ run: "this run", session: "this session", tenant: "today" }[scope]}`;
};
