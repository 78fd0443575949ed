import type { AgentResolver } from "../definition/agent.ts";
import type {
  Amounts,
  Bound,
  BudgetKind,
  BudgetScope,
  BudgetReservation,
  ReachedLimit,
  TeamBudgets,
} from "../state/budget.ts";
import { fromApiAmount, limitNames, budgetKinds } from "../state/budget.ts";
import type { Run } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Thread } from "../state/thread.ts";

/**
 * Budgets as pure reading. What was spent is stored with each run and the session, what is kept back for
 * calls under way with their phases: nothing here remembers anything.
 */

/** What a session's budgets are judged by. */
export interface BudgetState {
  readonly state: Session;
  readonly moment: { readonly agents: AgentResolver; readonly budgets: TeamBudgets };
}

/** An account that a thread's spending is booked on: of its run, of each run above it, of the session. */
export interface BudgetAccount {
  readonly scope: BudgetScope;
  /** The thread whose run ends or asks when it is used up. */
  readonly thread: string;
  /** With what people raised. */
  readonly bounds: readonly Bound[];
  readonly spent: Amounts;
}

/** The thread and those above it, itself first. */
export const lineageOf = ({ threads }: Session, threadId: string): readonly Thread[] => {
  const line: Thread[] = [];
  let thread = threads[threadId];
  while (thread !== undefined) {
    line.push(thread);
    thread = thread.parent === null ? undefined : threads[thread.parent.thread];
  }
  return line;
};

/** What is kept back for the model call that a run is making; null if it makes none. */
export const reservationOf = (run: Run | null): BudgetReservation | null => {
  if (run?.phase.at === "thinking") return run.phase.hold;
  return run?.phase.at === "preparing" ? (run.phase.calling?.hold ?? null) : null;
};

const applyRaises = (
  bounds: readonly Bound[],
  raised: Readonly<Partial<Record<BudgetKind, number>>>,
): readonly Bound[] =>
  Object.keys(raised).length === 0
    ? bounds
    : bounds.map((bound) =>
        bound.ask ? { ...bound, limit: Math.max(bound.limit, raised[bound.kind] ?? 0) } : bound,
      );

/** The bounds of a run, as people raised them. */
export const runBounds = (
  { moment }: Pick<BudgetState, "moment">,
  thread: Thread,
  run: Run,
): readonly Bound[] => applyRaises(moment.agents(thread).limits.bounds, run.budget.raised);

/** The bounds that a session's caller set; they narrow the team's. */
const callerBounds = ({ budget }: Session): readonly Bound[] => {
  if (budget === null) return [];
  const rest = { warnAt: budget.warn_at, ask: budget.on_exceeded === "ask", written: true };
  return budgetKinds.flatMap((kind) => {
    const limit = budget[limitNames[kind]];
    return limit === undefined ? [] : [{ kind, limit: fromApiAmount(kind, limit), ...rest }];
  });
};

export const sessionBounds = ({ state, moment }: BudgetState): readonly Bound[] =>
  applyRaises([...callerBounds(state), ...moment.budgets.session], state.funds.raised);

/** All accounts of a thread, the session's first, its own last. */
export const accountsOf = (budgets: BudgetState, threadId: string): readonly BudgetAccount[] => {
  const { state } = budgets;
  const runs = lineageOf(state, threadId).flatMap((thread): BudgetAccount[] =>
    thread.run === null
      ? []
      : [
          {
            scope: "run",
            thread: thread.id,
            bounds: runBounds(budgets, thread, thread.run),
            spent: thread.run.budget.spent,
          },
        ],
  );
  const bounds = sessionBounds(budgets);
  const top = runs.at(-1)?.thread ?? threadId;
  const session: BudgetAccount = { scope: "session", thread: top, bounds, spent: state.funds.spent };
  return bounds.length === 0 ? runs.reverse() : [session, ...runs.reverse()];
};

export interface ReservedAmounts {
  readonly tokens: number;
  readonly cost: number;
}

/** What model calls under way keep back from an account, without those of one thread; `leased`: only those that a lease pays for. */
export const sumReservations = (
  state: Session,
  { scope, thread }: Pick<BudgetAccount, "scope" | "thread">,
  except: string,
  leased = false,
): ReservedAmounts => {
  let tokens = 0;
  let cost = 0;
  for (const { id, run } of Object.values(state.threads)) {
    const hold = id === except ? null : reservationOf(run);
    if (hold === null || (leased && !hold.leased)) continue;
    if (scope === "run" && !lineageOf(state, id).some((each) => each.id === thread)) continue;
    tokens += hold.tokens;
    cost += hold.cost;
  }
  return { tokens, cost };
};

/** A model call that wants to be made. */
export interface CostEstimate {
  readonly model: string;
  /** Estimated tokens of its request. */
  readonly input: number;
  /** The most tokens its reply may have. */
  readonly output: number;
  /** Tokens that reasoning may take beside the reply. */
  readonly thinking: number;
  /** Price of the worst case with so many output tokens, in 10⁻⁹ USD; null if it is not known. */
  readonly price: (output: number) => number | null;
}

export type BudgetCheck =
  | { readonly is: "free"; readonly hold: BudgetReservation }
  /** Calls under way keep it back: when they have ended there may be room. */
  | { readonly is: "wait" }
  | { readonly is: "reached"; readonly reached: ReachedLimit };

/** A reply of fewer tokens is not worth its request. */
const leastOutput = 256;

/** The fewest tokens that a reply is worth asking for. */
export const leastOutputOf = ({ output }: CostEstimate): number => Math.min(leastOutput, output);

/** Output tokens that so much cost pays for; Infinity where nothing depends on it. */
const affordableOutput = ({ price, output }: CostEstimate, left: number): number => {
  const empty = price(0);
  if (empty === null) return Infinity;
  if (empty > left) return -1;
  const each = ((price(output) ?? empty) - empty) / Math.max(1, output);
  if (each <= 0) return Infinity;
  const most = Math.floor((left - empty) / each);
  return (price(most) ?? 0) > left ? most - 1 : most;
};

/** Output tokens that what is left of a kind allows. Time is not kept back: calls under way may end, and their replies stay. */
export const outputWithinLimit = (kind: BudgetKind, left: number, estimate: CostEstimate): number => {
  if (kind === "tokens") return left - estimate.input - estimate.thinking;
  if (kind === "cost") return affordableOutput(estimate, left);
  if (kind === "time") return left > 0 ? Infinity : -1;
  return Infinity;
};

/** What the call costs of a kind at least. */
export const leastSpendOf = (kind: BudgetKind, estimate: CostEstimate): number => {
  if (kind === "tokens") return estimate.input + estimate.thinking + leastOutputOf(estimate);
  if (kind === "cost") return estimate.price(leastOutputOf(estimate)) ?? 0;
  return 1;
};

/** The same call with fewer output tokens. */
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

/** A cost limit that a model without a price may not run under. */
const findUnpricedLimit = (
  accounts: readonly BudgetAccount[],
  { moment }: BudgetState,
  threadId: string,
  { model, price }: CostEstimate,
): ReachedLimit | null => {
  if (!moment.budgets.refuseUnpriced || price(0) !== null) return null;
  const limits = [...accounts.flatMap(({ bounds }) => bounds), ...moment.budgets.tenant];
  const bound = limits.find(({ kind }) => kind === "cost");
  if (bound === undefined) return null;
  const { kind, limit } = bound;
  return { scope: "run", thread: threadId, kind, limit, spent: 0, least: 0, ask: false, unpriced: model };
};

/** What ends the run rather than what may be raised, and of those what ends most. */
const findGravest = (found: readonly ReachedLimit[]): ReachedLimit | undefined =>
  found.find(({ ask }) => !ask) ?? found[0];

/** Whether a model call has room in every account of its thread, and how long its reply may be. */
export const checkBudget = (budgets: BudgetState, threadId: string, estimate: CostEstimate): BudgetCheck => {
  const accounts = accountsOf(budgets, threadId);
  const refused = findUnpricedLimit(accounts, budgets, threadId, estimate);
  if (refused !== null) return { is: "reached", reached: refused };
  const reached: ReachedLimit[] = [];
  let waits = false;
  let { output } = estimate;
  for (const account of accounts) {
    const held = sumReservations(budgets.state, account, threadId);
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
const ownAccounts = (budgets: BudgetState, threadId: string): readonly BudgetAccount[] =>
  accountsOf(budgets, threadId).filter(({ scope, thread }) => scope === "session" || thread === threadId);

/** Why no further call may be dispatched; null if one may. */
export const findCallLimit = (budgets: BudgetState, threadId: string): ReachedLimit | null => {
  const found = accountsOf(budgets, threadId).flatMap((account) =>
    account.bounds
      .filter(({ kind, limit }) => kind === "calls" && account.spent.calls >= limit)
      .map((bound) => createReachedLimit(account, bound, 1)),
  );
  return findGravest(found) ?? findLeasedCallLimit(budgets, threadId);
};

/** The lease has no calls left, which at a request's time it had if there were any. */
const findLeasedCallLimit = ({ state, moment }: BudgetState, threadId: string): ReachedLimit | null => {
  const bound = moment.budgets.tenant.find(({ kind }) => kind === "calls");
  const { lease } = state.funds.tenant;
  if (bound === undefined || lease === null || lease.used.calls < (lease.granted.calls ?? 0)) return null;
  const { kind, limit } = bound;
  return { scope: "tenant", thread: threadId, kind, limit, spent: limit, least: limit + 1, ask: false };
};

/** What a run or its session spent beyond a limit that stops it; null if nothing. */
export const findOverspentLimit = (budgets: BudgetState, threadId: string): ReachedLimit | null =>
  ownAccounts(budgets, threadId).flatMap((account) =>
    account.bounds
      .filter(({ kind, limit, ask }) => !ask && account.spent[kind] > limit)
      .map((bound) => createReachedLimit(account, bound, 0)),
  )[0] ?? null;

/** Whether a run spent more than a cost limit of its own or its session, or ended for one. */
export const hasExceededCost = (budgets: BudgetState, threadId: string): boolean => {
  const marks = budgets.state.threads[threadId]?.run?.budget.reached ?? [];
  return (
    marks.some((mark) => mark.endsWith(":cost")) ||
    ownAccounts(budgets, threadId).some(({ bounds, spent }) =>
      bounds.some(({ kind, limit }) => kind === "cost" && spent.cost > limit),
    )
  );
};
