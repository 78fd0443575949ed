import { commandsEndKey } from "../agent/calls/background-commands.ts";
import { advanceSession } from "../agent/loop/advance.ts";
import { nextDeadline } from "../agent/loop/deadlines.ts";
import type { Call } from "../agent/state/call.ts";
import { attemptId } from "../agent/state/model-call.ts";
import { callsOfRun } from "../agent/state/run.ts";
import type { Session } from "../agent/state/session.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import { deliverOutbox, dueDeliveryKey, endCommands } from "./deliver.ts";
import { runPreparation } from "./effect.ts";
import type { Host } from "./host.ts";
import { runModelAttempt } from "./think.ts";
import { createTickets } from "./tickets.ts";
import { runToolCall } from "./tool.ts";
import type { WorkContext } from "./work.ts";
import { createLazyAbort, createToolCache } from "./work.ts";

/** Carries out what the stored state says is under way, and nothing else. */
export interface Driver {
  /** Applies what is due, then starts and stops work as the state demands. `by` names what changed the session. */
  pump(by?: string): void;
  /** Resolves when no work is in progress. */
  idle(): Promise<void>;
  /** Drops all work and stores nothing, since the state has moved on; if `removed`, all tickets are given back too. */
  stop(removed?: boolean): void;
}

/** Describes work that this isolate is doing according to the state. */
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

const deliveryIntents = (session: Session, now: number): readonly Intent[] => {
  const key = dueDeliveryKey(session, now);
  const ending = commandsEndKey(session, now);
  return [
    ...(key === null ? [] : [{ key, kind: "deliver" } as const]),
    ...(ending === null ? [] : [{ key: ending, kind: "end_commands" } as const]),
  ];
};

const threadIntents = (session: Session, epoch: number): readonly Intent[] =>
  Object.values(session.threads).flatMap(({ id, run }): readonly Intent[] => {
    if (run === null) return [];
    if (run.phase.at === "thinking" && run.phase.epoch === epoch)
      return [{ key: `${id}:${attemptId(run, run.phase.call.attempt)}`, kind: "think", thread: id }];
    if (run.phase.at === "preparing" && run.phase.until === null && run.phase.epoch === epoch) {
      const { work, attempt, round } = run.phase;
      const what = work.kind === "effect" ? `effect ${work.index}` : work.kind;
      const key = `${id}:${attemptId(run, attempt)}:${what}.${round}`;
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

/** Holds the work in progress by its keys, each with the two ways to end it. */
interface WorkRegistry {
  readonly size: () => number;
  readonly has: (key: string) => boolean;
  readonly add: (key: string) => Pick<WorkContext, "stop" | "gone">;
  /** Forgets work that ended; the driver becomes idle only if `then` starts no successor. */
  readonly done: (key: string, then: () => void) => void;
  /** Ends work that is not wanted any more, and asks work that is being stopped to end. */
  readonly review: (intents: readonly Intent[]) => void;
  readonly drop: () => void;
  readonly idle: () => Promise<void>;
}

const createWorkRegistry = (): WorkRegistry => {
  const live = new Map<string, Pick<WorkContext, "stop" | "gone">>();
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
      const work = { stop: createLazyAbort(), gone: createLazyAbort() };
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

const startWork = (work: WorkContext, intent: Intent): Promise<void> => {
  switch (intent.kind) {
    case "think":
      return runModelAttempt(work, intent.thread);
    case "prepare":
      return runPreparation(work, intent.thread);
    case "deliver":
      return deliverOutbox(work);
    case "end_commands":
      return endCommands(work);
    case "act":
      return runToolCall(work, intent.thread, intent.call);
  }
};

export const createDriver = (host: Host): Driver => {
  const works = createWorkRegistry();
  const cache = createToolCache();
  const tickets = createTickets(host);
  let stopped = false;

  /** An outcome is stored together with everything that follows from it. */
  const settle = (change: (draft: Draft) => void): void => {
    if (stopped) return;
    host.update((draft) => {
      change(draft);
      advanceSession(draft);
    });
  };

  const begin = (intent: Intent): void => {
    const { stop, gone } = works.add(intent.key);
    const work: WorkContext = {
      host,
      cache,
      stop,
      gone,
      get signal() {
        return stop.signal();
      },
      settle,
      tickets,
    };
    void startWork(work, intent)
      .catch((error: unknown) => host.failed(error))
      .finally(() => {
        works.done(intent.key, () => {
          if (!stopped) launch();
        });
      });
  };

  const launch = (): void => {
    const session = host.read();
    tickets.review(session);
    const intents = [...threadIntents(session, host.epoch), ...deliveryIntents(session, host.now())];
    works.review(intents);
    for (const intent of intents) if (!works.has(intent.key)) begin(intent);
    host.rest(works.size() > 0, nextDeadline(session, host.now()));
  };

  return {
    pump: (by = "time") => {
      if (stopped) return;
      host.update((draft) => advanceSession(draft, by));
      launch();
    },
    idle: works.idle,
    stop: (removed = false) => {
      stopped = true;
      works.drop();
      if (removed) tickets.leave();
    },
  };
};
