import type { Json } from "../chat/message.ts";

/** Codes of refused requests; `api/problems.ts` maps each to a status. */
export type ProblemCode =
  | "invalid_request"
  | "invalid_json"
  | "invalid_cursor"
  | "token_in_url"
  | "unauthenticated"
  | "token_expired"
  | "scope_missing"
  | "origin_not_allowed"
  | "not_found"
  | "unknown_agent"
  | "session_busy"
  | "run_not_active"
  | "ask_already_resolved"
  | "input_already_applied"
  | "cursor_ahead"
  | "revision_conflict"
  | "ask_expired"
  | "history_truncated"
  | "precondition_failed"
  | "payload_too_large"
  | "unsupported_media_type"
  | "idempotency_key_reused"
  | "unknown_model"
  | "context_window_too_small"
  | "output_schema_invalid"
  | "answer_invalid"
  | "budget_not_raised"
  | "no_file_snapshot"
  | "version_unsupported"
  | "rate_limited"
  | "too_many_inputs"
  | "too_many_connections"
  | "budget_exceeded"
  | "internal"
  | "provider_error"
  | "mcp_error"
  | "sandbox_error"
  | "overloaded"
  | "not_configured"
  | "config_incomplete"
  | "storage_error"
  | "provider_timeout";

/** Why a request was refused: names the field (`errors[].pointer`, RFC 6901) and the way out. Holds no secret and no foreign id. */
export interface Problem {
  readonly code: ProblemCode;
  readonly detail: string;
  readonly retryAfterMs?: number;
  readonly errors?: readonly { readonly pointer: string; readonly code: string; readonly message: string }[];
  readonly meta?: { readonly [key: string]: Json };
}

/** Thrown inside a command and turned into an answer at the edge. */
export class ProblemError extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.detail);
    this.name = "ProblemError";
    this.problem = problem;
  }
}

/** Refuses for a problem, if there is one. */
export const refuseFor = (problem: Problem | null): void => {
  if (problem !== null) throw new ProblemError(problem);
};

/** A problem with one field of a request: its sentence names it, and so does `errors`. */
export const fieldProblem = (
  code: ProblemCode,
  pointer: string,
  message: string,
  more: Omit<Problem, "code" | "detail" | "errors"> & { readonly rule?: string } = {},
): Problem => {
  const { rule = code, ...rest } = more;
  return { code, detail: `${pointer}: ${message}`, errors: [{ pointer, code: rule, message }], ...rest };
};

/** Refuses for one field of a request. */
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

/** Does what refuses fields of one part of a request: `at` gives their pointers in the whole of it. */
export const refusingAt = <T>(at: (pointer: string) => string, part: () => T): T => {
  try {
    return part();
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const { problem } = error;
    const errors = problem.errors?.map((each) => ({ ...each, pointer: at(each.pointer) }));
    const [first] = errors ?? [];
    if (errors === undefined || first === undefined) throw error;
    throw new ProblemError({ ...problem, detail: `${first.pointer}: ${first.message}`, errors });
  }
};

/** Problems as they are sent. */

export interface Kind {
  readonly status: number;
  readonly title: string;
  /** The same request may succeed later. */
  readonly retryable: boolean;
}

const final = (status: number, title: string): Kind => ({ status, title, retryable: false });

const later = (status: number, title: string): Kind => ({ status, title, retryable: true });

export const problemKinds: Readonly<Record<ProblemCode, Kind>> = {
  invalid_request: final(400, "Invalid request"),
  invalid_json: final(400, "Invalid JSON"),
  invalid_cursor: final(400, "Invalid cursor"),
  token_in_url: final(400, "Credential in the URL"),
  unauthenticated: final(401, "Unauthenticated"),
  token_expired: final(401, "Credential expired"),
  scope_missing: final(403, "Scope missing"),
  origin_not_allowed: final(403, "Origin not allowed"),
  not_found: final(404, "Not found"),
  unknown_agent: final(404, "Unknown agent"),
  session_busy: later(409, "Session busy"),
  run_not_active: final(409, "Run not active"),
  ask_already_resolved: final(409, "Ask already resolved"),
  input_already_applied: final(409, "Input already applied"),
  cursor_ahead: final(409, "Cursor ahead of the log"),
  revision_conflict: final(409, "Revision conflict"),
  ask_expired: final(410, "Ask expired"),
  history_truncated: final(410, "History truncated"),
  precondition_failed: final(412, "Precondition failed"),
  payload_too_large: final(413, "Payload too large"),
  unsupported_media_type: final(415, "Unsupported media type"),
  idempotency_key_reused: final(422, "Idempotency key reused"),
  unknown_model: final(422, "Unknown model"),
  context_window_too_small: final(422, "Context window too small"),
  output_schema_invalid: final(422, "Output schema invalid"),
  answer_invalid: final(422, "Answer invalid"),
  budget_not_raised: final(422, "Budget not raised"),
  no_file_snapshot: final(422, "No file snapshot"),
  version_unsupported: final(426, "Version unsupported"),
  rate_limited: later(429, "Rate limited"),
  too_many_inputs: later(429, "Too many inputs"),
  too_many_connections: later(429, "Too many connections"),
  budget_exceeded: final(429, "Budget exceeded"),
  internal: final(500, "Internal error"),
  provider_error: later(502, "Provider error"),
  mcp_error: later(502, "MCP error"),
  sandbox_error: later(502, "Sandbox error"),
  overloaded: later(503, "Overloaded"),
  not_configured: final(503, "Not configured"),
  config_incomplete: final(503, "Config incomplete"),
  storage_error: later(503, "Storage error"),
  provider_timeout: later(504, "Provider timeout"),
};

/** Addresses that are unknown, deleted or another tenant's look the same, whoever found them missing. */
const missing: Problem = {
  code: "not_found",
  detail: "There is nothing under this address for this credential.",
};

/** The JSON of a problem, as HTTP answers and `error` frames hold it; a frame has no request id. */
export function problemBody(problem: Problem, requestId?: string): Readonly<Record<string, unknown>> {
  const isAddress = problem.code === "not_found" && problem.errors === undefined;
  const { code, detail, retryAfterMs, errors, meta } = isAddress ? missing : problem;
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
