import { openAsk } from "../asks/asks.ts";
import { lineageOf } from "../budgets/bounds.ts";
import { changeRunBudget, describeLimit, reportReachedLimit, stopRun } from "../budgets/spend.ts";
import type { ReachedLimit } from "../state/budget.ts";
import { limitNames, toApiAmount } from "../state/budget.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, runOf, threadOf } from "../transaction/draft.ts";
import { expireAsk } from "./ask-answers.ts";

/** When a limit is reached, a person is asked for a higher one, or the run stops. */

/** Returns the tickets of a held run, which requests others when it goes on. */
const releaseTickets = (draft: Draft, thread: string): void => {
  for (const { id, run } of Object.values(draft.state.threads)) {
    if (run === null || !lineageOf(draft.state, id).some((each) => each.id === thread)) continue;
    const { phase } = run;
    if (phase.at === "preparing" || phase.at === "waiting")
      runOf(draft, id).phase = { ...phase, ticket: null };
  }
};

/**
 * Lets the run of the account wait, with everything below it, until a person raises the limit or the time is
 * over.
 */
const askForRaise = (draft: Draft, { thread, scope, kind, limit, spent, least }: ReachedLimit): void => {
  const { run } = threadOf(draft, thread);
  if (run === null || run.budget.ask !== null) return;
  const { timeoutMs } = agentOf(draft, thread).asks;
  const shown = (amount: number): number => toApiAmount(kind, amount);
  const ask = openAsk(draft, thread, "", timeoutMs, {
    budget: { scope, kind: limitNames[kind], limit: shown(limit), spent: shown(spent), least: shown(least) },
  });
  changeRunBudget(draft, thread, { ask: ask.id });
  releaseTickets(draft, thread);
  if (!draft.state.interactive) expireAsk(draft, ask);
};

/** Handles a reached limit: its run asks for more, or it stops with everything below it. */
export const handleReachedLimit = (draft: Draft, reached: ReachedLimit): void => {
  reportReachedLimit(draft, reached);
  if (reached.ask) askForRaise(draft, reached);
  else stopRun(draft, reached, describeLimit(reached));
};
