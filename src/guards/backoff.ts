/** How a poll that brings nothing new is slowed down. Times in milliseconds. */

const pollPauses = [5_000, 10_000, 30_000, 60_000] as const;
const forgetAfterMs = 3_600_000;

/** Equal outcomes of a poll in a row, and when the newest came. */
export interface QuietPoll {
  readonly equal: number;
  readonly at: number;
}

/** When the next poll is useful; null: at once. The first outcome and each new one leave it free. */
export const nextPoll = ({ equal, at }: QuietPoll, now: number): number | null => {
  if (equal < 2 || isForgotten(at, now)) return null;
  return at + (pollPauses[Math.min(equal - 2, pollPauses.length - 1)] ?? 0);
};

/** Whether the outcome of `at` says nothing any more. */
export const isForgotten = (at: number, now: number): boolean => now - at > forgetAfterMs;
