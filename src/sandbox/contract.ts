/** What a session asks of its sandbox, and what it gets. The wire is TB-28's; `client.ts` speaks it. */

export interface ExecRequest {
  readonly argv: readonly string[];
  readonly cwd?: string;
  readonly timeoutMs?: number;
  /** Start-once id: a known id with the same body attaches to the command instead of starting another. */
  readonly execId: string;
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly writablePaths?: readonly string[];
}

export type ExecReason = "exited" | "timeout" | "killed" | "limit" | "lost";

export type ExecEvent =
  | { readonly type: "start"; readonly execId: string; readonly instance: string }
  | { readonly type: "stdout" | "stderr"; readonly seq: number; readonly data: Uint8Array }
  | {
      readonly type: "exit";
      readonly exitCode: number;
      readonly reason: ExecReason;
      readonly durationMs: number;
      readonly truncated: boolean;
    };

export interface FileStat {
  readonly name: string;
  readonly path: string;
  readonly type: "file" | "directory" | "symlink";
  readonly size: number;
  readonly mode: number;
  /** Milliseconds since the epoch. */
  readonly modTime: number;
  /** Hex; files only. */
  readonly sha256?: string;
}

export interface FileChange {
  readonly path: string;
  readonly op: "create" | "modify" | "delete" | "move";
  readonly from?: string;
  /** Unified diff, ≤ 64 KiB. */
  readonly diff?: string;
}

export interface SandboxCapabilities {
  readonly driver: string;
  readonly version: string;
  readonly processes: boolean;
  readonly egress: "none" | "enforced" | "open";
  readonly jail: "exact" | "directory" | "none";
  readonly persistent: boolean;
  readonly git: boolean;
  readonly limits: Readonly<Record<string, number>>;
}

export type SandboxErrorCode =
  | "invalid_request"
  | "path_outside"
  | "path_not_writable"
  | "workspace_read_not_found"
  | "exec_unknown"
  | "conflict"
  | "exec_id_reused"
  | "payload_too_large"
  | "range"
  | "not_unique"
  | "no_match"
  | "limit"
  | "unsupported"
  | "exec_transport_error"
  | "capacity_exceeded";

/** A refusal by the sandbox, or a failure to reach it (`exec_transport_error`). */
export class SandboxError extends Error {
  readonly code: SandboxErrorCode;
  readonly status: number;
  constructor(code: SandboxErrorCode, status: number, message: string) {
    super(message);
    this.name = "SandboxError";
    this.code = code;
    this.status = status;
  }
}

/** Options of a changing call. `key` makes it happen once: outcomes are kept 24 h. */
export interface WriteOptions {
  readonly key: string;
  readonly writablePaths?: readonly string[];
  readonly signal?: AbortSignal;
  /** SHA-256 the file must still have, else `conflict`. */
  readonly ifMatch?: string;
}

export interface SearchMatch {
  readonly path: string;
  readonly line: number;
  readonly content: string;
  readonly context?: readonly string[];
}

/** One session's sandbox. Every method rejects with a `SandboxError`. */
export interface Sandbox {
  readonly id: string;
  capabilities(): Promise<SandboxCapabilities>;
  exec(request: ExecRequest, signal: AbortSignal): AsyncIterable<ExecEvent>;
  /** Replays events after `seq` `after`, then live; `exec_unknown` if this sandbox never saw the id. */
  attach(execId: string, after: number, signal: AbortSignal): AsyncIterable<ExecEvent>;
  kill(execId: string): Promise<void>;
  read(path: string, range?: { readonly offset: number; readonly length: number }): Promise<Uint8Array>;
  write(path: string, content: Uint8Array | string, options: WriteOptions): Promise<readonly FileChange[]>;
  stat(path: string): Promise<FileStat>;
  list(path: string): Promise<readonly FileStat[]>;
  /** `op`: mkdir delete move copy edit patch; `args` and result as TB-28 and the driver's zod schemas say. */
  change(
    op: "mkdir" | "delete" | "move" | "copy" | "edit" | "patch" | "apply_patch",
    args: object,
    options: WriteOptions,
  ): Promise<{ readonly changes: readonly FileChange[]; readonly message?: string }>;
  diff(a: string, b: string): Promise<string>;
  searchContent(
    args: object,
  ): Promise<{
    readonly matches: readonly SearchMatch[];
    readonly total: number;
    readonly truncated: boolean;
  }>;
  searchFiles(args: object): Promise<readonly string[]>;
  destroy(): Promise<void>;
}
