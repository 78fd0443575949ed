/**
 * Limits work in time. `AbortSignal.timeout` would do, but its timer continues after the work, and a Durable Object
 * with a timer stays in memory and is billed for it.
 */
export interface TimeLimit {
  /** Aborted with a `TimeoutError` when the time is over, or as the caller's signal is. */
  readonly signal: AbortSignal;
  /** Clears the timer. */
  readonly stop: () => void;
}

const longestTimerMs = 2 ** 31 - 1;

export const startTimeLimit = (ms: number, outer?: AbortSignal): TimeLimit => {
  const controller = new AbortController();
  const end = (): void => controller.abort(new DOMException(`not done within ${ms} ms`, "TimeoutError"));
  const timer = setTimeout(end, Math.min(ms, longestTimerMs));
  const forget = (): void => clearTimeout(timer);
  if (outer?.aborted === true) forget();
  outer?.addEventListener("abort", forget, { once: true });
  return {
    signal: outer === undefined ? controller.signal : AbortSignal.any([outer, controller.signal]),
    stop: () => {
      forget();
      outer?.removeEventListener("abort", forget);
    },
  };
};

/** Time limits that are stopped together. */
export interface TimeLimits {
  /** Starts a further time limit and returns its signal. */
  readonly start: (ms: number, outer: AbortSignal) => AbortSignal;
  readonly stop: () => void;
}

export const createTimeLimits = (): TimeLimits => {
  const limits: TimeLimit[] = [];
  return {
    start: (ms, outer) => {
      const limit = startTimeLimit(ms, outer);
      limits.push(limit);
      return limit.signal;
    },
    stop: () => {
      for (const { stop } of limits) stop();
    },
  };
};

/** Does work that observes a signal, for at most the given milliseconds. */
export const limitTime = async <T>(
  ms: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const { signal, stop } = startTimeLimit(ms, outer);
  try {
    return await work(signal);
  } finally {
    stop();
  }
};

/** Settles with the promise, or rejects when the signal is aborted, since not every fetcher observes a signal. */
export async function unlessAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason as Error);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
