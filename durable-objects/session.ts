import { DurableObject } from "cloudflare:workers";
import { streamLimits } from "../src/session/frames.ts";
import { perform, refusal } from "../src/session/perform.ts";
import type { Principal, SessionCall, SessionReply, SessionRpc } from "../src/session/rpc.ts";
import { runsPoisoned } from "../src/agent/run/runs.ts";
import type { Session } from "../src/agent/state/session.ts";
import { teamObjectName } from "../src/engine/access/names.ts";
import type { TeamDirectory } from "../src/engine/access/rpc.ts";
import type { Engines } from "../src/engine/engines.ts";
import { archiveOf } from "./rows/archive.ts";
import { createClock } from "./alarms/clock.ts";
import { createConnections } from "./sockets/connections.ts";
import { createGates } from "./gates.ts";
import { createHellos } from "./sockets/hellos.ts";
import { createIndexReport } from "./rows/index-report.ts";
import { createItems } from "./sockets/items.ts";
import type { ProviderGate } from "./provider-gate.ts";
import { createRemoval } from "./removal.ts";
import { createSocketDesk } from "./sockets/sockets.ts";
import { createStrikes, deadDrives } from "./alarms/strikes.ts";
import { exists } from "./rows/tables.ts";
import { createWaking } from "./waking.ts";
import { createWatchers } from "./sockets/watchers.ts";

interface Exports {
  readonly TeamObject: { getByName(name: string): TeamDirectory };
  readonly ProviderGate: DurableObjectNamespace<ProviderGate>;
}

/** One session. A shell: it owns storage, sockets and the alarm, and decides nothing. */
export class SessionShell extends DurableObject<unknown> implements SessionRpc {
  readonly #engines: Engines;
  readonly #exports: Exports;
  readonly #sql = this.ctx.storage.sql;
  readonly #strikes = createStrikes(this.ctx.storage, () => this.#clock.reset(Date.now() + 1_000));
  readonly #items = createItems(this.#sql, Date.now);
  readonly #connections = createConnections(() => this.#session()?.head ?? 0);
  readonly #hellos = createHellos();
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
  readonly #desk = createSocketDesk({
    connections: this.#connections,
    hellos: this.#hellos,
    watchers: this.#watchers,
    items: this.#items,
    archive: () => archiveOf(this.#sql),
    perform: (call) => this.perform(call),
    session: () => this.#session(),
    authenticate: (token) => this.#team().authenticate(token),
  });
  readonly #index = createIndexReport(
    () => this.#team(),
    () => this.#engines.deployed(),
    this.#clock,
    Date.now,
  );
  readonly #removal = createRemoval(this.ctx.storage, this.#clock, () => ({
    engine: this.#engines.deployed(),
    team: this.#team(),
  }));
  readonly #waking = createWaking({
    storage: this.ctx.storage,
    engines: () => this.#engines,
    team: () => this.#team(),
    strikes: this.#strikes,
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

  #session = (): Session | null => this.#waking.live()?.read() ?? null;

  #team = (): TeamDirectory => this.#exports.TeamObject.getByName(teamObjectName);

  async perform(call: SessionCall): Promise<SessionReply> {
    if (call.host !== undefined) this.#engines.calledAt(call.host);
    if (call.op === "create") await this.#removal.over();
    const reply = await this.#waking.door(call, this.#remove).then((door) => perform(door, call), refusal);
    this.#pump();
    if (call.op === "delete") await this.#removal.over();
    return reply;
  }

  override async fetch(request: Request): Promise<Response> {
    await this.#waking.wake();
    const principal = JSON.parse(request.headers.get("limpet-principal") ?? "null") as Principal | null;
    return this.#desk.open(this.ctx, this.#session(), principal);
  }

  override async webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    await this.#waking.wake();
    await this.#desk.receive(socket, data);
  }

  override webSocketClose(socket: WebSocket): void {
    this.#desk.closed(socket);
  }

  override async alarm(): Promise<void> {
    if (!exists(this.#sql)) return void (await this.#removal.over());
    const strikes = this.#strikes.begin(this.#waking.live() === null);
    if (strikes > 1) await this.ctx.storage.sync();
    const live = await this.#waking.wake().catch(this.#strikes.spared);
    if (live?.isOver() === true) this.#remove(null);
    if (live === null || this.#session() === null) return void (await this.#removal.over());
    if (strikes > deadDrives) live.update((draft) => runsPoisoned(draft, deadDrives));
    await this.#clock.drive(async () => {
      this.#pump();
      await live.driver.idle();
      if (this.#waking.survived(live)) await this.#index.flush(live.read(), true);
    });
  }

  #pump(): void {
    const live = this.#waking.live();
    if (live === null) return;
    try {
      live.driver.pump();
      for (const { id, run } of Object.values(live.read().threads))
        if (run !== null) this.#gates.refresh(live.agent(id).lanes);
    } catch (error) {
      this.#waking.failed(error);
    }
  }

  #remove = (key: string | null): void => {
    const session = this.#session();
    if (session !== null) this.#removal.begin(session, this.#index.removed(session, key));
    this.#waking.drop();
    this.#desk.removed(this.ctx.getWebSockets());
  };
}
