import { refuse } from "../../session/problems.ts";

/** Limits how long another object is waited for. */

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
