import type {
  EmbeddedRow,
  Memory,
  MemoryOwner,
  RecalledMemory,
  RecallQuery,
  RecallExclusions,
} from "../../agent/definition/memory.ts";
import type { Reflection } from "../../agent/state/records.ts";
import type { Principal, RpcReply, Scope, TeamRpc } from "../../session/rpc.ts";
import type { NoteHead } from "../../tools/stores.ts";
import type { NotesOwner } from "./notes.ts";

/** This file defines what the router asks of the TeamObject beyond `TeamRpc`, as one call like a session's. */

export const teamOperationScopes = {
  list_sessions: "sessions:read",
  create_key: "admin",
  list_keys: "admin",
  get_key: "admin",
  edit_key: "admin",
  revoke_key: "admin",
  mint_token: "tokens:mint",
  list_grants: "approvals:decide",
  revoke_grant: "approvals:decide",
  list_notes: "sessions:read",
  forget_subject: "sessions:manage",
} as const satisfies Record<string, Scope>;
export type TeamOperation = keyof typeof teamOperationScopes;

/** Describes a call; `params` merges unchecked body, query and path values, which the operation's schema validates. */
export interface TeamCall {
  readonly principal: Principal;
  readonly op: TeamOperation;
  readonly params: unknown;
  /** Holds the `Idempotency-Key`. */
  readonly key?: string;
}

export type TeamReply = RpcReply<200 | 201 | 204>;

/** Defines what the sessions of a tenant share. */
export interface TenantStores {
  readNote(owner: NotesOwner, name: string): Promise<string | null>;
  /** Lists notes by name, without contents. */
  listNotes(owner: NotesOwner): Promise<readonly NoteHead[]>;
  /** Writes once for each `key`. Returns why it cannot, or null if it was done. */
  writeNote(owner: NotesOwner, note: { name: string; content: string }, key: string): Promise<string | null>;
  /** Stores lessons of a tenant, each once. */
  addReflections(tenant: string, rows: readonly Reflection[], ttlMs: number): Promise<void>;
  findReflections(tenant: string, task: string, ttlMs: number): Promise<readonly Reflection[]>;
  /** Stores what agents of a tenant remember, each row once. */
  addMemories(tenant: string, rows: readonly EmbeddedRow[]): Promise<void>;
  recentMemories(
    tenant: string,
    owner: MemoryOwner,
    limit: number,
    seen: RecallExclusions,
  ): Promise<readonly Memory[]>;
  recallMemories(tenant: string, owner: MemoryOwner, query: RecallQuery): Promise<readonly RecalledMemory[]>;
}

/** Defines the whole RPC surface of TeamObject. */
export interface TeamDirectory extends TeamRpc, TenantStores {
  perform(call: TeamCall): Promise<TeamReply>;
}
