import { sessionStatusOf } from "../../src/agent/run/runs.ts";
import type { Lease } from "../../src/agent/state/budget.ts";
import type { Session } from "../../src/agent/state/session.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { SessionSummary, TenantDirectory } from "../../src/engine/access/rpc.ts";
import type { TenantAddress } from "../../src/sandbox/jurisdiction.ts";
import type { Clock } from "../alarms/clock.ts";
import { logFailure } from "../log.ts";

/** Keeps the tenant's index of sessions at most a few seconds behind, with one call for many commits. */
export interface IndexReport {
  /** Schedules a report, because something was committed. */
  readonly touch: () => void;
  /** Reports news when it is due, or before the session is to `rest`, which saves an alarm; failures are repeated. */
  readonly flush: (session: Session | null, rest?: boolean) => Promise<void>;
  /** Returns the summary with which a deleted session leaves the index; nothing else is reported of it. */
  readonly takeFinalSummary: (session: Session, key: string | null) => SessionSummary;
}

const reportDelayMs = 2_000;

const longestReportDelayMs = 300_000;

/** Includes the lease as the tenant's object books it, once the session no longer spends from it. */
const summaryOf = (session: Session, lease: Lease | null): SessionSummary => ({
  id: session.id,
  ref: session.ref,
  agent: session.agent,
  title: session.title,
  metadata: session.metadata,
  status: sessionStatusOf(session),
  revision: session.revision,
  head_seq: session.head,
  created_at: session.createdAt,
  updated_at: session.updatedAt,
  ...(lease === null ? {} : { lease: { id: lease.id, used: lease.used } }),
});

/** Creates the report; what an earlier isolate reported is unknown, so a session that wakes reports once. */
export const createIndexReport = (
  tenant: (address: TenantAddress) => Pick<TenantDirectory, "index">,
  engine: () => Engine,
  clock: Clock,
  now: () => number,
): IndexReport => {
  let due: number | null = null;
  let said: string | null = null;
  let failures = 0;
  return {
    touch: () => {
      due ??= now() + reportDelayMs;
      clock.alsoWakeAt(due);
    },
    flush: async (session, rest = false) => {
      const early = rest && failures === 0;
      if (session === null || (due !== null && now() < due && !early)) return;
      const { lease } = session.funds.tenant;
      const summary = summaryOf(session, lease?.closed === true ? lease : null);
      const news = JSON.stringify({ ...summary, head_seq: 0, updated_at: 0, run: session.nextRun });
      due = null;
      clock.alsoWakeAt(null);
      if (news === said) return;
      try {
        await tenant(session).index(summary);
      } catch (error) {
        failures += 1;
        due = now() + Math.min(longestReportDelayMs, reportDelayMs * 2 ** failures);
        clock.alsoWakeAt(due);
        logFailure(engine().logLine, "session_index_failed", error);
        return;
      }
      said = news;
      failures = 0;
    },
    takeFinalSummary: (session, key) => {
      due = null;
      said = null;
      const summary = summaryOf(session, session.funds.tenant.lease);
      return { ...summary, status: "deleted", ...(key !== null && { removal: { key, at: now() } }) };
    },
  };
};
