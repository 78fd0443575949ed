import type { BudgetKind } from "../../agent/state/budget.ts";
import { kinds } from "../../agent/state/budget.ts";
import type { LeaseAnswer, LeaseRequest, SettledLease } from "../../agent/budgets/lease.ts";
import type { All, Row, Tables } from "./database.ts";

/**
 * What a tenant spends on a UTC day. Sessions draw shares of it and give back what they did not use; a share that
 * was not given back within an hour counts as spent.
 */

type Figures = Readonly<Record<BudgetKind, number>>;

const dayMs = 86_400_000;
const leaseMs = 3_600_000;
/** How long a past day is kept. */
const keptMs = 30 * dayMs;
/** A lease beyond what a call needs is this part of what is left of the day. */
const portion = 64;

const figuresOf = (row: Row | undefined): Figures => ({
  tokens: Number(row?.["tokens"] ?? 0),
  cost: Number(row?.["cost"] ?? 0),
  time: Number(row?.["time"] ?? 0),
  calls: Number(row?.["calls"] ?? 0),
});

const dayOf = (now: number): number => Math.floor(now / dayMs) * dayMs;

const book = (all: All, tenant: string, day: number, { tokens, cost, time, calls }: Figures): void => {
  all(
    `INSERT INTO tenant_days (tenant, day, tokens, cost, time, calls) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (tenant, day) DO UPDATE SET tokens = tokens + excluded.tokens, cost = cost + excluded.cost,
       time = time + excluded.time, calls = calls + excluded.calls`,
    tenant,
    day,
    tokens,
    cost,
    time,
    calls,
  );
};

interface Owner {
  readonly tenant: string;
  readonly session: string;
}

const leaseOf = (all: All, { tenant, session }: Owner, id: string): Row | undefined =>
  all("SELECT * FROM leases WHERE tenant = ? AND session = ? AND id = ?", tenant, session, id)[0];

/** A lease comes back with what was used of it; one that is not known was settled, or is too late. */
export const settleLease = (all: All, owner: Owner, { id, used }: SettledLease): void => {
  const lease = leaseOf(all, owner, id);
  if (lease === undefined) return;
  const { tenant, session } = owner;
  all("DELETE FROM leases WHERE tenant = ? AND session = ? AND id = ?", tenant, session, id);
  book(all, tenant, Number(lease["day"]), used);
};

/** Leases that nobody settled in time count as spent; past days are forgotten. */
const expire = (all: All, tenant: string, now: number): void => {
  const late = all("DELETE FROM leases WHERE tenant = ? AND at <= ? RETURNING *", tenant, now - leaseMs);
  for (const lease of late) book(all, tenant, Number(lease["day"]), figuresOf(lease));
  all("DELETE FROM tenant_days WHERE tenant = ? AND day < ?", tenant, now - keptMs);
};

const spentOn = (all: All, tenant: string, day: number): Figures => {
  const [settled] = all("SELECT * FROM tenant_days WHERE tenant = ? AND day = ?", tenant, day);
  const [open] = all(
    `SELECT sum(tokens) AS tokens, sum(cost) AS cost, sum(time) AS time, sum(calls) AS calls
     FROM leases WHERE tenant = ? AND day = ?`,
    tenant,
    day,
  );
  return plus(figuresOf(settled), figuresOf(open));
};

const plus = (a: Figures, b: Figures, sign: 1 | -1 = 1): Figures => ({
  tokens: a.tokens + sign * b.tokens,
  cost: a.cost + sign * b.cost,
  time: a.time + sign * b.time,
  calls: a.calls + sign * b.calls,
});

const grantOf = (left: number, need: number): number =>
  left <= need ? Math.max(0, left) : need + Math.floor((left - need) / portion);

/** What the day has spent once the session's lease before has come back. */
const spentBeside = (all: All, request: LeaseRequest, day: number): Figures => {
  const spent = spentOn(all, request.tenant, day);
  const { settles } = request;
  const lease = settles === null ? undefined : leaseOf(all, request, settles.id);
  if (settles === null || lease === undefined || Number(lease["day"]) !== day) return spent;
  return plus(plus(spent, settles.used), figuresOf(lease), -1);
};

const boundedBy = (
  { limits }: LeaseRequest,
  figure: (kind: BudgetKind, limit: number) => number,
): Partial<Figures> =>
  Object.fromEntries(
    kinds.flatMap((kind) => {
      const limit = limits[kind];
      return limit === undefined ? [] : [[kind, figure(kind, limit)]];
    }),
  );

/** A share of what is left of the day; if that is too little, nothing changes and the lease before stays. */
const draw = (all: All, request: LeaseRequest, now: number): LeaseAnswer => {
  const { limits, need, least, settles } = request;
  const day = dayOf(now);
  const until = day + dayMs;
  const spent = spentBeside(all, request, day);
  const lacking = kinds.find((kind) => (limits[kind] ?? Infinity) - spent[kind] < (least[kind] ?? 0));
  if (lacking !== undefined)
    return { ok: false, kind: lacking, limit: limits[lacking] ?? 0, spent: spent[lacking], until };
  if (settles !== null) settleLease(all, request, settles);
  const granted = boundedBy(request, (kind, limit) => grantOf(limit - spent[kind], need[kind] ?? 0));
  const { tokens = 0, cost = 0, time = 0, calls = 0 } = granted;
  all(
    "INSERT INTO leases (tenant, session, id, day, at, tokens, cost, time, calls) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    request.tenant,
    request.session,
    request.id,
    day,
    now,
    tokens,
    cost,
    time,
    calls,
  );
  return { ok: true, granted, until, spent };
};

/** Gives a session a share of its tenant's day, in exchange for the one before; asked again it gives the same. */
export const drawLease = (tables: Tables, request: LeaseRequest, now: number): LeaseAnswer =>
  tables.write((all) => {
    expire(all, request.tenant, now);
    const known = leaseOf(all, request, request.id);
    if (known === undefined) return draw(all, request, now);
    const day = Number(known["day"]);
    const figures = figuresOf(known);
    const granted = boundedBy(request, (kind) => figures[kind]);
    return { ok: true, granted, until: day + dayMs, spent: spentOn(all, request.tenant, day) };
  });
