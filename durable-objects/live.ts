import type { Agent } from "../src/agent/agent.ts";
import type { Draft, Moment } from "../src/agent/draft.ts";
import { draftOf } from "../src/agent/draft.ts";
import { createDriver } from "../src/agent/drive.ts";
import type { Driver } from "../src/agent/drive.ts";
import { nextEpoch } from "../src/agent/epoch.ts";
import type { SessionEvent } from "../src/agent/events.ts";
import type { Host, TenantDay } from "../src/agent/host.ts";
import { linesOf } from "../src/agent/lines.ts";
import type { SharedNotes } from "../src/agent/shared-notes.ts";
import type { Session } from "../src/agent/state.ts";
import type { Sandbox } from "../src/sandbox/contract.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { NotesOwner } from "../src/engine/access/notes.ts";
import { childrenOf } from "./children.ts";
import type { Clock } from "./clock.ts";
import { entriesOf } from "./entries.ts";
import type { Gates } from "./gates.ts";
import type { Items } from "./items.ts";
import { momentsOf } from "./moments.ts";
import type { Media } from "./moments.ts";
import type { Storage } from "./safe-storage.ts";
import { loadBlob } from "./rows.ts";
import { writeTransition } from "./store.ts";
import type { Watchers } from "./watchers.ts";

/** A session in memory: the newest stored state, and the driver that works on it. */
export interface Live {
  readonly read: () => Session;
  readonly update: Host["update"];
  readonly driver: Driver;
  readonly agent: Host["agent"];
  /** Drops all work: the rows are the truth, and whatever still runs here changes nothing. */
  readonly stop: () => void;
}

export interface LiveParts {
  readonly storage: Storage;
  readonly engine: Engine;
  readonly watchers: Watchers;
  readonly clock: Clock;
  readonly items: Items;
  readonly gates: Gates;
  /** Shares of the tenant's day. */
  readonly lease: TenantDay["lease"];
  /** Notes that sessions share. */
  readonly notes: (owner: NotesOwner) => SharedNotes;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Writes a line of the log, of level info. */
  readonly log: (msg: string, fields: Readonly<Record<string, unknown>>) => void;
  readonly failed: (error: unknown) => void;
  /** Runs in the transaction of each commit. */
  readonly committing: () => void;
}

const isUnchanged = (draft: Draft, state: Session): boolean =>
  draft.state === state &&
  draft.events.length === 0 &&
  draft.answers.length === 0 &&
  draft.entries.length === 0;

/** Items that an event made void or whole. */
const endedItems = (events: readonly SessionEvent[]): readonly string[] =>
  events.flatMap((event) => {
    if (event.type === "attempt_aborted") return event.data.items;
    return event.type === "tool_call_end" && event.call !== undefined ? [event.call] : [];
  });

/** The draft's events as lines; the last net for secrets that some part let through (RE-15). */
const tellable = (draft: Draft, { id, head }: Session, { redactor }: Engine): readonly string[] => {
  const { now } = draft.moment;
  const lines = linesOf(draft.events, id, head, now);
  return lines.some(redactor.holds) ? linesOf(redactor.value(draft.events), id, head, now) : lines;
};

/** The newest state, and the one door for writes: a transition of it, in one transaction, published after it. */
const createDoor = (
  { storage, watchers, items, committing, engine }: LiveParts,
  momentOf: (draft: () => Draft) => Moment,
  stored: Session | null,
  initial: Session,
): Pick<Live, "read" | "update"> & { readonly close: () => void } => {
  let before = stored;
  let state = initial;
  let closed = false;
  return {
    read: () => state,
    close: () => {
      closed = true;
    },
    update: (change) => {
      const draft: Draft = draftOf(
        state,
        momentOf(() => draft),
      );
      const result = change(draft);
      if (closed || isUnchanged(draft, state)) return result;
      const lines = tellable(draft, state, engine);
      const next = { ...draft.state, head: state.head + lines.length };
      storage.transactionSync(() => {
        committing();
        writeTransition(storage.sql, before, next, draft, lines);
        items.closed(endedItems(draft.events));
      });
      state = next;
      before = next;
      watchers.publish(lines, next.head);
      return result;
    },
  };
};

const agentOf = (engine: Engine, session: Session, threadId: string): Agent => {
  const thread = session.threads[threadId];
  return engine.agent(thread?.agent ?? "", session, thread?.child?.standing);
};

const guarded = (run: () => void, failed: (error: unknown) => void) => (): void => {
  try {
    run();
  } catch (error) {
    failed(error);
  }
};

/** `stored` is what the rows hold; `initial` is the state a creation starts from. */
export const createLive = (parts: LiveParts, stored: Session | null, initial: Session): Live => {
  const { storage, engine, watchers, items, gates } = parts;
  const epoch = nextEpoch(stored, parts.now());
  const media: Media = (blob) => loadBlob(storage.sql, blob) ?? "";
  const entries = entriesOf(storage.sql);
  const momentOf = momentsOf(parts, epoch, media, entries, childrenOf(storage.sql));
  const { read, update, close } = createDoor(parts, momentOf, stored, initial);
  let stopped = false;
  let sandbox: Sandbox | null = null;
  const agent: Host["agent"] = (threadId) => agentOf(engine, read(), threadId);
  const failed = (error: unknown): void => {
    if (!stopped) parts.failed(error);
  };

  const host: Host = {
    epoch,
    now: parts.now,
    read,
    agent,
    update,
    show: watchers.show,
    itemGrew: items.grew,
    itemsClosed: items.closed,
    media,
    recall: (id) => (/^b\d+$/.test(id) ? loadBlob(storage.sql, id) : null),
    entries,
    storeRules: engine.storeRules,
    notes: (name) => {
      const owner = engine.notesOwner(name, read());
      return owner === null ? null : parts.notes(owner);
    },
    sandbox: () => (sandbox ??= engine.sandbox(read())),
    gate: gates.gate,
    tenant: { bounds: engine.budgets.tenant, lease: parts.lease },
    redactor: engine.redactor,
    late: (outcome) => {
      if (!stopped) parts.log("late_outcome", { session: read().id, ...outcome });
    },
    rest: parts.clock.rest,
    failed,
    after: (ms, run) => parts.clock.after(ms, guarded(run, failed)),
  };
  const driver = createDriver(host);
  return {
    read,
    update,
    driver,
    agent,
    stop: () => {
      stopped = true;
      close();
      driver.stop();
    },
  };
};
