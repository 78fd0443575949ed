import type { LeaseAnswer, LeaseRequest, SettledLease } from "../agent/budgets/lease.ts";
import type { GrantsUpdate, GrantsReport } from "../agent/calls/judge.ts";
import type { OperationName } from "./operations.ts";
import type { Problem } from "./problems.ts";

/** This file defines the only calls that the router and a session's own sockets make to a session. */

/** Lists every scope. */
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

/** Identifies the verified owner of a key or browser token. `by` is the key's id, for events and audit. */
export interface Principal {
  readonly tenant: string;
  readonly by: string;
  readonly scopes: readonly Scope[];
  /** Names a browser token's only session. */
  readonly session?: string;
  /** Gives that session's creation in milliseconds since the epoch: a later session of the same id is another one. */
  readonly made?: number;
  /** Gives the expiry in milliseconds since the epoch. */
  readonly expires?: number;
  readonly origin?: string;
}

/** Describes a call; `params` merges unchecked body, query and path values, which the handler's schema validates. */
export interface SessionCall {
  readonly principal: Principal;
  readonly session: string;
  readonly op: OperationName;
  readonly params: unknown;
  /** Holds the `Idempotency-Key`, or the `id` of the body or frame. */
  readonly key?: string;
  /** Holds the bare value of a PATCH's `If-Match`, without quotes. */
  readonly ifMatch?: string;
  /** Holds the request's W3C `traceparent`. */
  readonly trace?: string;
  /** Names the deployment's own host to which the operator sent the request. It is absent for other callers. */
  readonly host?: string;
}

/** Holds an answer: `json` is its serialised body; `replayed` means that the same key was answered before. */
interface RpcAnswer<Status extends number> {
  readonly ok: true;
  readonly status: Status;
  readonly json: string;
  readonly replayed: boolean;
}

export type RpcReply<Status extends number, More = unknown> =
  | (RpcAnswer<Status> & More)
  | { readonly ok: false; readonly problem: Problem };

/** Answers an operation; `seq` is the session's head after it. */
export type SessionReply = RpcReply<200 | 201 | 202 | 204, { readonly seq: number }>;

/** Defines SessionObject's RPC. `fetch` upgrades to its WebSocket; `limpet-principal` (JSON) holds the caller. */
export interface SessionRpc {
  perform(call: SessionCall): Promise<SessionReply>;
}

/** Describes a session as the team's index lists it. */
export interface SessionSummary {
  readonly id: string;
  readonly tenant: string;
  readonly ref: string | null;
  readonly agent: string;
  readonly title: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly status: "idle" | "running" | "waiting" | "deleted";
  readonly revision: string;
  readonly head_seq: number;
  readonly created_at: number;
  readonly updated_at: number;
  /** Holds the lease that the session gave back last; it is absent while the session spends from one. */
  readonly lease?: SettledLease;
  /** Names the key and the time of a deleted session's removal. */
  readonly removal?: { readonly key: string; readonly at: number };
}

/** Identifies the delete of a session under a key. */
export interface KeyedDelete {
  readonly tenant: string;
  readonly session: string;
  readonly key: string;
}

/** Asks to begin a run of a session; `limit` is `limits.runs.per_tenant`. */
export interface RunAdmission {
  readonly tenant: string;
  readonly session: string;
  readonly limit: number;
}

/** Defines the RPC surface of TeamObject for sessions and the router. */
export interface TeamRpc {
  /** Verifies an API key or a browser token. */
  authenticate(
    credential: string,
  ): Promise<
    { readonly ok: true; readonly principal: Principal } | { readonly ok: false; readonly problem: Problem }
  >;
  /** Upserts a summary by id, idempotently; the newest `head_seq` wins. */
  index(summary: SessionSummary): Promise<void>;
  /** Returns whether a session of this id was deleted under this key in the last 7 days. */
  wasDeleted(asked: KeyedDelete): Promise<boolean>;
  /** Returns whether a session may begin a run beside those that its tenant has under way. */
  admitRun(admission: RunAdmission): Promise<boolean>;
  /** Takes the grants of a session and returns those of its tenant's agents. */
  grants(told: GrantsReport): Promise<GrantsUpdate>;
  /** Stores a definition before the first session pins it, and keeps it for a day and while any session pins it. */
  keepDefinition(revision: string, json: string): Promise<void>;
  definition(revision: string): Promise<string | null>;
  /** Leases a share of the tenant's day. */
  lease(request: LeaseRequest): Promise<LeaseAnswer>;
}
