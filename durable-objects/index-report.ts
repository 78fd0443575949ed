import { sessionStatusOf } from "../src/agent/state/thread.ts";
import { pauseAfter } from "../src/agent/state/ask.ts";
import type { Ask } from "../src/agent/state/ask.ts";
import type { Lease } from "../src/agent/state/budget.ts";
import type { Session } from "../src/agent/state/session.ts";
import { fitData } from "../src/session/event-lines.ts";
import { totalsView } from "../src/session/operations/budget.ts";
import type { Decision } from "../src/session/decisions.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { DailyUsage, SessionSummary, TenantDirectory } from "../src/engine/access/rpc.ts";
import type { TenantAddress } from "../src/sandbox/jurisdiction.ts";
import type { Clock } from "./alarms/clock.ts";
import { logFailure } from "./log.ts";
import { inTime } from "../src/engine/access/replies.ts";

/** Keeps the tenant's index and its sums of usage at most a few seconds behind, with one call for many commits. */
export interface IndexReport {
  /** Schedules a report after a commit: its number of model calls, the head before it, and whether it holds decisions. */
  readonly touch: (calls: number, head: number, decided?: boolean) => void;
  /** Reports news when it is due, or before the session is to `rest`, which saves an alarm; failures are repeated. */
  readonly flush: (session: Session | null, rest?: boolean) => Promise<void>;
  /** Returns the summary with which a deleted session leaves the index; nothing else is reported of it. */
  readonly takeFinalSummary: (session: Session, key: string | null) => SessionSummary;
}

const reportDelayMs = 2_000;

/** Milliseconds that usage and decisions alone wait: longer, since each turn has some. */
const usageDelayMs = 4_000;

const longestReportDelayMs = 300_000;

/** Milliseconds after which a report is repeated: the tenant's object knows what it already has. */
const reportTimeoutMs = 20_000;

/** What a report contains beside the summary. */
export interface ReportSource {
  /** Reads the sums of usage that changed with an event or after it. */
  readonly usage: (since: number) => readonly DailyUsage[];
  /** Reads the decisions after an event. */
  readonly decisions: (since: number) => readonly Decision[];
}

type TenantIndex = Pick<TenantDirectory, "index">;

/**
 * Sends a summary with the usage and the decisions that the tenant's object lacks; the object says if it
 * lacks older ones, too. `decided` is false if there is no decision since the event that the object is known
 * to have. Returns the event up to which it has them afterwards.
 */
export const sendSummary = async (
  tenant: TenantIndex,
  summary: SessionSummary,
  source: ReportSource,
  decided: boolean,
): Promise<number> => {
  const send = (since: number, reads: boolean): Promise<number> => {
    const decisions = reads ? source.decisions(since) : [];
    const ledger = { since, rows: source.usage(since), decisions };
    return inTime(tenant.index({ ...summary, ledger }), reportTimeoutMs);
  };
  const { since } = summary.ledger;
  const known = await send(since, decided);
  return known < since ? send(known, true) : known;
};

/** Lists the open asks as their events show them: without secrets and of an event's length. */
const openAsksOf = ({ asks }: Session, { redactor }: Engine): readonly Ask[] =>
  Object.values(asks).map((ask) => {
    const text = JSON.stringify(ask);
    const shown = redactor.holds(text) ? JSON.stringify(redactor.value(ask)) : text;
    return JSON.parse(fitData(shown)) as Ask;
  });

const lastEndOf = ({ threads }: Session): Pick<SessionSummary, "last_end"> => {
  const { lastEnd = null } = threads["main"] ?? {};
  return lastEnd === null ? {} : { last_end: lastEnd };
};

/** Includes the lease as the tenant's object books it, once the session no longer spends from it. */
const summaryOf = (session: Session, since: number | null, lease: Lease | null): SessionSummary => ({
  id: session.id,
  ref: session.ref,
  agent: session.agent,
  title: session.title,
  metadata: session.metadata,
  status: sessionStatusOf(session),
  revision: session.revision,
  ...(session.migration === null ? {} : { next_revision: session.migration.to }),
  head_seq: session.head,
  created_at: session.createdAt,
  updated_at: session.updatedAt,
  usage: totalsView(session),
  ...lastEndOf(session),
  ledger: { since: since ?? session.head, rows: [] },
  ...(lease === null ? {} : { lease: { id: lease.id, used: lease.used } }),
});

/** Returns the lease that the session gives back; null while it spends from it. */
const closedLeaseOf = ({ funds: { tenant } }: Session): Lease | null =>
  tenant.lease?.closed === true ? tenant.lease : null;

const reportOf = (session: Session, engine: Engine, since: number | null): SessionSummary => ({
  ...summaryOf(session, since, closedLeaseOf(session)),
  asks: openAsksOf(session, engine),
});

/** Returns what has to be reported soon if it changes; usage changes with each turn. */
const newsOf = (session: Session, summary: SessionSummary): string => {
  const {
    head_seq: _head,
    updated_at: _updated,
    usage: _usage,
    ledger: _ledger,
    asks: _asks,
    ...news
  } = summary;
  const asks = Object.keys(session.asks);
  return JSON.stringify({
    ...news,
    asks,
    run: session.nextRun,
    used: session.spent.modelCalls > session.spentBefore.modelCalls,
  });
};

/**
 * Creates the report. What an earlier isolate reported is unknown, so a session that wakes reports once. All
 * earlier usage counts as reported, unless the tenant's object says otherwise. The next report begins after the event
 * `reportFrom`; `confirmed` is the newest that the object is known to have.
 */
export const createIndexReport = (
  tenant: (address: TenantAddress) => TenantIndex,
  engine: () => Engine,
  clock: Pick<Clock, "alsoWakeAt">,
  now: () => number,
  source: ReportSource,
): IndexReport => {
  let due: number | null = null;
  let usageDue: number | null = null;
  let reportFrom: number | null = null;
  let confirmed = 0;
  /** Newest event before the last decision. */
  let decidedAfter = -1;
  let lastNews: string | null = null;
  let failures = 0;
  /** Schedules a failed report once more, from the event that was confirmed last. */
  const repeat = (error: unknown): void => {
    failures += 1;
    reportFrom = confirmed;
    due = usageDue = now() + pauseAfter(failures, reportDelayMs, longestReportDelayMs);
    clock.alsoWakeAt(due);
    logFailure(engine().logLine, "session_index_failed", error);
  };
  const hasUsage = (early: boolean): boolean => usageDue !== null && (early || now() >= usageDue);
  const send = async (address: TenantAddress, summary: SessionSummary, news: string): Promise<void> => {
    const reads = failures > 0 || decidedAfter >= summary.ledger.since;
    usageDue = null;
    try {
      reportFrom = confirmed = await sendSummary(tenant(address), summary, source, reads);
    } catch (error) {
      return repeat(error);
    }
    lastNews = news;
    failures = 0;
  };
  return {
    touch: (calls, head, decides = false) => {
      reportFrom ??= head;
      due ??= now() + reportDelayMs;
      if (decides) decidedAfter = head;
      if (calls > 0 || decides) usageDue ??= now() + usageDelayMs;
      clock.alsoWakeAt(due);
    },
    flush: async (session, rest = false) => {
      const early = rest && failures === 0;
      if (session === null || (due !== null && now() < due && !early)) return;
      const summary = reportOf(session, engine(), reportFrom);
      const news = newsOf(session, summary);
      const isDue = news !== lastNews || hasUsage(early);
      due = isDue ? null : usageDue;
      clock.alsoWakeAt(due);
      if (isDue) await send(session, summary, news);
    },
    takeFinalSummary: (session, key) => {
      const summary = summaryOf(session, reportFrom, session.funds.tenant.lease);
      due = usageDue = lastNews = reportFrom = null;
      return { ...summary, status: "deleted", removal: { key, at: now() } };
    },
  };
};
