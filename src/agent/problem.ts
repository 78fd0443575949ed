import type { Json } from "../chat/message.ts";

/** Codes of refused requests (AP-10); `api/problems.ts` maps each to a status. */
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
