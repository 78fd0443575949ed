import type { Ticket } from "./run.ts";

/** What may be spent and what was. */

export type BudgetKind = "tokens" | "cost" | "time" | "calls";

/** Tokens, cost in 10⁻⁹ USD, model time in milliseconds, dispatched calls. */
export type Amounts = Readonly<Record<BudgetKind, number>>;

export const budgetKinds: readonly BudgetKind[] = ["tokens", "cost", "time", "calls"];

export const zeroAmounts: Amounts = { tokens: 0, cost: 0, time: 0, calls: 0 };

/** Amounts together; what is left out is 0. */
export const addAmounts = (a: Amounts, b: Partial<Amounts>): Amounts => ({
  tokens: a.tokens + (b.tokens ?? 0),
  cost: a.cost + (b.cost ?? 0),
  time: a.time + (b.time ?? 0),
  calls: a.calls + (b.calls ?? 0),
});

/** What can be used up: a kind of budget, or the turns of a run. */
export type LimitKind = BudgetKind | "turns";

const limitKinds: readonly LimitKind[] = [...budgetKinds, "turns"];

export type BudgetScope = "run" | "session" | "tenant";

/** The names of limits in YAML and in the API. */
export const limitNames = {
  tokens: "max_tokens",
  cost: "max_cost_usd",
  time: "max_duration",
  calls: "max_tool_calls",
  turns: "max_iterations",
} as const satisfies Record<LimitKind, string>;

/** The limit of such a name. */
export const limitKindOf = (key: string | undefined): LimitKind =>
  limitKinds.find((kind) => limitNames[kind] === key) ?? "turns";

/** An amount as the API shows it: cost in USD, time in milliseconds. */
export const toApiAmount = (kind: LimitKind, amount: number): number =>
  kind === "cost" ? amount / 1e9 : amount;

/** An amount of the API as it is counted. */
export const fromApiAmount = (kind: LimitKind, amount: number): number =>
  kind === "cost" ? Math.round(amount * 1e9) : amount;

/** One limit of one source: an agent, the team, a session's caller. */
export interface Bound {
  readonly kind: BudgetKind;
  readonly limit: number;
  /** Share of the limit at which a warning is given. */
  readonly warnAt: number;
  /** A person may raise it when it is reached; else the run stops. */
  readonly ask: boolean;
  /** Somebody wrote it, so a model that it cannot count is worth a word. */
  readonly written: boolean;
}

/** The smallest limit of each kind as the API shows it; null = none. */
export const toApiLimits = (bounds: readonly Bound[]): Readonly<Record<string, number | null>> =>
  Object.fromEntries(
    budgetKinds.map((kind) => {
      const limits = bounds.filter((bound) => bound.kind === kind).map(({ limit }) => limit);
      return [limitNames[kind], limits.length === 0 ? null : toApiAmount(kind, Math.min(...limits))];
    }),
  );

/** What the team bounds beside its agents. */
export interface TeamBudgets {
  readonly session: readonly Bound[];
  /** Of a tenant's UTC day. */
  readonly tenant: readonly Bound[];
  /** Models without a price may not run under a cost limit. */
  readonly refuseUnpriced: boolean;
}

/** The worst case of a model call under way, kept back from every account that it is paid from. */
export interface BudgetReservation {
  readonly tokens: number;
  readonly cost: number;
  /** Tokens the reply may have. */
  readonly output: number;
  /** The tenant's day pays for it: nothing of it is bounded, or the lease has room. */
  readonly leased: boolean;
}

/** A model call of an effect, as far as the ledger needs it if it is lost. */
export interface ModelCallInFlight {
  readonly provider: string;
  readonly model: string;
  readonly tokens: number;
  readonly hold: BudgetReservation;
  readonly startedAt: number;
  readonly place: Ticket;
}

/** A limit as events tell of it. Cost in USD, time in milliseconds. */
export interface BudgetFigures {
  readonly scope: BudgetScope;
  /** Key of the limit: `max_tokens`. */
  readonly kind: string;
  readonly limit: number;
  readonly spent: number;
}

/** What an ask for a higher limit is about. */
export interface RaiseQuestion extends BudgetFigures {
  /** The smallest limit with which the run could go on. */
  readonly least: number;
}

/** What a run remembers of its budget. */
export interface RunBudget {
  /** By the run and everything below it. */
  readonly spent: Amounts;
  /** Limits as a person raised them. */
  readonly raised: Readonly<Partial<Record<LimitKind, number>>>;
  /** `scope:kind` of warnings given. */
  readonly warned: readonly string[];
  /** `scope:kind` of limits said to be reached. */
  readonly reached: readonly string[];
  /** The open ask for a higher limit; the run and everything below it starts nothing meanwhile. */
  readonly ask: { readonly id: string; readonly until: number } | null;
  /** Turns in which a call was refused because the budget of calls is used up. */
  readonly refusals: readonly number[];
}

export const noRunBudget: RunBudget = {
  spent: zeroAmounts,
  raised: {},
  warned: [],
  reached: [],
  ask: null,
  refusals: [],
};

/** A share of the tenant's day that a session may spend without asking again. */
export interface Lease {
  readonly id: string;
  /** End of its day, milliseconds since the epoch. */
  readonly until: number;
  /** Kinds that the tenant's day bounds. */
  readonly granted: Readonly<Partial<Record<BudgetKind, number>>>;
  readonly used: Amounts;
  /** Nothing more may be spent from it; what is left goes back. */
  readonly closed: boolean;
}

/** What a session knows of its tenant's day. */
export interface TenantShare {
  readonly lease: Lease | null;
  /** Number of the next lease. */
  readonly next: number;
  /** Spent without a lease: the next one pays for it. */
  readonly owed: Amounts;
  /** Until when the day is taken to be used up, after it was found so. */
  readonly out: { readonly kind: BudgetKind; readonly until: number } | null;
}

/** What a session has spent, and may spend. */
export interface Funds {
  /** In its whole life. */
  readonly spent: Amounts;
  /** Limits of the session as people raised them. */
  readonly raised: Readonly<Partial<Record<BudgetKind, number>>>;
  readonly tenant: TenantShare;
}

export const noFunds: Funds = {
  spent: zeroAmounts,
  raised: {},
  tenant: { lease: null, next: 1, owed: zeroAmounts, out: null },
};

/** A session's own budget in the keys of the API, as its caller set it: USD, milliseconds. */
export interface SessionBudget {
  readonly max_tokens?: number;
  readonly max_cost_usd?: number;
  readonly max_duration?: number;
  readonly max_tool_calls?: number;
  readonly warn_at: number;
  readonly on_exceeded: "stop" | "ask";
}

/** A limit that leaves no room for what a run wants to do next. */
export interface ReachedLimit {
  readonly scope: BudgetScope;
  /** The thread whose run ends or asks: the account's owner. */
  readonly thread: string;
  readonly kind: LimitKind;
  readonly limit: number;
  readonly spent: number;
  /** The smallest limit with which it could go on. */
  readonly least: number;
  readonly ask: boolean;
  /** The model whose price is not known, where that is what forbids the call. */
  readonly unpriced?: string;
}
