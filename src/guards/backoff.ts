/** Slows down a poll that returns nothing new. Times are milliseconds. */

const pollPauses = [5_000, 10_000, 30_000, 60_000] as const;
const forgetAfterMs = 3_600_000;

/** Number of a poll's equal outcomes in a row, and the time of the newest. */
export interface QuietPoll {
  readonly equal: number;
  readonly at: number;
}

/** Returns when the next poll is useful; null means at once, as after the first outcome and after each new one. */
export const nextPoll = ({ equal, at }: QuietPoll, now: number): number | null => {
  if (equal < 2 || isForgotten(at, now)) return null;
  return at + (pollPauses[Math.min(equal - 2, pollPauses.length - 1)] ?? 0);
};

/** Returns whether an outcome at the time `at` is too old to count. */
export const isForgotten = (at: number, now: number): boolean => now - at > forgetAfterMs;
