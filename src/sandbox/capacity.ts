import { SandboxError } from "./contract.ts";

/** Milliseconds for which a sandbox without capacity is retried, and the pauses between the tries. */
const capacityWaitMs = 120_000;
const firstPauseMs = 500;
const longestPauseMs = 10_000;

/** Who waits for capacity: `pause` ends early, or rejects, when the signal is aborted. */
export interface CapacityWait {
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Repeats a request while the sandbox has no capacity, since it has done nothing then; throws other refusals. */
export async function awaitCapacity<Answer>(
  waiting: CapacityWait,
  request: () => Promise<Answer>,
): Promise<Answer> {
  const until = waiting.now() + capacityWaitMs;
  for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
    try {
      return await request();
    } catch (error) {
      const full = error instanceof SandboxError && error.code === "capacity_exceeded";
      if (!full || waiting.now() + pause > until) throw error;
    }
    await waiting.pause(pause);
    waiting.signal.throwIfAborted();
  }
}
