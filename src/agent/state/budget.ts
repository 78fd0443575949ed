/** These types describe what may be spent and what was spent. */

export type BudgetKind = "tokens" | "cost" | "time" | "calls";

/** Amounts are tokens, cost in 10⁻⁹ USD, model time in milliseconds and dispatched calls. */
export type Amounts = Readonly<Record<BudgetKind, number>>;

export const budgetKinds: readonly BudgetKind[] = ["tokens", "cost", "time", "calls"];

export const zeroAmounts: Amounts = { tokens: 0, cost: 0, time: 0, calls: 0 };

/** Adds up amounts, or subtracts them; what `b` leaves out counts as 0. */
export const addAmounts = (a: Amounts, b: Partial<Amounts>, sign: 1 | -1 = 1): Amounts => ({
  tokens: a.tokens + sign * (b.tokens ?? 0),
  cost: a.cost + sign * (b.cost ?? 0),
  time: a.time + sign * (b.time ?? 0),
  calls: a.calls + sign * (b.calls ?? 0),
});

/** A limit bounds a kind of budget or the turns of a run. */
export type LimitKind = BudgetKind | "turns";

const limitKinds: readonly LimitKind[] = [...budgetKinds, "turns"];

export const budgetScopes = ["run", "session", "tenant"] as const;

export type BudgetScope = (typeof budgetScopes)[number];

/** Limits have these names in YAML and in the API. */
export const limitNames = {
  tokens: "max_tokens",
  cost: "max_cost_usd",
  time: "max_duration",
  calls: "max_tool_calls",
  turns: "max_iterations",
} as const satisfies Record<LimitKind, string>;

/** The kind of a limit is looked up by its name. */
export const limitKindOf = (key: string | undefined): LimitKind =>
  limitKinds.find((kind) => limitNames[kind] === key) ?? "turns";

/** An amount is shown by the API in these units: cost in USD, time in milliseconds. */
export const toApiAmount = (kind: LimitKind, amount: number): number =>
  kind === "cost" ? amount / 1e9 : amount;

/** An amount given to the API is converted to the unit in which it is counted. */
export const fromApiAmount = (kind: LimitKind, amount: number): number =>
  kind === "cost" ? Math.round(amount * 1e9) : amount;

/** A bound is one limit from one source: an agent, the team, or a session's caller. */
export interface Bound {
  readonly kind: BudgetKind;
  readonly limit: number;
  /** A warning is given at this share of the limit. */
  readonly warnAt: number;
  /** If true, a person may raise the limit when it is reached; otherwise the run stops. */
  readonly ask: boolean;
  /** Somebody configured it, so a model without a known price is reported. */
  readonly written: boolean;
}

/** The smallest limit of each kind is what the API shows; null means none. */
export const toApiLimits = (bounds: readonly Bound[]): Readonly<Record<string, number | null>> =>
  Object.fromEntries(
    budgetKinds.map((kind) => {
      const limits = bounds.filter((bound) => bound.kind === kind).map(({ limit }) => limit);
      return [limitNames[kind], limits.length === 0 ? null : toApiAmount(kind, Math.min(...limits))];
    }),
  );

/** The team sets these bounds in addition to those of its agents. */
export interface TeamBudgets {
  readonly session: readonly Bound[];
  /** Bounds that hold for a tenant's UTC day. */
  readonly tenant: readonly Bound[];
  /** If true, models without a price may not run under a cost limit. */
  readonly refuseUnpriced: boolean;
}

/** The worst case of a model call under way is reserved in every account that pays for it. */
export interface BudgetReservation {
  readonly tokens: number;
  readonly cost: number;
  /** The reply may have this many tokens. */
  readonly output: number;
  /** The tenant's day pays for it: none of its kinds is bounded, or the lease covers it. */
  readonly leased: boolean;
}

/** Events show a limit in these figures: cost in USD, time in milliseconds. */
export interface BudgetFigures {
  readonly scope: BudgetScope;
  /** The key of the limit, such as `max_tokens`. */
  readonly kind: string;
  readonly limit: number;
  readonly spent: number;
}

/** An ask for a higher limit carries these figures. */
export interface RaiseQuestion extends BudgetFigures {
  /** The run could go on with this limit at the least. */
  readonly least: number;
}

/** A run stores this state of its budget. */
export interface RunBudget {
  /** Limits as a person raised them. */
  readonly raised: Readonly<Partial<Record<LimitKind, number>>>;
  /** While this ask for a higher limit is open, the run and everything below it starts nothing. */
  readonly ask: string | null;
  /** In these turns a call was refused because the budget of calls was used up. */
  readonly refusals: readonly number[];
}

export const noRunBudget: RunBudget = {
  raised: {},
  ask: null,
  refusals: [],
};

/** A lease is a share of the tenant's day that a session may spend without asking again. */
export interface Lease {
  readonly id: string;
  /** Its day ends then, in milliseconds since the epoch. */
  readonly until: number;
  /** Lists the kinds that the tenant's day bounds. */
  readonly granted: Readonly<Partial<Record<BudgetKind, number>>>;
  readonly used: Amounts;
  /** Nothing more may be spent from a closed lease; what is left goes back. */
  readonly closed: boolean;
}

/** A session stores this about its tenant's day. */
export interface TenantShare {
  readonly lease: Lease | null;
  /** The next lease gets this number. */
  readonly next: number;
  /** What was spent without a lease: the next one pays for it. */
  readonly owed: Amounts;
  /** The day was found to be used up and is treated so until then. */
  readonly out: { readonly kind: BudgetKind; readonly until: number } | null;
}

/** Funds are what a session may spend. */
export interface Funds {
  /** Limits of the session as people raised them. */
  readonly raised: Readonly<Partial<Record<BudgetKind, number>>>;
  readonly tenant: TenantShare;
}

export const noFunds: Funds = {
  raised: {},
  tenant: { lease: null, next: 1, owed: zeroAmounts, out: null },
};

/** A session's caller sets its budget in the keys of the API, in USD and milliseconds. */
export interface SessionBudget {
  readonly max_tokens?: number;
  readonly max_cost_usd?: number;
  readonly max_duration?: number;
  readonly max_tool_calls?: number;
  readonly warn_at: number;
  readonly on_exceeded: "stop" | "ask";
}

/** A reached limit leaves too little for what a run wants to do next. */
export interface ReachedLimit {
  readonly scope: BudgetScope;
  /** The run of this thread, which owns the account, ends or asks. */
  readonly thread: string;
  readonly kind: LimitKind;
  readonly limit: number;
  readonly spent: number;
  /** The run could go on with this limit at the least. */
  readonly least: number;
  readonly ask: boolean;
  /** The price of this model is unknown, if that is what forbids the call. */
  readonly unpriced?: string;
}
