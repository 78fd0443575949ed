import type { Session } from "../src/agent/state/session.ts";
import type { Draft } from "../src/agent/transaction/draft.ts";
import type { TeamDirectory, TenantDirectory } from "../src/engine/access/rpc.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { Engines } from "../src/engine/engines.ts";
import { emptySession } from "../src/session/operations/session.ts";
import type { OperationContext } from "../src/session/perform.ts";
import { ProblemError } from "../src/session/problems.ts";
import type { SessionCall } from "../src/session/rpc.ts";
import type { TenantAddress } from "../src/sandbox/jurisdiction.ts";
import type { CrashCounter } from "./alarms/crash-counter.ts";
import type { LiveSession, LiveSessionParts } from "./live-session.ts";
import { createLiveSession } from "./live-session.ts";
import { createLogger, logFailure } from "./log.ts";
import type { Removal } from "./removal.ts";
import { archiveOf, createSizeMeter, emptyArchive } from "./rows/archive.ts";
import type { IndexReport } from "./rows/index-report.ts";
import { loadSession } from "./rows/load.ts";
import { createSafeStorage } from "./rows/safe-storage.ts";
import { createTables, hasTables, migrate } from "./rows/tables.ts";
import { serialize, shareInFlight } from "./serialize.ts";
import { snapshotItems } from "./sockets/frames.ts";
import { createGrants } from "./grants.ts";
import type { Grants } from "./grants.ts";
import { emptyRunStart, mayBeginRun, requestRunStart } from "./run-start.ts";
import type { RunStart } from "./run-start.ts";
import { createTeamServices, engineOf, ensureDefinition } from "./team-parts.ts";

/** Brings a session into memory with the engine of its revision, and drops it again. */
export interface SessionLoader {
  readonly live: () => LiveSession | null;
  /** Loads the session if needed and returns it; returns null if there is none. */
  readonly wake: () => Promise<LiveSession | null>;
  /** Prepares an operation; `giveBack` follows it, with what its tenant gave for a run that it did not begin. */
  readonly contextFor: (
    call: SessionCall,
    remove: OperationContext["remove"],
  ) => Promise<OperationContext & Pick<RunStart, "giveBack">>;
  readonly drop: () => void;
  /** Returns whether a drive ended with the session it began with; it then counts as survived even without a commit. */
  readonly hasSurvived: (live: LiveSession) => boolean;
  /** Drops what is in memory, since a commit or a step failed; the next alarm takes up the run. */
  readonly handleFailure: (error: unknown) => void;
}

export interface SessionLoaderParts extends Pick<LiveSessionParts, "watchers" | "clock" | "items" | "gates"> {
  readonly storage: DurableObjectStorage;
  readonly engines: () => Engines;
  readonly team: () => TeamDirectory;
  readonly tenant: (address: TenantAddress) => TenantDirectory;
  readonly crashCounter: CrashCounter;
  readonly index: () => IndexReport;
  readonly removal: Pick<Removal, "did" | "vacant">;
}

/** Holds what is in memory now. */
interface SessionSlot {
  live: LiveSession | null;
}

type LiveSessionFactory = (engine: Engine, stored: Session | null, initial: Session) => LiveSession;

const createInitialSession = ({ rules }: Engine, { session, principal }: SessionCall): Session =>
  emptySession(session, principal, rules, Date.now());

/** Returns the state and the only way to change it; a first change creates the session. */
const operationContextOf = (
  { storage, items, removal }: SessionLoaderParts,
  cell: SessionSlot,
  create: LiveSessionFactory,
  engine: Engine,
  call: SessionCall,
  start: RunStart,
): Omit<OperationContext, "remove" | "deleted" | "full" | "stored"> => ({
  read: () => cell.live?.read() ?? null,
  archive: () => (cell.live === null ? emptyArchive : archiveOf(storage.sql)),
  rules: engine.rules,
  agentOf: (agent, override, standing) => {
    const state = cell.live?.read() ?? createInitialSession(engine, call);
    return engine.agent(agent, { ...state, model: override, modelScope: "tree" }, standing);
  },
  redactor: engine.redactor,
  now: Date.now,
  items: () => snapshotItems(items),
  update: (change) => {
    const apply = (draft: Draft) => start.apply(draft, change);
    if (cell.live !== null) return cell.live.update(apply);
    removal.vacant();
    const created = create(engine, null, createInitialSession(engine, call));
    const result = created.update(apply);
    cell.live = created;
    return result;
  },
});

/** Asks the tenant for what a run needs if the call could begin one. */
const runStartFor = async (
  { engines, tenant }: SessionLoaderParts,
  grants: Grants,
  engine: Engine,
  call: SessionCall,
  state: Session | null,
): Promise<RunStart> => {
  if (!mayBeginRun(call, state)) return emptyRunStart;
  const limit = engines().deployed().team.limits.runs.per_tenant;
  const session = state ?? createInitialSession(engine, call);
  return requestRunStart({ tenant: tenant(call.principal), grants, engine, limit, session }, call);
};

const createSurvivalCheck =
  (cell: SessionSlot, strikes: CrashCounter): SessionLoader["hasSurvived"] =>
  (live) => {
    if (cell.live === live) strikes.clear();
    return cell.live === live;
  };

/** Shares one load among all callers, since another load could find old or removed rows once its engine comes. */
const createSharedLoad = (
  parts: SessionLoaderParts,
  cell: SessionSlot,
  create: LiveSessionFactory,
): SessionLoader["wake"] =>
  shareInFlight(async () => {
    const stored = loadSession(parts.storage.sql);
    return stored && (cell.live = create(await engineOf(parts, stored), stored, stored));
  });

export const createSessionLoader = (parts: SessionLoaderParts): SessionLoader => {
  const { storage, clock } = parts;
  const { sql } = storage;
  const cell: SessionSlot = { live: null };
  const stored = createSizeMeter(sql, Date.now);
  const grants = createGrants(parts.tenant, Date.now);

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
    if (cell.live === null && !hasTables(sql)) createTables(sql);
    parts.crashCounter.clear();
    parts.index().touch();
  };
  const create: LiveSessionFactory = (engine, stored, initial) => {
    const storage = createSafeStorage(parts.storage, engine.logLine);
    const log = createLogger(engine.logLine, engine.team.observability.log_level);
    const own = { storage, grants, log, now: Date.now, engine, failed, committing };
    return createLiveSession({ ...parts, ...createTeamServices(parts, initial), ...own }, stored, initial);
  };
  const loaded = createSharedLoad(parts, cell, create);
  const wake = async (): Promise<LiveSession | null> => {
    if (cell.live !== null || !hasTables(sql)) return cell.live;
    migrate(storage);
    return loaded();
  };
  /** Returns the engine with the session in memory, which may have been dropped while its engine was loading. */
  const ready = async ({ op, principal }: SessionCall): Promise<Engine> => {
    if (op === "create" && cell.live === null && !hasTables(sql)) await ensureDefinition(parts, principal);
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
    hasSurvived: createSurvivalCheck(cell, parts.crashCounter),
    handleFailure: failed,
    contextFor: serialize(async (call: SessionCall, remove: OperationContext["remove"]) => {
      const deleted = await parts.removal.did(call);
      const engine = await ready(call);
      const start = await runStartFor(parts, grants, engine, call, cell.live?.read() ?? null);
      const context = operationContextOf(parts, cell, create, engine, call, start);
      const { full, giveBack } = start;
      return { ...context, full, giveBack, stored, deleted, remove };
    }),
  };
};
