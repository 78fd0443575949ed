import type { CostEstimate } from "../agent/budgets/bounds.ts";
import type { LeaseOutcome, LeaseAnswer } from "../agent/budgets/lease.ts";
import { applyLeaseAnswer, findLeaseRequest, sumOtherReservations } from "../agent/budgets/lease.ts";
import type { ReachedLimit } from "../agent/state/budget.ts";
import type { Session } from "../agent/state/session.ts";
import type { WorkContext } from "./work.ts";

/** Limits the rounds after which two threads that draw at once each hold a lease that covers them. */
const mostRounds = 8;

/** Ensures that a lease covers the call a thread is about to make; it sends no request if one already does. */
export const ensureLease = async (
  { host, settle }: WorkContext,
  threadId: string,
  estimate: CostEstimate,
  isCurrent: (session: Session) => boolean,
): Promise<LeaseOutcome> => {
  for (let round = 0; round < mostRounds; round++) {
    const state = host.read();
    if (!isCurrent(state)) return "late";
    const request = findLeaseRequest(state, host.tenant.bounds, threadId, estimate);
    if (request === null) return "covered";
    let answer: LeaseAnswer;
    try {
      answer = await host.tenant.lease(request);
    } catch {
      return "unreachable";
    }
    const refused = { by: null as ReachedLimit | null };
    settle((draft) => {
      if (isCurrent(draft.state)) refused.by = applyLeaseAnswer(draft, threadId, estimate, request, answer);
    });
    if (refused.by !== null)
      return sumOtherReservations(host.read(), threadId).tokens > 0 ? "wait" : refused.by;
  }
  return "unreachable";
};
