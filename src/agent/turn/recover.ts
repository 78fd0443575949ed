import { loseModelCall, pauseStep } from "../calls/model-call.ts";
import { recoverCalls } from "../calls/start.ts";
import type { Draft } from "../transaction/draft.ts";
import { runOf } from "../transaction/draft.ts";

/** Work of an older isolate is recovered here. */

const deadLimit = 10;

/** What an older isolate was doing is lost: its attempt is void, and its calls are recovered by their class. */
export const recoverRun = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  const { phase, counters } = run;
  if (phase.at === "acting") recoverCalls(draft, threadId);
  if (phase.at !== "thinking" && phase.at !== "preparing") return;
  const dead = counters.deadAttempts + 1;
  const until = draft.moment.now + (dead < 3 ? 0 : Math.min(60_000, 1_000 * 2 ** (dead - 3)));
  loseModelCall(draft, threadId, "interrupted", until);
  const attempt = phase.at === "thinking" ? phase.call.attempt + 1 : phase.attempt;
  pauseStep(draft, threadId, until, "crash", { attempt });
  counters.deadAttempts = dead;
  if (dead >= deadLimit)
    run.stop = {
      reason: "poisoned",
      error: `${dead} attempts died before anything was stored`,
    };
};
