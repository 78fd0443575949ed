import { DurableObject } from "cloudflare:workers";
import { emptySession } from "../src/agent/commands/session.ts";
import { perform } from "../src/agent/perform.ts";
import type { Door } from "../src/agent/perform.ts";
import { ProblemError } from "../src/agent/problem.ts";
import type { Principal, SessionCall, SessionReply, SessionRpc } from "../src/agent/rpc.ts";
import { changeRun } from "../src/agent/draft.ts";
import type { Session } from "../src/agent/state.ts";
import type { TeamDirectory } from "../src/engine/access/rpc.ts";
import { teamObjectName } from "../src/engine/access/names.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { Engines } from "../src/engine/engines.ts";
import { archiveOf, noArchive } from "./archive.ts";
import { createClock } from "./clock.ts";
import { createGates } from "./gates.ts";
import { createIndexReport } from "./index-report.ts";
import { createItems } from "./items.ts";
import { createLive } from "./live.ts";
import type { Live } from "./live.ts";
import type { ProviderGate } from "./provider-gate.ts";
import { createConnections } from "./connections.ts";
import { openItems } from "./socket-frames.ts";
import { logFailure } from "./log.ts";
import { safeStorage } from "./safe-storage.ts";
import { createSocketDesk } from "./sockets.ts";
import { load } from "./load.ts";
import { createStrikes } from "./strikes.ts";
import { createTables, exists, migrate } from "./tables.ts";
import { createWatchers } from "./watchers.ts";

const deadDrives = 3;
/** Events that a reader who is behind gets at a time. */
const pageLines = 200;

interface Exports {
  readonly TeamObject: { getByName(name: string): TeamDirectory };
  readonly ProviderGate: DurableObjectNamespace<ProviderGate>;
}

/** One session. A shell: it owns storage, sockets and the alarm, and decides nothing. */
export class SessionShell extends DurableObject<unknown> implements SessionRpc {
  readonly #engines: Engines;
  readonly #exports: Exports;
  readonly #sql = this.ctx.storage.sql;
  readonly #strikes = createStrikes(this.#sql);
  readonly #items = createItems(this.#sql, Date.now);
  readonly #connections = createConnections(() => this.#head());
  readonly #watchers = createWatchers({
    sockets: () => this.ctx.getWebSockets(),
    connections: this.#connections,
    items: this.#items,
    replay: (after) => archiveOf(this.#sql).events({ after, limit: pageLines }),
    head: () => this.#head(),
  });
  readonly #clock = createClock(this.ctx.storage, Date.now, () => this.#tick());
  readonly #gates = createGates((provider) => this.#exports.ProviderGate.getByName(provider), Date.now);
  readonly #desk = createSocketDesk({
    connections: this.#connections,
    watchers: this.#watchers,
    items: this.#items,
    archive: () => archiveOf(this.#sql),
    perform: (call) => this.perform(call),
    session: () => this.#live?.read() ?? null,
    authenticate: (token) => this.#team().authenticate(token),
  });
  readonly #index = createIndexReport(
    () => this.#team(),
    () => this.#engines.deployed(),
    this.#clock,
    Date.now,
  );
  #live: Live | null = null;

  constructor(ctx: DurableObjectState, env: unknown, engines: Engines) {
    super(ctx, env);
    this.#engines = engines;
    this.#exports = ctx.exports as unknown as Exports;
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('{"type":"ping"}', '{"type":"pong"}'));
  }

  #head(): number {
    return this.#live?.read().head ?? 0;
  }

  async perform(call: SessionCall): Promise<SessionReply> {
    const reply = perform(this.#door(await this.#ready(), call), call);
    this.#pump();
    return reply;
  }

  /** The engine of this session, and the session awake with it. */
  async #ready(): Promise<Engine> {
    for (;;) {
      const live = await this.#wake();
      const engine = await this.#engineOf(live?.read() ?? null);
      if (live === this.#live) return engine;
    }
  }

  override async fetch(request: Request): Promise<Response> {
    const live = await this.#wake();
    const principal = JSON.parse(request.headers.get("limpet-principal") ?? "null") as Principal | null;
    return this.#desk.open(this.ctx, live?.read() ?? null, principal);
  }

  override async webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    await this.#wake();
    await this.#desk.receive(socket, data);
  }

  override webSocketClose(socket: WebSocket): void {
    this.#desk.closed(socket);
  }

  override async alarm(): Promise<void> {
    if (!exists(this.#sql)) return;
    const strikes = this.#strikes.begin(this.#live === null);
    if (strikes > 1) await this.ctx.storage.sync();
    const live = await this.#wake();
    if (live === null) return;
    if (strikes > deadDrives) this.#poison(live);
    await this.#clock.drive(async () => {
      this.#pump();
      await live.driver.idle();
      if (this.#live === live) await this.#index.flush(live.read());
    });
  }

  /** A deadline within a drive. */
  #tick(): void {
    this.#pump();
    if (this.#live !== null) void this.#index.flush(this.#live.read());
  }

  #pump(): void {
    try {
      this.#live?.driver.pump();
      const { lanes } = this.#mainAgent() ?? { lanes: [] };
      if (lanes.length > 1) this.#gates.refresh(lanes);
    } catch (error) {
      this.#failed(error);
    }
  }

  #mainAgent(): ReturnType<Engine["agent"]> | null {
    const session = this.#live?.read();
    return session === undefined ? null : this.#engines.deployed().agent(session.agent, session);
  }

  /** A commit or a step failed: what is in memory is dropped, and the next alarm takes the run up (RE-C37). */
  #failed(error: unknown): void {
    if (!(error instanceof ProblemError)) logFailure("session_failed", error);
    this.#live?.stop();
    this.#live = null;
    this.#clock.reset(Date.now() + 1_000);
  }

  async #engineOf(session: Session | null): Promise<Engine> {
    const deployed = this.#engines.deployed();
    if (session === null || session.revision === deployed.revision) return deployed;
    const definition = await this.#team().definition(session.revision);
    return definition === null ? deployed : this.#engines.pinned(session.revision, definition);
  }

  async #wake(): Promise<Live | null> {
    if (this.#live !== null || !exists(this.#sql)) return this.#live;
    migrate(this.ctx.storage);
    const stored = load(this.#sql);
    if (stored === null) return null;
    const engine = await this.#engineOf(stored);
    this.#live ??= this.#create(engine, stored, stored);
    return this.#live;
  }

  #create(engine: Engine, stored: Session | null, initial: Session): Live {
    const parts = {
      storage: safeStorage(this.ctx.storage),
      now: Date.now,
      engine,
      watchers: this.#watchers,
      clock: this.#clock,
      items: this.#items,
      gates: this.#gates,
    };
    return createLive(
      { ...parts, failed: (error) => this.#failed(error), committing: () => this.#committing() },
      stored,
      initial,
    );
  }

  #committing(): void {
    if (this.#live === null && !exists(this.#sql)) createTables(this.#sql);
    this.#strikes.clear();
    this.#index.touched();
  }

  #door(engine: Engine, call: SessionCall): Door {
    return {
      read: () => this.#live?.read() ?? null,
      archive: () => (this.#live === null ? noArchive : archiveOf(this.#sql)),
      rules: engine.rules,
      now: Date.now,
      items: () => openItems(this.#items),
      remove: () => this.#remove(),
      update: (change) => {
        const live =
          this.#live ??
          this.#create(
            engine,
            null,
            emptySession(call.session, call.principal.tenant, engine.rules, Date.now()),
          );
        const result = live.update(change);
        this.#live = live;
        return result;
      },
    };
  }

  #poison(live: Live): void {
    live.update((draft) => {
      for (const { id, run } of Object.values(draft.state.threads))
        if (run !== null)
          changeRun(draft, id, {
            stop: { reason: "poisoned", error: `${deadDrives} drives died before anything was stored` },
          });
    });
  }

  #team(): TeamDirectory {
    return this.#exports.TeamObject.getByName(teamObjectName);
  }

  #remove(): void {
    const session = this.#live?.read();
    this.#live?.stop();
    this.#live = null;
    this.#clock.reset(null);
    this.#desk.removed(this.ctx.getWebSockets());
    void this.ctx.storage.deleteAll();
    if (session !== undefined) this.ctx.waitUntil(this.#index.removed(session));
  }
}
