/**
 * Shares timers of the platform between many short waits, since timers cost more than waits. Cancelling a
 * wait leaves its timer as it is: the timer finds nothing due and waits for the next.
 */
interface TimerPool {
  /** Calls `run` once, about `ms` from now. */
  readonly after: (ms: number, run: () => void) => { readonly cancel: () => void };
  /** Leaves no timer behind until the next wait, so that the object may sleep. */
  readonly rest: () => void;
}

/** Wait that ends when it has run or was cancelled. */
export interface PendingWait {
  readonly isPending: () => boolean;
}

interface TimerWait {
  readonly at: number;
  readonly run: () => void;
}

/** Creates a clock that goes on when the object's is set back; it shows at least the time that is known to have come. */
const createSteadyClock = (now: () => number): ((known?: number) => number) => {
  let lost = 0;
  let last = -Infinity;
  return (known = last) => {
    const time = now() + lost;
    last = Math.max(time, last, known);
    lost += last - time;
    return last;
  };
};

export const createTimerPool = (now: () => number): TimerPool => {
  const readTime = createSteadyClock(now);
  const waits = new Set<TimerWait>();
  /** Timers of the platform by when they fire: one for the longest wait, and those for earlier ones that came later. */
  const armed = new Map<number, ReturnType<typeof setTimeout>>();
  let resting = false;

  const arm = (at: number): void => {
    for (const firesAt of armed.keys()) if (firesAt <= at) return;
    armed.set(
      at,
      setTimeout(() => fire(at), Math.max(0, at - readTime())),
    );
  };
  const fire = (firesAt: number): void => {
    armed.delete(firesAt);
    const time = readTime(firesAt);
    const due = [...waits].filter(({ at }) => at <= time).sort((a, b) => a.at - b.at);
    for (const wait of due) waits.delete(wait);
    for (const { at } of waits) arm(at);
    for (const { run } of due) run();
  };

  const sleep = (): void => {
    if (!resting || waits.size > 0) return;
    for (const timer of armed.values()) clearTimeout(timer);
    armed.clear();
  };

  return {
    after: (ms, run) => {
      const wait = { at: readTime() + ms, run };
      resting = false;
      waits.add(wait);
      arm(wait.at);
      return {
        cancel: () => {
          waits.delete(wait);
          sleep();
        },
      };
    },
    rest: () => {
      resting = true;
      sleep();
    },
  };
};

/** Creates a timer that can be moved: it calls `run` at the newest time, and not at all after null. */
export const createMovableTimer = (
  timers: TimerPool,
  now: () => number,
  run: () => void,
): ((at: number | null) => void) => {
  let next: { readonly at: number; readonly cancel: () => void } | null = null;
  const fired = (): void => {
    next = null;
    run();
  };
  return (at) => {
    if (at === (next?.at ?? null)) return;
    next?.cancel();
    next = at === null ? null : { at, ...timers.after(at - now(), fired) };
  };
};

/** Creates waits that are cancelled together. */
export const createWaitGroup = (timers: TimerPool) => {
  const waits = new Set<{ cancel(): void }>();
  return {
    after: (ms: number, run: () => void): PendingWait => {
      const wait = timers.after(ms, () => {
        waits.delete(wait);
        run();
      });
      waits.add(wait);
      return { isPending: () => waits.has(wait) };
    },
    cancel: (): void => {
      for (const wait of waits) wait.cancel();
      waits.clear();
    },
  };
};
