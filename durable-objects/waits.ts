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
