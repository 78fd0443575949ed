import type { UsageTotals } from "../agent/state/usage.ts";
import { toUsd } from "../agent/state/records.ts";

/** Shows what a session used since it was cleared, as the session and its tenant's list have it. */
export const totalsView = ({ cumulative, cost, calls, estimated }: UsageTotals) => ({
  ...cumulative,
  calls,
  cost_usd: toUsd(cost),
  estimated,
});
