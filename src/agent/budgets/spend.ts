import type { ModelTarget } from "../definition/agent.ts";
import type {
  Amounts,
  BudgetFigures,
  LimitKind,
  ReachedLimit,
  RunBudget,
  TenantShare,
  Spending,
} from "../state/budget.ts";
import { limitNames, addAmounts, toApiAmount, addSpending, amountsOf, noSpending } from "../state/budget.ts";
import type { ModelCall } from "../state/phase.ts";
import type { Notice } from "../state/run.ts";
import type { LedgerRow } from "../state/records.ts";
import type { Draft, ThreadDraft } from "../transaction/draft.ts";
import { agentOf, emit, giveNotice, runOf, threadOf, selectThread } from "../transaction/draft.ts";
import type { BudgetAccount } from "./bounds.ts";
import { accountsOf, lineageOf } from "./bounds.ts";

/** Books spending, warns of limits, reports them and stops runs. */

export const changeRunBudget = (draft: ThreadDraft, change: Partial<RunBudget>): void => {
  const run = runOf(draft);
  run.budget = { ...run.budget, ...change };
};

const spendFromTenant = (draft: Draft, share: TenantShare, amounts: Amounts): TenantShare => {
  const { lease, owed } = share;
  if (draft.context.budgets.tenant.length === 0) return share;
  if (lease === null || lease.closed) return { ...share, owed: addAmounts(owed, amounts) };
  return { ...share, lease: { ...lease, used: addAmounts(lease.used, amounts) } };
};

/** Books what a thread spent on its run, every run above it, its session and its lease, in one commit. */
export const bookSpending = (draft: ThreadDraft, spending: Partial<Spending>): void => {
  for (const { run } of lineageOf(draft.state, draft.thread.id))
    if (run !== null) run.spent = addSpending(run.spent, spending);
  draft.state.spent = addSpending(draft.state.spent, spending);
  const { funds } = draft.state;
  const tenant = spendFromTenant(draft, funds.tenant, amountsOf(addSpending(noSpending, spending)));
  if (tenant !== funds.tenant) draft.state.funds = { ...funds, tenant };
  for (const account of accountsOf(draft)) warnOfLimits(draft, account);
};

/** Books the model time of a lost attempt, at most its target's timeout; none if the target no longer exists. */
export const bookLostTime = (
  draft: ThreadDraft,
  startedAt: number,
  { timeout }: Pick<ModelTarget, "timeout"> = { timeout: 0 },
): void => bookSpending(draft, { time: Math.min(timeout, Math.max(0, draft.context.now - startedAt)) });

const figuresOf = (
  scope: ReachedLimit["scope"],
  kind: LimitKind,
  limit: number,
  used: number,
): BudgetFigures => ({
  scope,
  kind: limitNames[kind],
  limit: toApiAmount(kind, limit),
  spent: toApiAmount(kind, used),
});

/** Formats a share like `800 of 1000 tokens`. */
const formatShare = (kind: LimitKind, used: number, limit: number): string => {
  if (kind === "cost") return `${used / 1e9} of ${limit / 1e9} USD`;
  if (kind === "time") return `${used / 1_000} of ${limit / 1_000} s of model time`;
  return `${used} of ${limit} ${kind}`;
};

/** Reports a near limit once per run, scope and kind: to watchers, and to the model at its next turn. */
export const warnOfLimits = (draft: Draft, { scope, thread, bounds, spent: used }: BudgetAccount): void => {
  for (const { kind, limit, warnAt } of bounds) {
    const { run } = threadOf(draft, thread);
    if (run === null || limit <= 0 || used[kind] < limit * warnAt) continue;
    if (!giveNotice(run, `near ${scope} ${kind}`)) continue;
    emit(selectThread(draft, thread), "budget_warning", figuresOf(scope, kind, limit, used[kind]));
    const what = `the ${scope}'s budget ${limitNames[kind]}`;
    const text = `Used of ${what}: ${formatShare(kind, used[kind], limit)}. Bring the work to an end, or hand over what you have.`;
    run.notes = [...run.notes, { kind: "budget", text }];
  }
};

/** Says why a run cannot go on, as a sentence that begins with the limit's key. */
export const describeLimit = ({ scope, kind, limit, spent: used, least, unpriced }: ReachedLimit): string => {
  if (unpriced !== undefined)
    return `max_cost_usd: the price of ${unpriced} is not known, and budgets.unknown_price is refuse; set models.${unpriced}.price`;
  if (kind === "turns") return `max_iterations: ${limit} turns are used up`;
  const whose = scope === "run" ? "" : ` of the ${scope === "tenant" ? "tenant's day" : "session"}`;
  const end = used >= limit ? "" : `; the next call needs at least ${toApiAmount(kind, least - used)}`;
  return `${limitNames[kind]}${whose}: ${formatShare(kind, used, limit)} are spent${end}`;
};

/** Reports a reached limit once per run, scope and kind until a person raises it. */
export const reportReachedLimit = (
  draft: Draft,
  { scope, thread, kind, limit, spent: used }: ReachedLimit,
): void => {
  const { run } = threadOf(draft, thread);
  if (kind === "turns" || run === null || !giveNotice(run, `reached ${scope} ${kind}`)) return;
  emit(selectThread(draft, thread), "budget_reached", figuresOf(scope, kind, limit, used));
};

/** Ends the run of an account and everything below it. */
export const stopRun = (
  draft: Draft,
  { thread, kind }: Pick<ReachedLimit, "thread" | "kind">,
  error: string,
): void => {
  const { run } = threadOf(draft, thread);
  if (run === null || run.stop !== null) return;
  run.stop = { reason: kind === "turns" ? "max_iterations" : "budget_exceeded", error };
  if (kind === "turns" && agentOf(selectThread(draft, thread)).verification?.onBreach === true)
    run.verification = { of: "breach", outcome: null };
};

/** Raises a limit for a run or, in the session's scope, for the session. */
export const raiseLimit = (
  draft: Draft,
  { scope, thread, kind }: Pick<ReachedLimit, "scope" | "thread" | "kind">,
  limit: number,
): void => {
  const { run } = threadOf(draft, thread);
  if (run !== null) {
    const outdated: readonly Notice[] = [`near ${scope} ${kind}`, `reached ${scope} ${kind}`];
    run.said = run.said.filter((notice) => !outdated.includes(notice));
    const { raised } = run.budget;
    const more = scope === "run" ? { ...raised, [kind]: limit } : raised;
    run.budget = { ...run.budget, refusals: [], raised: more };
  }
  if (scope !== "session" || kind === "turns") return;
  const { funds } = draft.state;
  const most = Math.max(limit, funds.raised[kind] ?? 0);
  draft.state.funds = { ...funds, raised: { ...funds.raised, [kind]: most } };
};

/** Reports, once per session, that a model without a price counts only tokens under a written cost limit. */
export const reportUnpricedModel = (draft: ThreadDraft, model: string): void => {
  const bounds = [...accountsOf(draft).flatMap((account) => account.bounds), ...draft.context.budgets.tenant];
  const counts = bounds.some(({ kind, written }) => kind === "cost" && written);
  if (!counts || !giveNotice(draft.state, `unpriced ${model}`)) return;
  const message = `the price of ${model} is not known, so its calls count in tokens only; set models.${model}.price`;
  emit(draft, "error", { code: "unpriced_model", message, retryable: false });
};

/** Books an attempt at a model call in the ledger, on the session, on its run and those above it. */
export const bookAttempt = (
  draft: ThreadDraft,
  { purpose, attempt, target: { provider, model } }: ModelCall,
  row: Pick<LedgerRow, "outcome" | "usage" | "estimated" | "cost"> &
    Partial<Pick<LedgerRow, "provider" | "model" | "saw">>,
  time = 0,
): void => {
  const { id: thread, agent } = draft.thread;
  const { id: run, turn } = runOf(draft);
  const at = draft.context.now;
  draft.ledger.push({ at, thread, agent, run, turn, attempt, purpose, provider, model, ...row });
  const { usage, cost, estimated } = row;
  bookSpending(draft, {
    usage,
    modelCalls: 1,
    unpriced: cost === null ? 1 : 0,
    estimated: estimated ? 1 : 0,
    cost: cost ?? 0,
    time,
  });
};
