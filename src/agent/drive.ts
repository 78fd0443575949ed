import { act } from "./act.ts";
import { clockTicked, nextDeadline } from "./advance.ts";
import { callsOfRun } from "./draft.ts";
import type { Draft } from "./draft.ts";
import type { Host } from "./host.ts";
import type { Call, Session } from "./state.ts";
import { think } from "./think.ts";
import { createToolCache } from "./tool-cache.ts";

/** Carries out what the stored state says is under way, and nothing else. */
export interface Driver {
  /** Applies what is due, then starts and stops work as the state demands. `by` says what moved the session. */
  pump(by?: string): void;
  /** Resolves when nothing is being worked on. */
  idle(): Promise<void>;
  /** Drops all work without storing anything: the state has moved on elsewhere. */
  stop(): void;
}

interface Work {
  readonly abort: AbortController;
}

/** Work that the state says this isolate is doing. */
type Intent =
  | { readonly key: string; readonly kind: "think"; readonly thread: string }
  | {
      readonly key: string;
      readonly kind: "act";
      readonly thread: string;
      readonly call: Call;
      readonly stopping: boolean;
    };

const intentsOf = (session: Session, epoch: number): readonly Intent[] =>
  Object.values(session.threads).flatMap(({ id, run }): readonly Intent[] => {
    if (run === null) return [];
    if (run.phase.at === "thinking" && run.phase.epoch === epoch)
      return [{ key: `${id}:${run.id}:${run.turn}:${run.phase.attempt}`, kind: "think", thread: id }];
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

/** Places at gates whose attempt still waits for them; the others are given back (MO-29). */
const createPlaces = (host: Host) => {
  const places = new Map<
    string,
    { readonly attempt: number; readonly provider: string; readonly id: string }
  >();
  return {
    take: (thread: string, attempt: number, provider: string, id: string): void => {
      places.set(thread, { attempt, provider, id });
    },
    review: (session: Session): void => {
      for (const [thread, { attempt, provider, id }] of places) {
        const phase = session.threads[thread]?.run?.phase;
        const taken = phase?.at === "thinking" && phase.attempt === attempt;
        if (phase?.at === "waiting" && phase.attempt === attempt) continue;
        if (!taken) host.gate(provider).release(id);
        places.delete(thread);
      }
    },
  };
};

export const createDriver = (host: Host): Driver => {
  const live = new Map<string, Work>();
  const cache = createToolCache();
  const places = createPlaces(host);
  let waiters: (() => void)[] = [];
  let stopped = false;

  const release = (): void => {
    if (live.size > 0) return;
    const done = waiters;
    waiters = [];
    for (const wake of done) wake();
  };

  /** An outcome is stored together with everything that follows from it. */
  const settle = (change: (draft: Draft) => void): void => {
    if (stopped) return;
    host.update((draft) => {
      change(draft);
      clockTicked(draft);
    });
  };

  const begin = (intent: Intent): void => {
    const abort = new AbortController();
    live.set(intent.key, { abort });
    const outside = { host, cache, signal: abort.signal, settle, placed: places.take };
    const work =
      intent.kind === "think" ? think(outside, intent.thread) : act(outside, intent.thread, intent.call);
    void work
      .catch((error: unknown) => host.failed(error))
      .finally(() => {
        live.delete(intent.key);
        if (!stopped) launch();
        release();
      });
  };

  const launch = (): void => {
    const session = host.read();
    places.review(session);
    const intents = intentsOf(session, host.epoch);
    const wanted = new Set(
      intents.filter((intent) => intent.kind === "think" || !intent.stopping).map(({ key }) => key),
    );
    for (const [key, work] of live) if (!wanted.has(key)) work.abort.abort();
    for (const intent of intents) if (!live.has(intent.key)) begin(intent);
    host.rest(live.size > 0, nextDeadline(session, host.now()));
  };

  return {
    pump: (by = "time") => {
      if (stopped) return;
      host.update((draft) => clockTicked(draft, by));
      launch();
    },
    idle: () => (live.size === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
    stop: () => {
      stopped = true;
      for (const { abort } of live.values()) abort.abort();
      live.clear();
      release();
    },
  };
};
