import type { Amounts, BudgetKind } from "../../../agent/state/budget.ts";
import { addAmounts, budgetKinds, zeroAmounts } from "../../../agent/state/budget.ts";
import type { LeaseAnswer, LeaseRequest, SettledLease } from "../../../agent/budgets/lease.ts";
import type { RunQuery, DatabaseRow, Tables } from "../database.ts";

/**
 * Tracks a tenant's spending on a UTC day. Sessions draw shares of the day and return what they did not use; a
 * share that is not returned within an hour counts as spent.
 */

interface LeaseRow extends Amounts {
  readonly session: string;
  readonly id: string;
  /** When the lease was granted, in milliseconds since the epoch. */
  readonly at: number;
}

export const dayMs = 86_400_000;
const leaseMs = 3_600_000;
/** Milliseconds that a past day is kept. */
const dayKeepMs = 30 * dayMs;
/** Divisor of the rest of the day that a lease grants beyond what its call needs. */
const sharePortion = 64;

const amountsIn = (row: DatabaseRow | undefined): Amounts => ({
  tokens: Number(row?.["tokens"] ?? 0),
  cost: Number(row?.["cost"] ?? 0),
  time: Number(row?.["time"] ?? 0),
  calls: Number(row?.["calls"] ?? 0),
});

/** Returns the first millisecond of a time's UTC day. */
export const dayOf = (now: number): number => Math.floor(now / dayMs) * dayMs;

const findLease = (all: RunQuery, session: string, id: string): DatabaseRow | undefined =>
  all("SELECT * FROM leases WHERE session = ? AND id = ?", session, id)[0];

/** Returns the path of a lease in the JSON of its day; neither id holds a quote or a space. */
const pathOf = (session: string, id: string): string => `$."${session} ${id}"`;

/** Ends a lease and books what was used of it. */
const endLease = (all: RunQuery, lease: DatabaseRow, { tokens, cost, time, calls }: Amounts): void => {
  all(
    `UPDATE days SET tokens = tokens + ?, cost = cost + ?, time = time + ?, calls = calls + ?,
       open = json_remove(open, ?) WHERE day = ?`,
    tokens,
    cost,
    time,
    calls,
    pathOf(String(lease["session"]), String(lease["id"])),
    lease["day"] ?? null,
  );
};

const openLease = (all: RunQuery, day: number, lease: LeaseRow): void => {
  all(
    `INSERT INTO days (day, tokens, cost, time, calls, open) VALUES (?1, 0, 0, 0, 0, json_set('{}', ?2, json(?3)))
     ON CONFLICT (day) DO UPDATE SET open = json_set(open, ?2, json(?3))`,
    day,
    pathOf(lease.session, lease.id),
    JSON.stringify([lease.at, lease.tokens, lease.cost, lease.time, lease.calls]),
  );
};

/** Settles a lease with what was used of it; an unknown one was settled before or is settled too late. */
export const settleLease = (all: RunQuery, session: string, { id, used }: SettledLease): void => {
  const lease = findLease(all, session, id);
  if (lease !== undefined) endLease(all, lease, used);
};

/** Cancels a lease from which nothing was spent. */
export const cancelLease = (tables: Tables, session: string, id: string): void =>
  tables.write((all) => settleLease(all, session, { id, used: zeroAmounts }));

/** Counts leases that were not settled in time as spent, and deletes past days. */
const expireLeases = (all: RunQuery, now: number): void => {
  const late = all("SELECT * FROM leases WHERE at <= ?", now - leaseMs);
  for (const lease of late) endLease(all, lease, amountsIn(lease));
  all("DELETE FROM days WHERE day < ?", now - dayKeepMs);
};

const sumSpentOn = (all: RunQuery, day: number): Amounts => {
  const [settled] = all("SELECT * FROM days WHERE day = ?", day);
  const [open] = all(
    `SELECT sum(tokens) AS tokens, sum(cost) AS cost, sum(time) AS time, sum(calls) AS calls
     FROM leases WHERE day = ?`,
    day,
  );
  return addAmounts(amountsIn(settled), amountsIn(open));
};

const leaseShareOf = (left: number, need: number): number =>
  left <= need ? Math.max(0, left) : need + Math.floor((left - need) / sharePortion);

/** Sums the day's spending apart from the session's previous lease. */
const sumSpentBeside = (all: RunQuery, request: LeaseRequest, day: number): Amounts => {
  const spent = sumSpentOn(all, day);
  const { settles } = request;
  const lease = settles === null ? undefined : findLease(all, request.session, settles.id);
  if (settles === null || lease === undefined || Number(lease["day"]) !== day) return spent;
  return addAmounts(addAmounts(spent, settles.used), amountsIn(lease), -1);
};

const mapLimits = (
  { limits }: LeaseRequest,
  figure: (kind: BudgetKind, limit: number) => number,
): Partial<Amounts> =>
  Object.fromEntries(
    budgetKinds.flatMap((kind) => {
      const limit = limits[kind];
      return limit === undefined ? [] : [[kind, figure(kind, limit)]];
    }),
  );

/** Draws a share of the rest of the day; if the rest is too small, nothing changes and the previous lease stays. */
const drawShare = (all: RunQuery, request: LeaseRequest, now: number): LeaseAnswer => {
  const { limits, need, least, settles } = request;
  const day = dayOf(now);
  const until = day + dayMs;
  const spent = sumSpentBeside(all, request, day);
  const lacking = budgetKinds.find((kind) => (limits[kind] ?? Infinity) - spent[kind] < (least[kind] ?? 0));
  if (lacking !== undefined)
    return { ok: false, kind: lacking, limit: limits[lacking] ?? 0, spent: spent[lacking], until };
  if (settles !== null) settleLease(all, request.session, settles);
  const granted = mapLimits(request, (kind, limit) => leaseShareOf(limit - spent[kind], need[kind] ?? 0));
  const { tokens = 0, cost = 0, time = 0, calls = 0 } = granted;
  openLease(all, day, { session: request.session, id: request.id, at: now, tokens, cost, time, calls });
  return { ok: true, granted, until, spent };
};

/**
 * Draws a share of the tenant's day for a session in exchange for its previous one; a repeated request gets the
 * same.
 */
export const drawLease = (tables: Tables, request: LeaseRequest, now: number): LeaseAnswer =>
  tables.write((all) => {
    expireLeases(all, now);
    const known = findLease(all, request.session, request.id);
    if (known === undefined) return drawShare(all, request, now);
    const day = Number(known["day"]);
    const figures = amountsIn(known);
    const granted = mapLimits(request, (kind) => figures[kind]);
    return { ok: true, granted, until: day + dayMs, spent: sumSpentOn(all, day) };
  });
