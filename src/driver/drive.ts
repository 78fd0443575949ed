import { endingOf } from "../agent/calls/background-commands.ts";
import { clockTicked } from "../agent/loop/advance.ts";
import { nextDeadline } from "../agent/loop/deadlines.ts";
import type { Call } from "../agent/state/call.ts";
import { callsOfRun } from "../agent/state/run.ts";
import type { Session } from "../agent/state/session.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import { attemptId } from "../agent/turn/turns.ts";
import { deliver, deliveryOf, endCommands } from "./deliver.ts";
import { prepare } from "./effect.ts";
import type { Host } from "./host.ts";
import { createPlaces } from "./model-call.ts";
import { think } from "./think.ts";
import { act } from "./tool.ts";
import type { Outside } from "./work.ts";
import { createEnding, createToolCache } from "./work.ts";

/** Carries out what the stored state says is under way, and nothing else. */
export interface Driver {
  /** Applies what is due, then starts and stops work as the state demands. `by` says what moved the session. */
  pump(by?: string): void;
  /** Resolves when nothing is being worked on. */
  idle(): Promise<void>;
  /** Drops all work without storing anything: the state has moved on elsewhere, or (`removed`) there is none any more that wants a place at a gate. */
  stop(removed?: boolean): void;
}

/** Work that the state says this isolate is doing. */
type Intent =
  | { readonly key: string; readonly kind: "think" | "prepare"; readonly thread: string }
  | { readonly key: string; readonly kind: "deliver" | "end_commands" }
  | {
      readonly key: string;
      readonly kind: "act";
      readonly thread: string;
      readonly call: Call;
      readonly stopping: boolean;
    };

const deliveries = (session: Session, now: number): readonly Intent[] => {
  const key = deliveryOf(session, now);
  const ending = endingOf(session, now);
  return [
    ...(key === null ? [] : [{ key, kind: "deliver" } as const]),
    ...(ending === null ? [] : [{ key: ending, kind: "end_commands" } as const]),
  ];
};

const intentsOf = (session: Session, epoch: number): readonly Intent[] =>
  Object.values(session.threads).flatMap(({ id, run }): readonly Intent[] => {
    if (run === null) return [];
    if (run.phase.at === "thinking" && run.phase.epoch === epoch)
      return [{ key: `${id}:${attemptId(run, run.phase.attempt)}`, kind: "think", thread: id }];
    if (run.phase.at === "preparing" && run.phase.until === null && run.phase.epoch === epoch) {
      const { effect, attempt, round } = run.phase;
      const key = `${id}:${attemptId(run, attempt)}:effect ${effect}.${round}`;
      return [{ key, kind: "prepare", thread: id }];
    }
    return callsOfRun(run)
      .filter((call) => call.status === "running" && call.epoch === epoch)
      .map((call) => ({
        key: `${id}:${run.id}:${call.call.id}:${call.attempts}`,
        kind: "act",
        thread: id,
        call,
        stopping: run.cancel?.mode === "now",
      }));
  });

/** Works in progress by their keys, each with the two ways to end it. */
interface Works {
  readonly size: () => number;
  readonly has: (key: string) => boolean;
  readonly add: (key: string) => Pick<Outside, "stop" | "gone">;
  /** Forgets a work that ended; idle is only what `then` leaves without a successor. */
  readonly done: (key: string, then: () => void) => void;
  /** Ends what is not wanted any more, and asks to end what is being stopped. */
  readonly review: (intents: readonly Intent[]) => void;
  readonly drop: () => void;
  readonly idle: () => Promise<void>;
}

const createWorks = (): Works => {
  const live = new Map<string, Pick<Outside, "stop" | "gone">>();
  let waiters: (() => void)[] = [];
  const release = (): void => {
    if (live.size > 0) return;
    const done = waiters;
    waiters = [];
    for (const wake of done) wake();
  };
  return {
    size: () => live.size,
    has: (key) => live.has(key),
    add: (key) => {
      const work = { stop: createEnding(), gone: createEnding() };
      live.set(key, work);
      return work;
    },
    done: (key, then) => {
      live.delete(key);
      then();
      release();
    },
    review: (intents) => {
      const wanted = new Map(intents.map((intent) => [intent.key, intent]));
      for (const [key, { stop, gone }] of live) {
        const intent = wanted.get(key);
        if (intent === undefined || (intent.kind === "act" && intent.stopping)) stop.ask();
        if (intent === undefined) gone.ask();
      }
    },
    drop: () => {
      for (const { stop, gone } of live.values()) {
        stop.ask();
        gone.ask();
      }
      live.clear();
      release();
    },
    idle: () => (live.size === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  };
};

const begun = (outside: Outside, intent: Intent): Promise<void> => {
  switch (intent.kind) {
    case "think":
      return think(outside, intent.thread);
    case "prepare":
      return prepare(outside, intent.thread);
    case "deliver":
      return deliver(outside);
    case "end_commands":
      return endCommands(outside);
    case "act":
      return act(outside, intent.thread, intent.call);
  }
};

export const createDriver = (host: Host): Driver => {
  const works = createWorks();
  const cache = createToolCache();
  const places = createPlaces(host);
  let stopped = false;

  /** An outcome is stored together with everything that follows from it. */
  const settle = (change: (draft: Draft) => void): void => {
    if (stopped) return;
    host.update((draft) => {
      change(draft);
      clockTicked(draft);
    });
  };

  const begin = (intent: Intent): void => {
    const { stop, gone } = works.add(intent.key);
    const outside: Outside = {
      host,
      cache,
      stop,
      gone,
      get signal() {
        return stop.signal();
      },
      settle,
      places,
    };
    void begun(outside, intent)
      .catch((error: unknown) => host.failed(error))
      .finally(() => {
        works.done(intent.key, () => {
          if (!stopped) launch();
        });
      });
  };

  const launch = (): void => {
    const session = host.read();
    places.review(session);
    const intents = [...intentsOf(session, host.epoch), ...deliveries(session, host.now())];
    works.review(intents);
    for (const intent of intents) if (!works.has(intent.key)) begin(intent);
    host.rest(works.size() > 0, nextDeadline(session, host.now()));
  };

  return {
    pump: (by = "time") => {
      if (stopped) return;
      host.update((draft) => clockTicked(draft, by));
      launch();
    },
    idle: works.idle,
    stop: (removed = false) => {
      stopped = true;
      works.drop();
      if (removed) places.leave();
    },
  };
};
