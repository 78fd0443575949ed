import { asked, askExpired } from "./asks.ts";
import { lineOf } from "./budget.ts";
import { keyOf, shownAmount } from "./budget-types.ts";
import type { Reached } from "./budget-types.ts";
import { agentOf, changeRun, threadOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import { changeBudget, reachedSaid, sentenceOf, stopped } from "./spending.ts";

/** What follows a limit that is reached: a person is asked for a higher one, or the run stops (EF-37, EF-38). */

/** Who is held gives its place at a gate back, and asks for another when it goes on (MO-29). */
const placesLeft = (draft: Draft, thread: string): void => {
  for (const { id, run } of Object.values(draft.state.threads)) {
    if (run === null || !lineOf(draft.state, id).some((each) => each.id === thread)) continue;
    const { phase } = run;
    if (phase.at === "preparing") changeRun(draft, id, { phase: { ...phase, place: null } });
    if (phase.at === "waiting" && phase.why === "gate")
      changeRun(draft, id, { phase: { ...phase, booked: false, why: "retry" } });
  }
};

/** The run of the account waits, with everything below it, until somebody raises the limit or the time is over. */
const raiseAsked = (draft: Draft, { thread, scope, kind, limit, spent, least }: Reached): void => {
  const { run } = threadOf(draft, thread);
  if (run === null || run.budget.ask !== null) return;
  const { timeoutMs } = agentOf(draft, thread).asks;
  const shown = (amount: number): number => shownAmount(kind, amount);
  const ask = asked(draft, thread, timeoutMs, {
    kind: "budget",
    call: "",
    budget: { scope, kind: keyOf[kind], limit: shown(limit), spent: shown(spent), least: shown(least) },
  });
  changeBudget(draft, thread, { ask: { id: ask.id, until: ask.expires_at } });
  placesLeft(draft, thread);
  if (!draft.state.interactive) askExpired(draft, ask);
};

/** A limit leaves no room: its run asks, or it stops with everything below it. */
export const exceeded = (draft: Draft, reached: Reached): void => {
  reachedSaid(draft, reached);
  if (reached.ask) raiseAsked(draft, reached);
  else stopped(draft, reached, sentenceOf(reached));
};
