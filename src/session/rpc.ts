import type { Ask } from "../agent/state/ask.ts";
import type { ChangeOutcome } from "../sandbox/contract.ts";
import type { TenantAddress } from "../sandbox/jurisdiction.ts";
import type { OperationName } from "./operations.ts";
import type { Problem } from "./problems.ts";

/** Defines the only calls that the router and a session's own sockets make to a session. */

/** What a key may be permitted to do. */
export const allScopes = [
  "sessions:read",
  "sessions:write",
  "sessions:manage",
  "asks:answer",
  "approvals:decide",
  "context:read",
  "usage:read",
  "tokens:mint",
  "debug:read",
  "admin",
] as const;

export type Scope = (typeof allScopes)[number];

const decidingKinds: readonly Ask["kind"][] = ["approval", "authorization", "budget"];

/** Returns the scope that answering an ask of a kind needs. */
export const answerScopeOf = (kind: Ask["kind"]): Scope =>
  decidingKinds.includes(kind) ? "approvals:decide" : "asks:answer";

/** Verified owner of a key or browser token. `by` is the key's id, for events and audit. */
export interface Principal extends TenantAddress {
  readonly by: string;
  readonly scopes: readonly Scope[];
  /** Only session of a browser token. */
  readonly session?: string;
  /** Gives that session's creation in milliseconds since the epoch: the token is not valid for a later session with the same id. */
  readonly made?: number;
  /** Expiry in milliseconds since the epoch. */
  readonly expires?: number;
  readonly origin?: string;
}

/** Call of a session; `params` merges unchecked body, query and path values, which the handler's schema validates. */
export interface SessionCall {
  readonly principal: Principal;
  readonly session: string;
  readonly op: OperationName;
  readonly params: unknown;
  /** `Idempotency-Key`, or the `id` of the body or frame. */
  readonly key?: string;
  /** Value of `If-Match`, as it was sent. */
  readonly ifMatch?: string;
  /** The deployment's own host to which the operator sent the request. It is absent for other callers. */
  readonly host?: string;
}

/** Answer: `json` is its serialised body; `replayed` means that the same key was answered before. */
interface RpcAnswer<Status extends number> {
  readonly ok: true;
  readonly status: Status;
  readonly json: string;
  readonly replayed: boolean;
}

export type RpcReply<Status extends number, More = unknown> =
  | (RpcAnswer<Status> & More)
  | { readonly ok: false; readonly problem: Problem };

/** Answer of an operation; `seq` is the session's head after it. */
export type SessionReply = RpcReply<200 | 201 | 202 | 204, { readonly seq: number }>;

/** Answer of an operation that was performed. */
export type PerformedReply = Extract<SessionReply, { ok: true }>;

/** Request to a session for what a fork of it begins with; `params` are those of the fork. */
export type ForkSourceRequest = Pick<SessionCall, "principal" | "params">;

/** Answer with a serialised `ForkSource`. */
export type ForkSourceReply =
  | { readonly ok: true; readonly json: string }
  | { readonly ok: false; readonly problem: Problem };

/** Outcome of a change that a write operation of the workspace began; null: its maker does not know it. */
export interface FileChangeReport {
  readonly change: string;
  readonly path: string;
  /** SHA-256 of a body that the sandbox does not keep as it came. */
  readonly sha256?: string;
  readonly outcome: ChangeOutcome | null;
}

/** Report that a person has signed in at an MCP server, or has refused to. */
export interface LoginSettlement {
  readonly server: string;
  readonly granted: boolean;
}

/** Defines SessionObject's RPC. `fetch` upgrades to its WebSocket; `limpet-principal` (JSON) holds the caller. */
export interface SessionRpc {
  perform(call: SessionCall): Promise<SessionReply>;
  /** Books how a file change ended and returns the answer for its caller; 204 without JSON if the change is unknown. */
  reportFileChange(report: FileChangeReport): Promise<SessionReply>;
  /** Explains what the session's rules and grants decide about a call of one of its agents. */
  explainCall(asked: Pick<SessionCall, "principal" | "params">): Promise<SessionReply>;
}

/** What SessionObject answers to its tenant's object. */
export interface LoginRpc {
  /** Returns whether the session waits for a person to sign in at a server. */
  awaitsLogin(server: string): Promise<boolean>;
  /** Answers the session's open asks to sign in at a server. */
  settleLogin(settlement: LoginSettlement): Promise<void>;
}

/** What SessionObject answers to the objects of its forks. */
export interface ForkSourceRpc {
  forkSource(request: ForkSourceRequest): Promise<ForkSourceReply>;
}
