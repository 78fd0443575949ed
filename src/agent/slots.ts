import type { Draft } from "./draft.ts";
import { callsOfRun } from "./draft.ts";
import type { Agents } from "./agent.ts";
import type { Run, Session, Thread } from "./state.ts";

/** Who may work at the same time (AG-21): a slot for each thread that works, the rest first come first. */

/** A run is waiting when only the clock or others can move it. */
const isWaiting = (run: Run): boolean => {
  if (run.phase.at === "waiting" || run.missingSince !== null || run.budget.ask !== null) return true;
  if (run.phase.at === "preparing") return run.phase.until !== null;
  const calls = callsOfRun(run);
  return (
    calls.length > 0 &&
    calls.every(({ status }) => status !== "running") &&
    calls.some(({ status }) => status === "parked")
  );
};

const holdsSlot = ({ run }: Thread): boolean => run !== null && run.phase.at !== "ready" && !isWaiting(run);

interface Room {
  readonly free: number;
  readonly working: ReadonlyMap<string, number>;
}

const roomIn = ({ threads }: Session, most: number): Room => {
  const working = new Map<string, number>();
  let held = 0;
  for (const thread of Object.values(threads)) {
    if (!holdsSlot(thread)) continue;
    held += 1;
    working.set(thread.agent, (working.get(thread.agent) ?? 0) + 1);
  }
  return { free: most - held, working };
};

const agentHasRoom = (thread: Thread, { working }: Room, agents: Agents): boolean => {
  const { maxConcurrency } = agents(thread);
  return maxConcurrency === 0 || (working.get(thread.agent) ?? 0) < maxConcurrency;
};

/** Whether a thread may work now: a slot is left when those that wait longer have theirs, and its agent has room. */
export interface Slots {
  readonly full: () => boolean;
  readonly has: (threadId: string) => boolean;
}

export const slotsOf = (draft: Draft): Slots => {
  const { agents, maxRunningThreads } = draft.moment;
  let threads: Session["threads"] | null = null;
  let known: Room = { free: 0, working: new Map() };
  const room = (): Room => {
    if (threads !== draft.state.threads) {
      threads = draft.state.threads;
      known = roomIn(draft.state, maxRunningThreads);
    }
    return known;
  };
  return {
    full: () => room().free <= 0,
    has: (threadId) => {
      const now = room();
      const thread = draft.state.threads[threadId];
      if (now.free <= 0 || thread === undefined || !agentHasRoom(thread, now, agents)) return false;
      const at = draft.state.queue.indexOf(threadId);
      const before = at < 0 ? draft.state.queue : draft.state.queue.slice(0, at);
      const ready = before.filter((id) => {
        const other = draft.state.threads[id];
        return other !== undefined && agentHasRoom(other, now, agents);
      });
      return ready.length < now.free;
    },
  };
};

/** A thread waits for a slot, behind those that came before it. */
export const slotQueued = (draft: Draft, threadId: string): void => {
  const { queue } = draft.state;
  if (!queue.includes(threadId)) draft.state = { ...draft.state, queue: [...queue, threadId] };
};

/** A thread got its slot, or needs none any more. */
export const slotLeft = (draft: Draft, threadId: string): void => {
  const { queue } = draft.state;
  if (queue.includes(threadId))
    draft.state = { ...draft.state, queue: queue.filter((id) => id !== threadId) };
};
