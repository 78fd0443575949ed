import { DurableObject } from "cloudflare:workers";
import type {
  EmbeddedRow,
  Memory,
  MemoryOwner,
  RecalledMemory,
  RecallQuery,
  RecallExclusions,
} from "../src/agent/definition/memory.ts";
import type { Reflection } from "../src/agent/state/records.ts";
import type { GrantsUpdate, GrantsReport } from "../src/agent/calls/judge.ts";
import type { LeaseAnswer, LeaseRequest } from "../src/agent/budgets/lease.ts";
import type { KeyedDelete, RunAdmission, SessionSummary } from "../src/session/rpc.ts";
import { createActiveRuns } from "../src/engine/access/active-runs.ts";
import { authenticate } from "../src/engine/access/authenticate.ts";
import { openTables } from "../src/engine/access/database.ts";
import type { TeamDatabase, DatabaseRow } from "../src/engine/access/database.ts";
import { addMemories, recallMemories, recentMemories } from "../src/engine/access/memories.ts";
import { listNotes, readNote, writeNote } from "../src/engine/access/notes.ts";
import { addReflections, findReflections } from "../src/engine/access/reflections.ts";
import type { NotesOwner } from "../src/engine/access/notes.ts";
import { wasDeleted } from "../src/engine/access/once.ts";
import type { TeamCall, TeamDirectory, TeamReply } from "../src/engine/access/rpc.ts";
import { exchangeGrants } from "../src/engine/access/grants.ts";
import { keepDefinition, readDefinition } from "../src/engine/access/definitions.ts";
import { indexSession } from "../src/engine/access/session-index.ts";
import { drawLease } from "../src/engine/access/tenant-days.ts";
import { performTeamCall } from "../src/engine/access/team-calls.ts";
import { createBatchWindow } from "./batch-window.ts";

/** Holds the secret that is the first admin key. */
export interface TeamEnv {
  readonly LIMPET_ADMIN_KEY?: string;
}

/** Sets how long a session's report waits for others, since the index may be seconds behind. */
const reportBatchMs = 25;

const databaseOf = (storage: DurableObjectStorage): TeamDatabase => ({
  all: (query, ...values) => storage.sql.exec<DatabaseRow>(query, ...values).toArray(),
  transaction: (work) => storage.transactionSync(work),
});

/** Holds a deployment's keys, tokens, session index, daily spending, shared notes and memories; there is one of it. */
export class TeamObject extends DurableObject<TeamEnv> implements TeamDirectory {
  readonly #tables = openTables(databaseOf(this.ctx.storage));
  readonly #runs = createActiveRuns(this.#tables);
  readonly #waitForBatch = createBatchWindow(reportBatchMs);

  authenticate(credential: string): ReturnType<TeamDirectory["authenticate"]> {
    return authenticate(this.#tables, credential, { adminKey: this.env.LIMPET_ADMIN_KEY, now: Date.now() });
  }

  perform(call: TeamCall): Promise<TeamReply> {
    return performTeamCall(this.#tables, call, Date.now());
  }

  async index(summary: SessionSummary): Promise<void> {
    this.#runs.report(summary);
    if (summary.status !== "deleted") await this.#waitForBatch();
    indexSession(this.#tables, summary);
  }

  async wasDeleted(asked: KeyedDelete): Promise<boolean> {
    return wasDeleted(this.#tables, asked, Date.now());
  }

  async admitRun(admission: RunAdmission): Promise<boolean> {
    return this.#runs.admit(admission, Date.now());
  }

  async keepDefinition(revision: string, json: string): Promise<void> {
    keepDefinition(this.#tables, revision, json, Date.now());
  }

  async lease(request: LeaseRequest): Promise<LeaseAnswer> {
    return drawLease(this.#tables, request, Date.now());
  }

  async readNote(owner: NotesOwner, name: string): Promise<string | null> {
    return readNote(this.#tables, owner, name);
  }

  async listNotes(owner: NotesOwner): ReturnType<TeamDirectory["listNotes"]> {
    return listNotes(this.#tables, owner);
  }

  async writeNote(
    owner: NotesOwner,
    note: { name: string; content: string },
    key: string,
  ): Promise<string | null> {
    return writeNote(this.#tables, owner, { ...note, key, now: Date.now() });
  }

  async addReflections(tenant: string, rows: readonly Reflection[], ttlMs: number): Promise<void> {
    addReflections(this.#tables, tenant, rows, { ttlMs, now: Date.now() });
  }

  async findReflections(tenant: string, task: string, ttlMs: number): Promise<readonly Reflection[]> {
    return findReflections(this.#tables, tenant, task, { ttlMs, now: Date.now() });
  }

  async addMemories(tenant: string, rows: readonly EmbeddedRow[]): Promise<void> {
    addMemories(this.#tables, tenant, rows);
  }

  async recentMemories(
    tenant: string,
    owner: MemoryOwner,
    limit: number,
    seen: RecallExclusions,
  ): Promise<readonly Memory[]> {
    return recentMemories(this.#tables, tenant, owner, limit, seen);
  }

  async recallMemories(
    tenant: string,
    owner: MemoryOwner,
    query: RecallQuery,
  ): Promise<readonly RecalledMemory[]> {
    return recallMemories(this.#tables, tenant, owner, query);
  }

  async grants(told: GrantsReport): Promise<GrantsUpdate> {
    return exchangeGrants(this.#tables, told, Date.now());
  }

  async definition(revision: string): Promise<string | null> {
    return readDefinition(this.#tables, revision);
  }
}
