import type { Wanted } from "../agent/budgets/bounds.ts";
import type { Drawn, LeaseAnswer } from "../agent/budgets/lease.ts";
import { leaseAnswered, leaseNeeded, othersHeld } from "../agent/budgets/lease.ts";
import type { Reached } from "../agent/state/budget.ts";
import type { Session } from "../agent/state/session.ts";
import type { Outside } from "./work.ts";

/** Rounds until two threads that draw at once have each a lease that covers them. */
const mostRounds = 8;

/** Sees to it that the call which a thread is about to make is covered by a lease: no hop if there is one. */
export const drawn = async (
  { host, settle }: Outside,
  threadId: string,
  wanted: Wanted,
  isCurrent: (session: Session) => boolean,
): Promise<Drawn> => {
  for (let round = 0; round < mostRounds; round++) {
    const state = host.read();
    if (!isCurrent(state)) return "late";
    const request = leaseNeeded(state, host.tenant.bounds, threadId, wanted);
    if (request === null) return "covered";
    let answer: LeaseAnswer;
    try {
      answer = await host.tenant.lease(request);
    } catch {
      return "unreachable";
    }
    const refused = { by: null as Reached | null };
    settle((draft) => {
      if (isCurrent(draft.state)) refused.by = leaseAnswered(draft, threadId, wanted, request, answer);
    });
    if (refused.by !== null) return othersHeld(host.read(), threadId).tokens > 0 ? "wait" : refused.by;
  }
  return "unreachable";
};
