import type { Draft } from "../agent/transaction/draft.ts";
import type { ToolOutput } from "../tools/define-tool.ts";
import type { Host } from "./host.ts";
import type { Tickets } from "./model-call.ts";

/** What one piece of work may touch. */
export interface WorkContext {
  readonly host: Host;
  readonly cache: ToolCache;
  /** The work is asked to end. */
  readonly stop: LazyAbort;
  /** Nobody waits for its outcome any more. */
  readonly gone: LazyAbort;
  /** The signal of `stop`. */
  readonly signal: AbortSignal;
  readonly places: Tickets;
  /** Stores an outcome and everything that follows from it, in one commit. */
  readonly settle: (change: (draft: Draft) => void) => void;
}

/** An abort whose signal is made when somebody asks for it: most work ends by itself, and native signals cost more than short work. */
export interface LazyAbort {
  /** Whether it was asked for. */
  readonly asked: () => boolean;
  readonly ask: () => void;
  /** Calls back once it is asked for, at once if it was. */
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

/** Results of `cache: true` tools in this isolate; emptied whenever the workspace may have changed. */
interface ToolCache {
  get(key: string): ToolOutput | undefined;
  put(key: string, output: ToolOutput, epoch: number): void;
  /** Counts the changes: a result read before one is not stored after it. */
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
