const timeoutMs = 2_000;

/** Returns another object's answer, or null if it fails or takes over 2 s. */
export const withTimeout = async <T>(work: Promise<T>): Promise<T | null> => {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), timeoutMs);
  const answer = await Promise.race([work.catch(() => null), late.promise]);
  clearTimeout(timer);
  return answer;
};
