import type { Draft } from "../agent/transaction/draft.ts";
import type { ToolOutput } from "../tools/define-tool.ts";
import type { Host } from "./host.ts";
import type { Tickets } from "./model-call.ts";

/** What one piece of work may use. */
export interface WorkContext {
  readonly host: Host;
  readonly cache: ToolCache;
  /** Aborted when the work is asked to end. */
  readonly stop: LazyAbort;
  /** Aborted when the outcome is no longer needed. */
  readonly gone: LazyAbort;
  /** Signal of `stop`. */
  readonly signal: AbortSignal;
  readonly tickets: Tickets;
  /** Lets one piece of work at a time use the session's browser. */
  readonly browserLock: Lock;
  /** Stores an outcome and everything that follows from it in one commit. */
  readonly settle: (change: (draft: Draft) => void) => void;
}

/** Makes its signal only on demand: most work ends by itself, and a native signal costs more than short work. */
export interface LazyAbort {
  /** Returns whether the abort was requested. */
  readonly asked: () => boolean;
  readonly ask: () => void;
  /** Calls back once the abort is requested, or at once if it already was. */
  readonly whenAsked: (run: () => void) => void;
  readonly signal: () => AbortSignal;
}

export const createLazyAbort = (): LazyAbort => {
  let asked = false;
  let controller: AbortController | null = null;
  let waiting: (() => void)[] = [];
  return {
    asked: () => asked,
    ask: () => {
      if (asked) return;
      asked = true;
      controller?.abort();
      for (const run of waiting) run();
      waiting = [];
    },
    whenAsked: (run) => {
      if (asked) run();
      else waiting.push(run);
    },
    signal: () => {
      if (controller !== null) return controller.signal;
      controller = new AbortController();
      if (asked) controller.abort();
      return controller.signal;
    },
  };
};

/** Returns the outcome of work; null if it fails, takes longer than `ms` or is not needed: it is asked to end. */
export const withTimeout = async <T>(
  { host, stop }: Pick<WorkContext, "host" | "stop">,
  ms: number,
  work: (ending: LazyAbort) => Promise<T>,
): Promise<T | null> => {
  const ending = createLazyAbort();
  const end = Promise.withResolvers<T | null>();
  ending.whenAsked(() => end.resolve(null));
  stop.whenAsked(ending.ask);
  const timer = host.after(ms, ending.ask);
  if (!ending.asked()) void Promise.try(work, ending).then(end.resolve, ending.ask);
  const outcome = await end.promise;
  timer.cancel();
  return outcome;
};

/** Does one piece of work at a time, in the order of the requests; the failure of one does not affect the next. */
export type Lock = <T>(work: () => Promise<T>) => Promise<T>;

export const createLock = (): Lock => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const own = last.then(work);
    last = own.catch(() => undefined);
    return own;
  };
};

/** Cache of results of `cache: true` tools in this isolate; emptied whenever the workspace may have changed. */
interface ToolCache {
  get(key: string): ToolOutput | undefined;
  put(key: string, output: ToolOutput, epoch: number): void;
  /** Returns the number of changes, so that a result read before a change is not stored after it. */
  readonly epoch: () => number;
  clear(): void;
}

export const createToolCache = (): ToolCache => {
  const entries = new Map<string, ToolOutput>();
  let changes = 0;
  return {
    get: (key) => entries.get(key),
    put: (key, output, epoch) => {
      if (epoch === changes) entries.set(key, output);
    },
    epoch: () => changes,
    clear: () => {
      changes += 1;
      entries.clear();
    },
  };
};
