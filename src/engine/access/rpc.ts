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
import type { AuditedAction } from "./tenant/audit.ts";
import type { LoginEnd, ServerAuthorization } from "./tenant/logins.ts";
import type { ServerSighting } from "./tenant/tool-pins.ts";

/** This file defines what sessions and the router ask of the team's object and of a tenant's. */

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

/** Describes a call; `params` merges unchecked body, query and path values, which the operation's schema validates. */
export interface DirectoryCall<Op extends string> {
  readonly principal: Principal;
  readonly op: Op;
  readonly params: unknown;
  /** Holds the `Idempotency-Key`. */
  readonly key?: string;
}

export type DirectoryReply = RpcReply<200 | 201 | 204>;

/** Defines the whole RPC surface of TeamObject. */
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
  /** Records that no session of a tenant needs a definition any more. */
  unpinDefinition(tenant: string, revision: string): Promise<void>;
  definition(revision: string): Promise<string | null>;
}

/** Sums the model calls of a session by UTC day, agent, model and metadata. */
export interface DailyUsage {
  /** Gives the first millisecond of the day. */
  readonly day: number;
  readonly agent: string;
  readonly provider: string;
  readonly model: string;
  /** Holds the session's metadata at the time of the calls, as JSON. */
  readonly metadata: string;
  readonly calls: number;
  readonly usage: Usage;
  /** Gives the cost in 10⁻⁹ USD; null if the price of a call is unknown. */
  readonly cost: number | null;
  readonly estimated: boolean;
}

/** Describes a session as its tenant's index lists it. */
export interface SessionSummary {
  readonly id: string;
  readonly ref: string | null;
  readonly agent: string;
  readonly title: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly status: "idle" | "running" | "waiting" | "deleted";
  readonly revision: string;
  /** Names the revision that the session goes over to before its next run; absent if it was not asked to. */
  readonly next_revision?: string;
  readonly head_seq: number;
  readonly created_at: number;
  readonly updated_at: number;
  /** Holds the session's usage as the session shows it. */
  readonly usage: Json;
  /** Says how the newest run of `main` ended; absent before the first end. */
  readonly last_end?: NonNullable<Thread["lastEnd"]>;
  /** Holds the sums that changed with the event `since` or after it, as they are now, and the decisions after it. */
  readonly ledger: {
    readonly since: number;
    readonly rows: readonly DailyUsage[];
    readonly decisions?: readonly Decision[];
  };
  /** Holds the open asks, each with its content cut to the length of an event; an absent list is empty. */
  readonly asks?: readonly Ask[];
  /** Holds the lease that the session gave back last; it is absent while the session spends from one. */
  readonly lease?: SettledLease;
  /** Names the time of a deleted session's removal, and its key if it had one. */
  readonly removal?: { readonly key: string | null; readonly at: number };
}

/** Identifies the delete of a session under a key; null stands for any delete of it. */
export interface KeyedDelete {
  readonly session: string;
  readonly key: string | null;
}

/** Asks to begin a run of a session. */
export interface RunRequest extends GrantsReport {
  /** Gives `limits.runs.per_tenant`. */
  readonly limit: number;
  /** Asks for a share of the day that the run's first call needs; null if it needs none. */
  readonly lease: LeaseRequest | null;
}

/** Says whether a run may begin beside those that its tenant has under way, and gives it what it needs. */
export type RunAnswer =
  | { readonly admitted: false }
  | { readonly admitted: true; readonly lease: LeaseAnswer | null; readonly grants: GrantsUpdate };

/** Names a run that did not begin by its session, and the lease that was drawn for it. */
export interface AbandonedRun {
  readonly session: string;
  readonly lease: string | null;
}

/** Defines what the sessions of a tenant share. */
export interface TenantStores {
  readNote(owner: NotesOwner, name: string): Promise<string | null>;
  /** Lists notes by name, without contents. */
  listNotes(owner: NotesOwner): Promise<readonly NoteHead[]>;
  /** Writes once for each `key`. Returns why it cannot, or null if it was done. */
  writeNote(owner: NotesOwner, note: { name: string; content: string }, key: string): Promise<string | null>;
  /** Stores lessons, each once. */
  addReflections(rows: readonly Reflection[], ttlMs: number): Promise<void>;
  findReflections(task: string, ttlMs: number): Promise<readonly Reflection[]>;
  /** Stores what agents remember, each row once. */
  addMemories(rows: readonly EmbeddedRow[]): Promise<void>;
  recentMemories(owner: MemoryOwner, limit: number, seen: RecallExclusions): Promise<readonly Memory[]>;
  recallMemories(owner: MemoryOwner, query: RecallQuery): Promise<readonly RecalledMemory[]>;
  /** Records what was seen of an MCP server; returns its tools that nobody has approved as they are now. */
  sawServer(sighting: ServerSighting): Promise<readonly ToolChange[]>;
  /** Returns a token for an MCP server, the address at which a person must sign in first, or why neither can be had. */
  authorizeServer(asked: ServerAuthorization): Promise<AuthorizationAnswer>;
}

/** Defines the whole RPC surface of TenantObject. */
export interface TenantDirectory extends TenantStores {
  perform(call: DirectoryCall<TenantOperation>): Promise<DirectoryReply>;
  /**
   * Upserts a summary by id, idempotently; the newest `head_seq` wins. Returns the event up to which the session's
   * ledger is known; if it is older than `since`, nothing was stored, and the ledger has to come from there.
   */
  index(summary: SessionSummary): Promise<number>;
  /** Returns whether a session of this id was deleted so in the last 7 days. */
  wasDeleted(asked: KeyedDelete): Promise<boolean>;
  /** Admits a run of a session, with its share of the day and the grants that hold in it. */
  begin(request: RunRequest): Promise<RunAnswer>;
  /** Takes back what was given for a run that did not begin. */
  abandon(run: AbandonedRun): Promise<void>;
  /** Takes the grants of a session and returns those of its tenant's agents. */
  grants(told: GrantsReport): Promise<GrantsUpdate>;
  /** Pins a definition at the team before the first session needs it, for a day and while any session does. */
  keepDefinition(revision: string, json: string): Promise<void>;
  /** Audits what somebody did to the tenant's keys and tokens, which the team's object keeps. */
  recordAction(action: AuditedAction): Promise<void>;
  /** Ends a login by what its authorization server sent, once for each state. */
  finishLogin(answered: { address: TenantAddress; state: string; query: string }): Promise<LoginEnd>;
  /** Leases a share of the tenant's day. */
  lease(request: LeaseRequest): Promise<LeaseAnswer>;
}
