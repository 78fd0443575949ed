import { openAsk } from "../asks/asks.ts";
import { lineageOf } from "../budgets/bounds.ts";
import { changeRunBudget, describeLimit, reportReachedLimit, stopRun } from "../budgets/spend.ts";
import type { ReachedLimit } from "../state/budget.ts";
import { limitNames, toApiAmount } from "../state/budget.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, runOf, threadOf } from "../transaction/draft.ts";
import { expireAsk } from "./ask-answers.ts";

/** When a limit is reached, a person is asked for a higher one, or the run stops. */

/** A held run gives its ticket back and asks for another when it goes on. */
const releaseTickets = (draft: Draft, thread: string): void => {
  for (const { id, run } of Object.values(draft.state.threads)) {
    if (run === null || !lineageOf(draft.state, id).some((each) => each.id === thread)) continue;
    const { phase } = run;
    if (phase.at === "preparing" || phase.at === "waiting")
      runOf(draft, id).phase = { ...phase, ticket: null };
  }
};

/** The run of the account waits, with everything below it, until somebody raises the limit or the time is over. */
const askForRaise = (draft: Draft, { thread, scope, kind, limit, spent, least }: ReachedLimit): void => {
  const { run } = threadOf(draft, thread);
  if (run === null || run.budget.ask !== null) return;
  const { timeoutMs } = agentOf(draft, thread).asks;
  const shown = (amount: number): number => toApiAmount(kind, amount);
  const ask = openAsk(draft, thread, timeoutMs, {
    kind: "budget",
    call: "",
    budget: { scope, kind: limitNames[kind], limit: shown(limit), spent: shown(spent), least: shown(least) },
  });
  changeRunBudget(draft, thread, { ask: ask.id });
  releaseTickets(draft, thread);
  if (!draft.state.interactive) expireAsk(draft, ask);
};

/** A limit is reached: its run asks for more, or it stops with everything below it. */
export const handleReachedLimit = (draft: Draft, reached: ReachedLimit): void => {
  reportReachedLimit(draft, reached);
  if (reached.ask) askForRaise(draft, reached);
  else stopRun(draft, reached, describeLimit(reached));
};
