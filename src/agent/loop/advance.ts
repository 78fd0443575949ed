import { findBudgetHold, findReachedLimit, awaitBudget } from "../budgets/limits.ts";
import { findCall, wakeCalls } from "../calls/tool-calls.ts";
import { endChild, hasUnreportedEnd } from "../delegation/end.ts";
import { expireQuestion, dropQuestions, answerWait } from "../delegation/wait.ts";
import { performRequest } from "../delegation/requests.ts";
import { resumePreparing, deferToVerification, startVerification } from "../hooks/preparing.ts";
import { stopChild } from "../run/cancel.ts";
import { equipLateRun, finishRun, startNextRun } from "../run/runs.ts";
import type { Slots } from "../run/wait.ts";
import {
  awaitedChildren,
  createSlots,
  leaveSlotQueue,
  queueForSlot,
  markRunResumed,
  markRunWaiting,
  showRunWaiting,
  missingAgentLimitMs,
  setClocks,
} from "../run/wait.ts";
import type { Run } from "../state/run.ts";
import { callsOfRun, runDeadlineOf } from "../state/run.ts";
import type { Thread } from "../state/thread.ts";
import { openChildren } from "../state/thread.ts";
import { isBreachOpen } from "../state/phase.ts";
import { stopGraph } from "../stores/graphs.ts";
import type { Draft, DraftRun, ThreadDraft } from "../transaction/draft.ts";
import { agentOf, changeChild, runOf, selectThread } from "../transaction/draft.ts";
import { expireAsk, handleReachedLimit } from "../turn/ask-answers.ts";
import { startAttempt } from "../turn/attempts.ts";
import { startCalls, recoverRun } from "../turn/calls.ts";
import { concludeRun } from "../turn/finish.ts";
import { reflectOnErrors, appendResults, startTurn, closeTurn } from "../turn/turns.ts";
import type { ThreadFacts, Step } from "./next.ts";
import { isDueToEnd, next } from "./next.ts";

/** Steps that need no agent: they end a run, or put right what was lost. */
const stepsWithoutAgent: readonly Step["do"][] = ["finish", "recover", "stop_children"];

/** A run whose agent is not deployed waits for a day, then fails. Returns whether the thread may go on. */
const holdUntilAgentExists = (draft: ThreadDraft, step: Step): boolean => {
  const run = runOf(draft);
  const { missing } = agentOf(draft);
  if (missing === null || stepsWithoutAgent.includes(step.do)) return true;
  const since = run.missingSince ?? draft.context.now;
  if (draft.context.now >= since + missingAgentLimitMs) {
    const error = `this deployment lacks ${missing}`;
    finishRun(draft, { state: "failed", reason: "config_changed", error });
    return false;
  }
  if (run.missingSince !== null) return false;
  run.missingSince = since;
  showRunWaiting(draft, [{ kind: "config", missing, until: since + missingAgentLimitMs }]);
  return false;
};

/** Lists the children that have to end before a thread's run: those that it awaits, or all if its work is checked at its end. */
const awaitedChildrenOf = ({ state, thread: { id } }: ThreadDraft, run: Run): readonly Thread[] =>
  isBreachOpen(run) ? openChildren(state, id) : awaitedChildren(state, id, run);

const childrenState = (draft: ThreadDraft): ThreadFacts["children"] => {
  const { run } = draft.thread;
  if (run === null) return "none";
  const working = awaitedChildrenOf(draft, run);
  if (working.length === 0) return "none";
  const isAskedToEnd = (cancel: Run["cancel"]): boolean =>
    isDueToEnd(run, draft.context.now) ? cancel?.mode === "now" : cancel !== null;
  return working.every(({ run: own }) => own === null || isAskedToEnd(own.cancel)) ? "stopping" : "working";
};

const stepOf = (draft: ThreadDraft, slots: Slots): Step => {
  const { now, epoch } = draft.context;
  const { id } = draft.thread;
  return next(draft.thread, {
    now,
    epoch,
    slot: () => slots.has(id),
    children: childrenState(draft),
    noProgressTurns: agentOf(draft).noProgressTurns,
    held: findBudgetHold(draft.state, id),
    limit: () => findReachedLimit(draft),
  });
};

/** Closes a reply whose last call is done: its results follow, then the turn's end. */
const closeReply = (draft: ThreadDraft): void => {
  const calls = callsOfRun(runOf(draft));
  appendResults(draft);
  const terminal = calls.some(({ plan, outcome }) => plan.terminal && outcome?.result.status === "ok");
  if (terminal) concludeRun(draft, "terminal_tool");
  else {
    reflectOnErrors(draft, calls);
    deferToVerification(draft, "turn");
    closeTurn(draft);
  }
  // A run that ends keeps its calls for its end, which closes the turn.
  const run = runOf(draft);
  if (run.phase.at === "acting" && run.ending === null) run.phase = { at: "ready" };
};

/** Gives up calls that wait for a child which an earlier call began: the child goes on by itself. */
const giveUpWaits = (draft: ThreadDraft, run: DraftRun): void => {
  for (const { parent, child } of awaitedChildrenOf(draft, run)) {
    if (child === null || child.awaitedBy === parent?.call) continue;
    const call = findCall(run, child.awaitedBy ?? "");
    if (call !== null) answerWait(draft, call);
  }
};

/** Asks the run's children to end, so that the run can; others only if its budget is used up. */
const stopChildren = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  const { reason } = run.stop ?? { reason: "deadline_exceeded" };
  const all = reason === "budget_exceeded";
  if (!all) giveUpWaits(draft, run);
  const why = `stopped, since its caller ended: ${reason}`;
  const stopped = all ? openChildren(draft.state, draft.thread.id) : awaitedChildrenOf(draft, run);
  for (const { id, child } of stopped) {
    if (child?.node != null) stopGraph(draft, child.node.dispatch);
    stopChild(selectThread(draft, id), why, true);
  }
};

/** Makes the next attempt, or begins another turn, for which an earlier report or hand-over no longer counts. */
const think = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  if (run.phase.at !== "ready") return startAttempt(draft);
  const { child } = draft.thread;
  run.endAfterChildren = null;
  equipLateRun(draft);
  if (run.stop !== null) return;
  if (child !== null && (child.completion !== null || child.handover !== null)) {
    changeChild(draft, { completion: null, handover: null });
    run.counters.withheld = false;
  }
  startTurn(draft);
};

type WaitStep = Extract<Step, { do: "none" | "wait" | "queue" }>;

type ActiveStep = Exclude<Step, WaitStep>;

const isActive = (step: Step): step is ActiveStep =>
  step.do !== "none" && step.do !== "wait" && step.do !== "queue";

/** Stores what a thread that cannot go on waits for. */
const storeWait = (draft: ThreadDraft, step: WaitStep): void => {
  if (step.do === "wait") return markRunWaiting(draft);
  if (step.do === "none") return;
  if (step.for === "slot") queueForSlot(draft);
  else awaitBudget(draft);
};

/** Forgets that a run's agent was missing once the deployment has it. */
const noteAgentBack = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  if (run.missingSince !== null && agentOf(draft).missing === null) run.missingSince = null;
};

const takeStep = (draft: ThreadDraft, step: ActiveStep): void => {
  switch (step.do) {
    case "finish":
      return finishRun(draft, step);
    case "limit":
      return handleReachedLimit(draft, step.reached);
    case "recover":
      return recoverRun(draft);
    case "think":
      return think(draft);
    case "prepare":
      return resumePreparing(draft);
    case "verify":
      return startVerification(draft);
    case "act":
      return startCalls(draft, step.calls, (call) => performRequest(draft, call));
    case "stop_children":
      return stopChildren(draft);
    case "close":
      return closeReply(draft);
  }
};

/** Returns whether a step means that the run works again; those that end it or ask for more do not. */
const isGoingOn = ({ do: what }: ActiveStep): boolean =>
  what !== "finish" && what !== "stop_children" && what !== "limit";

/** Advances a thread until it needs others, the driver or the clock, or is idle. Returns whether it moved. */
const advanceThread = (draft: ThreadDraft, by: string, slots: Slots): boolean => {
  noteAgentBack(draft);
  for (let moved = false; ; moved = true) {
    const step = stepOf(draft, slots);
    if (step.do !== "queue" || step.for !== "slot") leaveSlotQueue(draft);
    if (!isActive(step)) {
      storeWait(draft, step);
      return moved;
    }
    const before = draft.events.length;
    // A run that begins to wait for its agent releases its slot; one that ends without it lets its caller go on.
    if (!holdUntilAgentExists(draft, step)) return moved || draft.events.length > before;
    if (isGoingOn(step)) markRunResumed(draft, by);
    takeStep(draft, step);
  }
};

const mayEnd = (run: Run): boolean =>
  run.ending !== null || run.cancel !== null || run.stop !== null || runDeadlineOf(run) !== null;

/** Returns whether a thread is in the queue; it has nothing to do while no slot is free. */
const isQueued = ({ state, thread: { id, run } }: ThreadDraft): boolean =>
  run?.phase.at === "ready" && !mayEnd(run) && state.queue.includes(id);

const worksOnCancelledTask = ({ state, thread: { child, run } }: ThreadDraft): boolean =>
  run !== null && run.cancel === null && state.tasks[child?.taskId ?? ""]?.status === "cancelled";

/**
 * Does everything for a thread that needs nothing external. Returns whether others have to be checked again, as after
 * a new hold, which frees a slot or ends a child.
 */
const tickThread = (draft: ThreadDraft, by: string, slots: Slots, areFull: boolean): boolean => {
  const { thread } = draft;
  if (thread.run === null) {
    if (!hasUnreportedEnd(thread)) return startNextRun(draft);
    endChild(draft);
    return true;
  }
  if (worksOnCancelledTask(draft)) stopChild(draft, "task cancelled", false);
  if (areFull && isQueued(draft)) return false;
  wakeCalls(draft);
  if (thread.child?.question != null) expireQuestion(draft);
  const moved = advanceThread(draft, by, slots);
  const isEnding = thread.run?.endAfterChildren != null;
  return (isEnding && dropQuestions(draft)) || moved;
};

/** Forgets how many threads each tree of runs has had, once nothing of the tree is alive. */
const pruneTrees = ({ state }: Draft): void => {
  const isAlive = (root: string): boolean =>
    Object.values(state.threads).some(
      ({ child, run }) => run?.id === root || (child?.root === root && !child.idle),
    );
  const counts = Object.entries(state.trees);
  const alive = counts.filter(([root]) => isAlive(root));
  if (alive.length < counts.length) state.trees = Object.fromEntries(alive);
};

/**
 * Applies every deadline that is due, then advances all threads. Steps that need nothing external run here,
 * so that they share the commit of what made them possible.
 */
export const advanceSession = (draft: Draft, by = "time"): void => {
  for (const ask of Object.values(draft.state.asks)) {
    if (ask.expires_at <= draft.context.now) expireAsk(draft, ask);
  }
  const slots = createSlots(draft);
  let moved = true;
  while (moved) {
    moved = false;
    // Threads that move take and release slots, which are counted over all threads.
    let areFull = slots.areFull();
    for (const id of Object.keys(draft.state.threads)) {
      const isGone = draft.state.threads[id] === undefined;
      if (isGone || !tickThread(selectThread(draft, id), by, slots, areFull)) continue;
      moved = true;
      areFull = slots.areFull();
    }
  }
  pruneTrees(draft);
  setClocks(draft);
};
