import { callsRecovered } from "../calls/start.ts";
import { callLost, preparingPaused } from "../hooks/preparing.ts";
import type { Run } from "../state/run.ts";
import type { Draft } from "../transaction/draft.ts";
import { changeCounters, changeRun, runOf } from "../transaction/draft.ts";
import { attemptAborted } from "./turns.ts";

/** What becomes of work that an older isolate was doing. */

const deadLimit = 10;

const attemptLost = (
  draft: Draft,
  threadId: string,
  { attempt, lanes }: Extract<Run["phase"], { at: "thinking" }>,
  until: number,
): void => {
  attemptAborted(draft, threadId, "interrupted", until);
  changeRun(draft, threadId, {
    phase: { at: "waiting", attempt: attempt + 1, until, lanes, booked: false, why: "crash" },
  });
};

/** What an older isolate was doing is lost: its attempt is void, its calls go by their class. */
export const recovered = (draft: Draft, threadId: string): void => {
  const { phase, counters } = runOf(draft, threadId);
  if (phase.at === "acting") callsRecovered(draft, threadId);
  if (phase.at !== "thinking" && phase.at !== "preparing") return;
  const dead = counters.deadAttempts + 1;
  const until = draft.moment.now + (dead < 3 ? 0 : Math.min(60_000, 1_000 * 2 ** (dead - 3)));
  if (phase.at === "thinking") attemptLost(draft, threadId, phase, until);
  else {
    callLost(draft, threadId, "interrupted");
    preparingPaused(draft, threadId, until, "crash");
  }
  changeCounters(draft, threadId, { deadAttempts: dead });
  if (dead >= deadLimit)
    changeRun(draft, threadId, {
      stop: { reason: "poisoned", error: `${dead} attempts died before anything was stored` },
    });
};
