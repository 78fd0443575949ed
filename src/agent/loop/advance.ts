import { clocksSet } from "../budgets/clock.ts";
import { heldBy, limitOf, roomAwaited } from "../budgets/limits.ts";
import { callsWoken } from "../calls/start.ts";
import { childEnded, isEnded } from "../delegation/end.ts";
import { questionExpired, questionsDropped } from "../delegation/questions.ts";
import { requested } from "../delegation/requests.ts";
import { changeChild } from "../delegation/start.ts";
import { waitAnswered, workingOf } from "../delegation/wait.ts";
import { preparingResumed } from "../hooks/preparing.ts";
import { announcementDue } from "../run/announce.ts";
import { childStopped } from "../run/cancel.ts";
import { runFinished } from "../run/runs.ts";
import type { Slots } from "../run/wait.ts";
import { missingLimit, resumed, slotLeft, slotQueued, slotsOf, waited, waitsForPeople } from "../run/wait.ts";
import type { Run } from "../state/run.ts";
import { callsOfRun, dueOf } from "../state/run.ts";
import type { Thread } from "../state/thread.ts";
import { openChildren, treePruned } from "../state/thread.ts";
import { graphStopped } from "../stores/graphs.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, changeCounters, changeRun, emit, runOf, threadOf } from "../transaction/draft.ts";
import { askExpired, exceeded } from "../turn/answers.ts";
import { callsStarted } from "../turn/calls.ts";
import { concluded } from "../turn/finish.ts";
import { recovered } from "../turn/recover.ts";
import { resultsAppended, thinkingStarted, turnClosed } from "../turn/turns.ts";
import type { Facts, Step } from "./next.ts";
import { next } from "./next.ts";

/** A run whose agent is not deployed waits for a day, then fails. Answers whether the thread may go on. */
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

/** Takes every step that needs no outside, so that it shares the commit of what made it possible. */

/** Children that have to end before a thread's run may: those of its open calls, or all if it only waits for them. */
const awaitedOf = (draft: Draft, id: string, run: Run): readonly Thread[] =>
  run.lingers !== null
    ? openChildren(draft.state, id)
    : callsOfRun(run).flatMap(({ waits, status }) =>
        waits === undefined || status === "done" ? [] : workingOf(draft, waits),
      );

const childrenState = (draft: Draft, { id, run }: Thread): Facts["children"] => {
  if (run === null) return "none";
  const working = awaitedOf(draft, id, run);
  if (working.length === 0) return "none";
  return working.every(({ run: own }) => own === null || own.cancel !== null) ? "stopping" : "working";
};

const stepOf = (draft: Draft, threadId: string, slots: Slots): Step => {
  const { now, epoch } = draft.moment;
  const thread = threadOf(draft, threadId);
  const step = next(thread, {
    now,
    epoch,
    slot: true,
    children: childrenState(draft, thread),
    held: heldBy(draft.state, threadId),
    limit: () => limitOf(draft, threadId),
  });
  if ((step.do !== "think" && step.do !== "prepare") || slots.has(threadId)) return step;
  slotQueued(draft, threadId);
  return { do: "rest" };
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

/** Calls that wait for a child which an earlier one began give up: it goes on by itself. */
const waitsGivenUp = (draft: Draft, threadId: string): void => {
  for (const { parent, child } of awaitedOf(draft, threadId, runOf(draft, threadId)))
    if (child?.awaitedBy != null && child.awaitedBy !== parent?.call)
      waitAnswered(draft, threadId, child.awaitedBy);
};

/** The run's children are asked to end, so that it can; others only if its budget is over. */
const childrenStopped = (draft: Draft, threadId: string): void => {
  const { reason } = runOf(draft, threadId).stop ?? { reason: "deadline_exceeded" };
  const all = reason === "budget_exceeded";
  if (!all) waitsGivenUp(draft, threadId);
  const run = runOf(draft, threadId);
  const why = `stopped, since its caller ended: ${reason}`;
  for (const { id, child } of all ? openChildren(draft.state, threadId) : awaitedOf(draft, threadId, run)) {
    if (child?.node != null) graphStopped(draft, child.node.dispatch);
    childStopped(draft, id, why, true);
  }
};

/** Another turn follows: what was reported or handed over before it counts no more. */
const turnBegun = (draft: Draft, threadId: string): void => {
  const { phase, lingers } = runOf(draft, threadId);
  const { child } = threadOf(draft, threadId);
  if (lingers !== null) changeRun(draft, threadId, { lingers: null });
  if (phase.at === "ready" && child !== null && (child.completion !== null || child.handover !== null)) {
    changeChild(draft, threadId, { completion: null, handover: null });
    changeCounters(draft, threadId, { withheld: false });
  }
  thinkingStarted(draft, threadId);
};

type Taken = Exclude<Step, { do: "rest" | "wait" | "queue" }>;

const taken = (draft: Draft, threadId: string, step: Taken): void => {
  switch (step.do) {
    case "finish":
      return runFinished(draft, threadId, step);
    case "limit":
      return exceeded(draft, step.reached);
    case "recover":
      return recovered(draft, threadId);
    case "think":
      return turnBegun(draft, threadId);
    case "prepare":
      return preparingResumed(draft, threadId);
    case "act":
      return callsStarted(draft, threadId, step.calls, (call) => requested(draft, threadId, call));
    case "stop_children":
      return childrenStopped(draft, threadId);
    case "close":
      return blockClosed(draft, threadId);
  }
};

/** Whether a step means that the run works again; those that end it or ask for more do not. */
const isGoingOn = ({ do: what }: Taken): boolean =>
  what !== "finish" && what !== "stop_children" && what !== "limit";

/** Runs a thread on until it needs others, the outside, the clock, or has nothing to do. Answers whether it moved. */
const advanced = (draft: Draft, threadId: string, by: string, slots: Slots): boolean => {
  for (let moved = false; ; moved = true) {
    const step = stepOf(draft, threadId, slots);
    if (step.do === "rest") return moved;
    if (step.do === "wait") {
      waited(draft, threadId);
      return moved;
    }
    if (step.do === "queue") {
      roomAwaited(draft, threadId);
      return moved;
    }
    if (!agentPresent(draft, threadId, step)) return moved;
    slotLeft(draft, threadId);
    if (isGoingOn(step)) resumed(draft, threadId, by);
    taken(draft, threadId, step);
  }
};

const mayEnd = (run: Run): boolean =>
  run.ending !== null || run.cancel !== null || run.stop !== null || dueOf(run) !== null;

/** A thread in the queue need not be looked at while nobody else lets go of a slot. */
const isHeldBack = (draft: Draft, { id, run }: Thread, slots: Slots): boolean =>
  run?.phase.at === "ready" && !mayEnd(run) && draft.state.queue.includes(id) && slots.full();

/** Whether a called agent works on a task that was cancelled meanwhile. */
const isForNothing = (draft: Draft, { child, run }: Thread): boolean =>
  run !== null && run.cancel === null && draft.state.tasks[child?.taskId ?? ""]?.status === "cancelled";

/** Everything a thread can do without the outside. Answers whether others have to be looked at again. */
const threadTicked = (draft: Draft, threadId: string, by: string, slots: Slots): boolean => {
  const thread = draft.state.threads[threadId];
  if (thread === undefined) return false;
  if (thread.run === null) {
    if (!isEnded(thread)) return announcementDue(draft, threadId);
    childEnded(draft, threadId);
    return true;
  }
  if (isForNothing(draft, thread)) childStopped(draft, threadId, "task cancelled", false);
  if (isHeldBack(draft, threadOf(draft, threadId), slots)) return false;
  callsWoken(draft, threadId);
  if (thread.child?.question != null) questionExpired(draft, threadId);
  const moved = advanced(draft, threadId, by, slots);
  const lingers = threadOf(draft, threadId).run?.lingers != null;
  return (lingers && questionsDropped(draft, threadId)) || moved;
};

/** Applies every deadline that is due, then runs all threads on. */
export const clockTicked = (draft: Draft, by = "time"): void => {
  for (const ask of Object.values(draft.state.asks)) {
    if (ask.expires_at <= draft.moment.now) askExpired(draft, ask);
  }
  const slots = slotsOf(draft);
  let moved = true;
  while (moved) {
    moved = false;
    for (const ended of draft.runs)
      if (ended.thread === "main") draft.state = treePruned(draft.state, ended.id);
    for (const id of Object.keys(draft.state.threads)) {
      if (threadTicked(draft, id, by, slots)) moved = true;
    }
  }
  clocksSet(draft, (id) => waitsForPeople(draft.state, id));
};
