/** One after the other, in the order of the calls; the caller acts on a result before the next begins. */
export const inOrder = <A extends unknown[], T>(
  work: (...args: A) => Promise<T>,
): ((...args: A) => Promise<T>) => {
  let last: Promise<unknown> = Promise.resolve();
  return (...args) => {
    const result = last.then(() => work(...args));
    last = result.catch(() => undefined);
    return result;
  };
};
