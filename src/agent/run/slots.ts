import type { AgentResolver } from "../definition/agent.ts";
import type { Run } from "../state/run.ts";
import { callsOfRun, waitsOf } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Thread } from "../state/thread.ts";
import type { Draft } from "../transaction/draft.ts";

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

/**
 * Whether a thread may work: a slot is left after those that wait longer, and its agent's concurrency allows
 * it.
 */
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
export const queueForSlot = (draft: Draft, threadId: string): void => {
  const { queue } = draft.state;
  if (!queue.includes(threadId)) draft.state.queue = [...queue, threadId];
};

export const leaveSlotQueue = (draft: Draft, threadId: string): void => {
  const { queue } = draft.state;
  if (queue.includes(threadId)) draft.state.queue = queue.filter((id) => id !== threadId);
};
