import type { Moment, Draft } from "../src/agent/draft.ts";
import { draftOf } from "../src/agent/draft.ts";
import { createDriver } from "../src/agent/drive.ts";
import type { Driver } from "../src/agent/drive.ts";
import type { Host } from "../src/agent/host.ts";
import { linesOf } from "../src/agent/lines.ts";
import type { Session } from "../src/agent/state.ts";
import type { Engine } from "../src/engine/engine.ts";
import { randomBits } from "../src/engine/access/names.ts";
import type { Clock } from "./clock.ts";
import type { Gates } from "./gates.ts";
import type { Items } from "./items.ts";
import { loadBlob, writeTransition } from "./store.ts";
import type { Watchers } from "./watchers.ts";

/** A session in memory: the newest stored state, and the driver that works on it. */
export interface Live {
  readonly read: () => Session;
  readonly update: Host["update"];
  readonly driver: Driver;
}

export interface LiveParts {
  readonly storage: Pick<DurableObjectStorage, "sql" | "transactionSync">;
  /** Number of this isolate: never that of an earlier one of this session. */
  readonly epoch: number;
  readonly engine: Engine;
  readonly watchers: Watchers;
  readonly clock: Clock;
  readonly items: Items;
  readonly gates: Gates;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly failed: (error: unknown) => void;
  /** Runs in the transaction of each commit. */
  readonly committing: () => void;
}

const isUnchanged = (draft: Draft, state: Session): boolean =>
  draft.state === state && draft.events.length === 0 && draft.answers.length === 0;

/** `stored` is what the rows hold; `initial` is the state a creation starts from. */
export const createLive = (parts: LiveParts, stored: Session | null, initial: Session): Live => {
  const { storage, engine, watchers, items, gates } = parts;
  const epoch = parts.epoch;
  let before = stored;
  let state = initial;
  const media = (blob: string): string => loadBlob(storage.sql, blob) ?? "";

  const momentOf = (session: () => Session): Moment => ({
    now: parts.now(),
    epoch,
    random: randomBits,
    fraction: Math.random,
    partial: items.partial,
    estimate: (parts) => engine.estimate(parts, media),
    agents: (name) => engine.agent(name, session()),
    health: gates.health,
    maxRunningThreads: engine.maxRunningThreads,
  });

  /** The one door for writes: a transition of the newest state, in one transaction, published after it. */
  const update: Host["update"] = (change) => {
    const draft: Draft = draftOf(
      state,
      momentOf(() => draft.state),
    );
    const result = change(draft);
    if (isUnchanged(draft, state)) return result;
    const lines = linesOf(draft.events, state.id, state.head, draft.moment.now);
    const next = { ...draft.state, head: state.head + lines.length };
    storage.transactionSync(() => {
      parts.committing();
      writeTransition(storage.sql, before, next, draft, lines);
    });
    state = next;
    before = next;
    watchers.publish(lines, next.head);
    return result;
  };

  const host: Host = {
    epoch,
    now: parts.now,
    read: () => state,
    agent: (name) => engine.agent(name, state),
    update,
    show: watchers.show,
    itemGrew: items.grew,
    itemsClosed: items.closed,
    media,
    recall: (id) => (/^b\d+$/.test(id) ? loadBlob(storage.sql, id) : null),
    sandbox: () => engine.sandbox(state),
    gate: gates.gate,
    rest: parts.clock.rest,
    failed: parts.failed,
    after: (ms, run) =>
      parts.clock.after(ms, () => {
        try {
          run();
        } catch (error) {
          parts.failed(error);
        }
      }),
  };
  return { read: () => state, update, driver: createDriver(host) };
};
