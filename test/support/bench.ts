import type { DatabaseSync } from "node:sqlite";
import type { Message } from "../../src/chat/message.ts";
import type { ModelRequest } from "../../src/model/completer.ts";
import { emptySession } from "../../src/session/operations/session.ts";
import type { Draft } from "../../src/agent/transaction/draft.ts";
import type { FoundTarget, MigrationTarget } from "../../src/agent/run/migrate.ts";
import type { StoredEvent, Delta, ProviderFrame } from "../../src/agent/state/events.ts";
import type { LedgerRow } from "../../src/agent/state/records.ts";
import type { TenantDay } from "../../src/driver/host.ts";
import type { LeaseRequest } from "../../src/agent/budgets/lease.ts";
import type { Decision } from "../../src/session/decisions.ts";
import type { LoginEnd, ServerAuthorization } from "../../src/engine/access/tenant/logins.ts";
import { createLogList } from "./log-list.ts";
import { createLogins } from "./logins.ts";
import type { Bindings } from "../../src/engine/secrets/secrets.ts";
import { awaitsLogin, settleLogins } from "../../src/session/operations/answer.ts";
import { perform } from "../../src/session/perform.ts";
import type { OperationContext } from "../../src/session/perform.ts";
import type { OperationName } from "../../src/session/operations.ts";
import { readForkSource } from "../../src/session/operations/fork.ts";
import type { ForkSource } from "../../src/session/operations/fork.ts";
import { ProblemError } from "../../src/session/problems.ts";
import { allScopes } from "../../src/session/rpc.ts";
import type { ForkSourceReply, ForkSourceRequest, Scope, SessionReply } from "../../src/session/rpc.ts";
import type { Session } from "../../src/agent/state/session.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { Tables } from "../../src/engine/access/database.ts";
import { listNotes, createSharedNotes, readNote, writeNote } from "../../src/engine/access/tenant/notes.ts";
import type { NotesOwner } from "../../src/engine/access/tenant/notes.ts";
import {
  addMemories,
  createSharedMemory,
  recallMemories,
  recentMemories,
} from "../../src/engine/access/tenant/memories.ts";
import {
  addReflections,
  findReflections,
  createSharedReflections,
} from "../../src/engine/access/tenant/reflections.ts";
import { hasNewApprovals, recordSighting } from "../../src/engine/access/tenant/tool-pins.ts";
import type { ServerSighting, ToolCheck } from "../../src/engine/access/tenant/tool-pins.ts";
import type { TenantStores } from "../../src/engine/access/rpc.ts";
import type { TenantAddress } from "../../src/sandbox/jurisdiction.ts";
import { drawLease } from "../../src/engine/access/tenant/days.ts";
import { memoryTables } from "../engine/access/tables.ts";
import { archiveOf, readDecisions } from "../../durable-objects/rows/archive.ts";
import { createGrants } from "../../durable-objects/grants.ts";
import { exchangeGrants } from "../../src/engine/access/tenant/grants.ts";
import type { Gates } from "../../durable-objects/gates.ts";
import { createOpenItems } from "../../durable-objects/sockets/open-items.ts";
import { createLiveSession } from "../../durable-objects/live-session.ts";
import type { LiveSession } from "../../durable-objects/live-session.ts";
import { findFollowedRevision, migrateAtRest, migrationTargetOf } from "../../durable-objects/migration.ts";
import { readLedger } from "../../durable-objects/rows/ledger.ts";
import { loadSession } from "../../durable-objects/rows/load.ts";
import { createTables, hasTables, migrate } from "../../durable-objects/rows/tables.ts";
import { checkReply, createMisfits } from "./documented.ts";
import { observeRequests } from "./observed-engine.ts";
import type { Sent } from "./observed-engine.ts";
import { createStorage, openDatabase } from "./sql.ts";
import type { FakeStorage } from "./sql.ts";

/** A session on the bench: the real core over the real store, in one process, with a clock that only tests move. */

const callerScopes = allScopes.filter((scope) => scope !== "admin" && scope !== "debug:read");

/** Thrown at a write to cut the power: nothing of that isolate runs on. */
export class PowerCut extends Error {}

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

interface Isolate {
  live: LiveSession | null;
  readonly storage: FakeStorage;
  readonly items: ReturnType<typeof createOpenItems>;
  readonly timers: Set<Timer>;
  dead: boolean;
  alarm: number | null;
  busy: boolean;
}

/** A committed state is frozen: a transition that changes what it did not copy throws. */
const freeze = (value: unknown): void => {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const each of Object.values(value)) freeze(each);
};

export interface Bench {
  readonly id: string;
  perform(op: OperationName, params?: object, key?: string): SessionReply;
  /** The same for another caller, or with headers. */
  performAs(
    who: {
      readonly tenant?: string;
      readonly scopes?: readonly Scope[];
      readonly key?: string;
      readonly ifMatch?: string;
    },
    op: OperationName,
    params?: object,
  ): SessionReply;
  /** What a fork of it begins with. */
  forkSource(request: ForkSourceRequest): ForkSourceReply;
  /** Stores a transition that no operation offers, and lets the session go on. */
  change(change: (draft: Draft) => void): void;
  /** Ends a login by the query of the address that a person was sent back to, and says what became of it. */
  finishLogin(query: string): Promise<LoginEnd>;
  /** The session in memory; null if there is none. */
  live(): LiveSession | null;
  /** The value of an operation that must succeed. */
  ok(op: OperationName, params?: object, key?: string): Record<string, never>;
  send(content: string, more?: object): Record<string, never>;
  /** Runs until nothing is being worked on. */
  idle(): Promise<void>;
  /** Lets whatever can happen now happen, also if work stays under way. */
  steps(): Promise<void>;
  /** While true, replies of the model wait at their end, with all their text streamed. */
  hold: boolean;
  /** While true, the tenant has as many runs under way as it may have. */
  full: boolean;
  /** Surrounds the change of each command. */
  around: <T>(draft: Draft, change: () => T) => T;
  /** Bytes that the session is said to hold. */
  stored: number;
  /** Lets held replies go. */
  release(): void;
  /** Moves the clock and lets what is due happen. */
  pass(ms: number): Promise<void>;
  /** The same, also if work stays under way. */
  tick(ms: number): Promise<void>;
  /** Drops the isolate: a new one starts from the rows. */
  crash(): void;
  /** Drops the isolate, and the new one runs another engine for the session's revision: a deploy. */
  deploy(engine: Engine): void;
  /** Deploys another revision; sessions that pin an older one keep its engine. */
  deployRevision(engine: Engine): void;
  /** Nobody keeps a revision any more. */
  forget(revision: string): void;
  /** Finds the target of a migration before a run; what is kept, unless a test says otherwise. */
  find: (session: Session, to: string) => Promise<FoundTarget>;
  events(): readonly StoredEvent[];
  types(): readonly string[];
  chat(): readonly Message[];
  state(): Session;
  /** Every model request that left, in order. */
  readonly requests: readonly ModelRequest[];
  readonly published: readonly StoredEvent[];
  /** Lines of events as they were sent, those of one commit joined by line breaks. */
  readonly commits: readonly string[];
  /** Lines of events as the log gives them back. */
  lines(): readonly string[];
  readonly deltas: readonly Delta[];
  /** Frames of providers that watchers with the scope for it would see. */
  readonly frames: readonly ProviderFrame[];
  /** What would stand in the log. */
  readonly logs: readonly Readonly<Record<string, unknown>>[];
  /** Resolves when the driver says that nothing is being worked on: an alarm's drive ends then. */
  drive(): Promise<void>;
  /** Timers of a session at rest, each of which would keep its object in memory. */
  leftTimers(): number;
  /** When the session wants to wake by itself. */
  alarm(): number | null;
  now(): number;
  /** Statements that wrote, so far. */
  writes(): number;
  /** Cuts the power before the n-th write from now; null = never. */
  cutAt(write: number | null): void;
  rows(table: string): readonly Record<string, unknown>[];
  /** The model attempts so far, in order. */
  ledger(): readonly LedgerRow[];
  /** What the rows say was decided after an event. */
  decisions(since?: number): readonly Decision[];
  /** Changes its database behind its back: what another release left there. */
  sql(statement: string): void;
}

export interface BenchOptions {
  readonly engine: Engine;
  /** Bindings of the tenant's object. */
  readonly env?: Bindings;
  readonly id?: string;
  readonly tenant?: string;
  /** Tables of the team, for sessions that share them. */
  readonly tables?: Tables;
  /** Stands in for what the tables remember. */
  readonly memory?: Partial<TenantStores>;
  /** Stands in for the tables' own leases. */
  readonly lease?: TenantDay["lease"];
  /** Stands in for gates that always have a place, and know of no failure. */
  readonly gates?: Pick<Gates, "gate" | "health">;
  /** The session of which this one may be a fork. */
  readonly source?: Bench;
}

const openGates: Pick<Gates, "gate" | "health"> = {
  gate: () => ({
    reserve: async () => ({ status: "booked", startAt: 0 }),
    ended: () => undefined,
    release: () => undefined,
  }),
  health: () => ({ coolingUntil: 0 }),
};

export const openBench = ({
  engine: given,
  env = {},
  id = "s_aaaaaaaaaaaaaaaaaaaaaaaaaa",
  tenant = "t1",
  tables = memoryTables().tables,
  memory = {},
  lease,
  gates = openGates,
  source,
}: BenchOptions): Bench => {
  const address: TenantAddress = { tenant, jurisdiction: null };
  const team: TenantStores = {
    addMemories: async (rows) => addMemories(tables, rows),
    recentMemories: async (...asked) => recentMemories(tables, ...asked),
    recallMemories: async (...asked) => recallMemories(tables, ...asked),
    addReflections: async (rows, ttlMs) => addReflections(tables, rows, { ttlMs, now }),
    findReflections: async (task, ttlMs) => findReflections(tables, task, { ttlMs, now }),
    readNote: async (owner, name) => readNote(tables, owner, name),
    listNotes: async (owner) => listNotes(tables, owner),
    sawServer: async (sighting) => recordSighting(tables, sighting, now),
    hasNewApprovals: async (check) => hasNewApprovals(tables, check),
    authorizeServer: (asked) => logins.authorize(asked),
    writeNote: async (owner, note, key) => writeNote(tables, owner, { ...note, key, now }),
    ...memory,
  };
  const logins = createLogins(given, env, tables, () => now, {
    awaitsLogin: async (_, __, server) => awaitsLogin(bench.state(), server),
    settleLogin: async (_, __, settlement) => bench.change((draft) => settleLogins(draft, settlement)),
  });
  const database: DatabaseSync = openDatabase();
  const requests: ModelRequest[] = [];
  const sent: Sent = { requests, invalid: [], holding: false, waiting: [] };
  let engine = observeRequests(given, sent);
  /** The engine of the deployed team, and those of all revisions that are kept. */
  let deployed = engine;
  const kept = new Map([[engine.revision, engine]]);
  const published: StoredEvent[] = [];
  const commits: string[] = [];
  const misfits = createMisfits();
  const deltas: Delta[] = [];
  const frames: ProviderFrame[] = [];
  const { logs, log } = createLogList(() => engine.team.observability.log_level);
  let now = 1_700_000_000_000;
  let epoch = 0;
  let writes = 0;
  /** The log after so many writes. */
  let logged: readonly [number, readonly StoredEvent[]] | null = null;
  let cut: number | null = null;

  const start = (): Isolate => {
    epoch += 1;
    const isolate: Isolate = {
      live: null,
      storage: createStorage(database, () => {
        if (isolate.dead) throw new PowerCut("dead isolate");
        writes += 1;
        if (cut !== null && writes >= cut) {
          isolate.dead = true;
          cut = null;
          throw new PowerCut("power cut");
        }
      }),
      items: null as never,
      timers: new Set(),
      dead: false,
      alarm: null,
      busy: false,
    };
    Object.assign(isolate, { items: createOpenItems(isolate.storage.sql, () => now) });
    return isolate;
  };
  let isolate = start();

  const parts = (mine: Isolate) => ({
    storage: mine.storage,
    epoch,
    engine,
    now: () => now,
    items: mine.items,
    watchers: {
      publish: (_: unknown, lines: () => readonly string[]) => {
        freeze(mine.live?.read());
        const sent = lines();
        if (sent.length > 0) commits.push(sent.join("\n"));
        const events = sent.map((line) => JSON.parse(line) as StoredEvent);
        events.forEach(misfits.event);
        published.push(...events);
      },
      show: (shown: readonly Delta[]) => {
        deltas.push(...shown);
      },
      showFrames: (shown: readonly ProviderFrame[]) => {
        frames.push(...shown);
        for (const each of shown) misfits.frame(each);
      },
    } as never,
    clock: {
      renew: () => undefined,
      schedule: (live: boolean, at: number | null) => {
        mine.busy = live;
        mine.alarm = at;
      },
      after: (ms: number, run: () => void) => {
        const timer = { at: now + ms, run };
        mine.timers.add(timer);
        return { cancel: () => mine.timers.delete(timer) };
      },
    } as never,
    gates: { ...gates, refresh: () => undefined },
    grants: createGrants(
      () => ({ grants: async (told) => exchangeGrants(tables, told, now) }),
      () => now,
    ),
    notes: (owner: NotesOwner) => createSharedNotes(() => team, owner),
    memory: createSharedMemory(() => team),
    serverStore: {
      sawServer: (sighting: ServerSighting) => team.sawServer(sighting),
      hasNewApprovals: (check: ToolCheck) => team.hasNewApprovals(check),
      authorizeServer: (asked: Omit<ServerAuthorization, "address">) =>
        team.authorizeServer({ ...asked, address }),
    },
    reflections: createSharedReflections(() => team),
    sessionDays: () => engine.team.retention.session_days,
    lease: lease ?? (async (request: LeaseRequest) => drawLease(tables, request, now)),
    migration: {
      follows: findFollowedRevision(deployed),
      run: async () => {
        if (mine.live !== null) await migrateAtRest(mine.live, findFollowedRevision(deployed), bench.find);
        refresh(mine);
        pump();
      },
    },
    log,
    failed: (error: unknown) => {
      mine.live?.driver.stop();
      if (!(error instanceof PowerCut)) throw error;
    },
    committing: () => {
      if (mine.live === null && !hasTables(mine.storage.sql)) createTables(mine.storage.sql);
    },
  });

  const wake = (): LiveSession | null => {
    if (isolate.dead) isolate = start();
    if (isolate.live !== null || !hasTables(isolate.storage.sql)) return isolate.live;
    migrate(isolate.storage);
    const stored = loadSession(isolate.storage.sql);
    if (stored === null) return null;
    freeze(stored);
    engine = kept.get(stored.revision) ?? engine;
    isolate.live = createLiveSession(parts(isolate), stored, stored);
    return isolate.live;
  };

  /** A session that went over to another revision is loaded again, with the engine of that one. */
  const refresh = (mine: Isolate): void => {
    if (mine.live === null || mine.live.read().revision === mine.live.revision) return;
    mine.live.stop(false);
    mine.live = null;
    if (mine === isolate) wake();
  };

  const findKept = (session: Session, to: string): MigrationTarget | null => {
    const found = kept.get(to);
    return found === undefined ? null : migrationTargetOf(found, session);
  };

  const migrationTargetFor = (op: string, params: object): MigrationTarget | null => {
    const session = isolate.live?.read();
    if (op !== "migrate" || session === undefined) return null;
    return findKept(session, "to" in params ? String(params.to) : deployed.revision);
  };

  const forkSourceFor = (request: ForkSourceRequest): ForkSource | null => {
    if (source === undefined || isolate.live !== null) return null;
    const reply = source.forkSource(request);
    if (!reply.ok) throw new ProblemError(reply.problem);
    return JSON.parse(reply.json) as ForkSource;
  };

  const doorOf = (
    mine: Isolate,
    fetched: Pick<OperationContext, "forkSource" | "migrationTarget">,
  ): OperationContext => ({
    ...fetched,
    read: () => mine.live?.read() ?? null,
    archive: () => archiveOf(mine.storage.sql, id),
    rules: engine.rules,
    agentOf: (agent, override, callerConstraints) => {
      const state = mine.live?.read() ?? emptySession(id, address, engine.rules, now);
      return engine.agent(agent, { ...state, model: override, modelScope: "tree" }, callerConstraints);
    },
    redactor: engine.redactor,
    full: bench.full,
    stored: () => bench.stored,
    now: () => now,
    items: () => [],
    deleted: false,
    remove: () => mine.live?.stop(true),
    update: (change) => {
      const live =
        mine.live ?? createLiveSession(parts(mine), null, emptySession(id, address, engine.rules, now));
      const result = live.update((draft) => bench.around(draft, () => change(draft)));
      mine.live = live;
      return result;
    },
  });

  const pump = (): void => {
    try {
      wake()?.driver.pump();
    } catch (error) {
      if (!(error instanceof PowerCut)) throw error;
    }
  };

  const bench: Bench = {
    id,
    full: false,
    around: (_, change) => change(),
    find: async (session, to) => findKept(session, to) ?? "gone",
    stored: 0,
    published,
    commits,
    deltas,
    frames,
    logs,
    requests,
    perform: (op, params = {}, key) => bench.performAs(key === undefined ? {} : { key }, op, params),
    performAs: ({ key, ifMatch, ...who }, op, params = {}) => {
      wake();
      const principal = { ...address, by: "key1", scopes: callerScopes, ...who };
      const forkSource = op === "fork" ? forkSourceFor({ principal, params }) : null;
      const fetched = { forkSource, migrationTarget: migrationTargetFor(op, params) };
      const reply = perform(doorOf(isolate, fetched), {
        principal,
        session: id,
        op,
        params,
        ...(key === undefined ? {} : { key }),
        ...(ifMatch === undefined ? {} : { ifMatch }),
      });
      checkReply(op, params as Readonly<Record<string, unknown>>, reply);
      misfits.check();
      refresh(isolate);
      pump();
      return reply;
    },
    forkSource: (request) => {
      const state = wake()?.read() ?? null;
      return readForkSource(state, () => archiveOf(isolate.storage.sql, id), request);
    },
    change: (change) => {
      wake()?.update(change);
      pump();
    },
    finishLogin: (query) => logins.finish(query),
    live: wake,
    ok: (op, params, key) => {
      const reply = bench.perform(op, params, key);
      if (!reply.ok) throw new Error(`${op} was refused: ${JSON.stringify(reply.problem)}`);
      return (reply.json === "" ? {} : JSON.parse(reply.json)) as Record<string, never>;
    },
    send: (content, more = {}) => bench.ok("send", { content, ...more }),
    idle: async () => {
      const giveUp = performance.now() + 50_000;
      while (performance.now() < giveUp) {
        if (isolate.dead) pump();
        const mine = isolate;
        // Streams and tools of this process settle in microtasks and immediates, wires on loopback soon after.
        await new Promise((resolve) => setImmediate(resolve));
        if (sent.invalid.length > 0) throw new Error(`an invalid request left: ${sent.invalid[0]}`);
        if (!mine.busy && !mine.dead) return;
      }
      throw new Error("the session never came to rest");
    },
    get hold() {
      return sent.holding;
    },
    set hold(on) {
      sent.holding = on;
    },
    release: () => {
      sent.holding = false;
      for (const wake of sent.waiting.splice(0)) wake();
    },
    steps: async () => {
      for (let round = 0; round < 12; round++) {
        if (isolate.dead) pump();
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    pass: async (ms) => {
      await bench.tick(ms);
      if (!sent.holding) await bench.idle();
    },
    tick: async (ms) => {
      now += ms;
      for (const timer of Array.from(isolate.timers)) {
        if (timer.at > now) continue;
        isolate.timers.delete(timer);
        timer.run();
      }
      pump();
      await bench.steps();
    },
    crash: () => {
      isolate.dead = true;
      isolate.live?.driver.stop();
      isolate = start();
      pump();
    },
    deploy: (next) => {
      engine = { ...observeRequests(next, sent), revision: engine.revision };
      deployed = engine;
      kept.set(engine.revision, engine);
      bench.crash();
    },
    deployRevision: (next) => {
      deployed = observeRequests(next, sent);
      kept.set(next.revision, deployed);
      bench.crash();
    },
    forget: (revision) => void kept.delete(revision),
    lines: () => Array.from(archiveOf(createStorage(database).sql, id).events(0), ({ line }) => line()),
    events: () => {
      if (logged?.[0] !== writes)
        logged = [writes, bench.lines().map((line) => JSON.parse(line) as StoredEvent)];
      return logged[1];
    },
    types: () => bench.events().map(({ type }) => type),
    chat: () => bench.state().threads["main"]?.chat ?? [],
    state: () => {
      const live = wake();
      if (live === null) throw new Error("there is no session");
      return live.read();
    },
    drive: async () => wake()?.driver.idle(),
    alarm: () => isolate.alarm,
    leftTimers: () => (isolate.busy ? 0 : isolate.timers.size),
    now: () => now,
    writes: () => writes,
    cutAt: (write) => {
      cut = write === null ? null : writes + write;
    },
    rows: (table) => database.prepare(`SELECT * FROM ${table}`).all(),
    decisions: (since = 0) => readDecisions(createStorage(database).sql, since),
    ledger: () => Array.from(readLedger(createStorage(database).sql), ({ row }) => row).toReversed(),
    sql: (statement) => {
      logged = null;
      database.exec(statement);
    },
  };
  return bench;
};
