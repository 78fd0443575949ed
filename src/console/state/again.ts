import { LimpetError } from "../../client/index.ts";

/** Repeats what did not reach the server. */

export const hasCode = (fault: unknown, code: string): boolean =>
  fault instanceof LimpetError && fault.problem.code === code;

/** Between two tries lie so many milliseconds at most. */
const longestPause = 5_000;

/** Resolves after so long, or when the browser has a network again, or by the signal. */
const pause = (milliseconds: number, signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
    addEventListener("online", resolve, { once: true });
    signal.addEventListener("abort", resolve);
  });

/** Does some work again and again until the server is reached; a signal ends it with its reason. */
export const untilReached = async <T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  onMissed: () => void = () => undefined,
): Promise<T> => {
  for (let wait = 500; ; wait = Math.min(2 * wait, longestPause)) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (fault) {
      if (!hasCode(fault, "unreachable")) throw fault;
      onMissed();
      await pause(wait, signal);
    }
  }
};
