import { createLock } from "../src/driver/work.ts";
import type { Session } from "../src/agent/state/session.ts";
import type { Draft } from "../src/agent/transaction/draft.ts";
import type { TeamDirectory, TenantDirectory } from "../src/engine/access/rpc.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { Engines } from "../src/engine/engines.ts";
import type { MigrationTarget } from "../src/agent/run/migrate.ts";
import { migrateOperation } from "../src/session/operations/migrate.ts";
import { findMigrationTarget, findTargetInTime, findFollowedRevision, migrateAtRest } from "./migration.ts";
import { parseParams } from "../src/session/command.ts";
import { forkOperation } from "../src/session/operations/fork.ts";
import { emptySession } from "../src/session/operations/session.ts";
import type { OperationContext } from "../src/session/perform.ts";
import { ProblemError, refuse } from "../src/session/problems.ts";
import type { ForkSource } from "../src/session/fork-source.ts";
import type { ForkSourceRpc, SessionCall } from "../src/session/rpc.ts";
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
import { shareInFlight } from "./waits.ts";
import { snapshotItems } from "./sockets/frames.ts";
import { createGrants } from "./grants.ts";
import type { Grants } from "./grants.ts";
import { emptyRunStart, mayBeginRun, requestRunStart } from "./run-start.ts";
import type { RunStart } from "./run-start.ts";
import { createTeamServices, engineOf, ensureDefinition, keepDefinition } from "./team-parts.ts";

/** Brings a session into memory with the engine of its revision, and drops it again. */
export interface SessionLoader {
  readonly live: () => LiveSession | null;
  /** Loads the session if needed and returns it; returns null if there is none. */
  readonly wake: () => Promise<LiveSession | null>;
  /**
   * Prepares an operation; `giveBack` is called after it, to return what the tenant granted for a run that
   * did not begin.
   */
  readonly contextFor: (
    call: SessionCall,
    remove: OperationContext["remove"],
  ) => Promise<OperationContext & Pick<RunStart, "giveBack">>;
  /** Loads the session again if it migrated to another revision. */
  readonly refresh: () => Promise<void>;
  readonly drop: () => void;
  /** Returns whether a drive ended with the session it began with; it then counts as survived even without a commit. */
  readonly confirmSurvival: (live: LiveSession) => boolean;
  /** Drops what is in memory, since a commit or a step failed; the next alarm takes up the run. */
  readonly handleFailure: (error: unknown) => void;
}

export interface SessionLoaderParts extends Pick<LiveSessionParts, "watchers" | "clock" | "items" | "gates"> {
  readonly storage: DurableObjectStorage;
  readonly engines: () => Engines;
  readonly team: () => TeamDirectory;
  readonly tenant: (address: TenantAddress) => TenantDirectory;
  /** Returns another session of a tenant. */
  readonly session: (address: TenantAddress, id: string) => ForkSourceRpc;
  readonly crashCounter: CrashCounter;
  readonly index: () => IndexReport;
  readonly removal: Pick<Removal, "did" | "vacant">;
  /** Lets the driver of the session in memory do what follows from the state. */
  readonly pump: () => void;
}

/** Holds what is in memory now. */
interface SessionHolder {
  live: LiveSession | null;
}

type LiveSessionFactory = (engine: Engine, stored: Session | null, initial: Session) => LiveSession;

const createInitialSession = ({ rules }: Engine, { session, principal }: SessionCall): Session =>
  emptySession(session, principal, rules, Date.now());

/** Creates the access to the state and the only way to change it; a first change creates the session. */
const operationContextOf = (
  { storage, items, removal }: SessionLoaderParts,
  holder: SessionHolder,
  create: LiveSessionFactory,
  engine: Engine,
  call: SessionCall,
  start: RunStart,
): Omit<OperationContext, "remove" | "deleted" | "full" | "stored" | "forkSource" | "migrationTarget"> => ({
  read: () => holder.live?.read() ?? null,
  archive: () => (holder.live === null ? emptyArchive : archiveOf(storage.sql, holder.live.read().id)),
  rules: engine.rules,
  agentOf: (agent, override, callerConstraints) => {
    const state = holder.live?.read() ?? createInitialSession(engine, call);
    return engine.agent(agent, { ...state, model: override, modelScope: "tree" }, callerConstraints);
  },
  redactor: engine.redactor,
  now: Date.now,
  items: () => snapshotItems(items),
  update: (change) => {
    const apply = (draft: Draft) => start.apply(draft, change);
    if (holder.live !== null) return holder.live.update(apply);
    removal.vacant();
    const created = create(engine, null, createInitialSession(engine, call));
    const result = created.update(apply);
    holder.live = created;
    return result;
  },
});

const isNewFork = ({ op }: SessionCall, sql: SqlStorage): boolean => op === "fork" && !hasTables(sql);

/** Fetches what a fork begins with, and keeps the definition that it will pin. */
const fetchForkSource = async (
  parts: SessionLoaderParts,
  { principal, params }: SessionCall,
): Promise<ForkSource> => {
  const { source } = parseParams(forkOperation.params, params);
  const reply = await parts.session(principal, source).forkSource({ principal, params });
  if (!reply.ok) throw new ProblemError(reply.problem);
  const forkSource = JSON.parse(reply.json) as ForkSource;
  await keepDefinition(parts, principal, forkSource.session.revision);
  return forkSource;
};

const migrationTargetFor = async (
  parts: SessionLoaderParts,
  session: Session | null,
  { op, principal, params }: SessionCall,
): Promise<MigrationTarget | null> =>
  op !== "migrate" || session === null
    ? null
    : findMigrationTarget(parts, principal, session, parseParams(migrateOperation.params, params).to);

/** Takes the session in memory to the revision that its next run is to have, and loads it again if it went over. */
const migrateIfDue = async (
  parts: SessionLoaderParts,
  { live }: SessionHolder,
  refresh: SessionLoader["refresh"],
): Promise<void> => {
  if (live === null) return;
  const follows = findFollowedRevision(parts.engines().deployed());
  await migrateAtRest(live, follows, (session, to) => findTargetInTime(parts, session, to));
  await refresh();
};

/** Creates the migration that the driver runs before a waiting run. */
const createMigration = (
  parts: SessionLoaderParts,
  holder: SessionHolder,
  refresh: SessionLoader["refresh"],
): LiveSessionParts["migration"] => ({
  follows: findFollowedRevision(parts.engines().deployed()),
  run: async () => {
    await migrateIfDue(parts, holder, refresh);
    parts.pump();
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

const createSurvivalConfirmation =
  (holder: SessionHolder, strikes: CrashCounter): SessionLoader["confirmSurvival"] =>
  (live) => {
    if (holder.live === live) strikes.clear();
    return holder.live === live;
  };

/**
 * Shares one load among all callers: another load could find old or removed rows once its engine is there.
 */
const createSharedLoad = (
  parts: SessionLoaderParts,
  holder: SessionHolder,
  create: LiveSessionFactory,
): SessionLoader["wake"] =>
  shareInFlight(async () => {
    const stored = loadSession(parts.storage.sql);
    return stored && (holder.live = create(await engineOf(parts, stored), stored, stored));
  });

/**
 * Returns the engine with the session in memory, which may have been dropped while its engine was loading.
 */
const loadEngine = async (
  parts: SessionLoaderParts,
  holder: SessionHolder,
  wake: SessionLoader["wake"],
  { op, principal }: SessionCall,
  forkSource: ForkSource | null,
): Promise<Engine> => {
  if (forkSource !== null) return engineOf(parts, forkSource.session);
  if (op === "create" && !hasTables(parts.storage.sql)) await ensureDefinition(parts, principal);
  for (;;) {
    const awake = await wake();
    const engine = await engineOf(parts, awake?.read() ?? null);
    if (awake === holder.live) return engine;
  }
};

/** Fetches what a call needs beside the session: the engine, a fork's source, a migration's target. */
const fetchForCall = async (
  parts: SessionLoaderParts,
  holder: SessionHolder,
  { wake, refresh }: Pick<SessionLoader, "wake" | "refresh">,
  call: SessionCall,
): Promise<{ readonly engine: Engine } & Pick<OperationContext, "forkSource" | "migrationTarget">> => {
  const forkSource = isNewFork(call, parts.storage.sql) ? await fetchForkSource(parts, call) : null;
  await wake();
  if (mayBeginRun(call, holder.live?.read() ?? null)) await migrateIfDue(parts, holder, refresh);
  const migrationTarget = await migrationTargetFor(parts, holder.live?.read() ?? null, call);
  return {
    engine: await loadEngine(parts, holder, wake, call, forkSource),
    forkSource,
    migrationTarget,
  };
};

/** Refuses a call to a session that exists but was dropped while the call waited: its work failed. */
const refuseIfDropped = ({ live }: SessionHolder, sql: SqlStorage): void => {
  if (live === null && hasTables(sql))
    refuse("overloaded", "the session starts again after a failure; send it again", { retryAfterMs: 1_000 });
};

export const createSessionLoader = (parts: SessionLoaderParts): SessionLoader => {
  const { storage, clock } = parts;
  const { sql } = storage;
  const holder: SessionHolder = { live: null };
  const stored = createSizeMeter(sql, Date.now);
  const grants = createGrants(parts.tenant, Date.now);
  const inTurn = createLock();

  const drop = (removed: boolean): void => {
    holder.live?.stop(removed);
    holder.live = null;
  };
  const failed = (error: unknown): void => {
    if (!(error instanceof ProblemError))
      logFailure(parts.engines().deployed().logLine, "session_failed", error);
    drop(false);
    clock.reset(Date.now() + 1_000);
  };
  const committing: LiveSessionParts["committing"] = (calls, head, decided) => {
    if (holder.live === null && !hasTables(sql)) createTables(sql);
    parts.crashCounter.clear();
    parts.index().touch(calls, head, decided);
  };
  const create: LiveSessionFactory = (engine, stored, initial) => {
    const storage = createSafeStorage(parts.storage, engine.logLine);
    const log = createLogger(engine.logLine, engine.team.observability.log_level);
    const migration = createMigration(parts, holder, refresh);
    const own = { storage, grants, log, now: Date.now, engine, failed, committing, migration };
    return createLiveSession({ ...parts, ...createTeamServices(parts, initial), ...own }, stored, initial);
  };
  const loaded = createSharedLoad(parts, holder, create);
  const wake = async (): Promise<LiveSession | null> => {
    if (holder.live !== null || !hasTables(sql)) return holder.live;
    migrate(storage);
    return loaded();
  };
  const refresh = async (): Promise<void> => {
    const { live } = holder;
    if (live === null || live.read().revision === live.revision) return;
    drop(false);
    await wake();
  };
  return {
    live: () => holder.live,
    wake,
    refresh,
    drop: () => drop(true),
    confirmSurvival: createSurvivalConfirmation(holder, parts.crashCounter),
    handleFailure: failed,
    contextFor: (call, remove) =>
      inTurn(async () => {
        const fetching = fetchForCall(parts, holder, { wake, refresh }, call);
        const [deleted, { engine, ...fetched }] = await Promise.all([parts.removal.did(call), fetching]);
        const start = await runStartFor(parts, grants, engine, call, holder.live?.read() ?? null);
        refuseIfDropped(holder, sql);
        const context = operationContextOf(parts, holder, create, engine, call, start);
        return { ...start, ...context, ...fetched, stored, deleted, remove };
      }),
  };
};
