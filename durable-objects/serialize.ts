/** One after the other, in the order of the calls; the caller acts on a result before the next begins. */
export const serialize = <A extends unknown[], T>(
  work: (...args: A) => Promise<T>,
): ((...args: A) => Promise<T>) => {
  let last: Promise<unknown> = Promise.resolve();
  return (...args) => {
    const result = last.then(() => work(...args));
    last = result.catch(() => undefined);
    return result;
  };
};

/** One for all who ask for it while it works. */
export const shareInFlight = <T>(work: () => Promise<T>): (() => Promise<T>) => {
  let running: Promise<T> | null = null;
  return () =>
    (running ??= work().finally(() => {
      running = null;
    }));
};
