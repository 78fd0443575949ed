import { freshRun } from "../state/run.ts";
import type { Agent, RunLimits } from "../definition/agent.ts";
import type { LimitKind, ReachedLimit, Bound, BudgetScope, TeamBudgets } from "../state/budget.ts";
import type { Run, RunClock } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Thread } from "../state/thread.ts";
import { isDue } from "../state/ask.ts";
import type { ThreadDraft } from "../transaction/draft.ts";
import { agentOf, runOf } from "../transaction/draft.ts";
import { requestTokens, toolTokens, nextAttempt } from "../transaction/next-request.ts";
import type { BudgetCheck } from "./bounds.ts";
import { lineageOf, checkTurnBudget, applyRaises, sessionBounds } from "./bounds.ts";
import { amountsOf, noSpending, budgetKinds } from "../state/budget.ts";

/** Checks the limits of turns, budgets and time that forbid a thread to make its next model call. */

/** Returns how many turns a run may have, including those that a person allowed; 0 means any number. */
export const turnLimit = ({ maxIterations, askIterations }: RunLimits, { budget }: Run): number =>
  askIterations && maxIterations > 0 ? Math.max(maxIterations, budget.raised.turns ?? 0) : maxIterations;

const findTurnLimit = (draft: ThreadDraft): ReachedLimit | null => {
  const run = runOf(draft);
  const { turn } = run;
  const { limits } = agentOf(draft);
  const limit = turnLimit(limits, run);
  if (run.phase.at !== "ready" || run.repair || limit === 0 || turn < limit) return null;
  const { id: thread } = draft.thread;
  return {
    scope: "run",
    thread,
    kind: "turns",
    limit,
    spent: turn,
    least: turn + 1,
    ask: limits.askIterations,
  };
};

/** Returns the fewest tokens of a request: those of the system prompt, whatever effects leave out. */
const leastRequestTokens = (agent: Agent, { depth }: Thread, light: boolean): number => {
  const { tokens } = agent.system({ depth, light });
  return (
    tokens -
    toolTokens(
      agent,
      agent.specs.map(({ name }) => name),
    )
  );
};

/** Checks the budget before the effects of the turn, only for what none of them can change. */
const checkBudgetBeforeEffects = (
  draft: ThreadDraft,
  index: number,
  run: Pick<Run, "light" | "hidden" | "plan">,
  shrinks: boolean,
): BudgetCheck => {
  const { thread } = draft;
  const agent = agentOf(draft);
  const check = checkTurnBudget(draft, agent, index, requestTokens(agent, thread, run));
  if (check.is === "free" || !shrinks) return check;
  const least = checkTurnBudget(draft, agent, index, leastRequestTokens(agent, thread, run.light));
  return least.is === "free" ? least : check;
};

/** Finds the limit against a thread's next request; `wait` while calls under way may free some; null if none. */
export const findReachedLimit = (draft: ThreadDraft): ReachedLimit | "wait" | null => {
  const run = runOf(draft);
  if (run.inputs.length === 0) return null;
  const turns = findTurnLimit(draft);
  if (turns !== null) return turns;
  const agent = agentOf(draft);
  const { current } = nextAttempt(draft).chain;
  const { before, compaction } = agent.effects;
  const shrinks =
    run.phase.at === "ready" && (before.length > 0 || (draft.thread.compact !== null && compaction !== null));
  const check = checkBudgetBeforeEffects(draft, current, run, shrinks);
  if (check.is === "free") return null;
  return check.is === "wait" ? "wait" : check.reached;
};

/** Used-up budget of the session or of its tenant's day. */
interface ExhaustedBudget {
  readonly kind: LimitKind;
  /** When another try is worth it; null if a person has to act. */
  readonly until: number | null;
}

/** Says why a thread's next run could not ask its model, even after a raise; null if it could. */
export const findExhaustedBudget = (draft: ThreadDraft): ExhaustedBudget | null => {
  const { out } = draft.state.funds.tenant;
  if (out !== null && draft.context.now < out.until) return out;
  const shrinks = agentOf(draft).effects.before.length > 0;
  const check = checkBudgetBeforeEffects(draft, 0, freshRun, shrinks);
  if (check.is !== "reached" || check.reached.ask || check.reached.scope !== "session") return null;
  return { kind: check.reached.kind, until: null };
};

/** Returns the hold on a thread during an ask for a higher limit, here or above, or while a run above it ends. */
export const findBudgetHold = (
  session: Session,
  threadId: string,
): { readonly until: number | null } | null => {
  const lineage = lineageOf(session, threadId);
  if (lineage.some(({ id, run }) => id !== threadId && run !== null && run.stop !== null))
    return { until: null };
  const ask = lineage.find(({ run }) => run !== null && run.budget.ask !== null)?.run?.budget.ask ?? null;
  return ask === null ? null : { until: session.asks[ask]?.expires_at ?? null };
};

/** Longest time after which a thread that waits for budget checks again. */
const recheckMs = 60_000;

/** Lets the run wait until calls under way end and free the budget they reserved. */
export const awaitBudget = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  const { phase } = run;
  if (phase.at !== "waiting" || !isDue(phase.wait, draft.context.now)) return;
  run.phase = { ...phase, ticket: null, wait: { on: "budget", until: draft.context.now + recheckMs } };
};

/** The configured bounds of a run of the session's agent, and of the team. */
export interface ConfiguredBounds {
  readonly run: readonly Bound[];
  readonly team: TeamBudgets;
}

/** Limit with what was spent of it. */
interface HoldingLimit extends Bound {
  readonly scope: BudgetScope;
  readonly spent: number;
}

/** Returns the limits of the tenant's day once it is used up: until then the session knows only its own share. */
const usedUpDay = ({ funds }: Session, bounds: readonly Bound[]): readonly HoldingLimit[] => {
  const { out } = funds.tenant;
  return bounds
    .filter(({ kind }) => kind === out?.kind)
    .map((bound) => ({ ...bound, scope: "tenant", spent: bound.limit }));
};

/** Returns the limit of each kind with the least left: of `main`'s run or its next, of the session, or of the day. */
export const findHoldingLimits = (
  session: Session,
  { run, team }: ConfiguredBounds,
): readonly HoldingLimit[] => {
  const main = session.threads["main"]?.run;
  const spent = amountsOf(main?.spent ?? noSpending);
  const spentInAll = amountsOf(session.spent);
  const limits: readonly HoldingLimit[] = [
    ...applyRaises(run, main?.budget.raised ?? {}).map((bound) => ({
      ...bound,
      scope: "run" as const,
      spent: spent[bound.kind],
    })),
    ...sessionBounds(session, team).map((bound) => ({
      ...bound,
      scope: "session" as const,
      spent: spentInAll[bound.kind],
    })),
    ...usedUpDay(session, team.tenant),
  ];
  const leftOf = ({ limit, spent }: HoldingLimit): number => limit - spent;
  return budgetKinds.flatMap((kind) =>
    limits
      .filter((limit) => limit.kind === kind)
      .toSorted((one, other) => leftOf(one) - leftOf(other))
      .slice(0, 1),
  );
};

/** The clock of a run counts the time in which agents work. */

/** Returns the deadline, counted from `since`: the agent's timeout, or the announcement's if that is earlier. */
export const deadlineOf = (
  { limits: { timeoutMs }, delegation: { announce } }: Agent,
  since: number,
  announces: boolean,
): number | null => {
  const ms = announces ? Math.min(announce.timeout, timeoutMs ?? Infinity) : timeoutMs;
  return ms === null ? null : since + ms;
};

export const startClock = (activeMs: number | null, now: number): RunClock | null =>
  activeMs === null ? null : { at: now + activeMs, left: activeMs };
