import type { EndReason, FailureReason } from "../agent/state/events.ts";
import type { RunProblem } from "../agent/state/run.ts";
import type { Json } from "../chat/message.ts";
import type { SandboxErrorCode } from "../sandbox/contract.ts";
import { SandboxError } from "../sandbox/contract.ts";

/** How a problem is sent. */
export interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** Is true if the same request may succeed later. */
  readonly retryable: boolean;
}

const finalKind = (status: number, title: string): ProblemKind => ({ status, title, retryable: false });

const retryableKind = (status: number, title: string): ProblemKind => ({ status, title, retryable: true });

/** The kinds of refused requests by their codes. */
export const problemKinds = {
  invalid_request: finalKind(400, "Invalid request"),
  invalid_json: finalKind(400, "Invalid JSON"),
  invalid_cursor: finalKind(400, "Invalid cursor"),
  token_in_url: finalKind(400, "Credential in the URL"),
  unauthenticated: finalKind(401, "Unauthenticated"),
  token_expired: finalKind(401, "Credential expired"),
  scope_missing: finalKind(403, "Scope missing"),
  origin_not_allowed: finalKind(403, "Origin not allowed"),
  not_found: finalKind(404, "Not found"),
  unknown_agent: finalKind(404, "Unknown agent"),
  method_not_allowed: finalKind(405, "Method not allowed"),
  session_busy: retryableKind(409, "Session busy"),
  conflict: finalKind(409, "Conflict"),
  run_not_active: finalKind(409, "Run not active"),
  ask_already_resolved: finalKind(409, "Ask already resolved"),
  input_already_applied: finalKind(409, "Input already applied"),
  cursor_ahead: finalKind(409, "Cursor ahead of the log"),
  revision_conflict: finalKind(409, "Revision conflict"),
  ask_expired: finalKind(410, "Ask expired"),
  precondition_failed: finalKind(412, "Precondition failed"),
  payload_too_large: finalKind(413, "Payload too large"),
  unsupported_media_type: finalKind(415, "Unsupported media type"),
  range_not_satisfiable: finalKind(416, "Range not satisfiable"),
  idempotency_key_reused: finalKind(422, "Idempotency key reused"),
  unknown_model: finalKind(422, "Unknown model"),
  context_window_too_small: finalKind(422, "Context window too small"),
  output_schema_invalid: finalKind(422, "Output schema invalid"),
  answer_invalid: finalKind(422, "Answer invalid"),
  budget_not_raised: finalKind(422, "Budget not raised"),
  no_file_snapshot: finalKind(422, "No file snapshot"),
  version_unsupported: finalKind(426, "Version unsupported"),
  rate_limited: retryableKind(429, "Rate limited"),
  too_many_inputs: retryableKind(429, "Too many inputs"),
  too_many_connections: retryableKind(429, "Too many connections"),
  budget_exceeded: finalKind(429, "Budget exceeded"),
  internal: finalKind(500, "Internal error"),
  not_available: finalKind(501, "Not available"),
  provider_error: retryableKind(502, "Provider error"),
  mcp_error: retryableKind(502, "MCP error"),
  sandbox_error: retryableKind(502, "Sandbox error"),
  overloaded: retryableKind(503, "Overloaded"),
  not_configured: finalKind(503, "Not configured"),
  config_incomplete: finalKind(503, "Config incomplete"),
  storage_error: retryableKind(503, "Storage error"),
  provider_timeout: retryableKind(504, "Provider timeout"),
} satisfies Readonly<Record<string, ProblemKind>>;

export type ProblemCode = keyof typeof problemKinds;

/** Why a request was refused: the field (`errors[].pointer`, RFC 6901) and how to fix it, without secrets. */
export interface Problem {
  readonly code: ProblemCode;
  readonly detail: string;
  /** Detail for callers with the scope `admin`, the only ones who may read names of secrets. */
  readonly adminDetail?: string;
  readonly retryAfterMs?: number;
  readonly errors?: readonly { readonly pointer: string; readonly code: string; readonly message: string }[];
  readonly meta?: { readonly [key: string]: Json };
}

/** Carries a problem out of a command; the API's edge turns it into an answer. */
export class ProblemError extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.detail);
    this.name = "ProblemError";
    this.problem = problem;
  }
}

/** Throws if there is a problem. */
export const refuseIfProblem = (problem: Problem | null): void => {
  if (problem !== null) throw new ProblemError(problem);
};

/** Builds a problem with one field of a request, which both its sentence and `errors` name. */
export const fieldProblem = (
  code: ProblemCode,
  pointer: string,
  message: string,
  more: Omit<Problem, "code" | "detail" | "errors"> & { readonly rule?: string } = {},
): Problem => {
  const { rule = code, ...rest } = more;
  return { code, detail: `${pointer}: ${message}`, errors: [{ pointer, code: rule, message }], ...rest };
};

/** Refuses a request because of one field. */
export const refuseField = (...[code, pointer, message, more]: Parameters<typeof fieldProblem>): never => {
  throw new ProblemError(fieldProblem(code, pointer, message, more));
};

export const refuse = (
  code: ProblemCode,
  detail: string,
  more: Omit<Problem, "code" | "detail"> = {},
): never => {
  throw new ProblemError({ code, detail, ...more });
};

/** Refuses a caller that has none of these scopes. */
export const refuseScope = (...scopes: readonly string[]): never =>
  refuse("scope_missing", `This needs the scope ${scopes.join(" or ")}.`, { meta: { scopes } });

/** Refusal of a cursor beyond the newest event of a session. */
export const cursorAheadProblem = (head: number): Problem => ({
  code: "cursor_ahead",
  detail: `The newest event of this session is ${head}; a later number belongs to another session.`,
  meta: { head_seq: head },
});

export const refuseCursorAhead = (head: number): never => {
  throw new ProblemError(cursorAheadProblem(head));
};

/** Milliseconds after which a busy session should be asked again: the end of its run is unknown. */
export const busyRetryMs = 2_000;

/** Refusal of a session that is unknown, deleted or another tenant's: it looks the same, whoever finds it missing. */
export const missingSession: Problem = {
  code: "not_found",
  detail: "There is no such session for this credential.",
};

export const refuseMissingSession = (): never => {
  throw new ProblemError(missingSession);
};

/** Builds the JSON of a problem for HTTP answers and `error` frames; a frame has no request id. */
export function problemBody(problem: Problem, requestId?: string): Readonly<Record<string, unknown>> {
  const { code, detail, retryAfterMs, errors, meta } = problem;
  const { status, title, retryable } = problemKinds[code];
  return {
    type: `urn:limpet:problem:${code}`,
    title,
    status,
    detail,
    code,
    ...(requestId === undefined ? {} : { request_id: requestId }),
    retryable,
    ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
    ...(errors === undefined ? {} : { errors }),
    ...(meta === undefined ? {} : { meta }),
  };
}

/** Kinds of failed runs; the status is for requests that waited for the run. */
const failureKinds: Readonly<Record<FailureReason, ProblemKind>> = {
  max_iterations: finalKind(422, "Turns used up"),
  tool_loop: finalKind(422, "Tool loop"),
  no_progress: finalKind(422, "No progress"),
  budget_exceeded: problemKinds.budget_exceeded,
  deadline_exceeded: finalKind(504, "Deadline exceeded"),
  refusal: finalKind(422, "Refused by the model"),
  output_invalid: finalKind(502, "Unusable output of the model"),
  context_window_too_small: problemKinds.context_window_too_small,
  context_length_exceeded: finalKind(422, "Context window full"),
  provider_auth: finalKind(502, "Refused by the provider"),
  provider_rate_limited: retryableKind(429, "Rate limited by the provider"),
  provider_overloaded: retryableKind(503, "Provider overloaded"),
  provider_timeout: problemKinds.provider_timeout,
  provider_error: problemKinds.provider_error,
  effect_failed: finalKind(500, "Effect failed"),
  mcp_error: problemKinds.mcp_error,
  config_changed: finalKind(409, "Config changed"),
  storage_error: problemKinds.storage_error,
  poisoned: finalKind(500, "Poisoned"),
  internal: problemKinds.internal,
};

/** Builds the problem of a failed run; if `error` is null, the reason says all that is known. */
export const runProblemOf = (reason: EndReason, error: string | null): RunProblem => {
  const known: Partial<Record<EndReason, ProblemKind>> = failureKinds;
  const { status, title, retryable } = known[reason] ?? problemKinds.internal;
  return {
    type: `urn:limpet:problem:${reason}`,
    title,
    status,
    detail: error ?? reason,
    code: reason,
    retryable,
  };
};

/** Turns refusals of the sandbox into problems of requests for its files. */

const sandboxCodes: Readonly<Record<SandboxErrorCode, ProblemCode>> = {
  invalid_request: "invalid_request",
  path_outside: "invalid_request",
  path_not_writable: "invalid_request",
  workspace_read_not_found: "not_found",
  exec_unknown: "not_found",
  conflict: "conflict",
  exists: "conflict",
  precondition: "precondition_failed",
  key_reused: "idempotency_key_reused",
  exec_id_reused: "idempotency_key_reused",
  payload_too_large: "payload_too_large",
  range: "range_not_satisfiable",
  not_unique: "conflict",
  no_match: "conflict",
  limit: "payload_too_large",
  unsupported: "not_configured",
  exec_transport_error: "sandbox_error",
  capacity_exceeded: "overloaded",
};

const pathCodes: readonly ProblemCode[] = ["invalid_request", "not_found"];

/** Returns the problem that a refusal reports to the caller; rethrows anything else. */
export const workspaceProblem = (error: unknown): Problem => {
  if (error instanceof ProblemError) return error.problem;
  if (!(error instanceof SandboxError)) throw error;
  const code = sandboxCodes[error.code];
  if (pathCodes.includes(code)) return fieldProblem(code, "/path", error.message);
  return {
    code,
    detail: error.message,
    ...(code === "overloaded" ? { retryAfterMs: 5_000 } : {}),
    ...(error.size === undefined ? {} : { meta: { size: error.size } }),
  };
};
