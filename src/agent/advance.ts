import { resultsAppended, attemptAborted, thinkingStarted, turnClosed } from "./turns.ts";
import { askExpired } from "./asks.ts";
import { callsRecovered, callsStarted, callsWoken } from "./calls.ts";
import { agentOf, callsOfRun, changeCounters, changeRun, emit, runOf, threadOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import type { WaitReason } from "./events.ts";
import { next } from "./next.ts";
import type { Step } from "./next.ts";
import { concluded } from "./follows.ts";
import { runFinished } from "./runs.ts";
import { callLost, preparingPaused, preparingResumed } from "./preparing.ts";
import type { Preparing, Run, Session, Thread } from "./state.ts";

/** Takes every step that needs no outside, so that it shares the commit of what made it possible. */

const deadLimit = 10;
const missingLimit = 86_400_000;
const missingCheck = 300_000;

/** A run is waiting when only the clock or the outside can move it. */
const isWaiting = (run: Run): boolean => {
  if (run.phase.at === "waiting" || run.missingSince !== null) return true;
  if (run.phase.at === "preparing") return run.phase.until !== null;
  const calls = callsOfRun(run);
  return (
    calls.length > 0 &&
    calls.every(({ status }) => status !== "running") &&
    calls.some(({ status }) => status === "parked")
  );
};

const runningThreads = (session: Session): number =>
  Object.values(session.threads).filter(
    ({ run }) => run !== null && run.phase.at !== "ready" && !isWaiting(run),
  ).length;

const stepOf = (draft: Draft, threadId: string): Step => {
  const { now, epoch, maxRunningThreads } = draft.moment;
  const thread = threadOf(draft, threadId);
  const limits = agentOf(draft, thread.id).limits;
  return next(thread, { now, epoch, limits, slot: runningThreads(draft.state) < maxRunningThreads });
};

const preparingWaits = ({ ask, until }: Preparing): readonly WaitReason[] => {
  const times = until === null ? {} : { until };
  return [ask === null ? { kind: "retry", ...times } : { kind: "ask", ask: ask.id, ...times }];
};

const waitReasons = (run: Run): readonly WaitReason[] => {
  if (run.phase.at === "waiting") return [{ kind: "retry", until: run.phase.until }];
  if (run.phase.at === "preparing") return preparingWaits(run.phase);
  return callsOfRun(run)
    .filter(({ status }) => status === "parked")
    .map(({ ask, parkedOn, until }) => ({
      kind: parkedOn ?? "time",
      ...(ask === null ? {} : { ask }),
      ...(until === null ? {} : { until }),
    }));
};

/** The reply's last call is done: its results, then the turn's end. */
const blockClosed = (draft: Draft, threadId: string): void => {
  const calls = callsOfRun(runOf(draft, threadId));
  resultsAppended(draft, threadId);
  const terminal = calls.some(({ plan, outcome }) => plan.terminal && outcome?.result.status === "ok");
  if (terminal) concluded(draft, threadId, "terminal_tool");
  else turnClosed(draft, threadId);
  const { run } = threadOf(draft, threadId);
  if (run?.phase.at === "acting") changeRun(draft, threadId, { phase: { at: "ready" } });
};

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

/** What an older isolate was doing is lost: its attempt is void, its calls go by their class (SE-33). */
const recovered = (draft: Draft, threadId: string): void => {
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

const waited = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  if (run.waitingShown) return;
  emit(draft, threadId, "run_waiting", { on: waitReasons(run) });
  changeRun(draft, threadId, { waitingShown: true });
};

const resumed = (draft: Draft, threadId: string, by: string): void => {
  if (threadOf(draft, threadId).run?.waitingShown !== true) return;
  emit(draft, threadId, "run_resumed", { by });
  changeRun(draft, threadId, { waitingShown: false });
};

/** A run whose agent is not deployed waits for a day, then fails (CF-34). Answers whether the thread may go on. */
const agentPresent = (draft: Draft, threadId: string, step: Step): boolean => {
  const run = runOf(draft, threadId);
  const { missing } = agentOf(draft, threadId);
  if (missing === null) {
    if (run.missingSince !== null) changeRun(draft, threadId, { missingSince: null });
    return true;
  }
  if (step.do === "finish" || step.do === "recover" || step.do === "close") return true;
  const since = run.missingSince ?? draft.moment.now;
  if (draft.moment.now >= since + missingLimit) {
    const error = `this deployment lacks ${missing}`;
    runFinished(draft, threadId, { state: "failed", reason: "config_changed", error });
    return false;
  }
  if (run.missingSince !== null) return false;
  emit(draft, threadId, "run_waiting", { on: [{ kind: "config", missing, until: since + missingLimit }] });
  changeRun(draft, threadId, { missingSince: since, waitingShown: true });
  return false;
};

/** Runs a thread on until it needs the outside, the clock, or has nothing to do. `by` says what moved it. */
const advanced = (draft: Draft, threadId: string, by: string): void => {
  for (;;) {
    const step = stepOf(draft, threadId);
    if (step.do === "rest") return;
    if (step.do === "wait") return waited(draft, threadId);
    if (!agentPresent(draft, threadId, step)) return;
    if (step.do !== "finish") resumed(draft, threadId, by);
    switch (step.do) {
      case "finish":
        runFinished(draft, threadId, step);
        break;
      case "recover":
        recovered(draft, threadId);
        break;
      case "think":
        thinkingStarted(draft, threadId);
        break;
      case "prepare":
        preparingResumed(draft, threadId);
        break;
      case "act":
        callsStarted(draft, threadId, step.calls);
        break;
      case "close":
        blockClosed(draft, threadId);
    }
  }
};

/** Applies every deadline that is due, then runs all threads on. */
export const clockTicked = (draft: Draft, by = "time"): void => {
  for (const ask of Object.values(draft.state.asks)) {
    if (ask.expires_at <= draft.moment.now) askExpired(draft, ask);
  }
  for (const id of Object.keys(draft.state.threads)) {
    callsWoken(draft, id);
    advanced(draft, id, by);
  }
};

const deadlinesOf = ({ run }: Thread, now: number): readonly number[] => {
  if (run === null) return [];
  if (run.missingSince !== null) return [Math.min(now + missingCheck, run.missingSince + missingLimit)];
  const times = run.deadline === null ? [] : [run.deadline];
  if (run.cancel?.mode === "now") times.push(run.cancel.until);
  if (run.phase.at === "waiting") times.push(run.phase.until);
  if (run.phase.at === "preparing" && run.phase.until !== null) times.push(run.phase.until);
  for (const call of callsOfRun(run))
    if (call.status === "parked" && call.until !== null) times.push(call.until);
  return times;
};

/** The earliest moment at which something is due by itself; null if nothing ever is. */
export const nextDeadline = (session: Session, now: number): number | null => {
  const times = Object.values(session.threads).flatMap((thread) => deadlinesOf(thread, now));
  for (const ask of Object.values(session.asks)) times.push(ask.expires_at);
  return times.length === 0 ? null : Math.min(...times);
};
