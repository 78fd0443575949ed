import { createLock } from "../src/driver/host.ts";
import type { Session } from "../src/agent/state/session.ts";
import type { Draft } from "../src/agent/transaction/draft.ts";
import type { TeamDirectory, TenantDirectory } from "../src/engine/access/rpc.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { Engines } from "../src/engine/engines.ts";
import type { MigrationTarget } from "../src/agent/run/migrate.ts";
import { migrateOperation } from "../src/session/operations/migrate.ts";
import { findMigrationTarget, findTargetInTime, findFollowedRevision, migrateAtRest } from "./migration.ts";
import { parseParams } from "../src/session/define-operation.ts";
import { forkOperation } from "../src/session/operations/fork.ts";
import { emptySession } from "../src/session/operations/session.ts";
import type { OperationContext } from "../src/session/perform.ts";
import { findOperation } from "../src/session/operations.ts";
import { ProblemError, refuse } from "../src/session/problems.ts";
import type { ForkSource } from "../src/session/operations/fork.ts";
import type { ForkSourceRpc, SessionCall } from "../src/session/rpc.ts";
import type { TenantAddress } from "../src/sandbox/jurisdiction.ts";
import type { CrashCounter } from "./alarms/crash-counter.ts";
import type { LiveSession, LiveSessionParts } from "./live-session.ts";
import { createLiveSession } from "./live-session.ts";
import { createLogger, logFailure } from "./log.ts";
import type { Removal } from "./removal.ts";
import { archiveOf, createSizeMeter, emptyArchive } from "./rows/archive.ts";
import type { IndexReport } from "./index-report.ts";
import { loadSession } from "./rows/load.ts";
import { createSafeStorage } from "./rows/safe-storage.ts";
import { createTables, hasTables, migrate } from "./rows/tables.ts";
import { requireReply } from "../src/engine/access/replies.ts";
import { shareInFlight } from "./waits.ts";
import { snapshotItems } from "./sockets/frames.ts";
import { createGrants } from "./grants.ts";
import type { Grants } from "./grants.ts";
import { emptyRunStart, mayBeginRun, requestRunStart } from "./run-start.ts";
import type { RunStart } from "./run-start.ts";
import { createTeamServices, engineOf, ensureDefinition, keepDefinition } from "./team-parts.ts";

const createInitialSession = ({ rules }: Engine, { session, principal }: SessionCall): Session =>
  emptySession(session, principal, rules, Date.now());

export interface SessionLoaderParts extends Pick<LiveSessionParts, "watchers" | "clock" | "items" | "gates"> {
  readonly storage: DurableObjectStorage;
  readonly engines: () => Engines;
  readonly team: () => TeamDirectory;
  readonly tenant: (address: TenantAddress) => TenantDirectory;
  readonly session: (address: TenantAddress, id: string) => ForkSourceRpc;
  readonly crashCounter: CrashCounter;
  readonly index: () => IndexReport;
  readonly removal: Pick<Removal, "requireVacant" | "wasDeletedUnderKeyOf">;
  /** Lets the driver of the session in memory do what follows from the state. */
  readonly pump: () => void;
}

/** What a call needs beside the session: its engine, a fork's source, a migration's target. */
type Fetched = { readonly engine: Engine } & Pick<OperationContext, "forkSource" | "migrationTarget">;

type PreparedContext = OperationContext & Pick<RunStart, "giveBack">;

/** Brings a session into memory with the engine of its revision, and drops it again. */
export class SessionLoader {
  readonly #parts: SessionLoaderParts;
  readonly #sql: SqlStorage;
  readonly #stored: () => number;
  readonly #grants: Grants;
  readonly #inTurn = createLock();
  #live: LiveSession | null = null;

  constructor(parts: SessionLoaderParts) {
    this.#parts = parts;
    this.#sql = parts.storage.sql;
    this.#stored = createSizeMeter(this.#sql, Date.now);
    this.#grants = createGrants(parts.tenant, Date.now);
  }

  readonly live = (): LiveSession | null => this.#live;

  /** Loads the session if needed and returns it; returns null if there is none. */
  async wake(): Promise<LiveSession | null> {
    if (this.#live !== null || !hasTables(this.#sql)) return this.#live;
    migrate(this.#parts.storage);
    return this.#load();
  }

  /** Loads the session again if it migrated to another revision. */
  async refresh(): Promise<void> {
    const live = this.#live;
    if (live === null || live.read().revision === live.revision) return;
    this.#drop(false);
    await this.wake();
  }

  /** Drops the session in memory, whose rows were removed. */
  drop(): void {
    this.#drop(true);
  }

  /** Returns whether a drive ended with the session it began with; it then counts as survived even without a commit. */
  confirmSurvival(live: LiveSession): boolean {
    if (this.#live === live) this.#parts.crashCounter.clear();
    return this.#live === live;
  }

  /** Drops what is in memory, since a commit or a step failed; the next alarm takes up the run. */
  readonly handleFailure = (error: unknown, pauseMs = 1_000): void => {
    if (!(error instanceof ProblemError))
      logFailure(this.#parts.engines().deployed().logLine, "session_failed", error);
    this.#drop(false);
    this.#parts.clock.reset(Date.now() + pauseMs);
  };

  /**
   * Prepares an operation; `giveBack` is called after it, to return what the tenant granted for a run that
   * did not begin. Commands are prepared in their order; one that waits for another object holds up no read.
   */
  contextFor(call: SessionCall, remove: OperationContext["remove"]): Promise<PreparedContext> {
    const prepare = (): Promise<PreparedContext> => this.#prepare(call, remove);
    return findOperation(call.op).kind === "read" ? prepare() : this.#inTurn(prepare);
  }

  async #prepare(call: SessionCall, remove: OperationContext["remove"]): Promise<PreparedContext> {
    const [deleted, { engine, ...fetched }] = await Promise.all([
      this.#parts.removal.wasDeletedUnderKeyOf(call),
      this.#fetchFor(call),
    ]);
    const start = await this.#requestRunStart(engine, call);
    const context = this.#operationContext(engine, call, start);
    return { ...start, ...context, ...fetched, stored: this.#stored, deleted, remove };
  }

  #drop(removed: boolean): void {
    this.#live?.stop(removed);
    this.#live = null;
  }

  /** Returns the session in memory; refuses while it is stored but was dropped, since its work failed. */
  #current(): LiveSession | null {
    if (this.#live === null && hasTables(this.#sql))
      refuse("overloaded", "the session starts again after a failure; send it again", {
        retryAfterMs: 1_000,
      });
    return this.#live;
  }

  /** Shares one load among all callers: another load could find old or removed rows once its engine is there. */
  readonly #load = shareInFlight(async (): Promise<LiveSession | null> => {
    const stored = loadSession(this.#sql);
    if (stored === null) return null;
    const { storage, clock } = this.#parts;
    const [engine, alarm] = await Promise.all([engineOf(this.#parts, stored), storage.getAlarm()]);
    clock.keep(alarm);
    this.#live = this.#create(engine, stored, stored);
    return this.#live;
  });

  #create(engine: Engine, stored: Session | null, initial: Session): LiveSession {
    const parts = this.#parts;
    const own = {
      storage: createSafeStorage(parts.storage, engine.logLine),
      grants: this.#grants,
      log: createLogger(engine.logLine, engine.team.observability.log_level),
      now: Date.now,
      engine,
      failed: this.handleFailure,
      committing: this.#noteCommit,
      migration: {
        follows: findFollowedRevision(parts.engines().deployed()),
        run: async () => {
          await this.#migrateIfDue();
          parts.pump();
        },
      },
    };
    return createLiveSession({ ...parts, ...createTeamServices(parts, initial), ...own }, stored, initial);
  }

  /** Creates the tables of a new session, and notes that the drive lived to commit. */
  readonly #noteCommit: LiveSessionParts["committing"] = (calls, head, decided) => {
    if (this.#live === null && !hasTables(this.#sql)) createTables(this.#sql);
    this.#parts.crashCounter.clear();
    this.#parts.index().touch(calls, head, decided);
  };

  /** Takes the session in memory to the revision that its next run is to have, and loads it again if it migrated. */
  async #migrateIfDue(): Promise<void> {
    if (this.#live === null) return;
    const follows = findFollowedRevision(this.#parts.engines().deployed());
    await migrateAtRest(this.#live, follows, (session, to) => findTargetInTime(this.#parts, session, to));
    await this.refresh();
  }

  async #fetchFor(call: SessionCall): Promise<Fetched> {
    const forkSource = call.op === "fork" && !hasTables(this.#sql) ? await this.#fetchForkSource(call) : null;
    await this.wake();
    if (mayBeginRun(call, this.#state())) await this.#migrateIfDue();
    const migrationTarget = await this.#findMigrationTarget(call);
    return { engine: await this.#loadEngine(call, forkSource), forkSource, migrationTarget };
  }

  /** Fetches what a fork begins with, and keeps the definition that it will pin. */
  async #fetchForkSource({ principal, params }: SessionCall): Promise<ForkSource> {
    const { source } = parseParams(forkOperation.params, params);
    const asked = this.#parts.session(principal, source).forkSource({ principal, params });
    const reply = await requireReply(asked, "the session to fork cannot be read");
    if (!reply.ok) throw new ProblemError(reply.problem);
    const forkSource = JSON.parse(reply.json) as ForkSource;
    await keepDefinition(this.#parts, principal, forkSource.session.revision);
    return forkSource;
  }

  async #findMigrationTarget({ op, principal, params }: SessionCall): Promise<MigrationTarget | null> {
    const session = this.#state();
    if (op !== "migrate" || session === null) return null;
    return findMigrationTarget(
      this.#parts,
      principal,
      session,
      parseParams(migrateOperation.params, params).to,
    );
  }

  /** Returns the engine with the session in memory, which may have been dropped while its engine was loading. */
  async #loadEngine({ op, principal }: SessionCall, forkSource: ForkSource | null): Promise<Engine> {
    if (forkSource !== null) return engineOf(this.#parts, forkSource.session);
    if (op === "create" && !hasTables(this.#sql)) await ensureDefinition(this.#parts, principal);
    for (;;) {
      const awake = await this.wake();
      const engine = await engineOf(this.#parts, awake?.read() ?? null);
      if (awake === this.#live) return engine;
    }
  }

  /** Asks the tenant for what a run needs if the call could begin one. */
  async #requestRunStart(engine: Engine, call: SessionCall): Promise<RunStart> {
    const state = this.#state();
    if (!mayBeginRun(call, state)) return emptyRunStart;
    const { engines, tenant } = this.#parts;
    const limit = engines().deployed().team.limits.runs.per_tenant;
    const session = state ?? createInitialSession(engine, call);
    return requestRunStart(
      { tenant: tenant(call.principal), grants: this.#grants, engine, limit, session },
      call,
    );
  }

  #state(): Session | null {
    return this.#live?.read() ?? null;
  }

  /** Creates the access to the state and the only way to change it; a first change creates the session. */
  #operationContext(
    engine: Engine,
    call: SessionCall,
    start: RunStart,
  ): Omit<OperationContext, "full" | "forkSource" | "migrationTarget" | "stored" | "deleted" | "remove"> {
    const { items, removal } = this.#parts;
    return {
      read: () => this.#current()?.read() ?? null,
      archive: () => {
        const live = this.#current();
        return live === null ? emptyArchive : archiveOf(this.#sql, live.read().id);
      },
      rules: engine.rules,
      agentOf: (agent, override, callerConstraints) => {
        const state = this.#current()?.read() ?? createInitialSession(engine, call);
        return engine.agent(agent, { ...state, model: override, modelScope: "tree" }, callerConstraints);
      },
      redactor: engine.redactor,
      now: Date.now,
      items: () => snapshotItems(items),
      update: (change) => {
        const apply = (draft: Draft) => start.apply(draft, change);
        const live = this.#current();
        if (live !== null) return live.update(apply);
        removal.requireVacant();
        const created = this.#create(engine, null, createInitialSession(engine, call));
        const result = created.update(apply);
        this.#live = created;
        return result;
      },
    };
  }
}
