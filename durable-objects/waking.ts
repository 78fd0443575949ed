import { emptySession } from "../src/session/operations/session.ts";
import type { Door } from "../src/session/perform.ts";
import { ProblemError } from "../src/session/problems.ts";
import type { SessionCall } from "../src/session/rpc.ts";
import type { Session } from "../src/agent/state/session.ts";
import type { TeamDirectory } from "../src/engine/access/rpc.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { Engines } from "../src/engine/engines.ts";
import { archiveOf, createMeter, noArchive } from "./rows/archive.ts";
import type { IndexReport } from "./rows/index-report.ts";
import { inOrder, shared } from "./in-order.ts";
import { createLive } from "./live.ts";
import type { Live, LiveParts } from "./live.ts";
import { load } from "./rows/load.ts";
import { logFailure, logTo } from "./log.ts";
import type { Removal } from "./removal.ts";
import { safeStorage } from "./rows/safe-storage.ts";
import { openItems } from "./sockets/frames.ts";
import type { Strikes } from "./alarms/strikes.ts";
import { definitionKept, engineOf, isFull, ofTeam } from "./team-parts.ts";
import { createTables, exists, migrate } from "./rows/tables.ts";

/** Brings a session into memory with the engine of its revision, and drops it again. */
export interface Waking {
  readonly live: () => Live | null;
  /** The session awake; null if there is none. */
  readonly wake: () => Promise<Live | null>;
  readonly door: (call: SessionCall, remove: Door["remove"]) => Promise<Door>;
  readonly drop: () => void;
  /** Whether a drive ended with what it began with: then it is no dead one, though it had nothing to store. */
  readonly survived: (live: Live) => boolean;
  /** A commit or a step failed: what is in memory is dropped, and the next alarm takes the run up. */
  readonly failed: (error: unknown) => void;
}

export interface WakingParts extends Pick<LiveParts, "watchers" | "clock" | "items" | "gates"> {
  readonly storage: DurableObjectStorage;
  readonly engines: () => Engines;
  readonly team: () => TeamDirectory;
  readonly strikes: Strikes;
  readonly index: () => IndexReport;
  readonly removal: Pick<Removal, "did" | "vacant">;
}

/** What is in memory now. */
interface Cell {
  live: Live | null;
}
type Create = (engine: Engine, stored: Session | null, initial: Session) => Live;

const fresh = ({ rules }: Engine, session: string, tenant: string): Session =>
  emptySession(session, tenant, rules, Date.now());

/** The state as it is, and the one way to change it; a first change creates the session. */
const doorOf = (
  { storage, items, removal }: WakingParts,
  cell: Cell,
  create: Create,
  engine: Engine,
  { session, principal }: SessionCall,
): Omit<Door, "remove" | "deleted" | "full" | "stored"> => ({
  read: () => cell.live?.read() ?? null,
  archive: () => (cell.live === null ? noArchive : archiveOf(storage.sql)),
  rules: engine.rules,
  agentOf: (agent, override, standing) => {
    const state = cell.live?.read() ?? fresh(engine, session, principal.tenant);
    return engine.agent(agent, { ...state, model: override, modelScope: "tree" }, standing);
  },
  redactor: engine.redactor,
  now: Date.now,
  items: () => openItems(items),
  update: (change) => {
    if (cell.live === null) removal.vacant();
    const live = cell.live ?? create(engine, null, fresh(engine, session, principal.tenant));
    const result = live.update(change);
    cell.live = live;
    return result;
  },
});

const survivedIn =
  (cell: Cell, strikes: Strikes): Waking["survived"] =>
  (live) => {
    if (cell.live === live) strikes.clear();
    return cell.live === live;
  };

/** Loads the session, once for all who come meanwhile: what another had read might be old, or removed, when its engine came. */
const loadedIn = (parts: WakingParts, cell: Cell, create: Create): Waking["wake"] =>
  shared(async () => {
    const stored = load(parts.storage.sql);
    return stored && (cell.live = create(await engineOf(parts, stored), stored, stored));
  });

export const createWaking = (parts: WakingParts): Waking => {
  const { storage, clock } = parts;
  const { sql } = storage;
  const cell: Cell = { live: null };
  const stored = createMeter(sql, Date.now);

  const drop = (removed: boolean): void => {
    cell.live?.stop(removed);
    cell.live = null;
  };
  const failed = (error: unknown): void => {
    if (!(error instanceof ProblemError))
      logFailure(parts.engines().deployed().logLine, "session_failed", error);
    drop(false);
    clock.reset(Date.now() + 1_000);
  };
  const committing = (): void => {
    if (cell.live === null && !exists(sql)) createTables(sql);
    parts.strikes.clear();
    parts.index().touched();
  };
  const create: Create = (engine, stored, initial) => {
    const storage = safeStorage(parts.storage, engine.logLine);
    const log = logTo(engine.logLine, engine.team.observability.log_level);
    const own = { storage, log, now: Date.now, engine, failed, committing };
    return createLive({ ...parts, ...ofTeam(parts), ...own }, stored, initial);
  };
  const loaded = loadedIn(parts, cell, create);
  const wake = async (): Promise<Live | null> => {
    if (cell.live !== null || !exists(sql)) return cell.live;
    migrate(storage);
    return loaded();
  };
  /** The engine of this session, and the session awake with it: it may have been dropped while its engine came. */
  const ready = async ({ op }: SessionCall): Promise<Engine> => {
    if (op === "create" && cell.live === null && !exists(sql)) await definitionKept(parts);
    for (;;) {
      const awake = await wake();
      const engine = await engineOf(parts, awake?.read() ?? null);
      if (awake === cell.live) return engine;
    }
  };
  return {
    live: () => cell.live,
    wake,
    drop: () => drop(true),
    survived: survivedIn(cell, parts.strikes),
    failed,
    door: inOrder(async (call: SessionCall, remove: Door["remove"]) => {
      const full = await isFull(parts, call, (await wake())?.read() ?? null);
      const deleted = await parts.removal.did(call);
      return { ...doorOf(parts, cell, create, await ready(call), call), full, stored, deleted, remove };
    }),
  };
};
