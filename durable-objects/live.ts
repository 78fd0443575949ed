import { createDriver } from "../src/driver/drive.ts";
import type { Driver } from "../src/driver/drive.ts";
import { atGates } from "../src/driver/embedding.ts";
import { nextEpoch } from "../src/agent/state/run.ts";
import type { Host, TenantDay } from "../src/driver/host.ts";
import type { SharedMemory, SharedReflections, SharedNotes } from "../src/agent/definition/memory.ts";
import { retiresAt } from "../src/agent/loop/deadlines.ts";
import type { RunLine } from "../src/session/log-lines.ts";
import type { Session } from "../src/agent/state/session.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { NotesOwner } from "../src/engine/access/notes.ts";
import type { Clock } from "./alarms/clock.ts";
import { agentOf, createDoor } from "./door.ts";
import { entriesOf } from "./rows/entries.ts";
import type { Gates } from "./gates.ts";
import { tellingGrants } from "./grants.ts";
import type { Grants } from "./grants.ts";
import type { Items } from "./sockets/items.ts";
import { momentsOf } from "./moments.ts";
import { loadBlob } from "./rows/encode.ts";
import type { Storage } from "./rows/safe-storage.ts";
import { sandboxOf } from "./sandbox.ts";
import type { Watchers } from "./sockets/watchers.ts";

/** A session in memory: the newest stored state, and the driver that works on it. */
export interface Live {
  readonly read: () => Session;
  readonly update: Host["update"];
  readonly driver: Driver;
  readonly agent: Host["agent"];
  /** It rested so long that it is to be deleted (`retention`). */
  readonly isOver: () => boolean;
  /** Drops all work: the rows are the truth unless they are removed, and whatever still runs here changes nothing. */
  readonly stop: (removed: boolean) => void;
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
  /** Lessons that the tenant's sessions share. */
  readonly reflections: (tenant: string) => SharedReflections;
  /** What the tenant's sessions remember. */
  readonly memory: (tenant: string) => SharedMemory;
  /** Notes that sessions share. */
  readonly notes: (owner: NotesOwner) => SharedNotes;
  /** The team's `retention.session_days`; null = sessions are kept. */
  readonly sessionDays: () => number | null;
  /** Grants of the tenant's agents. */
  readonly grants: Grants;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Writes a line of the log; absent level = info. */
  readonly log: (msg: string, fields: Readonly<Record<string, unknown>>, level?: RunLine["level"]) => void;
  readonly failed: (error: unknown) => void;
  /** Runs in the transaction of each commit. */
  readonly committing: () => void;
}

const guarded = (run: () => void, failed: (error: unknown) => void) => (): void => {
  try {
    run();
  } catch (error) {
    failed(error);
  }
};

/** What is read of the rows when it is needed. */
const rowsOf = (sql: SqlStorage): Pick<Host, "media" | "recall" | "entries"> => ({
  media: (blob) => loadBlob(sql, blob) ?? "",
  recall: (id) => (/^b\d+$/.test(id) ? loadBlob(sql, id) : null),
  entries: entriesOf(sql),
});

/** `stored` is what the rows hold; `initial` is the state a creation starts from. */
export const createLive = (parts: LiveParts, stored: Session | null, initial: Session): Live => {
  const { storage, engine, watchers, items, gates } = parts;
  const epoch = nextEpoch(stored, parts.now());
  const rows = rowsOf(storage.sql);
  const momentOf = momentsOf(parts, epoch, rows, storage.sql);
  const door = createDoor(parts, momentOf, stored, initial);
  const { read, close } = door;
  let stopped = false;
  const agent: Host["agent"] = (threadId) => agentOf(engine, read(), threadId);
  const failed = (error: unknown): void => {
    if (!stopped) parts.failed(error);
  };
  const { update, look } = tellingGrants(parts.grants, door, failed);

  const host: Host = {
    epoch,
    now: parts.now,
    read,
    agent,
    update,
    show: (deltas) => void (stopped || watchers.show(deltas)),
    itemGrew: (item) => void (stopped || items.grew(item)),
    itemsClosed: items.closed,
    ...rows,
    storeRules: engine.storeRules,
    briefing: engine.briefing,
    reflections: parts.reflections(initial.tenant),
    memory: parts.memory(initial.tenant),
    embedder: atGates(engine.embedder, gates.gate, `${initial.id}:embedding:${epoch}`),
    notes: (name) => {
      const owner = engine.notesOwner(name, read());
      return owner === null ? null : parts.notes(owner);
    },
    sandbox: sandboxOf(engine, door),
    gate: gates.gate,
    tenant: { bounds: engine.budgets.tenant, lease: parts.lease },
    redactor: engine.redactor,
    grants: { known: parts.grants.known, look },
    late: (outcome) => {
      if (!stopped) parts.log("late_outcome", { session: read().id, ...outcome });
    },
    rest: (works, at) => parts.clock.rest(works, at ?? retiresAt(read(), parts.sessionDays())),
    failed,
    after: (ms, run) => parts.clock.after(ms, guarded(run, failed)),
  };
  const driver = createDriver(host);
  return {
    read,
    update,
    driver,
    agent,
    isOver: () => (retiresAt(read(), parts.sessionDays()) ?? Infinity) <= parts.now(),
    stop: (removed) => {
      stopped = true;
      close();
      driver.stop(removed);
      if (removed) items.forget();
    },
  };
};
