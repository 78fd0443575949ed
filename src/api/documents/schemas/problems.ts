import * as z from "zod";
import type { ProblemCode } from "../../../session/problems.ts";
import { problemKinds } from "../../../session/problems.ts";
import type { Scope } from "../../../session/rpc.ts";
import { json, nameSchema } from "./schema-of.ts";

/** Describes the errors and the scopes. */

/** Cause of each problem, and what to do about it. */
export const problemSentences: Readonly<Record<ProblemCode, string>> = {
  invalid_request: "A field is invalid; `errors` names it with the nearest known one. Fix it.",
  invalid_json: "The body is not JSON; `meta` has the line and the column. Fix it.",
  invalid_cursor: "The cursor belongs to another query or is damaged. Begin without one.",
  token_in_url: "A credential is in the URL, which logs record. Revoke it, and send `Authorization: Bearer`.",
  unauthenticated: "No valid credential was sent. Send `Authorization: Bearer <key>`.",
  token_expired: "The credential has expired. Get a new one.",
  scope_missing: "The credential is valid but lacks the scope that `meta.scopes` names. Use another key.",
  origin_not_allowed: "The page's origin is not in `access.origins` of the team. Add it and deploy.",
  not_found:
    "There is nothing at this address for this credential: the detail names what is missing, and for an unknown address `meta.nearest` a known one.",
  unknown_agent: "The team has no such agent; the answer lists those that it has.",
  method_not_allowed: "The address accepts other methods, which `Allow` lists.",
  session_busy:
    "A run is under way. Wait for it, or send with `on_busy: queue`, `steer`, `interrupt` or `rollback`.",
  conflict: "The current state does not allow the request; the detail says why.",
  run_not_active: "The run that the request names is over. `meta.run` names the active one.",
  ask_already_resolved: "Another answer arrived first, or the run needs none any more.",
  input_already_applied: "The message has already been applied, withdrawn or returned.",
  cursor_ahead:
    "`after` is beyond the newest event, which `meta.head_seq` names: the client has another session's log.",
  revision_conflict: "The revision lacks agents of the session. Name others in `agents`.",
  ask_expired: "The ask expired, and the default was applied.",
  precondition_failed: "The object has changed since it was read. Read it again.",
  payload_too_large: "The body is larger than `meta.limit` bytes. Send less.",
  unsupported_media_type:
    "The body has a type that the address does not accept. The detail names the accepted one.",
  range_not_satisfiable: "The file has no such bytes.",
  idempotency_key_reused: "The key was used with another body. Use a new key.",
  unknown_model: "The team has no such model; the detail lists those that it has.",
  context_window_too_small: "The model's window is too small for the agent. Choose another.",
  output_schema_invalid: "The JSON Schema cannot be used; the detail says why.",
  answer_invalid: "The answer does not fit the ask, which stays open. Correct it.",
  budget_not_raised: "The limit is too low for the run to go on. Set a higher one.",
  no_file_snapshot: "The sandbox cannot restore files. Use `files: keep`.",
  version_unsupported: "The client speaks another version of the protocol. Use `limpet.v1`.",
  rate_limited: "Too many requests, or runs at once. Wait for `Retry-After`.",
  too_many_inputs: "The inbox is full. Withdraw some, or wait.",
  too_many_connections: "The session has the maximum number of sockets. Close some.",
  budget_exceeded:
    "A budget of the session or the tenant's day is used up. Raise it, or wait for the next day.",
  internal: "Something failed here. The request id names it in the logs; report it.",
  not_available: "A documented feature that this release does not have.",
  provider_error: "The model's provider failed. Try again.",
  mcp_error: "An MCP server failed. Try again.",
  sandbox_error: "The sandbox failed. Try again.",
  overloaded: "The server is overloaded. Wait for `Retry-After`.",
  not_configured: "The deployment lacks something that its operator has to set.",
  config_incomplete: "A secret that the agent needs is not set. GET /readyz names it to administrators.",
  storage_error: "Nothing could be stored, or the session is full. Try again, or begin a new session.",
  provider_timeout: "The model's provider did not answer in time. Try again.",
};

/** Error as HTTP answers and frames hold it. */
export const problemSchema = nameSchema(
  "Problem",
  "An error by RFC 9457.",
  z.strictObject({
    type: z.string().describe("`urn:limpet:problem:<code>`."),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe("What is wrong, and the way out."),
    code: z.enum(Object.keys(problemKinds) as [ProblemCode, ...ProblemCode[]]),
    request_id: z.exactOptional(z.string()),
    retryable: z.boolean().describe("Whether the same request may succeed later."),
    retry_after_ms: z.exactOptional(z.number()),
    errors: z.exactOptional(
      z.array(z.strictObject({ pointer: z.string(), code: z.string(), message: z.string() })),
    ),
    meta: z.exactOptional(z.record(z.string(), json)),
  }),
);

interface ScopeEntry {
  /** What the scope permits. */
  readonly says: string;
  /** Whose keys need the scope. */
  readonly who: string;
}

/** Scopes with what they permit and who needs them. */
export const scopeEntries: Readonly<Record<Scope, ScopeEntry>> = {
  "sessions:read": {
    says: "See sessions, their messages, events and files.",
    who: "every client; browser tokens",
  },
  "sessions:write": {
    says: "Create sessions, send messages, cancel, write files.",
    who: "every client; browser tokens",
  },
  "sessions:manage": {
    says: "Change and delete sessions; clear, fork, rewind, migrate; forget a person.",
    who: "your backend",
  },
  "asks:answer": { says: "Answer questions and client tools.", who: "every client; browser tokens" },
  "approvals:decide": {
    says: "Decide on approvals, logins and higher budgets; see and revoke grants.",
    who: "people who are responsible for the agents' actions",
  },
  "context:read": { says: "See what the model saw in a turn.", who: "developers" },
  "usage:read": { says: "See usage and costs.", who: "dashboards" },
  "tokens:mint": { says: "Mint browser tokens for a session.", who: "your backend" },
  "debug:read": { says: "See the frames of providers as they arrive.", who: "developers" },
  admin: {
    says: "Manage keys, MCP servers and cooldowns; read the audit and names of secrets.",
    who: "the operator",
  },
};
