/** Share of the limits per minute that a call uses. */
export interface Load {
  readonly requests: number;
  readonly input: number;
  readonly output: number;
}

/** Load that starts at a time (milliseconds since the epoch) and counts for the following 60 s. */
export interface BookedLoad extends Load {
  readonly startAt: number;
}

/** Length of the sliding window in milliseconds. */
export const windowMs = 60_000;

const kinds = ["requests", "input", "output"] as const;

/**
 * Returns whether the limits (per 60 s; 0 = none) are too low for the need; a need beyond a limit fits an empty
 * window.
 */
const isFull = (load: Load, need: Load, limits: Load): boolean =>
  kinds.some((kind) => limits[kind] > 0 && load[kind] + Math.min(need[kind], limits[kind]) > limits[kind]);

/** Returns the changes of the last 60 s' load from `from` on: each with its time and amount. */
const loadChangesFrom = (booked: readonly BookedLoad[], from: number): [number, Load][] => {
  const changes = new Map<number, Load>([[from, { requests: 0, input: 0, output: 0 }]]);
  const change = (at: number, sign: 1 | -1, load: Load): void => {
    const { requests, input, output } = changes.get(at) ?? { requests: 0, input: 0, output: 0 };
    changes.set(at, {
      requests: requests + sign * load.requests,
      input: input + sign * load.input,
      output: output + sign * load.output,
    });
  };
  for (const entry of booked) {
    if (entry.startAt + windowMs <= from) continue;
    change(Math.max(from, entry.startAt), 1, entry);
    change(entry.startAt + windowMs, -1, entry);
  }
  return [...changes].sort(([a], [b]) => a - b);
};

/**
 * Returns the earliest time from `from` on at which `need` fits: no window of 60 s that contains it exceeds a
 * limit, counting all bookings before and after it. One sweep over the times at which the window's load changes.
 */
export const findEarliestStart = (
  booked: readonly BookedLoad[],
  need: Load,
  limits: Load,
  from: number,
): number => {
  const load = { requests: 0, input: 0, output: 0 };
  let start: number | undefined;
  for (const [at, change] of loadChangesFrom(booked, from)) {
    if (start !== undefined && at >= start + windowMs) return start;
    for (const kind of kinds) load[kind] += change[kind];
    if (isFull(load, need, limits)) start = undefined;
    else start ??= at;
  }
  return start ?? from;
};
