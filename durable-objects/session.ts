import { DurableObject } from "cloudflare:workers";
import { streamLimits } from "../src/session/frames.ts";
import { perform, problemReply } from "../src/session/perform.ts";
import type { Principal, SessionCall, SessionReply, SessionRpc } from "../src/session/rpc.ts";
import { poisonRuns } from "../src/agent/run/runs.ts";
import type { Session } from "../src/agent/state/session.ts";
import { getTenantObject, teamObjectName } from "../src/engine/access/names.ts";
import type { TeamDirectory, TenantDirectory } from "../src/engine/access/rpc.ts";
import type { PlacedNamespace, TenantAddress } from "../src/sandbox/jurisdiction.ts";
import type { Engines } from "../src/engine/engines.ts";
import { archiveOf } from "./rows/archive.ts";
import { createClock } from "./alarms/clock.ts";
import { createConnections } from "./sockets/connections.ts";
import { createGates } from "./gates.ts";
import { createHelloTimers } from "./sockets/hello-timers.ts";
import { createIndexReport } from "./rows/index-report.ts";
import { createOpenItems } from "./sockets/open-items.ts";
import type { ProviderGate } from "./provider-gate.ts";
import { createRemoval } from "./removal.ts";
import { createSocketHandler } from "./sockets/socket-handler.ts";
import { createCrashCounter, maxDeadDrives } from "./alarms/crash-counter.ts";
import { hasTables } from "./rows/tables.ts";
import { createSessionLoader } from "./session-loader.ts";
import { createWatchers } from "./sockets/watchers.ts";

interface Exports {
  readonly TeamObject: { getByName(name: string): TeamDirectory };
  readonly TenantObject: PlacedNamespace<TenantDirectory>;
  readonly ProviderGate: DurableObjectNamespace<ProviderGate>;
}

/** Owns the storage, the sockets and the alarm of one session, and leaves every decision to the code it calls. */
export class SessionShell extends DurableObject<unknown> implements SessionRpc {
  readonly #engines: Engines;
  readonly #exports: Exports;
  readonly #sql = this.ctx.storage.sql;
  readonly #crashCounter = createCrashCounter(this.ctx.storage, () => this.#clock.reset(Date.now() + 1_000));
  readonly #items = createOpenItems(this.#sql, Date.now);
  readonly #connections = createConnections(() => this.#session()?.head ?? 0);
  readonly #helloTimers = createHelloTimers();
  readonly #watchers = createWatchers({
    sockets: () => this.ctx.getWebSockets(),
    connections: this.#connections,
    items: this.#items,
    replay: (after) => archiveOf(this.#sql).events({ after, limit: streamLimits.page }),
    head: () => this.#session()?.head ?? 0,
  });
  readonly #clock = createClock(this.ctx.storage, Date.now, () => {
    this.#pump();
    void this.#index.flush(this.#session());
  });
  readonly #gates = createGates((provider) => this.#exports.ProviderGate.getByName(provider), Date.now);
  readonly #socketHandler = createSocketHandler({
    connections: this.#connections,
    hellos: this.#helloTimers,
    watchers: this.#watchers,
    items: this.#items,
    archive: () => archiveOf(this.#sql),
    perform: (call) => this.perform(call),
    session: () => this.#session(),
    authenticate: (token) => this.#team().authenticate(token),
  });
  readonly #index = createIndexReport(
    (address) => this.#tenant(address),
    () => this.#engines.deployed(),
    this.#clock,
    Date.now,
  );
  readonly #removal = createRemoval(this.ctx.storage, this.#clock, () => ({
    engine: this.#engines.deployed(),
    tenant: this.#tenant,
  }));
  readonly #loader = createSessionLoader({
    storage: this.ctx.storage,
    engines: () => this.#engines,
    team: () => this.#team(),
    tenant: (address) => this.#tenant(address),
    crashCounter: this.#crashCounter,
    index: () => this.#index,
    watchers: this.#watchers,
    clock: this.#clock,
    items: this.#items,
    gates: this.#gates,
    removal: this.#removal,
  });

  constructor(ctx: DurableObjectState, env: unknown, engines: Engines) {
    super(ctx, env);
    this.#engines = engines;
    this.#exports = ctx.exports as unknown as Exports;
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('{"type":"ping"}', '{"type":"pong"}'));
  }

  #session = (): Session | null => this.#loader.live()?.read() ?? null;

  #team = (): TeamDirectory => this.#exports.TeamObject.getByName(teamObjectName);

  #tenant = (address: TenantAddress): TenantDirectory => getTenantObject(this.#exports.TenantObject, address);

  async perform(call: SessionCall): Promise<SessionReply> {
    if (call.host !== undefined) this.#engines.learnHost(call.host);
    if (call.op === "create") await this.#removal.finish();
    const reply = await this.#loader.contextFor(call, this.#remove).then((context) => {
      try {
        return perform(context, call);
      } finally {
        context.giveBack(this.#session());
      }
    }, problemReply);
    this.#pump();
    if (call.op === "delete") await this.#removal.finish();
    return reply;
  }

  override async fetch(request: Request): Promise<Response> {
    await this.#loader.wake();
    const principal = JSON.parse(request.headers.get("limpet-principal") ?? "null") as Principal | null;
    return this.#socketHandler.open(this.ctx, this.#session(), principal);
  }

  override async webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    await this.#loader.wake();
    await this.#socketHandler.receive(socket, data);
  }

  override webSocketClose(socket: WebSocket): void {
    this.#socketHandler.handleClose(socket);
  }

  override async alarm(): Promise<void> {
    if (!hasTables(this.#sql)) return void (await this.#removal.finish());
    const strikes = this.#crashCounter.begin(this.#loader.live() === null);
    if (strikes > 1) await this.ctx.storage.sync();
    const live = await this.#loader.wake().catch(this.#crashCounter.ignoreRefusal);
    if (live?.isPastRetention() === true) this.#remove(null);
    if (live === null || this.#session() === null) return void (await this.#removal.finish());
    if (strikes > maxDeadDrives) live.update((draft) => poisonRuns(draft, maxDeadDrives));
    await this.#clock.drive(async () => {
      this.#pump();
      await live.driver.idle();
      if (this.#loader.hasSurvived(live)) await this.#index.flush(live.read(), true);
    });
  }

  #pump(): void {
    const live = this.#loader.live();
    if (live === null) return;
    try {
      live.driver.pump();
      for (const { id, run } of Object.values(live.read().threads))
        if (run !== null) this.#gates.refresh(live.agent(id).targets);
    } catch (error) {
      this.#loader.handleFailure(error);
    }
  }

  #remove = (key: string | null): void => {
    const session = this.#session();
    if (session !== null) this.#removal.begin(session, this.#index.takeFinalSummary(session, key));
    this.#loader.drop();
    this.#socketHandler.closeDeleted(this.ctx.getWebSockets());
  };
}
