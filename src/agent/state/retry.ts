/** Returns the milliseconds before something is tried again that failed so often: each pause is twice the one before. */
export const pauseAfter = (failures: number, first: number, most = Number.POSITIVE_INFINITY): number =>
  Math.min(most, first * 2 ** failures);

/** Work beside the runs that is tried again until it succeeds or is given up. */
export interface Retry {
  /** Number of tries that failed. */
  readonly tries: number;
  /** When the next try may begin, in milliseconds since the epoch. */
  readonly until: number;
}

/** Number of tries of a sandbox that does not answer, over a quarter of an hour, after which work is given up. */
export const mostSandboxTries = 10;

/** Returns work that failed once more; its next try begins after a pause in milliseconds. */
export const postpone = <T extends Retry>(work: T, now: number, first = 1_000, most?: number): T => ({
  ...work,
  tries: work.tries + 1,
  until: now + pauseAfter(work.tries, first, most),
});

export const isTryDue = ({ until }: Retry, now: number): boolean => until <= now;
