import { page } from "./plain.ts";

/** This file decides when to try again. */

const firstDelay = 250;
const longestDelay = 10_000;

/** The milliseconds before another try: full jitter under a bound that doubles with each failure. */
export const delayAfter = (failures: number): number =>
  Math.random() * Math.min(longestDelay, firstDelay * 2 ** failures);

/** Resolves after so many milliseconds, or as soon as the signal is aborted or the page is online or looked at again. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const ended = new AbortController();
    const once = { signal: ended.signal };
    const end = (): void => {
      clearTimeout(timer);
      ended.abort();
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, once);
    for (const name of ["online", "visibilitychange"]) page.addEventListener?.(name, end, once);
    if (signal.aborted) end();
  });

/** A random name for a command, by which the server knows it when it comes again. */
export const newCommandId = (): string => crypto.getRandomValues(new Uint32Array(4)).join("-");
