import { SandboxError, type SandboxErrorCode } from "../contract.ts";

/** The status of each code (TB-28). */
const statuses: Readonly<Record<SandboxErrorCode, number>> = {
  invalid_request: 400,
  path_outside: 403,
  path_not_writable: 403,
  workspace_read_not_found: 404,
  exec_unknown: 404,
  conflict: 409,
  exists: 409,
  exec_id_reused: 409,
  payload_too_large: 413,
  range: 416,
  not_unique: 422,
  no_match: 422,
  limit: 429,
  unsupported: 501,
  exec_transport_error: 502,
  capacity_exceeded: 503,
};

export const failure = (code: SandboxErrorCode, message: string): SandboxError =>
  new SandboxError(code, statuses[code], message);

export function fail(code: SandboxErrorCode, message: string): never {
  throw failure(code, message);
}

export function notFound(path: string): never {
  throw failure("workspace_read_not_found", `${path} does not exist in the workspace`);
}

/** POSIX name of a refusal, as commands expect it in an error's text. */
export function posixName(error: SandboxError): string {
  if (error.code === "workspace_read_not_found") return "ENOENT: no such file or directory";
  if (error.code === "path_outside" || error.code === "path_not_writable") return "EACCES: permission denied";
  if (error.code === "exists") return "EEXIST: file already exists";
  if (error.code === "payload_too_large") return "EFBIG: file too large";
  if (error.code === "limit") return "ENOSPC: no space left on device";
  return `EINVAL: ${error.message}`;
}
