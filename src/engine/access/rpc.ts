import type { LeaseAnswer, LeaseRequest, SettledLease } from "../../agent/budgets/lease.ts";
import type { ToolChange } from "../../agent/hooks/servers.ts";
import type { Ask } from "../../agent/state/ask.ts";
import type { GrantsReport, GrantsUpdate } from "../../agent/calls/grants.ts";
import type {
  EmbeddedRow,
  Memory,
  MemoryOwner,
  RecalledMemory,
  RecallQuery,
  RecallExclusions,
} from "../../agent/definition/memory.ts";
import type { Thread } from "../../agent/state/thread.ts";
import type { Json } from "../../chat/message.ts";
import type { TenantAddress } from "../../sandbox/jurisdiction.ts";
import type { Usage } from "../../model/completer.ts";
import type { Reflection } from "../../agent/state/records.ts";
import type { Decision } from "../../session/decisions.ts";
import type { Problem } from "../../session/problems.ts";
import type { Principal, RpcReply, Scope } from "../../session/rpc.ts";
import type { NoteHead } from "../../tools/stores.ts";
import type { NotesOwner } from "./tenant/notes.ts";
import type { AuthorizationAnswer } from "../../tools/egress/server-authorization.ts";
import type { DeliveredAction } from "./tenant/audit.ts";
import type { LoginEnd, ServerAuthorization } from "./tenant/logins.ts";
import type { ServerSighting, ToolCheck } from "./tenant/tool-pins.ts";

/** RPC from sessions and the router to the team's object and to a tenant's. */

/** Maps the operations of the team's object to their scopes. */
export const teamOperationScopes = {
  create_key: "admin",
  list_keys: "admin",
  get_key: "admin",
  edit_key: "admin",
  revoke_key: "admin",
  mint_token: "tokens:mint",
} as const satisfies Record<string, Scope>;

/** Maps the operations of a tenant's object to their scopes, of which a caller needs one. */
export const tenantOperationScopes = {
  list_sessions: "sessions:read",
  list_usage: "usage:read",
  list_asks: ["asks:answer", "approvals:decide"],
  list_audit: "admin",
  list_grants: "approvals:decide",
  revoke_grant: "approvals:decide",
  list_notes: "sessions:read",
  forget_subject: "sessions:manage",
  list_mcp_servers: "admin",
  approve_mcp_server: "admin",
  forget_mcp_login: "admin",
} as const satisfies Record<string, Scope | readonly [Scope, ...Scope[]]>;

export type TeamOperation = keyof typeof teamOperationScopes;
export type TenantOperation = keyof typeof tenantOperationScopes;

/**
 * Call of an operation; `params` merges unchecked body, query and path values, which the operation's schema
 * validates.
 */
export interface DirectoryCall<Op extends string> {
  readonly principal: Principal;
  readonly op: Op;
  readonly params: unknown;
  /** What the caller sent, if the deployment added to it: a repetition after a deploy is still one. */
  readonly sent?: unknown;
  /** Value of the `Idempotency-Key` header. */
  readonly key?: string;
}

export type DirectoryReply = RpcReply<200 | 201 | 204>;

/** Whole RPC surface of TeamObject. */
export interface TeamDirectory {
  /** Verifies an API key or a browser token. */
  authenticate(
    credential: string,
  ): Promise<
    { readonly ok: true; readonly principal: Principal } | { readonly ok: false; readonly problem: Problem }
  >;
  perform(call: DirectoryCall<TeamOperation>): Promise<DirectoryReply>;
  /** Stores a definition for as long as a tenant, known by the id of its object, pins it. */
  pinDefinition(tenant: string, revision: string, json: string): Promise<void>;
  /** Records that no session of a tenant needs a definition any longer. */
  unpinDefinition(tenant: string, revision: string): Promise<void>;
  definition(revision: string): Promise<string | null>;
}

/** Sums of a session's model calls by UTC day, agent, model and metadata. */
export interface DailyUsage {
  /** First millisecond of the day. */
  readonly day: number;
  readonly agent: string;
  readonly provider: string;
  readonly model: string;
  /** Metadata of the session at the time of the calls, as JSON. */
  readonly metadata: string;
  readonly calls: number;
  readonly usage: Usage;
  /** Cost in 10⁻⁹ USD; null if the price of a call is unknown. */
  readonly cost: number | null;
  readonly estimated: boolean;
}

/** Session as its tenant's index lists it. */
export interface SessionSummary {
  readonly id: string;
  readonly ref: string | null;
  readonly agent: string;
  readonly title: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly status: "idle" | "running" | "waiting" | "deleted";
  readonly revision: string;
  /** Revision to which the session migrates before its next run; absent if none was requested. */
  readonly next_revision?: string;
  readonly head_seq: number;
  readonly created_at: number;
  readonly updated_at: number;
  /** Usage as the session itself shows it. */
  readonly usage: Json;
  /** How the newest run of `main` ended; absent before the first end. */
  readonly last_end?: NonNullable<Thread["lastEnd"]>;
  /** Current values of the sums that changed with the event `since` or later, and the decisions after it. */
  readonly ledger: {
    readonly since: number;
    readonly rows: readonly DailyUsage[];
    readonly decisions?: readonly Decision[];
  };
  /** Open asks, each with its content cut to the length of an event; an absent list means none. */
  readonly asks?: readonly Ask[];
  /** Lease that the session returned last; absent while the session spends from one. */
  readonly lease?: SettledLease;
  /** Time of a deleted session's removal, with the idempotency key of the deletion if it had one. */
  readonly removal?: { readonly key: string | null; readonly at: number };
}

/** Deletion of a session under a key; null stands for any deletion. */
export interface KeyedDelete {
  readonly session: string;
  readonly key: string | null;
}

/** Request to begin a run of a session. */
export interface RunRequest extends GrantsReport {
  /** `limits.runs.per_tenant`. */
  readonly limit: number;
  /** Share of the day that the run's first call needs; null if it needs none. */
  readonly lease: LeaseRequest | null;
}

/** Whether a run may begin beside its tenant's active runs, with what it needs for that. */
export type RunAnswer =
  | { readonly admitted: false }
  | {
      readonly admitted: true;
      /** Names what was granted, so that it can be given back. */
      readonly admission: string;
      readonly lease: LeaseAnswer | null;
      readonly grants: GrantsUpdate;
    };

/** Session whose run did not begin, and the lease that was drawn for the run. */
export interface AbandonedRun {
  readonly session: string;
  readonly admission: string;
  readonly lease: string | null;
}

/** What the sessions of a tenant share. */
export interface TenantStores {
  readNote(owner: NotesOwner, name: string): Promise<string | null>;
  /** Lists notes by name, without contents. */
  listNotes(owner: NotesOwner): Promise<readonly NoteHead[]>;
  /** Writes a note once for each `key`. Returns why the write failed, or null if it was done. */
  writeNote(owner: NotesOwner, note: { name: string; content: string }, key: string): Promise<string | null>;
  /** Stores lessons, each once. */
  addReflections(rows: readonly Reflection[], ttlMs: number): Promise<void>;
  findReflections(task: string, ttlMs: number): Promise<readonly Reflection[]>;
  /** Stores memories of agents, each row once. */
  addMemories(rows: readonly EmbeddedRow[]): Promise<void>;
  recentMemories(owner: MemoryOwner, limit: number, seen: RecallExclusions): Promise<readonly Memory[]>;
  recallMemories(owner: MemoryOwner, query: RecallQuery): Promise<readonly RecalledMemory[]>;
  /** Records the state of an MCP server; returns its tools that nobody has approved in their current form. */
  sawServer(sighting: ServerSighting): Promise<readonly ToolChange[]>;
  /** Returns whether the tools of an earlier list of an MCP server have to be listed anew to be judged as today. */
  hasNewApprovals(check: ToolCheck): Promise<boolean>;
  /**
   * Returns a token for an MCP server, the address at which a person must sign in first, or why neither is
   * available.
   */
  authorizeServer(asked: ServerAuthorization): Promise<AuthorizationAnswer>;
}

/** Whole RPC surface of TenantObject. */
export interface TenantDirectory extends TenantStores {
  perform(call: DirectoryCall<TenantOperation>): Promise<DirectoryReply>;
  /**
   * Upserts a summary by id, idempotently; the newest `head_seq` wins. Returns the event up to which the session's
   * ledger is known; if it is older than `since`, nothing was stored, and the ledger has to be sent from there.
   */
  index(summary: SessionSummary): Promise<number>;
  /** Returns whether a session with this id was deleted under this key in the last 7 days. */
  wasDeleted(asked: KeyedDelete): Promise<boolean>;
  /** Admits a run of a session, with its share of the day and the grants that hold in it. */
  begin(request: RunRequest): Promise<RunAnswer>;
  /** Takes back the admission and the lease of a run that did not begin, unless the session was admitted again since. */
  abandon(run: AbandonedRun): Promise<void>;
  /** Stores the grants of a session and returns those of its tenant's agents. */
  grants(report: GrantsReport): Promise<GrantsUpdate>;
  /** Pins a definition at the team before the first session needs it, for a day and for as long as any session does. */
  keepDefinition(revision: string, json: string): Promise<void>;
  /** Audits actions of the tenant's callers outside its object, each once for its id. */
  recordActions(actions: readonly DeliveredAction[]): Promise<void>;
  /** Ends a login with the response of its authorization server, once for each state. */
  finishLogin(answered: { address: TenantAddress; state: string; query: string }): Promise<LoginEnd>;
  /** Leases a share of the tenant's day. */
  lease(request: LeaseRequest): Promise<LeaseAnswer>;
}
