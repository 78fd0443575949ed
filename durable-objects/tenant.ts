import { createLock } from "../src/driver/host.ts";
import { DurableObject } from "cloudflare:workers";
import type { AuthorizationAnswer } from "../src/tools/egress/server-authorization.ts";
import type {
  EmbeddedRow,
  Memory,
  MemoryOwner,
  RecalledMemory,
  RecallQuery,
  RecallExclusions,
} from "../src/agent/definition/memory.ts";
import type { LeaseAnswer, LeaseRequest } from "../src/agent/budgets/lease.ts";
import type { GrantsReport, GrantsUpdate } from "../src/agent/calls/grants.ts";
import type { Reflection } from "../src/agent/state/records.ts";
import { createActiveRuns } from "../src/engine/access/tenant/active-runs.ts";
import { openTables } from "../src/engine/access/database.ts";
import { exchangeGrants } from "../src/engine/access/tenant/grants.ts";
import { addMemories, recallMemories, recentMemories } from "../src/engine/access/tenant/memories.ts";
import { getSessionObject, teamObjectName, tenantObjectName } from "../src/engine/access/names.ts";
import type { PlacedNamespace } from "../src/sandbox/jurisdiction.ts";
import type { TenantAddress } from "../src/sandbox/jurisdiction.ts";
import type { LoginRpc } from "../src/session/rpc.ts";
import { listNotes, readNote, writeNote } from "../src/engine/access/tenant/notes.ts";
import type { NotesOwner } from "../src/engine/access/tenant/notes.ts";
import { wasDeleted } from "../src/engine/access/once.ts";
import { addPin, dropPin, renewPin, takeUnusedPins } from "../src/engine/access/tenant/pins.ts";
import { addReflections, findReflections } from "../src/engine/access/tenant/reflections.ts";
import type {
  AbandonedRun,
  DirectoryCall,
  DirectoryReply,
  KeyedDelete,
  RunAnswer,
  RunRequest,
  SessionSummary,
  TeamDirectory,
  TenantDirectory,
  TenantOperation,
} from "../src/engine/access/rpc.ts";
import { sealerOf } from "../src/engine/secrets/seal.ts";
import type { Bindings } from "../src/engine/secrets/secrets.ts";
import type { Engines } from "../src/engine/engines.ts";
import { recordAction, recordDelivered } from "../src/engine/access/tenant/audit.ts";
import type { DeliveredAction } from "../src/engine/access/tenant/audit.ts";
import { createTenantLogins } from "../src/engine/access/tenant/logins.ts";
import type { LoginEnd, ServerAuthorization, TenantLogins } from "../src/engine/access/tenant/logins.ts";
import { indexSession } from "../src/engine/access/tenant/session-index.ts";
import { performTenantCall } from "../src/engine/access/tenant/calls.ts";
import { cancelLease, drawLease } from "../src/engine/access/tenant/days.ts";
import { hasNewApprovals, recordSighting } from "../src/engine/access/tenant/tool-pins.ts";
import type { ServerSighting, ToolCheck } from "../src/engine/access/tenant/tool-pins.ts";
import { tenantMigrations } from "../src/engine/access/tenant/tables.ts";
import { createBatchWindow } from "./waits.ts";
import { databaseOf } from "./table-database.ts";

/** Milliseconds that a session's report waits for others, since the index may be seconds behind. */
const reportBatchMs = 25;

/** Milliseconds after which sessions are told again of a login that has ended. */
const retellMs = 60_000;

interface Exports {
  readonly SessionObject: PlacedNamespace<LoginRpc>;
  readonly TeamObject: { getByName(name: string): TeamDirectory };
}

/** Holds one tenant's index of sessions, runs under way, daily spending, grants, notes, memories and credentials. */
export class TenantShell extends DurableObject<unknown> implements TenantDirectory {
  readonly #logins: () => TenantLogins;
  readonly #tables = openTables(databaseOf(this.ctx.storage), tenantMigrations);
  readonly #runs = createActiveRuns(this.#tables);
  readonly #waitForBatch = createBatchWindow(reportBatchMs);

  constructor(ctx: DurableObjectState, env: unknown, engines: () => Engines) {
    super(ctx, env);
    let logins: TenantLogins | null = null;
    this.#logins = () => {
      const { servers, redactor, team } = engines().deployed();
      const sealer = sealerOf(env as Bindings);
      return (logins ??= createTenantLogins({
        tables: this.#tables,
        sealer,
        logins: servers.logins,
        sessions: {
          awaitsLogin: (address, session, server) => this.#session(address, session).awaitsLogin(server),
          settleLogin: (address, session, settlement) =>
            this.#session(address, session).settleLogin(settlement),
        },
        redactor,
        now: Date.now,
        askMs: team.limits.asks.timeout,
      }));
    };
  }

  async perform(call: DirectoryCall<TenantOperation>): Promise<DirectoryReply> {
    if (tenantObjectName(call.principal) !== this.ctx.id.name)
      return { ok: false, problem: { code: "not_found", detail: "no such tenant" } };
    return performTenantCall(this.#tables, call, Date.now());
  }

  async index(summary: SessionSummary): Promise<number> {
    if (summary.status !== "deleted") await this.#waitForBatch();
    const known = indexSession(this.#tables, summary);
    this.#runs.report(summary);
    if (summary.status === "deleted") this.ctx.waitUntil(this.#unpin());
    return known;
  }

  async wasDeleted(asked: KeyedDelete): Promise<boolean> {
    return wasDeleted(this.#tables, asked, Date.now());
  }

  async begin(request: RunRequest): Promise<RunAnswer> {
    const now = Date.now();
    const admission = this.#runs.admit(request, now);
    if (admission === null) return { admitted: false };
    const lease = request.lease === null ? null : drawLease(this.#tables, request.lease, now);
    return { admitted: true, admission, lease, grants: exchangeGrants(this.#tables, request, now) };
  }

  async abandon({ session, admission, lease }: AbandonedRun): Promise<void> {
    const isNewest = this.#runs.abandon(session, admission);
    if (isNewest && lease !== null) cancelLease(this.#tables, session, lease);
  }

  async keepDefinition(revision: string, json: string): Promise<void> {
    await this.#pin(revision, json);
    this.ctx.waitUntil(this.#unpin());
  }

  async lease(request: LeaseRequest): Promise<LeaseAnswer> {
    return drawLease(this.#tables, request, Date.now());
  }

  async grants(report: GrantsReport): Promise<GrantsUpdate> {
    return exchangeGrants(this.#tables, report, Date.now());
  }

  async readNote(owner: NotesOwner, name: string): Promise<string | null> {
    return readNote(this.#tables, owner, name);
  }

  async listNotes(owner: NotesOwner): ReturnType<TenantDirectory["listNotes"]> {
    return listNotes(this.#tables, owner);
  }

  async writeNote(
    owner: NotesOwner,
    note: { name: string; content: string },
    key: string,
  ): Promise<string | null> {
    return writeNote(this.#tables, owner, { ...note, key, now: Date.now() });
  }

  async addReflections(rows: readonly Reflection[], ttlMs: number): Promise<void> {
    addReflections(this.#tables, rows, { ttlMs, now: Date.now() });
  }

  async findReflections(task: string, ttlMs: number): Promise<readonly Reflection[]> {
    return findReflections(this.#tables, task, { ttlMs, now: Date.now() });
  }

  async addMemories(rows: readonly EmbeddedRow[]): Promise<void> {
    addMemories(this.#tables, rows);
  }

  async recentMemories(
    owner: MemoryOwner,
    limit: number,
    seen: RecallExclusions,
  ): Promise<readonly Memory[]> {
    return recentMemories(this.#tables, owner, limit, seen);
  }

  async recallMemories(owner: MemoryOwner, query: RecallQuery): Promise<readonly RecalledMemory[]> {
    return recallMemories(this.#tables, owner, query);
  }

  async sawServer(sighting: ServerSighting): ReturnType<TenantDirectory["sawServer"]> {
    return recordSighting(this.#tables, sighting, Date.now());
  }

  async hasNewApprovals(check: ToolCheck): ReturnType<TenantDirectory["hasNewApprovals"]> {
    return hasNewApprovals(this.#tables, check);
  }

  async authorizeServer(asked: ServerAuthorization): Promise<AuthorizationAnswer> {
    return this.#logins().authorize(asked);
  }

  async recordActions(actions: readonly DeliveredAction[]): Promise<void> {
    recordDelivered(this.#tables, actions, Date.now());
  }

  async finishLogin(answered: Parameters<TenantLogins["finish"]>[0]): Promise<LoginEnd> {
    // If a session cannot be told now, or this object is lost first, the alarm tells it.
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(Date.now() + retellMs);
    return this.#logins().finish(answered);
  }

  override async alarm(): Promise<void> {
    if (await this.#logins().tellSessions()) await this.ctx.storage.setAlarm(Date.now() + retellMs);
  }

  #team(): TeamDirectory {
    return this.#exports().TeamObject.getByName(teamObjectName);
  }

  #session(address: TenantAddress, session: string): LoginRpc {
    return getSessionObject(this.#exports().SessionObject, address, session);
  }

  #exports(): Exports {
    return this.ctx.exports as unknown as Exports;
  }

  /** Runs what changes the pins one after the other, since each asks the team in between. */
  readonly #inTurn = createLock();

  #pin(revision: string, json: string): Promise<void> {
    return this.#inTurn(async () => {
      if (renewPin(this.#tables, revision, Date.now())) return;
      await this.#team().pinDefinition(this.ctx.id.toString(), revision, json);
      addPin(this.#tables, revision, Date.now());
      const used = { who: "deployment", action: "use_revision", subject: revision };
      this.#tables.write((all) => recordAction(all, used, Date.now()));
    });
  }

  /** Releases definitions that no session needs; releases that the team does not receive now are repeated next time. */
  #unpin(): Promise<void> {
    const letGo = async (): Promise<void> => {
      for (const revision of takeUnusedPins(this.#tables, Date.now())) {
        await this.#team().unpinDefinition(this.ctx.id.toString(), revision);
        dropPin(this.#tables, revision);
      }
    };
    return this.#inTurn(letGo).catch(() => undefined);
  }
}
