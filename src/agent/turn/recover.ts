import { pauseAfter } from "../state/wait.ts";
import { ownEntry } from "../../chat/json.ts";
import { syntheticResult } from "../../chat/results.ts";
import { endCallAtOnce } from "../calls/finish.ts";
import { loseModelCall, pauseStep } from "../calls/model-call.ts";
import { interruptRule } from "../state/call.ts";
import { callsOfRun } from "../state/run.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, assign, callOf, runOf } from "../transaction/draft.ts";

/** Recovers the work of an older isolate. */

const deadLimit = 10;
const mostReruns = 3;

/** Recovers calls that an older isolate was running, by their safety class. */
const recoverCalls = (draft: Draft, threadId: string): void => {
  const { epoch } = draft.context;
  const agent = agentOf(draft, threadId);
  for (const call of callsOfRun(runOf(draft, threadId))) {
    if (call.status !== "running" || call.epoch === epoch) continue;
    const rule =
      ownEntry(agent.onInterrupt, call.call.name) ?? (call.plan.safety === "unsafe" ? "unknown" : "rerun");
    if (rule === "rerun" && call.reruns < mostReruns) {
      assign(callOf(draft, threadId, call.call.id), { status: "planned", reruns: call.reruns + 1 });
    } else if (rule === "ask") {
      assign(callOf(draft, threadId, call.call.id), {
        status: "planned",
        approved: false,
        plan: { ...call.plan, verdict: "ask", by: interruptRule },
      });
    } else {
      endCallAtOnce(draft, threadId, syntheticResult(call.call, "unknown"));
      if (rule === "fail")
        runOf(draft, threadId).stop = { reason: "internal", error: `${call.call.name} was interrupted` };
    }
  }
};

/**
 * Recovers a run whose work in an older isolate is lost: its model attempt is discarded, and its calls are
 * recovered by their class.
 */
export const recoverRun = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  const { phase, counters } = run;
  if (phase.at === "acting") recoverCalls(draft, threadId);
  if (phase.at !== "thinking" && phase.at !== "preparing") return;
  const dead = counters.deadAttempts + 1;
  const until = draft.context.now + (dead < 3 ? 0 : pauseAfter(dead - 3, 1_000, 60_000));
  loseModelCall(draft, threadId, "interrupted", until);
  const attempt = phase.at === "thinking" ? phase.call.attempt + 1 : phase.attempt;
  pauseStep(draft, threadId, { on: "retry", until }, { attempt });
  counters.deadAttempts = dead;
  if (dead >= deadLimit)
    run.stop = {
      reason: "poisoned",
      error: `${dead} attempts died before anything was stored`,
    };
};
