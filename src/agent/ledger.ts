import { changeRun, runOf, threadOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import { lineOf } from "./budget.ts";
import type { LedgerRow } from "./records.ts";
import { spent } from "./spending.ts";
import { purposeOf } from "./purpose.ts";
import { addUsage } from "./usage.ts";

/** Books the attempt of the current phase: in the ledger, on the session, on its run and those above it (MO-33, EF-39). */
export const ledgered = (
  draft: Draft,
  threadId: string,
  row: Pick<LedgerRow, "outcome" | "usage" | "estimated" | "cost"> &
    Partial<Pick<LedgerRow, "model" | "provider" | "purpose" | "attempt" | "saw">>,
): void => {
  const thread = threadOf(draft, threadId);
  const run = runOf(draft, threadId);
  const attempt = run.phase.at === "thinking" ? run.phase.attempt : 0;
  const { provider, model } = run.lane;
  const purpose = purposeOf(run);
  const at = draft.moment.now;
  draft.ledger.push({
    at,
    thread: threadId,
    agent: thread.agent,
    run: run.id,
    turn: run.turn,
    attempt,
    purpose,
    provider,
    model,
    ...row,
  });
  const { cumulative, cost, calls, estimated } = draft.state.usage;
  const usage = {
    cumulative: addUsage(cumulative, row.usage),
    cost: cost === null || row.cost === null ? null : cost + row.cost,
    calls: calls + 1,
    estimated: estimated || row.estimated,
  };
  draft.state = { ...draft.state, usage };
  for (const { id, run: above } of lineOf(draft.state, threadId)) {
    if (above === null) continue;
    const { counters } = above;
    changeRun(draft, id, {
      usage: addUsage(above.usage, row.usage),
      counters: {
        ...counters,
        cost: counters.cost === null || row.cost === null ? null : counters.cost + row.cost,
        estimated: counters.estimated || row.estimated,
      },
    });
  }
  spent(draft, threadId, { tokens: row.usage.total, cost: row.cost ?? 0 });
};
