import { amountsOf, fromApiAmount, limitNames, budgetKinds, budgetScopes, noUsage } from "../state/budget.ts";
import type { Agent, ModelTarget } from "../definition/agent.ts";
import type {
  Amounts,
  Bound,
  BudgetKind,
  BudgetScope,
  BudgetReservation,
  ReachedLimit,
  TeamBudgets,
} from "../state/budget.ts";
import { modelCallOf } from "../state/phase.ts";
import type { Run } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Thread } from "../state/thread.ts";
import type { Usage } from "../../model/completer.ts";
import type { Draft, ThreadDraft } from "../transaction/draft.ts";

/** Computes budgets: runs and the session store what was spent, phases what is reserved for calls under way. */

/** Account that a thread's spending is booked on: its run's, that of each run above it, or the session's. */
export interface BudgetAccount {
  readonly scope: BudgetScope;
  /** Thread whose run ends or asks when the account is used up. */
  readonly thread: string;
  /** Limits of the account, including what people raised. */
  readonly bounds: readonly Bound[];
  readonly spent: Amounts;
}

/** Returns a thread and those above it, itself first. */
export const lineageOf = <T extends Thread>(
  { threads }: { readonly threads: Readonly<Record<string, T>> },
  threadId: string,
): readonly T[] => {
  const line: T[] = [];
  let thread = threads[threadId];
  while (thread !== undefined) {
    line.push(thread);
    thread = thread.parent === null ? undefined : threads[thread.parent.thread];
  }
  return line;
};

/** Replaces limits that a person may raise with the raised ones. */
export const applyRaises = (
  bounds: readonly Bound[],
  raised: Readonly<Partial<Record<BudgetKind, number>>>,
): readonly Bound[] =>
  Object.keys(raised).length === 0
    ? bounds
    : bounds.map((bound) =>
        bound.ask ? { ...bound, limit: Math.max(bound.limit, raised[bound.kind] ?? 0) } : bound,
      );

/** Returns the bounds of a run, including what people raised. */
export const runBounds = ({ context }: Draft, thread: Thread, run: Run): readonly Bound[] =>
  applyRaises(context.agents(thread).limits.bounds, run.budget.raised);

/** Returns the bounds that the session's caller set, which narrow the team's. */
const callerBounds = ({ budget }: Session): readonly Bound[] => {
  if (budget === null) return [];
  const rest = { warnAt: budget.warn_at, ask: budget.on_exceeded === "ask", written: true };
  return budgetKinds.flatMap((kind) => {
    const limit = budget[limitNames[kind]];
    return limit === undefined ? [] : [{ kind, limit: fromApiAmount(kind, limit), ...rest }];
  });
};

/** Returns the bounds of a session, including what people raised. */
export const sessionBounds = (session: Session, team: TeamBudgets): readonly Bound[] =>
  applyRaises([...callerBounds(session), ...team.session], session.funds.raised);

/** Returns the accounts of a thread, the session's first and its own last. */
export const accountsOf = (draft: ThreadDraft): readonly BudgetAccount[] => {
  const { state, context, thread: own } = draft;
  const runs = lineageOf(state, own.id).flatMap((thread): BudgetAccount[] =>
    thread.run === null
      ? []
      : [
          {
            scope: "run",
            thread: thread.id,
            bounds: runBounds(draft, thread, thread.run),
            spent: amountsOf(thread.run.spent),
          },
        ],
  );
  const bounds = sessionBounds(state, context.budgets);
  const top = runs.at(-1)?.thread ?? own.id;
  const session: BudgetAccount = { scope: "session", thread: top, bounds, spent: amountsOf(state.spent) };
  return bounds.length === 0 ? runs.reverse() : [session, ...runs.reverse()];
};

export type ReservedAmounts = Pick<BudgetReservation, "tokens" | "cost">;

/** Sums up the reservations of an account without one thread's; `leased` takes only those that a lease pays for. */
export const sumReservations = (
  state: Session,
  { scope, thread }: Pick<BudgetAccount, "scope" | "thread">,
  except: string,
  leased = false,
): ReservedAmounts => {
  let tokens = 0;
  let cost = 0;
  for (const { id, run } of Object.values(state.threads)) {
    const hold = id === except ? undefined : modelCallOf(run)?.reservation;
    if (hold === undefined || (leased && !hold.leased)) continue;
    if (scope === "run" && !lineageOf(state, id).some((each) => each.id === thread)) continue;
    tokens += hold.tokens;
    cost += hold.cost;
  }
  return { tokens, cost };
};

/** Figures from which the cost of a planned model call is estimated. */
export interface CostEstimate {
  readonly model: string;
  /** Estimated tokens of the request. */
  readonly input: number;
  /** Most tokens that the reply may have. */
  readonly output: number;
  /** Tokens that reasoning may take beside the reply. */
  readonly thinking: number;
  /** The worst-case price of so many output tokens, in 10⁻⁹ USD; null if it is not known. */
  readonly price: (output: number) => number | null;
}

export type BudgetCheck =
  | { readonly is: "free"; readonly hold: BudgetReservation }
  /** Calls under way have reserved the budget; when they end, the rest may suffice. */
  | { readonly is: "wait" }
  | { readonly is: "reached"; readonly reached: ReachedLimit };

/** A reply of fewer tokens is not worth its request. */
const leastOutput = 256;

/** Returns the fewest output tokens for which a call is worth making. */
export const leastOutputOf = ({ output }: CostEstimate): number => Math.min(leastOutput, output);

/** Returns how many output tokens the cost left pays for; Infinity where the price does not depend on them. */
const affordableOutput = ({ price, output }: CostEstimate, left: number): number => {
  const empty = price(0);
  if (empty === null) return Infinity;
  if (empty > left) return -1;
  const each = ((price(output) ?? empty) - empty) / Math.max(1, output);
  if (each <= 0) return Infinity;
  const most = Math.floor((left - empty) / each);
  return (price(most) ?? 0) > left ? most - 1 : most;
};

/** Returns how many output tokens the rest of a kind allows; time is not reserved. */
export const outputWithinLimit = (kind: BudgetKind, left: number, estimate: CostEstimate): number => {
  if (kind === "tokens") return left - estimate.input - estimate.thinking;
  if (kind === "cost") return affordableOutput(estimate, left);
  if (kind === "time") return left > 0 ? Infinity : -1;
  return Infinity;
};

/** Returns the least amount of a kind that the call spends. */
export const leastSpendOf = (kind: BudgetKind, estimate: CostEstimate): number => {
  if (kind === "tokens") return estimate.input + estimate.thinking + leastOutputOf(estimate);
  if (kind === "cost") return estimate.price(leastOutputOf(estimate)) ?? 0;
  return 1;
};

/** Reserves a call with this many output tokens. */
export const createReservation = (estimate: CostEstimate, output: number): BudgetReservation => ({
  tokens: estimate.input + estimate.thinking + output,
  cost: estimate.price(output) ?? 0,
  output,
  leased: false,
});

const createReachedLimit = (
  { scope, thread, spent }: BudgetAccount,
  { kind, limit, ask }: Bound,
  least: number,
): ReachedLimit => ({
  scope,
  thread,
  kind,
  limit,
  spent: spent[kind],
  least: spent[kind] + least,
  ask,
});

/** Finds a cost limit under which a model without a price may not run. */
const findUnpricedLimit = (
  { context, thread }: ThreadDraft,
  accounts: readonly BudgetAccount[],
  { model, price }: CostEstimate,
): ReachedLimit | null => {
  if (!context.budgets.refuseUnpriced || price(0) !== null) return null;
  const limits = [...accounts.flatMap(({ bounds }) => bounds), ...context.budgets.tenant];
  const bound = limits.find(({ kind }) => kind === "cost");
  if (bound === undefined) return null;
  const { kind, limit } = bound;
  return { scope: "run", thread: thread.id, kind, limit, spent: 0, least: 0, ask: false, unpriced: model };
};

/** Returns the gravest limit: one that ends the run before one that may be raised, then the widest scope. */
const findGravest = (found: readonly ReachedLimit[]): ReachedLimit | undefined =>
  found.find(({ ask }) => !ask) ?? found[0];

/** Checks whether every account of a thread allows a model call, and how long its reply may be. */
export const checkBudget = (draft: ThreadDraft, estimate: CostEstimate): BudgetCheck => {
  const accounts = accountsOf(draft);
  const refused = findUnpricedLimit(draft, accounts, estimate);
  if (refused !== null) return { is: "reached", reached: refused };
  const reached: ReachedLimit[] = [];
  let waits = false;
  let { output } = estimate;
  for (const account of accounts) {
    const held = sumReservations(draft.state, account, draft.thread.id);
    for (const bound of account.bounds) {
      const { kind } = bound;
      const kept = kind === "tokens" || kind === "cost" ? held[kind] : 0;
      const most = outputWithinLimit(kind, bound.limit - account.spent[kind] - kept, estimate);
      if (most >= leastOutputOf(estimate)) output = Math.min(output, most);
      else if (kept > 0) waits = true;
      else reached.push(createReachedLimit(account, bound, leastSpendOf(kind, estimate)));
    }
  }
  const worst = findGravest(reached);
  if (worst !== undefined) return { is: "reached", reached: worst };
  return waits ? { is: "wait" } : { is: "free", hold: createReservation(estimate, output) };
};

/** The accounts of a thread's own run and its session. */
const ownAccounts = (draft: ThreadDraft): readonly BudgetAccount[] =>
  accountsOf(draft).filter(({ scope, thread }) => scope === "session" || thread === draft.thread.id);

/** Says why no further call may be dispatched; null if one may. */
export const findCallLimit = (draft: ThreadDraft): ReachedLimit | null => {
  const found = accountsOf(draft).flatMap((account) =>
    account.bounds
      .filter(({ kind, limit }) => kind === "calls" && account.spent.calls >= limit)
      .map((bound) => createReachedLimit(account, bound, 1)),
  );
  return findGravest(found) ?? findLeasedCallLimit(draft);
};

/** Finds whether the lease of this day has no calls left; a lease request made beforehand would have renewed them. */
const findLeasedCallLimit = ({ state, context, thread }: ThreadDraft): ReachedLimit | null => {
  const bound = context.budgets.tenant.find(({ kind }) => kind === "calls");
  const { lease } = state.funds.tenant;
  if (bound === undefined || lease === null || context.now >= lease.until) return null;
  if (lease.used.calls < (lease.granted.calls ?? 0)) return null;
  const { kind, limit } = bound;
  return { scope: "tenant", thread: thread.id, kind, limit, spent: limit, least: limit + 1, ask: false };
};

/** Finds a limit that stops a run and that the run or its session overspent; null if there is none. */
export const findOverspentLimit = (draft: ThreadDraft): ReachedLimit | null =>
  ownAccounts(draft).flatMap((account) =>
    account.bounds
      .filter(({ kind, limit, ask }) => !ask && account.spent[kind] > limit)
      .map((bound) => createReachedLimit(account, bound, 0)),
  )[0] ?? null;

/** Returns whether a run exceeded a cost limit of its own or its session, or ended for one. */
export const hasExceededCost = (draft: ThreadDraft): boolean => {
  const said = draft.thread.run?.said ?? [];
  return (
    budgetScopes.some((scope) => said.includes(`reached ${scope} cost`)) ||
    ownAccounts(draft).some(({ bounds, spent }) =>
      bounds.some(({ kind, limit }) => kind === "cost" && spent.cost > limit),
    )
  );
};

/** Tokens of the window that a request leaves free. */
const windowMargin = 256;

/** Reasoning of fewer tokens is none. */
const leastThinking = 1_024;

/** Returns how many tokens reasoning with a budget of its own may take: at most half of what the request leaves free. */
export const allowedThinking = (
  { window, thinking }: Pick<ModelTarget, "window" | "thinking">,
  input: number,
): number => {
  const half = Math.floor((window - input - windowMargin) / 2);
  if (window === 0 || thinking <= half) return thinking;
  return half < leastThinking ? 0 : half;
};

/** Returns the most tokens that a model target may write in a reply. */
const mostOutput = (target: ModelTarget, input: number): number => {
  const { window, maxOutput } = target;
  const room = window - input - windowMargin - allowedThinking(target, input);
  return window === 0 ? maxOutput : Math.max(1, Math.min(maxOutput, room));
};

/** Returns how many output tokens a request may ask for: what its budget and the window leave. */
export const allowedOutput = ({ window }: Pick<ModelTarget, "window">, input: number, held: number): number =>
  window === 0 ? held : Math.min(held, window - input - windowMargin);

const toUsage = (usage: Partial<Usage>): Usage => ({ ...noUsage, ...usage });

/** Returns the worst-case price: tokens written to the provider's cache may cost more than others. */
const worstCost = (target: ModelTarget, input: number, output: number): number | null => {
  const total = input + output;
  const plain = target.cost(toUsage({ input, output, total }));
  if (plain === null || target.cache.mode === "off") return plain;
  const hourly = target.cache.ttl === "1h" ? input : 0;
  return Math.max(plain, target.cost(toUsage({ cacheWrite: input, output, total }), hourly) ?? 0);
};

/** Estimates a call to a model target with this many input tokens and at most `output` for its reply. */
export const estimateCost = (
  target: ModelTarget,
  input: number,
  output = mostOutput(target, input),
): CostEstimate => ({
  model: target.model,
  input,
  output,
  thinking: allowedThinking(target, input),
  price: (tokens) => worstCost(target, input, tokens + allowedThinking(target, input)),
});

/** Checks the budget of a thread's turn; a model target that the agent has lost costs nothing. */
export const checkTurnBudget = (
  draft: ThreadDraft,
  { targets }: Agent,
  index: number,
  input: number,
): BudgetCheck => {
  const target = targets[index];
  if (target === undefined) return { is: "free", hold: { tokens: 0, cost: 0, output: 0, leased: true } };
  return checkBudget(draft, estimateCost(target, input));
};
