import type { LeaseAnswer, LeaseRequest, SettledLease } from "../agent/budgets/lease.ts";
import type { GrantsUpdate, GrantsReport } from "../agent/calls/judge.ts";
import type { Problem } from "./problems.ts";

/** The one way from the router (and from a session's own sockets) into a session. */

/** Every scope there is. */
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

/** Who calls: the verified owner of a key or browser token. `by` is the key's id, for events and audit. */
export interface Principal {
  readonly tenant: string;
  readonly by: string;
  readonly scopes: readonly Scope[];
  /** A browser token's only session. */
  readonly session?: string;
  /** When that session was created, milliseconds since the epoch: a later one of the same id is another. */
  readonly made?: number;
  /** Milliseconds since the epoch. */
  readonly expires?: number;
  readonly origin?: string;
}

/** Operations of a session, each with its scope; `commands/index.ts` holds schema and handler of each. */
export const operationScopes = {
  create: "sessions:write",
  get: "sessions:read",
  patch: "sessions:manage",
  delete: "sessions:manage",
  send: "sessions:write",
  messages: "sessions:read",
  pin: "sessions:write",
  inputs: "sessions:read",
  input: "sessions:read",
  edit_input: "sessions:write",
  withdraw: "sessions:write",
  runs: "sessions:read",
  run: "sessions:read",
  threads: "sessions:read",
  cancel: "sessions:write",
  asks: "asks:answer",
  answer: "asks:answer",
  events: "sessions:read",
  snapshot: "sessions:read",
  clear: "sessions:manage",
  compact: "sessions:write",
  context: "context:read",
  usage: "usage:read",
  state: "sessions:read",
  tasks: "sessions:read",
  notes: "sessions:read",
} as const satisfies Record<string, Scope>;

export type Operation = keyof typeof operationScopes;

/** `params` is unchecked JSON: body, query and path values merged; the handler's schema is the only validation. */
export interface SessionCall {
  readonly principal: Principal;
  readonly session: string;
  readonly op: Operation;
  readonly params: unknown;
  /** `Idempotency-Key`, or the body's / frame's `id`. */
  readonly key?: string;
  /** The bare value of a PATCH's `If-Match`, without quotes. */
  readonly ifMatch?: string;
  /** W3C `traceparent` of the request. */
  readonly trace?: string;
  /** Host that the operator sent the request to: one of this deployment's own. Absent if others did. */
  readonly host?: string;
}

/** `json` is the serialised answer; `replayed`: it was given before, under the same key. */
interface RpcAnswer<Status extends number> {
  readonly ok: true;
  readonly status: Status;
  readonly json: string;
  readonly replayed: boolean;
}

export type RpcReply<Status extends number, More = unknown> =
  | (RpcAnswer<Status> & More)
  | { readonly ok: false; readonly problem: Problem };

/** `seq` is the session's head after it. */
export type SessionReply = RpcReply<200 | 201 | 202 | 204, { readonly seq: number }>;

/** RPC surface of SessionObject. `fetch` upgrades to the session's WebSocket; its caller stands in the header `limpet-principal` (JSON) and `limpet-session`. */
export interface SessionRpc {
  perform(call: SessionCall): Promise<SessionReply>;
}

/** A session as the team's index lists it. */
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
  /** The lease that it gave back last; absent while it spends from one. */
  readonly lease?: SettledLease;
  /** Of a deleted session: the key under which it was, and when. */
  readonly removal?: { readonly key: string; readonly at: number };
}

/** A delete of a session under a key. */
export interface KeyedDelete {
  readonly tenant: string;
  readonly session: string;
  readonly key: string;
}

/** A session asks to begin a run; `limit` is `limits.runs.per_tenant`. */
export interface RunAdmission {
  readonly tenant: string;
  readonly session: string;
  readonly limit: number;
}

/** RPC surface of TeamObject, as sessions and the router use it. */
export interface TeamRpc {
  /** Verifies an API key or a browser token. */
  authenticate(
    credential: string,
  ): Promise<
    { readonly ok: true; readonly principal: Principal } | { readonly ok: false; readonly problem: Problem }
  >;
  /** Idempotent upsert by id; the newest `head_seq` wins. */
  index(summary: SessionSummary): Promise<void>;
  /** Whether a session of this id was deleted under this key in the last 7 days. */
  wasDeleted(asked: KeyedDelete): Promise<boolean>;
  /** Whether a session may begin a run beside those that its tenant has under way. */
  admitRun(admission: RunAdmission): Promise<boolean>;
  /** Takes the grants of a session, and tells those of its tenant's agents. */
  grants(told: GrantsReport): Promise<GrantsUpdate>;
  /** Stores a definition before the first session pins it; it stays for a day, and as long as one does. */
  keepDefinition(revision: string, json: string): Promise<void>;
  definition(revision: string): Promise<string | null>;
  /** A share of the tenant's day. */
  lease(request: LeaseRequest): Promise<LeaseAnswer>;
}
