import type { SandboxErrorCode } from "../sandbox/contract.ts";
import { SandboxError } from "../sandbox/contract.ts";
import type { Problem, ProblemCode } from "./problems.ts";
import { ProblemError, fieldProblem } from "./problems.ts";

/** Turns refusals of the sandbox into problems of requests for its files. */

const codes: Readonly<Record<SandboxErrorCode, ProblemCode>> = {
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

const ofPath: readonly ProblemCode[] = ["invalid_request", "not_found"];

/** Returns the problem that a refusal reports to the caller; rethrows anything else. */
export const workspaceProblem = (error: unknown): Problem => {
  if (error instanceof ProblemError) return error.problem;
  if (!(error instanceof SandboxError)) throw error;
  const code = codes[error.code];
  return ofPath.includes(code)
    ? fieldProblem(code, "/path", error.message)
    : { code, detail: error.message, ...(code === "overloaded" ? { retryAfterMs: 5_000 } : {}) };
};
