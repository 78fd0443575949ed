import { askExpired } from "./asks.ts";
import { announcementDue } from "./background.ts";
import { exceeded } from "./budget-ask.ts";
import { callsStarted, callsWoken } from "./calls.ts";
import { childStopped } from "./cancel.ts";
import { childEnded, isEnded } from "./child-ends.ts";
import { questionExpired, questionsDropped } from "./child-questions.ts";
import { changeChild } from "./child-start.ts";
import { waitAnswered, workingOf } from "./child-wait.ts";
import { callsOfRun, changeCounters, changeRun, runOf, threadOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import { concluded } from "./follows.ts";
import { heldBy, limitOf, roomAwaited } from "./limits.ts";
import { graphStopped } from "./graph-run.ts";
import { endingAt } from "./left-commands.ts";
import { next } from "./next.ts";
import type { Facts, Step } from "./next.ts";
import { preparingResumed } from "./preparing.ts";
import { recovered } from "./recovery.ts";
import { runFinished } from "./runs.ts";
import { clocksSet, dueOf } from "./run-clock.ts";
import { requested } from "./session-requests.ts";
import { slotLeft, slotQueued, slotsOf } from "./slots.ts";
import type { Slots } from "./slots.ts";
import type { Run, Session, Thread } from "./state.ts";
import { treePruned, openChildren } from "./threads.ts";
import { resultsAppended, thinkingStarted, turnClosed } from "./turns.ts";
import { agentPresent, missingCheck, missingLimit, resumed, waited, waitsForPeople } from "./waits.ts";

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

/** Calls that wait for a child which an earlier one began give up: it goes on by itself (AG-28). */
const waitsGivenUp = (draft: Draft, threadId: string): void => {
  for (const { parent, child } of awaitedOf(draft, threadId, runOf(draft, threadId)))
    if (child?.awaitedBy != null && child.awaitedBy !== parent?.call)
      waitAnswered(draft, threadId, child.awaitedBy);
};

/** The run's children are asked to end, so that it can; others only if its budget is over (AG-22, AG-30). */
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

/** Another turn follows: what was reported or handed over before it counts no more (AG-23). */
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

/** Whether a called agent works on a task that was cancelled meanwhile (AG-12). */
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

/** When the wait of a run's phase is over; null for none, or while the run is held or its wait for a slot goes on: then others bring it on. */
const phaseUntil = (session: Session, threadId: string, { phase }: Run, now: number): number | null => {
  const until = phase.at === "waiting" || phase.at === "preparing" ? phase.until : null;
  if (until === null || heldBy(session, threadId) !== null) return null;
  return until <= now && session.queue.includes(threadId) ? null : until;
};

/** When a run is over by the clock, unless it is and only waits for called agents that were stopped. */
const endDue = (session: Session, threadId: string, run: Run, now: number): readonly number[] => {
  const due = dueOf(run);
  if (due === null) return [];
  const stopping = due <= now && openChildren(session, threadId).some(({ run: own }) => own?.cancel != null);
  return stopping ? [] : [due];
};

const deadlinesOf = (session: Session, { id, run, announce }: Thread, now: number): readonly number[] => {
  if (run === null) return [announce?.at ?? []].flat();
  const times = [...endDue(session, id, run, now)];
  if (run.missingSince !== null)
    return [...times, Math.min(now + missingCheck, run.missingSince + missingLimit)];
  if (run.cancel?.mode === "now") times.push(run.cancel.until);
  const until = phaseUntil(session, id, run, now);
  if (until !== null) times.push(until);
  return [
    ...times,
    ...callsOfRun(run).flatMap(({ status, until }) => (status === "parked" ? (until ?? []) : [])),
  ];
};

/** The earliest moment at which something is due by itself; null if nothing ever is. */
export const nextDeadline = (session: Session, now: number): number | null => {
  const times = Object.values(session.threads).flatMap((thread) => deadlinesOf(session, thread, now));
  for (const ask of Object.values(session.asks)) times.push(ask.expires_at);
  if (session.outbox != null && session.outbox.until > now) times.push(session.outbox.until);
  const ending = endingAt(session);
  if (ending !== null && ending > now) times.push(ending);
  return times.length === 0 ? null : Math.min(...times);
};
