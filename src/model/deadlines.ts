import type { ModelError } from "./error.ts";
import { modelError } from "./failure.ts";
import type { AttemptOrigin } from "./failure.ts";
import type { Timeouts } from "./schema.ts";

/** Clock with timers: the caller may share one timer of the platform between them. */
export interface Timers {
  readonly now: () => number;
  /** Calls `run` once, about `ms` from now. */
  readonly after: (ms: number, run: () => void) => { readonly cancel: () => void };
}

/** Watch over one attempt; `signal` aborts with a `ModelError` (`timeout` with the deadline's name, or `cancelled`). */
export interface Deadlines {
  readonly signal: AbortSignal;
  /** Called when the response headers have arrived: from then on silence counts instead of `connect`. */
  readonly headers: () => void;
  /** Called when bytes have arrived; `content` is false if they held nothing but pings. */
  readonly read: (content: boolean) => void;
  /** Ends the watch and removes its timer and listener. */
  readonly stop: () => void;
  /** Timers of the attempt. */
  readonly timers: Timers;
}

export const systemTimers: Timers = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};

type DeadlineKind = keyof Timeouts;

const createTimeout = (kind: DeadlineKind, timeouts: Timeouts, origin: AttemptOrigin): ModelError => {
  const what = {
    connect: "no response headers",
    idle: "no byte",
    content_idle: "nothing but pings",
    total: "no end of the reply",
  }[kind];
  return modelError(
    "timeout",
    origin,
    `timeout ${kind}: ${what} from the provider within ${timeouts[kind]} ms. If its model may take longer, raise timeouts.${kind}.`,
  );
};

interface DueDeadline {
  readonly kind: DeadlineKind;
  /** Time at which the deadline expires, in milliseconds since the epoch. */
  readonly at: number;
}

/** Finds the earliest deadline; `silent` is the start of the silence, null before the response's headers. */
const findFirstDue = (
  timeouts: Timeouts,
  startedAt: number,
  silent: { readonly readAt: number; readonly contentAt: number } | null,
): DueDeadline => {
  const limits: DueDeadline[] =
    silent === null
      ? [{ kind: "connect", at: startedAt + timeouts.connect }]
      : [
          { kind: "idle", at: silent.readAt + timeouts.idle },
          { kind: "content_idle", at: silent.contentAt + timeouts.content_idle },
        ];
  const total: DueDeadline = { kind: "total", at: startedAt + timeouts.total };
  return limits.reduce((earliest, limit) => (limit.at < earliest.at ? limit : earliest), total);
};

/**
 * Starts the deadlines of one attempt. A read costs a timestamp: one timer runs, and when it fires it either finds
 * an expired deadline or sleeps until the next one.
 */
export const startDeadlines = (
  timeouts: Timeouts,
  origin: AttemptOrigin,
  cancel: AbortSignal,
  timers: Timers = systemTimers,
): Deadlines => {
  const controller = new AbortController();
  const startedAt = timers.now();
  let connected = false;
  let readAt = startedAt;
  let contentAt = startedAt;
  let timer: { readonly cancel: () => void } | undefined;
  let firesAt = 0;

  const due = (): DueDeadline => findFirstDue(timeouts, startedAt, connected ? { readAt, contentAt } : null);
  const stop = (): void => {
    timer?.cancel();
    cancel.removeEventListener("abort", cancelled);
  };
  const end = (reason: ModelError): void => {
    stop();
    controller.abort(reason);
  };
  const cancelled = (): void => end(modelError("cancelled", origin, "The call was cancelled."));
  const watch = (): void => {
    const { kind, at } = due();
    const left = at - timers.now();
    if (left <= 0) end(createTimeout(kind, timeouts, origin));
    else {
      firesAt = at;
      timer = timers.after(left, watch);
    }
  };
  const headers = (): void => {
    connected = true;
    readAt = timers.now();
    contentAt = readAt;
    // A timer that fires too early finds no expired deadline, and costs less than a new one.
    if (firesAt <= due().at) return;
    timer?.cancel();
    watch();
  };
  const read = (content: boolean): void => {
    readAt = timers.now();
    if (content) contentAt = readAt;
  };

  if (cancel.aborted) cancelled();
  else {
    cancel.addEventListener("abort", cancelled);
    watch();
  }
  return { signal: controller.signal, headers, read, stop, timers };
};
