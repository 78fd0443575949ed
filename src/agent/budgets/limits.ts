import type { Agent, RunLimits } from "../definition/agent.ts";
import type { LimitKind, ReachedLimit } from "../state/budget.ts";
import type { Run } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Thread } from "../state/thread.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, changeRun, runOf, threadOf } from "../transaction/draft.ts";
import { requestTokens, toolTokens } from "../transaction/estimate.ts";
import { nextAttempt } from "../transaction/targets.ts";
import type { BudgetCheck } from "./bounds.ts";
import { lineageOf } from "./bounds.ts";
import { checkTurnBudget } from "./reserve.ts";

/** What forbids a thread to go on to its next model call. */

/** Turns a run may have, as a person allowed them; 0 = any number. */
const turnLimit = ({ maxIterations, askIterations }: RunLimits, { budget }: Run): number =>
  askIterations && maxIterations > 0 ? Math.max(maxIterations, budget.raised.turns ?? 0) : maxIterations;

const findTurnLimit = (draft: Draft, threadId: string): ReachedLimit | null => {
  const run = runOf(draft, threadId);
  const { limits } = agentOf(draft, threadId);
  const limit = turnLimit(limits, run);
  if (run.phase.at !== "ready" || run.repair || limit === 0 || run.turn < limit) return null;
  const ask = limits.askIterations;
  return { scope: "run", thread: threadId, kind: "turns", limit, spent: run.turn, least: run.turn + 1, ask };
};

/** Tokens that a request has whatever its effects leave out: the system prompt. */
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

/** Room for the thread's request; before the effects of its turn only what none of them can change leaves it none. */
const checkBudgetBeforeEffects = (
  draft: Draft,
  thread: Thread,
  agent: Agent,
  lane: number,
  run: Pick<Run, "light" | "hidden">,
  shrinks: boolean,
): BudgetCheck => {
  const check = checkTurnBudget(draft, thread.id, agent, lane, requestTokens(agent, thread, run));
  if (check.is === "free" || !shrinks) return check;
  const least = checkTurnBudget(draft, thread.id, agent, lane, leastRequestTokens(agent, thread, run.light));
  return least.is === "free" ? least : check;
};

/** The limit that leaves no room for the thread's next request; `wait` while calls under way may leave some; null if there is room. */
export const findReachedLimit = (draft: Draft, threadId: string): ReachedLimit | "wait" | null => {
  const thread = threadOf(draft, threadId);
  const run = runOf(draft, threadId);
  if (run.inputs.length === 0) return null;
  const turns = findTurnLimit(draft, threadId);
  if (turns !== null) return turns;
  const agent = agentOf(draft, threadId);
  const { current } = nextAttempt(draft, threadId, run).lanes;
  const { before, ladder } = agent.effects;
  const shrinks =
    run.phase.at === "ready" && (before.length > 0 || (run.compact !== null && ladder !== null));
  const check = checkBudgetBeforeEffects(draft, thread, agent, current, run, shrinks);
  if (check.is === "free") return null;
  return check.is === "wait" ? "wait" : check.reached;
};

/** A limit beyond the single run that is used up. */
interface ExhaustedBudget {
  readonly scope: "session" | "tenant";
  readonly kind: LimitKind;
  /** When it is worth another try by itself; null if a person has to act. */
  readonly until: number | null;
}

/** Why a thread's next run could not ask its model anything; null if it could, if only after a person has raised a limit. */
export const findExhaustedBudget = (draft: Draft, threadId: string): ExhaustedBudget | null => {
  const { out } = draft.state.funds.tenant;
  if (out !== null && draft.moment.now < out.until) return { scope: "tenant", ...out };
  const thread = threadOf(draft, threadId);
  const agent = agentOf(draft, threadId);
  const fresh = { light: false, hidden: [] };
  const check = checkBudgetBeforeEffects(draft, thread, agent, 0, fresh, agent.effects.before.length > 0);
  if (check.is !== "reached" || check.reached.ask || check.reached.scope !== "session") return null;
  return { scope: "session", kind: check.reached.kind, until: null };
};

/** What keeps a thread from starting anything: an ask for a higher limit, its own or of a run above it, or the end of one above. */
export const findBudgetHold = (
  session: Session,
  threadId: string,
): { readonly until: number | null } | null => {
  const runs = lineageOf(session, threadId).flatMap(({ id, run }) => (run === null ? [] : [{ id, run }]));
  if (runs.some(({ id, run }) => id !== threadId && run.stop !== null)) return { until: null };
  const asking = runs.find(({ run }) => run.budget.ask !== null);
  return asking === undefined ? null : { until: asking.run.budget.ask?.until ?? null };
};

/** How long a thread without room waits at most before it looks again by itself. */
const recheckMs = 60_000;

/** The wait for room that calls under way keep back: their end brings the thread on. */
export const awaitBudget = (draft: Draft, threadId: string): void => {
  const { phase } = runOf(draft, threadId);
  if (phase.at !== "waiting" || phase.until > draft.moment.now) return;
  changeRun(draft, threadId, {
    phase: { ...phase, booked: false, why: "budget", until: draft.moment.now + recheckMs },
  });
};
