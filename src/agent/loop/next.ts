import type { Phase, PreparingPhase } from "../state/phase.ts";
import type { RunEnding, Run } from "../state/run.ts";
import type { ReachedLimit } from "../state/budget.ts";
import type { Call } from "../state/call.ts";
import { isReport, willRunAgain } from "../state/call.ts";
import type { EndReason, RunState } from "../state/events.ts";
import { planAskOf, isBreachOpen, isVerificationOpen } from "../state/phase.ts";
import { callsOfRun, runDeadlineOf, waitsOf } from "../state/run.ts";
import type { Thread } from "../state/thread.ts";
import { steeringInputsOf, openChildren, sessionStatusOf } from "../state/thread.ts";
import type { RetryWait } from "../state/ask.ts";
import { isDue, isTryDue } from "../state/ask.ts";
import { findBudgetHold } from "../budgets/limits.ts";
import { missingAgentCheckMs, missingAgentLimitMs } from "../run/wait.ts";
import type { PendingFileChange } from "../state/files.ts";
import type { EndingCommand, Outbox } from "../state/records.ts";
import type { Session } from "../state/session.ts";

/** The one thing that a thread does next. */
export type Step =
  /** Nothing is to be decided: there is no run, or its work is under way in this isolate. */
  | { readonly do: "none" }
  | ({ readonly do: "finish" } & RunEnding)
  /** Work of an older isolate was lost. */
  | { readonly do: "recover" }
  | { readonly do: "think" }
  /** The effect that was waiting goes on. */
  | { readonly do: "prepare" }
  /** The workspace is checked before anything else follows. */
  | { readonly do: "verify" }
  | { readonly do: "act"; readonly calls: readonly string[] }
  /** A person, a child, a command or the clock moves it. */
  | { readonly do: "wait" }
  /** Other threads have the slot, or have reserved the budget, that this one needs. */
  | { readonly do: "queue"; readonly for: "slot" | "budget" }
  /** A limit is reached: a person is asked, or the run ends. */
  | { readonly do: "limit"; readonly reached: ReachedLimit }
  /** The run is to end: its children are stopped first. */
  | { readonly do: "stop_children" }
  /** All calls of the reply are done: the turn ends. */
  | { readonly do: "close" };

export interface ThreadFacts {
  readonly now: number;
  readonly epoch: number;
  /** Finds whether the thread has a slot or gets one, and is called only where work would start. */
  readonly slot: () => boolean;
  /** Is set while a limit that was reached here or above holds the thread: until its ask expires, or (null) while its run ends. */
  readonly held: { readonly until: number | null } | null;
  /** Number of turns in a row without progress that ends the run; 0 means never. */
  readonly noProgressTurns: number;
  /** Finds what forbids another model call (`wait`: others have reserved the budget); called only where one would follow. */
  readonly limit: () => ReachedLimit | "wait" | null;
  /** Whether children have to end before the thread's run does; `stopping`: they were asked to. */
  readonly children: "none" | "working" | "stopping";
}

const mostOverlappingCalls = 8;

const noStep: Step = { do: "none" };
const waitStep: Step = { do: "wait" };

/** Starts work in a slot, or waits for one. */
const startStep = (work: "think" | "prepare" | "verify", { slot }: ThreadFacts): Step =>
  slot() ? { do: work } : { do: "queue", for: "slot" };

const isCallOpen = (call: Call): boolean => call.status !== "done";

/** Returns planned calls that may start now. One that reads waits for earlier ones that write, one that writes for all earlier ones; refused calls start at once. */
const startableCalls = (calls: readonly Call[]): readonly string[] => {
  let live = calls.filter((call) => call.status === "running").length;
  let earlierOpen = false;
  let writerOpen = false;
  const starts: string[] = [];
  for (const call of calls) {
    if (!isCallOpen(call)) continue;
    const writes = call.plan.workspace === "write";
    const free = writes ? !earlierOpen : !writerOpen;
    if (
      call.status === "planned" &&
      (call.plan.refusal !== undefined || (free && live < mostOverlappingCalls))
    ) {
      starts.push(call.call.id);
      if (call.plan.refusal !== undefined) continue;
      live += 1;
    }
    earlierOpen = true;
    writerOpen ||= writes;
  }
  return starts;
};

/** Returns whether a phase is working: a model attempt, or an effect, a briefing or a check that does not wait. */
const isWorking = (phase: Phase): phase is Extract<Phase, { readonly epoch: number }> =>
  phase.at === "thinking" || (phase.at === "preparing" && phase.wait === null);

const isRunning = (call: Call, epoch: number): boolean => call.status === "running" && call.epoch === epoch;

/** Returns whether a phase is a check of the workspace, which is ended with its run and not waited for. */
const isCheck = (phase: Phase): boolean => phase.at === "preparing" && phase.work.kind === "verification";

/** Returns whether a run has something alive in this isolate that its end waits for. */
const isLive = (run: Run, epoch: number): boolean =>
  (isWorking(run.phase) && run.phase.epoch === epoch && !isCheck(run.phase)) ||
  callsOfRun(run).some((call) => isRunning(call, epoch));

const isLost = (run: Run, epoch: number): boolean =>
  (isWorking(run.phase) && run.phase.epoch !== epoch) ||
  callsOfRun(run).some((call) => call.status === "running" && call.epoch !== epoch);

const finishStep = (state: RunState, reason: EndReason, error: string | null = null): Step => ({
  do: "finish",
  state,
  reason,
  error,
});

const isOverdue = (run: Run, now: number): boolean => {
  const due = runDeadlineOf(run);
  return due !== null && now >= due;
};

/** Returns whether a run has to end now, whatever its children do. */
export const isDueToEnd = (run: Run, now: number): boolean => run.stop !== null || isOverdue(run, now);

/** Stops the children that have to end first, then waits for them. */
const childrenStep = (run: Run, { now, children }: ThreadFacts): Step | null => {
  if (!isDueToEnd(run, now) && run.cancel === null) return null;
  return children === "working" ? { do: "stop_children" } : waitStep;
};

/** Returns whether a reply has ended its run: a terminal call succeeded, and no call beside it was cut off. */
const hasEndedRun = ({ phase }: Run): boolean => {
  if (phase.at !== "acting") return false;
  const isTerminal = ({ plan, outcome }: Call): boolean => plan.terminal && outcome?.result.status === "ok";
  const isWhole = ({ outcome }: Call): boolean => outcome !== null && outcome.result.status !== "cancelled";
  return phase.calls.some(isTerminal) && phase.calls.every(isWhole);
};

/** Returns the step by which a run completes that had its answer when it was stopped; null if it had none. */
const completeStep = (thread: Thread, run: Run): Step | null => {
  const { cancel, stop, endAfterChildren } = run;
  if (cancel?.mode !== "after_turn" || stop !== null || thread.child?.handover != null) return null;
  if (hasEndedRun(run)) return { do: "close" };
  if (endAfterChildren === null || steeringInputsOf(thread).length > 0) return null;
  return finishStep("completed", endAfterChildren);
};

/** Ends the run once nothing is live, or after the grace of an immediate cancel; null where the turn goes on. */
const cancelStep = (thread: Thread, run: Run, now: number, live: boolean): Step | null => {
  const { cancel } = run;
  if (cancel === null) return null;
  const atOnce = cancel.mode === "now";
  if (!live || (atOnce && now >= cancel.until))
    return completeStep(thread, run) ?? finishStep("cancelled", cancel.reason);
  return atOnce ? noStep : null;
};

const nextAct = (calls: readonly Call[], { held }: ThreadFacts): Step => {
  const starts = held === null ? startableCalls(calls) : [];
  if (starts.length > 0) return { do: "act", calls: starts };
  if (calls.some((call) => call.status === "running")) return noStep;
  return calls.some(isCallOpen) ? waitStep : { do: "close" };
};

/** Returns the calls that a graceful cancel lets go on although some of them wait, and a report that stands behind them. */
const finishingCallsOf = (run: Run, epoch: number): readonly Call[] => {
  if (run.cancel?.mode !== "after_turn" || run.stop !== null) return [];
  const goesOn = (call: Call): boolean => willRunAgain(call) || (call.status === "planned" && isReport(call));
  const left = callsOfRun(run).filter((call) => goesOn(call) || isRunning(call, epoch));
  return left.some(goesOn) ? left : [];
};

/** Returns the stop that ends the run now; null if there is none, or if the workspace is checked first. */
const endingStopOf = (run: Run): Run["stop"] => {
  const checks = run.stop?.reason === "max_iterations" && isBreachOpen(run);
  return checks && (run.phase.at === "ready" || run.phase.at === "preparing") ? null : run.stop;
};

/** Returns the step that ends the run by request or by the clock; null if neither applies. */
const endStep = (thread: Thread, run: Run, facts: ThreadFacts): Step | null => {
  if (facts.children !== "none") return childrenStep(run, facts);
  const finishing = finishingCallsOf(run, facts.epoch);
  const live = isLive(run, facts.epoch) || finishing.length > 0;
  const stopped = cancelStep(thread, run, facts.now, live);
  if (stopped !== null) return stopped;
  const stop = endingStopOf(run);
  if (stop !== null && !live) return finishStep("failed", stop.reason, stop.error);
  if (isOverdue(run, facts.now))
    return finishStep("failed", "deadline_exceeded", "the run's deadline has passed");
  if (finishing.length > 0) return nextAct(finishing, { ...facts, held: null });
  return run.cancel === null && stop === null ? null : noStep;
};

const nextThink = (facts: ThreadFacts): Step => {
  if (facts.held !== null) return heldStep(facts.held);
  const limit = facts.limit();
  if (limit === "wait") return { do: "queue", for: "budget" };
  if (limit !== null) return { do: "limit", reached: limit };
  return startStep("think", facts);
};

/** Returns the turn that would follow by itself, or the run's end if its turns brought it no further. */
const nextTurn = (run: Run, facts: ThreadFacts): Step => {
  const { noProgressTurns: most } = facts;
  if (most === 0 || run.repair || run.counters.idleTurns < most) return nextThink(facts);
  return finishStep("failed", "no_progress", `no_progress_turns: ${most} turns in a row made no progress`);
};

/** Lets a run whose background children alone still work end after them, unless a message brings another turn. */
const nextReady = (thread: Thread, run: Run, facts: ThreadFacts): Step => {
  if (planAskOf(run) !== null) return waitStep;
  if (isVerificationOpen(run)) return nextVerify(facts);
  // A run without input only compacts.
  if (run.inputs.length === 0 && thread.compact === null) return finishStep("completed", "end_turn");
  if (steeringInputsOf(thread).length > 0) return nextThink(facts);
  if (run.endAfterChildren === null) return nextTurn(run, facts);
  return facts.children === "none" ? finishStep("completed", run.endAfterChildren) : waitStep;
};

const nextVerify = (facts: ThreadFacts): Step =>
  facts.held === null ? startStep("verify", facts) : heldStep(facts.held);

const heldStep = ({ until }: NonNullable<ThreadFacts["held"]>): Step => (until === null ? noStep : waitStep);

/** Lets an effect go on when its wait is over; while it works, and while its question is open, nothing else happens. */
const nextPrepare = ({ wait }: PreparingPhase, facts: ThreadFacts): Step => {
  if (wait === null) return noStep;
  if (facts.held !== null) return heldStep(facts.held);
  return isDue(wait, facts.now) ? startStep("prepare", facts) : waitStep;
};

/** Ends a wait for budget as soon as there is enough. */
const nextRetry = (wait: RetryWait, facts: ThreadFacts): Step =>
  wait.on === "budget" || isDue(wait, facts.now) ? nextThink(facts) : waitStep;

/** Decides the next step of a thread, as a total and pure function and as the only one that does. */
export const next = (thread: Thread, facts: ThreadFacts): Step => {
  const { run } = thread;
  if (run === null) return noStep;
  if (run.ending !== null) return { do: "finish", ...run.ending };
  const end = endStep(thread, run, facts);
  if (end !== null) return end;
  if (isLost(run, facts.epoch)) return { do: "recover" };
  switch (run.phase.at) {
    case "acting":
      return nextAct(run.phase.calls, facts);
    case "thinking":
      return noStep;
    case "preparing":
      return nextPrepare(run.phase, facts);
    case "waiting":
      return nextRetry(run.phase.wait, facts);
    case "ready":
      return nextReady(thread, run, facts);
  }
};

/** The deadlines of a session: when something is due by itself. */

/** Returns when waits of a thread end; none while a budget holds it, or while it is due and queued: others move it then. */
const waitsDue = (session: Session, { id, run, announce }: Thread, now: number): readonly number[] => {
  if (run !== null && run.phase.at !== "acting" && findBudgetHold(session, id) !== null) return [];
  const waits = run === null ? [announce?.wait ?? []].flat() : waitsOf(run);
  const isQueued = run === null || session.queue.includes(id);
  return waits.flatMap(({ until }) => (until === null || (isQueued && until <= now) ? [] : [until]));
};

/** Returns when the clock ends a run, unless it is over and only waits for called agents that were stopped. */
const endDue = (session: Session, threadId: string, run: Run, now: number): readonly number[] => {
  const due = runDeadlineOf(run);
  if (due === null) return [];
  const stopping =
    due <= now && openChildren(session, threadId).some(({ run: own }) => own?.cancel?.mode === "now");
  return stopping ? [] : [due];
};

const deadlinesOf = (session: Session, thread: Thread, now: number): readonly number[] => {
  const { id, run } = thread;
  if (run === null) return waitsDue(session, thread, now);
  const times = [...endDue(session, id, run, now)];
  if (run.missingSince !== null) {
    const limit = run.missingSince + missingAgentLimitMs;
    return [...times, now < limit ? Math.min(now + missingAgentCheckMs, limit) : now + missingAgentCheckMs];
  }
  if (run.cancel?.mode === "now") times.push(run.cancel.until);
  return [...times, ...waitsDue(session, thread, now)];
};

/** Work beside the runs that is tried until it succeeds or is given up. */
export type RetriedWork = { readonly name: string } & (
  | { readonly kind: "deliver"; readonly retry: Outbox }
  | { readonly kind: "end_command"; readonly retry: EndingCommand }
  | { readonly kind: "settle_file"; readonly retry: PendingFileChange }
);

export const retriesOf = ({ outbox, commands, fileChanges }: Session): readonly RetriedWork[] => [
  ...(outbox === null ? [] : [{ kind: "deliver", name: "outbox", retry: outbox } as const]),
  ...commands.ending.map((retry) => ({ kind: "end_command", name: `end:${retry.exec}`, retry }) as const),
  ...fileChanges.map((retry) => ({ kind: "settle_file", name: retry.id, retry }) as const),
];

/** Returns the earliest time at which something is due by itself; null if nothing ever is. */
export const nextDeadline = (session: Session, now: number): number | null => {
  const times = Object.values(session.threads).flatMap((thread) => deadlinesOf(session, thread, now));
  for (const ask of Object.values(session.asks)) times.push(ask.expires_at);
  for (const { retry } of retriesOf(session)) if (!isTryDue(retry, now)) times.push(retry.until);
  return times.length === 0 ? null : Math.min(...times);
};

const dayMs = 86_400_000;

/**
 * Returns when a session that rests is deleted, in milliseconds since the epoch (`retention.session_days`):
 * after the team's days or its own, whichever are fewer; null if it has work or is kept.
 */
export const deletionDueAt = (session: Session, teamDays: number | null): number | null => {
  const days = Math.min(teamDays ?? Infinity, session.retentionDays ?? Infinity);
  const isUsed = sessionStatusOf(session) !== "idle" || session.fileChanges.length > 0;
  return isUsed || days === Infinity ? null : session.updatedAt + days * dayMs;
};
