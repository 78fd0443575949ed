import { ownEntry } from "../../chat/json.ts";
import { closeLease } from "../budgets/lease.ts";
import { findBudgetHold } from "../budgets/limits.ts";
import type { WaitReason, Wait } from "../state/ask.ts";
import { planAskOf } from "../state/phase.ts";
import type { Run } from "../state/run.ts";
import { callsOfRun, waitsOf } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Thread } from "../state/thread.ts";
import { openChildren, workingChildrenOf } from "../state/thread.ts";
import { childrenOf, openAskOf } from "../state/ask.ts";
import type { Draft, ThreadDraft } from "../transaction/draft.ts";
import { emit, runOf } from "../transaction/draft.ts";
import type { AgentResolver } from "../definition/agent.ts";

/** Says what a waiting run waits for, a slot to work in included. */

/** Milliseconds for which a run waits for its missing agent. */
export const missingAgentLimitMs = 86_400_000;

export const missingAgentCheckMs = 300_000;

const askWaitReason = ({ asks }: Session, ask: string): WaitReason => {
  const until = asks[ask]?.expires_at;
  return { kind: "ask", ask, ...(until === undefined ? {} : { until }) };
};

const waitReasonOf = (session: Session, wait: Wait): WaitReason => {
  const { on, until } = wait;
  const ask = openAskOf(wait);
  if (ask !== null) return askWaitReason(session, ask.ask);
  return { kind: on === "ask" || on === "budget" ? "retry" : on, ...(until === null ? {} : { until }) };
};

const planWaitReasons = (session: Session, run: Run): readonly WaitReason[] => {
  const ask = planAskOf(run);
  return ask === null ? [] : [askWaitReason(session, ask)];
};

/** Returns the raises that a run waits for: an answer to its own ask for a limit, or to that of a run above it. */
const raiseWaitReasons = (session: Session, threadId: string, run: Run): readonly WaitReason[] => {
  const { ask } = run.budget;
  if (ask !== null) return [askWaitReason(session, ask)];
  const until = findBudgetHold(session, threadId)?.until ?? null;
  return until === null ? [] : [{ kind: "budget", until }];
};

const findWaitReasons = (session: Session, threadId: string, run: Run): readonly WaitReason[] => {
  const raises = raiseWaitReasons(session, threadId, run);
  const waits = waitsOf(run).map((wait) => waitReasonOf(session, wait));
  const { at } = run.phase;
  const isStep = at === "waiting" || at === "preparing";
  if (isStep && (raises.length === 0 || waits.some(({ kind }) => kind === "ask"))) return waits;
  if (run.endAfterChildren !== null) return [{ kind: "thread" }];
  return isStep ? raises : [...raises, ...planWaitReasons(session, run), ...waits];
};

/** Returns what the session shows that a thread waits for; a limit to be raised is shown with the run that asks. */
export const shownWaitReasons = (session: Session, { id, run }: Thread): readonly WaitReason[] => {
  if (run === null || !run.waitingShown) return [];
  if (run.budget.ask !== null) return raiseWaitReasons(session, id, run);
  if (run.missingSince !== null) return [{ kind: "config" }];
  return findWaitReasons(session, id, run).filter(({ kind }) => kind !== "budget");
};

/** Returns whether only people can move a thread: by answers to it, to a run above it, or to all its called agents. */
export const waitsForPeople = (session: Session, threadId: string): boolean => {
  const run = session.threads[threadId]?.run ?? null;
  if (run?.waitingShown !== true) return false;
  return findWaitReasons(session, threadId, run).every(({ kind }) => {
    if (kind !== "thread") return kind === "ask" || kind === "budget";
    const working = openChildren(session, threadId);
    return working.length > 0 && working.every(({ id }) => waitsForPeople(session, id));
  });
};

/** Starts and stops the clocks of runs: each stops while its run, or an agent it awaits, waits for a person. */
export const setClocks = (draft: Draft): void => {
  const { now } = draft.context;
  for (const { id, run } of Object.values(draft.state.threads)) {
    if (run === null || run.clock === null) continue;
    const { at, left } = run.clock;
    const stops = waitsForPeople(draft.state, id);
    if (stops && at !== null) run.clock = { at: null, left: Math.max(0, at - now) };
    if (!stops && at === null) run.clock = { at: now + left, left };
  }
};

/** Lists the called threads that a run waits for; what works in the background counts once the run must end with it. */
export const awaitedChildren = (session: Session, threadId: string, run: Run): readonly Thread[] =>
  run.endAfterChildren === null
    ? waitsOf(run).flatMap((wait) => workingChildrenOf(session, childrenOf(wait)))
    : openChildren(session, threadId);

/** Returns whether only the deployment can move a thread: it lacks its agent, or those of all agents that it called and awaits. */
export const waitsForConfig = (session: Session, threadId: string): boolean => {
  const run = session.threads[threadId]?.run ?? null;
  if (run === null || run.missingSince !== null) return run !== null;
  const onlyAwaits = findWaitReasons(session, threadId, run).every(({ kind }) => kind === "thread");
  if (!run.waitingShown || !onlyAwaits) return false;
  const working = awaitedChildren(session, threadId, run);
  return working.length > 0 && working.every(({ id }) => waitsForConfig(session, id));
};

/** Lists the open asks that the run of a thread waits for, its own first, then those of the agents that it called. */
export const awaitedAsks = (session: Session, threadId: string): readonly string[] => {
  const run = ownEntry(session.threads, threadId)?.run ?? null;
  if (run?.waitingShown !== true) return [];
  const own = findWaitReasons(session, threadId, run).flatMap(({ ask }) => ask ?? []);
  const called = awaitedChildren(session, threadId, run).flatMap(({ id }) => awaitedAsks(session, id));
  return [...new Set([...own, ...called])];
};

/** Reports a waiting run once, with what it waits for. */
export const markRunWaiting = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  if (run.waitingShown) return;
  showRunWaiting(draft, findWaitReasons(draft.state, draft.thread.id, run));
};

/** Reports a run that waits; a session whose runs all wait gives back its lease. */
export const showRunWaiting = (draft: ThreadDraft, on: readonly WaitReason[]): void => {
  emit(draft, "run_waiting", { on });
  runOf(draft).waitingShown = true;
  if (areAllParked(draft.state)) closeLease(draft);
};

/** Returns whether a run waits, and for no model call or effect: it may rest for long. */
const isParked = ({ waitingShown, missingSince, phase }: Run): boolean =>
  waitingShown && (missingSince !== null || (phase.at !== "waiting" && phase.at !== "preparing"));

const areAllParked = ({ threads }: Session): boolean =>
  Object.values(threads).every(({ run }) => run === null || isParked(run));

/** Returns whether a called agent of this thread ended, or asked it something, in this very draft. */
const isMovedByChild = (draft: ThreadDraft): boolean =>
  draft.children.some(({ parent, end }) => parent.thread === draft.thread.id && end !== null) ||
  draft.events.some(({ type, thread }) => {
    const asking = type === "tool_call_parked" ? draft.state.threads[thread] : undefined;
    return asking?.parent?.thread === draft.thread.id && asking.child?.question != null;
  });

/** Returns whether a task that a call of this run watches changed in this very draft. */
const isMovedByTask = ({ events, thread: { run } }: ThreadDraft): boolean =>
  events.some(
    (event) =>
      event.type === "task_changed" &&
      callsOfRun(run).some(({ wait }) => wait?.on === "task" && wait.task === event.data.task.id),
  );

/** Returns what moved a run: a called agent, a task, or else the cause of this pass. */
const moverOf = (draft: ThreadDraft, by: string): string => {
  if (isMovedByChild(draft)) return "thread";
  return by === "time" && isMovedByTask(draft) ? "task" : by;
};

/** Reports that a run goes on. `by` is the cause of this pass. */
export const markRunResumed = (draft: ThreadDraft, by: string): void => {
  const { run } = draft.thread;
  if (run?.waitingShown !== true) return;
  emit(draft, "run_resumed", { by: moverOf(draft, by) });
  run.waitingShown = false;
};

/** Each thread that works holds a slot of the session; the rest wait, first come first. */

/** Returns whether a run waits: only the clock or others can move it. */
const isWaiting = (run: Run): boolean => {
  if (run.missingSince !== null || run.budget.ask !== null) return true;
  return waitsOf(run).length > 0 && callsOfRun(run).every(({ status }) => status !== "running");
};

const holdsSlot = ({ run }: Thread): boolean => run !== null && run.phase.at !== "ready" && !isWaiting(run);

interface SlotUsage {
  readonly free: number;
  readonly working: ReadonlyMap<string, number>;
}

const slotUsageOf = ({ threads }: Session, most: number): SlotUsage => {
  const working = new Map<string, number>();
  let held = 0;
  for (const thread of Object.values(threads)) {
    if (!holdsSlot(thread)) continue;
    held += 1;
    working.set(thread.agent, (working.get(thread.agent) ?? 0) + 1);
  }
  return { free: most - held, working };
};

const hasAgentSlot = (thread: Thread, { working }: SlotUsage, agents: AgentResolver): boolean => {
  const { maxConcurrency } = agents(thread);
  return maxConcurrency === 0 || (working.get(thread.agent) ?? 0) < maxConcurrency;
};

/** Whether a thread may work: a slot is left after those that wait longer, and its agent's concurrency allows it. */
export interface Slots {
  readonly areFull: () => boolean;
  readonly has: (threadId: string) => boolean;
}

export const createSlots = (draft: Draft): Slots => {
  const { agents, maxRunningThreads } = draft.context;
  const room = (): SlotUsage => slotUsageOf(draft.state, maxRunningThreads);
  return {
    areFull: () => room().free <= 0,
    has: (threadId) => {
      const now = room();
      const thread = draft.state.threads[threadId];
      if (now.free <= 0 || thread === undefined || !hasAgentSlot(thread, now, agents)) return false;
      const at = draft.state.queue.indexOf(threadId);
      const before = at < 0 ? draft.state.queue : draft.state.queue.slice(0, at);
      const ready = before.filter((id) => {
        const other = draft.state.threads[id];
        return other !== undefined && hasAgentSlot(other, now, agents);
      });
      return ready.length < now.free;
    },
  };
};

/** Queues a thread for a slot, behind those that came before it. */
export const queueForSlot = (draft: ThreadDraft): void => {
  const { queue } = draft.state;
  if (!queue.includes(draft.thread.id)) draft.state.queue = [...queue, draft.thread.id];
};

export const leaveSlotQueue = (draft: ThreadDraft): void => {
  const { queue } = draft.state;
  if (queue.includes(draft.thread.id)) draft.state.queue = queue.filter((id) => id !== draft.thread.id);
};
