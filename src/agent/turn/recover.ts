import { recoverCalls } from "../calls/start.ts";
import { bookLostEffectCall, pausePreparing } from "../hooks/preparing.ts";
import type { Run } from "../state/run.ts";
import type { Draft } from "../transaction/draft.ts";
import { runOf } from "../transaction/draft.ts";
import { abortAttempt } from "./turns.ts";

/** Work of an older isolate is recovered here. */

const deadLimit = 10;

const retryLostAttempt = (
  draft: Draft,
  threadId: string,
  { attempt, lanes }: Extract<Run["phase"], { at: "thinking" }>,
  until: number,
): void => {
  abortAttempt(draft, threadId, "interrupted", until);
  runOf(draft, threadId).phase = {
    at: "waiting",
    attempt: attempt + 1,
    until,
    lanes,
    booked: false,
    why: "crash",
  };
};

/** What an older isolate was doing is lost: its attempt is void, and its calls are recovered by their class. */
export const recoverRun = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  const { phase, counters } = run;
  if (phase.at === "acting") recoverCalls(draft, threadId);
  if (phase.at !== "thinking" && phase.at !== "preparing") return;
  const dead = counters.deadAttempts + 1;
  const until = draft.moment.now + (dead < 3 ? 0 : Math.min(60_000, 1_000 * 2 ** (dead - 3)));
  if (phase.at === "thinking") retryLostAttempt(draft, threadId, phase, until);
  else {
    bookLostEffectCall(draft, threadId, "interrupted");
    pausePreparing(draft, threadId, until, "crash");
  }
  counters.deadAttempts = dead;
  if (dead >= deadLimit)
    run.stop = {
      reason: "poisoned",
      error: `${dead} attempts died before anything was stored`,
    };
};
