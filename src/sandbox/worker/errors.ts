import { SandboxError, type SandboxErrorCode } from "../contract.ts";

export function fail(code: SandboxErrorCode, message: string): never {
  throw new SandboxError(code, message);
}

export function throwNotFound(path: string): never {
  fail("workspace_read_not_found", `${path} does not exist in the workspace`);
}

/** Returns the POSIX name of a refusal, which commands expect in an error's text. */
export function posixName(error: SandboxError): string {
  if (error.code === "workspace_read_not_found") return "ENOENT: no such file or directory";
  if (error.code === "path_outside" || error.code === "path_not_writable") return "EACCES: permission denied";
  if (error.code === "exists") return "EEXIST: file already exists";
  if (error.code === "payload_too_large") return "EFBIG: file too large";
  if (error.code === "limit") return "ENOSPC: no space left on device";
  return `EINVAL: ${error.message}`;
}
