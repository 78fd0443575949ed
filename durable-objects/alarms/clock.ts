import type { PendingWait } from "./timers.ts";
import { createMovableTimer, createTimerPool, createWaitGroup } from "./timers.ts";

/** Owns the object's one alarm. After a crash inside `alarm()` the platform reruns it, so a drive must not move it. */
export interface Clock {
  /**
   * Reports whether live work runs and when the next deadline is; outside a drive this sets the alarm in the
   * commit.
   */
  readonly schedule: (live: boolean, at: number | null) => void;
  /**
   * Keeps the alarm that is set, unless it is null, until the next drive: an earlier isolate may have set it for more than
   * the stored state says.
   */
  readonly keep: (at: number | null) => void;
  /** Forgets all work and deadlines, and wakes at `at`, or never. */
  readonly reset: (at: number | null) => void;
  /**
   * Runs a drive: `work`, then `rest`. It ends earlier at `renew` or after ten minutes; the next alarm joins the work that is
   * still alive then, and rests after it.
   */
  readonly drive: (work: () => Promise<void>, rest: () => Promise<void>) => Promise<void>;
  /** Leaves what is still alive to the next alarm at once: the platform lets each event send so many requests. */
  readonly renew: () => void;
  /** Calls `run` once in about `ms`. */
  readonly after: (ms: number, run: () => void) => { cancel(): void };
  /**
   * Calls `run` in about `ms` if the current drive still goes on then; null outside a drive: a resting object
   * may sleep at once.
   */
  readonly whileDriving: (ms: number, run: () => void) => PendingWait | null;
  /** Wakes at `at` as well, unless it is null; this counts from the next `schedule`. */
  readonly alsoWakeAt: (at: number | null) => void;
  /** Wakes when the next credential of an open socket expires, as well; this counts at once. */
  readonly expireAt: (at: number | null) => void;
}

const maxDriveMs = 600_000;

/** Waits for the steps of a drive, one after the other, until ten minutes have passed or `end` is called. */
const createDriveWait = () => {
  let limit = Promise.withResolvers<boolean>();
  const end = (): void => limit.resolve(true);
  return {
    end,
    wait: async (...steps: readonly (() => Promise<void>)[]): Promise<void> => {
      limit = Promise.withResolvers();
      const timer = setTimeout(end, maxDriveMs);
      try {
        for (const step of steps) if (await Promise.race([step().then(() => false), limit.promise])) return;
      } finally {
        clearTimeout(timer);
      }
    },
  };
};

const earliestOf = (...times: readonly (number | null)[]): number | null => {
  const set = times.filter((time) => time !== null);
  return set.length === 0 ? null : Math.min(...set);
};

/** Sets the object's alarm, unless it is set for that time or both times have come. */
const createAlarm = (storage: DurableObjectStorage, now: () => number) => {
  let armed: number | null = null;
  return {
    /** Takes note of when the alarm comes that is set, or that none is. */
    note: (at: number | null): void => void (armed = at),
    set: (at: number | null): void => {
      if (at === armed || (at !== null && armed !== null && Math.max(at, armed) <= now())) return;
      armed = at;
      if (at === null) void storage.deleteAlarm();
      else void storage.setAlarm(at);
    },
  };
};

export const createClock = (storage: DurableObjectStorage, now: () => number, pump: () => void): Clock => {
  let driving = false;
  let live = false;
  let due: number | null = null;
  let extra: number | null = null;
  let expiry: number | null = null;
  const alarm = createAlarm(storage, now);
  const driveWait = createDriveWait();
  const timers = createTimerPool(now);
  const driveWaits = createWaitGroup(timers);
  const wake = createMovableTimer(timers, now, pump);

  const arm = (): void => alarm.set(earliestOf(live ? now() : null, due, extra, expiry));
  /** Inside a drive, deadlines need only a timer; one whose work has ended is about to do what `extra` is for. */
  const tick = (): void => {
    wake(driving ? earliestOf(due, live ? extra : null, expiry) : null);
    if (!driving && !live) timers.rest();
  };

  const schedule: Clock["schedule"] = (isLive, at) => {
    live = isLive;
    due = at;
    if (!driving) arm();
    tick();
  };

  return {
    schedule,
    drive: async (work, rest) => {
      driving = true;
      alarm.note(null);
      tick();
      try {
        await driveWait.wait(work, rest);
      } finally {
        driving = false;
        driveWaits.cancel();
        arm();
        tick();
      }
    },
    renew: driveWait.end,
    keep: (at) => {
      alarm.note(at);
      extra = earliestOf(extra, at);
    },
    reset: (at) => {
      extra = expiry = null;
      schedule(false, at);
    },
    after: timers.after,
    whileDriving: (ms, run) => (driving ? driveWaits.after(ms, run) : null),
    alsoWakeAt: (at) => void (extra = at),
    expireAt: (at) => {
      if (at === expiry) return;
      expiry = at;
      schedule(live, due);
    },
  };
};
