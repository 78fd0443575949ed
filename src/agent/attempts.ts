import type { ModelErrorCode, ModelFailure } from "../model/error.ts";
import { afterFailure } from "../model/retry.ts";
import { agentOf, changeRun, emit, runOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import type { EndReason } from "./events.ts";
import { runFinished } from "./runs.ts";
import { noUsage } from "./state.ts";
import { attemptAborted, ledgered } from "./turns.ts";

/** Transitions of attempts that brought no reply: retried by a deadline, moved to another lane, or the end (MO-26, MO-27). */

const reasons: Partial<Record<ModelErrorCode, EndReason>> = {
  rate_limited: "provider_rate_limited",
  overloaded: "provider_overloaded",
  auth: "provider_auth",
  timeout: "provider_timeout",
  context_overflow: "context_length_exceeded",
};

/** A failed attempt of the current phase. Answers whether its lane was given up, for the gate's health. */
export const attemptFailed = (
  draft: Draft,
  threadId: string,
  failure: ModelFailure,
): { readonly exhausted: boolean } => {
  const run = runOf(draft, threadId);
  const { phase } = run;
  if (phase.at !== "thinking") return { exhausted: false };
  const { now, fraction } = draft.moment;
  const agent = agentOf(draft, threadId);
  const policy = agent.lanes[phase.lanes.current]?.retry ?? { maxRetries: 0, baseDelay: 0, maxWait: 0 };
  const after = afterFailure(failure, phase.lanes, policy, now, fraction);
  ledgered(draft, threadId, {
    outcome: failure.code,
    usage: failure.usage ?? noUsage,
    estimated: failure.billed === true,
    cost: failure.cost === undefined ? 0 : failure.cost,
  });
  attemptAborted(draft, threadId, failure.code, after.kind === "retry" ? after.at : null);
  const again = {
    at: "waiting",
    attempt: phase.attempt + 1,
    lanes: after.lanes,
    booked: false,
    why: "retry",
  } as const;
  switch (after.kind) {
    case "retry":
      changeRun(draft, threadId, { phase: { ...again, until: after.at } });
      break;
    case "next_lane": {
      const to = after.lanes.list[after.index];
      emit(draft, threadId, "provider_failover", {
        from: `${failure.provider}/${failure.model}`,
        to: `${to?.provider}/${to?.model}`,
        code: failure.code,
      });
      changeRun(draft, threadId, { phase: { ...again, until: now } });
      break;
    }
    case "fail": {
      const error =
        after.retryAt === undefined
          ? failure.message
          : `${failure.message} (retry_at ${new Date(after.retryAt).toISOString()})`;
      changeRun(draft, threadId, { phase: { at: "ready" } });
      runFinished(draft, threadId, {
        state: "failed",
        reason: reasons[after.code] ?? "provider_error",
        error,
      });
    }
  }
  return { exhausted: after.exhausted };
};

/** The gate has a place for the attempt later, or (`booked` false) wants to be asked again then: it waits without a timer (MO-29). */
export const attemptPlaced = (draft: Draft, threadId: string, startAt: number, booked: boolean): void => {
  const { phase } = runOf(draft, threadId);
  if (phase.at !== "thinking") return;
  const { attempt, lanes } = phase;
  changeRun(draft, threadId, {
    phase: { at: "waiting", attempt, until: startAt, lanes, booked, why: "gate" },
  });
};
