import { refuse } from "../src/session/problems.ts";

/**
 * Creates a short wait that callers who write at about the same time share, so that the platform commits their writes
 * together.
 */
export const createBatchWindow = (ms: number): (() => Promise<void>) => {
  let next: Promise<void> | null = null;
  const awaitBatch = async (): Promise<void> => {
    await scheduler.wait(ms);
    next = null;
  };
  return () => (next ??= awaitBatch());
};

/**
 * Returns whether a time is less than `ms` ago. A time in the future, from before the clock was set back, is not:
 * what was read then would count as new for as long as that.
 */
export const isRecent = (at: number, now: number, ms: number): boolean => at <= now && now - at < ms;

/** Shares one run of some work among all who ask for it while it runs. */
export const shareInFlight = <T>(work: () => Promise<T>): (() => Promise<T>) => {
  let running: Promise<T> | null = null;
  return () =>
    (running ??= work().finally(() => {
      running = null;
    }));
};

/** Returns another object's answer; rejects if it fails or takes longer than `ms`. */
export const inTime = async <T>(work: Promise<T>, ms: number): Promise<T> => {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${ms} ms`)), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
};

/** Returns another object's answer; refuses for now, and says `what` is not possible, if it fails or takes over 5 s. */
export const requireReply = <T>(work: Promise<T>, what: string): Promise<T> =>
  inTime(work, 5_000).catch(() =>
    refuse("overloaded", `${what} right now; send it again`, { retryAfterMs: 2_000 }),
  );

/** Returns another object's answer, or null if it fails or takes over 2 s. */
export const withReplyTimeout = <T>(work: Promise<T>): Promise<T | null> =>
  inTime(work, 2_000).catch(() => null);
