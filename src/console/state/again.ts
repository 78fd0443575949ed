import { isPassing } from "../../client/commands.ts";
import { LimpetError } from "../../client/index.ts";
import { delayAfter, pause } from "../../client/retry.ts";

/** Repeats what did not reach the server, or was not answered. */

export const hasCode = (fault: unknown, code: string): boolean =>
  fault instanceof LimpetError && fault.problem.code === code;

/** Does some work again and again until the server answers it; a signal ends it with its reason. */
export const untilReached = async <T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  onMissed: (fault: unknown) => void = () => undefined,
): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (fault) {
      if (!isPassing(fault)) throw fault;
      onMissed(fault);
      await pause(delayAfter(tries), signal);
    }
  }
};
