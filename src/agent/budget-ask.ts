import { askExpired } from "./asks.ts";
import { keyOf, shownAmount } from "./budget-types.ts";
import type { Reached } from "./budget-types.ts";
import { agentOf, emit, headAfter, threadOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import type { Ask } from "./events.ts";
import { changeBudget, reachedSaid, sentenceOf, stopped } from "./spending.ts";

/** What follows a limit that is reached: a person is asked for a higher one, or the run stops (EF-37, EF-38). */

/** The run of the account waits, with everything below it, until somebody raises the limit or the time is over. */
const raiseAsked = (draft: Draft, { thread, scope, kind, limit, spent, least }: Reached): void => {
  const { run } = threadOf(draft, thread);
  if (run === null || run.budget.ask !== null) return;
  const { now, random } = draft.moment;
  const until = now + agentOf(draft, thread).asks.timeoutMs;
  const shown = (amount: number): number => shownAmount(kind, amount);
  const ask: Ask = {
    id: `ask_${random()}`,
    kind: "budget",
    thread,
    run: run.id,
    call: "",
    seq: headAfter(draft) + 1,
    status: "open",
    opened_at: now,
    expires_at: until,
    budget: { scope, kind: keyOf[kind], limit: shown(limit), spent: shown(spent), least: shown(least) },
  };
  draft.state = { ...draft.state, asks: { ...draft.state.asks, [ask.id]: ask } };
  changeBudget(draft, thread, { ask: { id: ask.id, until } });
  emit(draft, thread, "ask_user", { ask });
  if (!draft.state.interactive) askExpired(draft, ask);
};

/** A limit leaves no room: its run asks, or it stops with everything below it. */
export const exceeded = (draft: Draft, reached: Reached): void => {
  reachedSaid(draft, reached);
  if (reached.ask) raiseAsked(draft, reached);
  else stopped(draft, reached, sentenceOf(reached));
};
