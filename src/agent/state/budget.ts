import type { Usage } from "../../model/completer.ts";

/** Describes what may be spent and what was spent. */

export type BudgetKind = "tokens" | "cost" | "time" | "calls";

/** Tokens, cost in 10⁻⁹ USD, model time in milliseconds and dispatched calls. */
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

/** Kind of a limit: a kind of budget, or the turns of a run. */
export type LimitKind = BudgetKind | "turns";

const limitKinds: readonly LimitKind[] = [...budgetKinds, "turns"];

export const budgetScopes = ["run", "session", "tenant"] as const;

export type BudgetScope = (typeof budgetScopes)[number];

/** Names of limits in YAML and in the API. */
export const limitNames = {
  tokens: "max_tokens",
  cost: "max_cost_usd",
  time: "max_duration",
  calls: "max_tool_calls",
  turns: "max_iterations",
} as const satisfies Record<LimitKind, string>;

/** Returns the kind of a limit by its name. */
export const limitKindOf = (key: string | undefined): LimitKind =>
  limitKinds.find((kind) => limitNames[kind] === key) ?? "turns";

/** Converts an amount to the units of the API: cost in USD, time in milliseconds. */
export const toApiAmount = (kind: LimitKind, amount: number): number =>
  kind === "cost" ? amount / 1e9 : amount;

/** Converts an amount given to the API to the unit in which it is counted. */
export const fromApiAmount = (kind: LimitKind, amount: number): number =>
  kind === "cost" ? Math.round(amount * 1e9) : amount;

/** One limit from one source: an agent, the team, or a session's caller. */
export interface Bound {
  readonly kind: BudgetKind;
  readonly limit: number;
  /** Share of the limit at which a warning is given. */
  readonly warnAt: number;
  /** If true, a person may raise the limit when it is reached; otherwise the run stops. */
  readonly ask: boolean;
  /** Whether somebody configured the limit, so that a model without a known price is reported. */
  readonly written: boolean;
}

/** Returns the smallest limit of each kind, as the API shows it; null means none. */
export const toApiLimits = (bounds: readonly Bound[]): Readonly<Record<string, number | null>> =>
  Object.fromEntries(
    budgetKinds.map((kind) => {
      const limits = bounds.filter((bound) => bound.kind === kind).map(({ limit }) => limit);
      return [limitNames[kind], limits.length === 0 ? null : toApiAmount(kind, Math.min(...limits))];
    }),
  );

/** Bounds that the team sets in addition to those of its agents. */
export interface TeamBudgets {
  readonly session: readonly Bound[];
  /** Bounds that hold for a tenant's UTC day. */
  readonly tenant: readonly Bound[];
  /** If true, models without a price may not run under a cost limit. */
  readonly refuseUnpriced: boolean;
}

/** Worst case of a model call under way, reserved in every account that pays for it. */
export interface BudgetReservation {
  readonly tokens: number;
  readonly cost: number;
  /** Most tokens that the reply may have. */
  readonly output: number;
  /** Whether the tenant's day pays for the call: none of its kinds is bounded, or the lease covers it. */
  readonly leased: boolean;
}

/** Figures of a limit in events: cost in USD, time in milliseconds. */
export interface BudgetFigures {
  readonly scope: BudgetScope;
  /** The key of the limit, such as `max_tokens`. */
  readonly kind: string;
  readonly limit: number;
  readonly spent: number;
}

/** Figures of an ask for a higher limit. */
export interface RaiseQuestion extends BudgetFigures {
  /** Least limit with which the run could go on. */
  readonly least: number;
}

/** Budget of a run, as it is stored. */
export interface RunBudget {
  /** Limits as a person raised them. */
  readonly raised: Readonly<Partial<Record<LimitKind, number>>>;
  /** Open ask for a higher limit, during which the run and everything below it starts nothing. */
  readonly ask: string | null;
  /** Turns in which a call was refused because the budget of calls was used up. */
  readonly refusals: readonly number[];
}

export const noRunBudget: RunBudget = {
  raised: {},
  ask: null,
  refusals: [],
};

/** Share of the tenant's day that a session may spend without asking again. */
export interface Lease {
  readonly id: string;
  /** End of its day in milliseconds since the epoch. */
  readonly until: number;
  /** Lists the kinds that the tenant's day bounds. */
  readonly granted: Readonly<Partial<Record<BudgetKind, number>>>;
  readonly used: Amounts;
  /** Whether nothing more may be spent from the lease; what is left goes back. */
  readonly closed: boolean;
}

/** What a session stores about its tenant's day. */
export interface TenantShare {
  readonly lease: Lease | null;
  /** Number of the next lease. */
  readonly next: number;
  /** What was spent without a lease: the next one pays for it. */
  readonly owed: Amounts;
  /** Kind of which the day was found to be used up, and until when it is treated so. */
  readonly out: { readonly kind: BudgetKind; readonly until: number } | null;
}

/** What a session may spend. */
export interface Funds {
  /** Limits of the session as people raised them. */
  readonly raised: Readonly<Partial<Record<BudgetKind, number>>>;
  readonly tenant: TenantShare;
}

export const noFunds: Funds = {
  raised: {},
  tenant: { lease: null, next: 1, owed: zeroAmounts, out: null },
};

/** Budget that a session's caller sets, in the keys of the API, in USD and milliseconds. */
export interface SessionBudget {
  readonly max_tokens?: number;
  readonly max_cost_usd?: number;
  readonly max_duration?: number;
  readonly max_tool_calls?: number;
  readonly warn_at: number;
  readonly on_exceeded: "stop" | "ask";
}

/** Limit that leaves too little for what a run wants to do next. */
export interface ReachedLimit {
  readonly scope: BudgetScope;
  /** Thread that owns the account, whose run ends or asks. */
  readonly thread: string;
  readonly kind: LimitKind;
  readonly limit: number;
  readonly spent: number;
  /** Least limit with which the run could go on. */
  readonly least: number;
  readonly ask: boolean;
  /** Model whose unknown price forbids the call. */
  readonly unpriced?: string;
}

export const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

/** What a run or a session spent, with everything below it. All are numbers, so that sums can be subtracted. */
export interface Spending {
  readonly usage: Usage;
  /** Numbers of attempts at model calls: all, those without a known price, and those of estimated usage. */
  readonly modelCalls: number;
  readonly unpriced: number;
  readonly estimated: number;
  /** Cost of the priced attempts in 10⁻⁹ USD. */
  readonly cost: number;
  /** The time of models in milliseconds. */
  readonly time: number;
  /** Number of dispatched tool calls. */
  readonly toolCalls: number;
}

export const noSpending: Spending = {
  usage: noUsage,
  modelCalls: 0,
  unpriced: 0,
  estimated: 0,
  cost: 0,
  time: 0,
  toolCalls: 0,
};

/** Adds up usage, or subtracts it. */
export const addUsage = (a: Usage, b: Usage, sign: 1 | -1 = 1): Usage => ({
  input: a.input + sign * b.input,
  output: a.output + sign * b.output,
  cacheRead: a.cacheRead + sign * b.cacheRead,
  cacheWrite: a.cacheWrite + sign * b.cacheWrite,
  total: a.total + sign * b.total,
});

/** The last call of a thread saw a context of this many tokens. */
export const contextTokens = (usage: Usage | null): number =>
  usage === null ? 0 : usage.input + usage.cacheRead + usage.cacheWrite;

/** Adds up spending, or subtracts it; what `b` leaves out counts as 0. */
export const addSpending = (a: Spending, b: Partial<Spending>, sign: 1 | -1 = 1): Spending => ({
  usage: b.usage === undefined ? a.usage : addUsage(a.usage, b.usage, sign),
  modelCalls: a.modelCalls + sign * (b.modelCalls ?? 0),
  unpriced: a.unpriced + sign * (b.unpriced ?? 0),
  estimated: a.estimated + sign * (b.estimated ?? 0),
  cost: a.cost + sign * (b.cost ?? 0),
  time: a.time + sign * (b.time ?? 0),
  toolCalls: a.toolCalls + sign * (b.toolCalls ?? 0),
});

/** Returns the cost, which is unknown once a call had no price. */
export const costOf = ({ cost, unpriced }: Pick<Spending, "cost" | "unpriced">): number | null =>
  unpriced > 0 ? null : cost;

/** Returns the amounts of a sum that budgets bound. */
export const amountsOf = ({ usage, cost, time, toolCalls }: Spending): Amounts => ({
  tokens: usage.total,
  cost,
  time,
  calls: toolCalls,
});
