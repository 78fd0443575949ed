import type { Ending } from "./ending.ts";
import type { Host } from "./host.ts";

/** The time that a tool call may take (SE-16); what it waits for a sandbox that is not ready yet does not count (TB-34). */
export interface CallTime {
  /** Milliseconds since the epoch. */
  readonly deadline: () => number;
  /** Waits; ends early with the call. */
  readonly pause: (ms: number) => Promise<void>;
  readonly cancel: () => void;
}

/** Milliseconds of pauses that do not count. */
const mostPaused = 120_000;

export const createCallTime = (
  host: Pick<Host, "now" | "after">,
  ms: number,
  over: () => void,
  ending: Ending,
): CallTime => {
  let deadline = host.now() + ms;
  let timer = host.after(ms, over);
  let left = mostPaused;
  const extend = (wait: number): void => {
    timer.cancel();
    deadline += Math.min(wait, left);
    left -= Math.min(wait, left);
    timer = host.after(deadline - host.now(), over);
  };
  return {
    deadline: () => deadline,
    cancel: () => timer.cancel(),
    pause: (wait) => {
      extend(wait);
      const { promise, resolve } = Promise.withResolvers<void>();
      const pausing = host.after(wait, resolve);
      ending.whenAsked(() => {
        pausing.cancel();
        resolve();
      });
      return promise;
    },
  };
};
