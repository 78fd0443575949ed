import { DurableObject } from "cloudflare:workers";
import { needsSession } from "../src/session/define-operation.ts";
import { findOperation } from "../src/session/operations.ts";
import type { Archive } from "../src/session/define-operation.ts";
import { explainCall, explainedCallSchema } from "../src/session/decisions.ts";
import { perform, problemReply } from "../src/session/perform.ts";
import type { OperationContext } from "../src/session/perform.ts";
import { readForkSource } from "../src/session/operations/fork.ts";
import {
  abandonChange,
  bindReply,
  performFileChangeReport,
  replacedMeanwhile,
} from "../src/session/operations/workspace.ts";
import { accessProblem } from "../src/session/operations/session.ts";
import { missingSession, ProblemError, workspaceProblem } from "../src/session/problems.ts";
import { closeCodes } from "../src/session/frames.ts";
import { awaitsLogin, settleLogins } from "../src/session/operations/answer.ts";
import type {
  FileChangeReport,
  ForkSourceReply,
  ForkSourceRequest,
  ForkSourceRpc,
  LoginRpc,
  LoginSettlement,
  Principal,
  SessionCall,
  SessionReply,
  SessionRpc,
} from "../src/session/rpc.ts";
import { poisonRuns } from "../src/agent/run/runs.ts";
import type { Session } from "../src/agent/state/session.ts";
import { pauseAfter } from "../src/agent/state/ask.ts";
import { getSessionObject, getTenantObject, teamObjectName } from "../src/engine/access/names.ts";
import type { TeamDirectory, TenantDirectory } from "../src/engine/access/rpc.ts";
import type { PlacedNamespace, TenantAddress } from "../src/sandbox/jurisdiction.ts";
import type { Engines } from "../src/engine/engines.ts";
import { archiveOf, emptyArchive, readDecisions } from "./rows/archive.ts";
import { createClock } from "./alarms/clock.ts";
import { createConnections } from "./sockets/connections.ts";
import { createGates } from "./gates.ts";
import { createHelloTimers } from "./sockets/hello-timers.ts";
import { readHead } from "./rows/event-log.ts";
import { readDailyUsage } from "./rows/ledger.ts";
import { createIndexReport } from "./index-report.ts";
import { createOpenItems } from "./sockets/open-items.ts";
import type { ProviderGate } from "./provider-gate.ts";
import { createRemoval } from "./removal.ts";
import { createSocketHandler, refuseSocket } from "./sockets/socket-handler.ts";
import { createCrashCounter, maxDeadDrives } from "./alarms/crash-counter.ts";
import { hasTables } from "./rows/tables.ts";
import { logFailure } from "./log.ts";
import { SessionLoader } from "./session-loader.ts";
import { createWatchers } from "./sockets/watchers.ts";
import { requireReply, withReplyTimeout } from "../src/engine/access/replies.ts";

interface Exports {
  readonly TeamObject: { getByName(name: string): TeamDirectory };
  readonly TenantObject: PlacedNamespace<TenantDirectory>;
  readonly SessionObject: PlacedNamespace<ForkSourceRpc>;
  readonly ProviderGate: DurableObjectNamespace<ProviderGate>;
}

/** Milliseconds until a failed alarm comes again: more after each drive that died, since its failure may last. */
const failedAlarmMs = 15_000;
const longestAlarmMs = 300_000;

/** Caller of whom nothing is known. */
const nobody = { scopes: [] };

/** Owns the storage, the sockets and the alarm of one session, and leaves every decision to the code it calls. */
export class SessionShell extends DurableObject<unknown> implements SessionRpc, LoginRpc, ForkSourceRpc {
  readonly #engines: Engines;
  readonly #exports: Exports;
  readonly #sql = this.ctx.storage.sql;
  readonly #crashCounter = createCrashCounter(this.ctx.storage, () => this.#clock.reset(Date.now() + 1_000));
  readonly #items = createOpenItems(this.#sql, Date.now);
  readonly #connections = createConnections({
    head: () => this.#session()?.head ?? (hasTables(this.#sql) ? readHead(this.#sql) : 0),
    resume: (socket) => void this.#resume(socket),
  });
  readonly #helloTimers = createHelloTimers();
  readonly #watchers = createWatchers({
    sockets: () => this.ctx.getWebSockets(),
    connections: this.#connections,
    items: this.#items,
    replay: (after) => this.#archive().events(after),
    head: () => this.#session()?.head ?? null,
    failed: (error) => logFailure(this.#engines.deployed().logLine, "log_unreadable", error),
  });
  readonly #clock = createClock(this.ctx.storage, Date.now, () => {
    void this.#index.flush(this.#session());
    this.#pump();
  });
  readonly #gates = createGates((provider) => this.#exports.ProviderGate.getByName(provider), {
    now: Date.now,
    whileDriving: (ms, work) => this.#clock.whileDriving(ms, work),
  });
  readonly #socketHandler = createSocketHandler({
    connections: this.#connections,
    hellos: this.#helloTimers,
    watchers: this.#watchers,
    items: this.#items,
    archive: () => this.#archive(),
    perform: (call) => this.perform(call),
    wake: () => this.#loader.wake(),
    rules: () => (this.#loader.live() ?? this.#engines.deployed()).rules,
    authenticate: (token) => this.#team().authenticate(token),
    watchExpiry: () => this.#watchExpiry(),
  });
  readonly #index = createIndexReport(
    (address) => this.#tenant(address),
    () => this.#engines.deployed(),
    this.#clock,
    Date.now,
    {
      usage: (since) => readDailyUsage(this.#sql, since),
      decisions: (since) => readDecisions(this.#sql, since),
    },
  );
  readonly #removal = createRemoval(this.ctx.storage, this.#clock, () => ({
    engine: this.#engines.deployed(),
    tenant: this.#tenant,
  }));
  readonly #loader = new SessionLoader({
    storage: this.ctx.storage,
    engines: () => this.#engines,
    team: () => this.#team(),
    tenant: (address) => this.#tenant(address),
    session: (address, id) => getSessionObject(this.#exports.SessionObject, address, id),
    crashCounter: this.#crashCounter,
    index: () => this.#index,
    watchers: this.#watchers,
    clock: this.#clock,
    items: this.#items,
    gates: this.#gates,
    removal: this.#removal,
    pump: () => this.#pump(),
  });

  constructor(ctx: DurableObjectState, env: unknown, engines: Engines) {
    super(ctx, env);
    this.#engines = engines;
    this.#exports = ctx.exports as unknown as Exports;
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('{"type":"ping"}', '{"type":"pong"}'));
  }

  #session = (): Session | null => this.#loader.live()?.read() ?? null;

  #archive = (): Archive => {
    const session = this.#session();
    return session === null ? emptyArchive : archiveOf(this.#sql, session.id);
  };

  #team = (): TeamDirectory => this.#exports.TeamObject.getByName(teamObjectName);

  #tenant = (address: TenantAddress): TenantDirectory => getTenantObject(this.#exports.TenantObject, address);

  async perform(call: SessionCall): Promise<SessionReply> {
    if (call.host !== undefined) this.#engines.learnHost(call.host);
    if (!needsSession(findOperation(call.op))) await withReplyTimeout(this.#removal.finish());
    const reply = await this.#loader.contextFor(call, this.#remove).then(
      (context) => {
        try {
          return perform(context, call);
        } finally {
          context.giveBack(this.#session());
        }
      },
      (error: unknown) => problemReply(error, call.principal),
    );
    await this.#loader.refresh();
    this.#pump();
    if (call.op === "delete") await withReplyTimeout(this.#removal.finish());
    return reply.ok && findOperation(call.op).entersWorkspace === true ? this.#enterWorkspace(reply) : reply;
  }

  /**
   * Answers once the workspace is ready for the caller, who uses it next; an operation without a workspace
   * needs nothing.
   */
  async #enterWorkspace(reply: Extract<SessionReply, { ok: true }>): Promise<SessionReply> {
    const live = this.#loader.live();
    if (live === null || !live.read().sandboxed) return reply;
    try {
      const bound = await bindReply(reply, live.sandbox());
      return this.#loader.live() === live ? bound : { ok: false, problem: replacedMeanwhile };
    } catch (error) {
      abandonChange(live, reply);
      return { ok: false, problem: workspaceProblem(error) };
    }
  }

  async reportFileChange(report: FileChangeReport): Promise<SessionReply> {
    const reply = await this.#loader
      .wake()
      .then((live) => performFileChangeReport(live, report))
      .catch((error: unknown) => problemReply(error, nobody));
    this.#pump();
    return reply;
  }

  /**
   * Resumes a socket. A session that cannot be loaded now goes on with its alarm, and the socket with its
   * next commit.
   */
  async #resume(socket: WebSocket): Promise<void> {
    await this.#loader.wake().catch(() => undefined);
    this.#watchers.resume(socket);
  }

  async explainCall({ principal, params }: Pick<SessionCall, "principal" | "params">): Promise<SessionReply> {
    try {
      const live = await this.#loader.wake();
      const state = this.#session();
      const problem = accessProblem(state, principal);
      if (live === null || state === null || problem !== null)
        return { ok: false, problem: problem ?? missingSession };
      const { id, createdAt, grants, head: seq } = state;
      const asked = this.#tenant(principal).grants({ session: id, createdAt, grants });
      const update = await requireReply(asked, "the tenant's grants cannot be read");
      const json = JSON.stringify(
        explainCall(state, live.agentFor, update, explainedCallSchema.parse(params), Date.now()),
      );
      return { ok: true, status: 200, json, replayed: false, seq };
    } catch (error) {
      return problemReply(error, principal);
    }
  }

  async awaitsLogin(server: string): Promise<boolean> {
    const live = await this.#loader.wake();
    return live !== null && awaitsLogin(live.read(), server);
  }

  async settleLogin(settlement: LoginSettlement): Promise<void> {
    const live = await this.#loader.wake();
    live?.update((draft) => settleLogins(draft, settlement));
    this.#pump();
  }

  async forkSource(request: ForkSourceRequest): Promise<ForkSourceReply> {
    return this.#loader.wake().then(
      () => readForkSource(this.#session(), this.#archive, request),
      (error: unknown) => problemReply(error, request.principal),
    );
  }

  override async fetch(request: Request): Promise<Response> {
    const principal = JSON.parse(request.headers.get("limpet-principal") ?? "null") as Principal | null;
    return this.#loader.wake().then(
      () => this.#socketHandler.open(this.ctx, this.#session(), principal),
      (error: unknown) => refuseSocket(problemReply(error, principal ?? nobody).problem),
    );
  }

  /** Takes a message; a socket whose message cannot be taken ends, so that its client sends it again. */
  override async webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    try {
      await this.#socketHandler.receive(socket, data);
    } catch (error) {
      if (!(error instanceof ProblemError))
        logFailure(this.#engines.deployed().logLine, "socket_message_failed", error);
      this.#connections.closeWithNotice(socket, closeCodes.overload, "try again");
    }
  }

  override webSocketClose(socket: WebSocket): void {
    this.#socketHandler.handleClose(socket);
  }

  /** Does what is due. The platform gives up an alarm that failed six times, so the next one is set here. */
  override async alarm(): Promise<void> {
    if (this.#session() === null && !hasTables(this.#sql)) return void (await this.#removal.finish());
    let deadDrives = 0;
    try {
      deadDrives = this.#crashCounter.begin(this.#loader.live() === null);
      await this.#drive(deadDrives);
    } catch (error) {
      this.#loader.handleFailure(error, pauseAfter(deadDrives, failedAlarmMs, longestAlarmMs));
    }
  }

  async #drive(deadDrives: number): Promise<void> {
    // The number of this drive has to be on disk before the drive may die.
    if (deadDrives > 1) await this.ctx.storage.sync();
    const live = await this.#loader.wake().catch(this.#crashCounter.ignoreRefusal);
    if (live?.isPastRetention() === true) this.#remove(null, { state: live.read(), ledger: [] });
    if (live === null || this.#session() === null) return void (await this.#removal.finish());
    if (deadDrives > maxDeadDrives) live.update((draft) => poisonRuns(draft, maxDeadDrives));
    const work = (): Promise<void> => {
      this.#pump();
      return live.driver.idle();
    };
    await this.#clock.drive(work, async () => {
      if (this.#loader.confirmSurvival(live)) await this.#index.flush(live.read(), true);
    });
  }

  /**
   * Closes sockets whose credential has expired, and wakes for the next that does. While the session is not in memory,
   * the alarm that is set stays, since what else it is for is unknown.
   */
  #watchExpiry(): void {
    const next = this.#connections.closeExpired(this.ctx.getWebSockets());
    if (this.#session() !== null) this.#clock.expireAt(next);
  }

  #pump(): void {
    const live = this.#loader.live();
    if (live === null) return;
    try {
      this.#watchExpiry();
      live.driver.pump();
      for (const { id, run } of Object.values(live.read().threads))
        if (run !== null) this.#gates.refresh(live.agent(id).targets);
    } catch (error) {
      this.#loader.handleFailure(error);
    }
  }

  #remove: OperationContext["remove"] = (key, { state, ledger }) => {
    this.#removal.begin({ state, ledger }, this.#index.takeFinalSummary(state, key));
    this.#loader.drop();
    this.#socketHandler.closeDeleted(this.ctx.getWebSockets());
  };
}
