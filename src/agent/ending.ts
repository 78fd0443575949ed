/** An abort whose signal is made when somebody asks for it: most work ends by itself, and native signals cost more than short work. */
export interface Ending {
  /** Whether it was asked for. */
  readonly asked: () => boolean;
  readonly ask: () => void;
  /** Calls back once it is asked for, at once if it was. */
  readonly whenAsked: (run: () => void) => void;
  readonly signal: () => AbortSignal;
}

export const createEnding = (): Ending => {
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
