import type { RunEnding, Phase, PreparingPhase, Run } from "../state/run.ts";
import type { ReachedLimit } from "../state/budget.ts";
import type { Call } from "../state/call.ts";
import { willRunAgain } from "../state/call.ts";
import type { EndReason, RunState } from "../state/events.ts";
import { callsOfRun, runDeadlineOf } from "../state/run.ts";
import type { Thread } from "../state/thread.ts";

/** A step is the one thing that a thread does next. */
export type Step =
  | { readonly do: "rest" }
  | ({ readonly do: "finish" } & RunEnding)
  /** Work of an older isolate was lost. */
  | { readonly do: "recover" }
  | { readonly do: "think" }
  /** The effect that was waiting goes on. */
  | { readonly do: "prepare" }
  | { readonly do: "act"; readonly calls: readonly string[] }
  /** If `until` is null, others move it. */
  | { readonly do: "wait"; readonly until: number | null }
  /** Calls of other threads have reserved what this one needs. */
  | { readonly do: "queue" }
  /** A limit is reached: somebody is asked, or the run ends. */
  | { readonly do: "limit"; readonly reached: ReachedLimit }
  /** The run is to end: its children are stopped first. */
  | { readonly do: "stop_children" }
  /** All calls of the reply are done: the turn ends. */
  | { readonly do: "close" };

export interface ThreadFacts {
  readonly now: number;
  readonly epoch: number;
  /** A thread slot is free. */
  readonly slot: boolean;
  /**
   * A limit was reached here or above, and the thread starts nothing: until somebody raises it, or (null) since
   * what it belongs to is ending.
   */
  readonly held: { readonly until: number | null } | null;
  /** It finds what forbids another model call and is called only where one would follow. */
  readonly limit: () => ReachedLimit | "wait" | null;
  /** The thread has to see these children end before its run does; `stopping`: they were asked to. */
  readonly children: "none" | "working" | "stopping";
}

const mostOverlappingCalls = 8;

const restStep: Step = { do: "rest" };

const isCallOpen = (call: Call): boolean => call.status !== "done";

/** Planned calls that may start now start together, but a writing call starts alone and in its order. */
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

/** A phase is working if it is a model attempt, or an effect that is not waiting. */
const isWorking = (phase: Phase): phase is Extract<Phase, { readonly epoch: number }> =>
  phase.at === "thinking" || (phase.at === "preparing" && phase.until === null);

const isRunning = (call: Call, epoch: number): boolean => call.status === "running" && call.epoch === epoch;

/** It tells whether a run still has something alive in this isolate. */
const isLive = (run: Run, epoch: number): boolean =>
  (isWorking(run.phase) && run.phase.epoch === epoch) ||
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

/** If children have to end first, they are stopped, then waited for. */
const childrenStep = (run: Run, { now, children }: ThreadFacts): Step | null => {
  const due = run.stop !== null || isOverdue(run, now);
  if (!due && run.cancel === null) return null;
  return children === "working" ? { do: "stop_children" } : { do: "wait", until: null };
};

/** The run ends once nothing is live, or after the grace of an immediate cancel; null where the turn goes on. */
const cancelStep = ({ cancel }: Run, now: number, live: boolean): Step | null => {
  if (cancel === null) return null;
  const atOnce = cancel.mode === "now";
  if (!live || (atOnce && now >= cancel.until)) return finishStep("cancelled", cancel.reason);
  return atOnce ? restStep : null;
};

const nextAct = (calls: readonly Call[], { held }: ThreadFacts): Step => {
  const starts = held === null ? startableCalls(calls) : [];
  if (starts.length > 0) return { do: "act", calls: starts };
  if (calls.some((call) => call.status === "running")) return restStep;
  if (!calls.some(isCallOpen)) return { do: "close" };
  const times = calls.flatMap(({ status, until }) => (status === "parked" ? (until ?? []) : []));
  if (held !== null && held.until !== null) times.push(held.until);
  return { do: "wait", until: times.length === 0 ? null : Math.min(...times) };
};

/** A graceful cancel lets these begun calls go on though some of them wait. */
const finishingCallsOf = (run: Run, epoch: number): readonly Call[] => {
  if (run.cancel?.mode !== "after_turn" || run.stop !== null) return [];
  const begun = callsOfRun(run).filter((call) => willRunAgain(call) || isRunning(call, epoch));
  return begun.some(willRunAgain) ? begun : [];
};

/** The run ends by request or by the clock; null if neither applies. */
const endStep = (run: Run, facts: ThreadFacts): Step | null => {
  if (facts.children !== "none") return childrenStep(run, facts);
  const finishing = finishingCallsOf(run, facts.epoch);
  const live = isLive(run, facts.epoch) || finishing.length > 0;
  const stopped = cancelStep(run, facts.now, live);
  if (stopped !== null) return stopped;
  if (run.stop !== null && !live) return finishStep("failed", run.stop.reason, run.stop.error);
  if (isOverdue(run, facts.now))
    return finishStep("failed", "deadline_exceeded", "the run's deadline has passed");
  if (finishing.length > 0) return nextAct(finishing, { ...facts, held: null });
  return run.cancel === null && run.stop === null ? null : restStep;
};

const nextThink = (run: Run, facts: ThreadFacts): Step => {
  if (run.phase.at === "ready") {
    // A run without input only compacts.
    if (run.inputs.length === 0 && run.compact === null) return finishStep("completed", "end_turn");
  }
  if (facts.held !== null) return heldStep(facts.held);
  const limit = facts.limit();
  if (limit === "wait") return { do: "queue" };
  if (limit !== null) return { do: "limit", reached: limit };
  return facts.slot ? { do: "think" } : restStep;
};

/** A run that is over but for its background children ends after them, unless a message brings another turn. */
const nextReady = ({ inbox }: Thread, run: Run, facts: ThreadFacts): Step => {
  if (run.lingers === null || inbox.some(({ on_busy }) => on_busy === "steer")) return nextThink(run, facts);
  return facts.children === "none" ? finishStep("completed", run.lingers) : { do: "wait", until: null };
};

const heldStep = ({ until }: NonNullable<ThreadFacts["held"]>): Step =>
  until === null ? restStep : { do: "wait", until };

/** An effect goes on when its wait is over; while it works, and while its question is open, nothing else happens. */
const nextPrepare = ({ until }: PreparingPhase, { now, slot, held }: ThreadFacts): Step => {
  if (until === null) return restStep;
  if (held !== null) return heldStep(held);
  if (now < until) return { do: "wait", until };
  return slot ? { do: "prepare" } : restStep;
};

/** A wait for budget is over as soon as there is enough. */
const isDue = ({ why, until }: Extract<Phase, { at: "waiting" }>, now: number): boolean =>
  why === "budget" || now >= until;

/** The next step of a thread is decided here alone, by a total and pure function. */
export const next = (thread: Thread, facts: ThreadFacts): Step => {
  const { run } = thread;
  if (run === null) return restStep;
  if (run.ending !== null) return { do: "finish", ...run.ending };
  const end = endStep(run, facts);
  if (end !== null) return end;
  if (isLost(run, facts.epoch)) return { do: "recover" };
  switch (run.phase.at) {
    case "acting":
      return nextAct(run.phase.calls, facts);
    case "thinking":
      return restStep;
    case "preparing":
      return nextPrepare(run.phase, facts);
    case "waiting":
      return isDue(run.phase, facts.now) ? nextThink(run, facts) : { do: "wait", until: run.phase.until };
    case "ready":
      return nextReady(thread, run, facts);
  }
};
