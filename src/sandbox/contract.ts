/**
 * Contract between session and sandbox. The wire format is that of Cloudflare's sandbox bridge; `client.ts` speaks
 * it.
 */

export interface ExecRequest {
  readonly argv: readonly string[];
  readonly cwd?: string;
  readonly timeoutMs?: number;
  /** Start-once id: a known id with the same body attaches to the command instead of starting another. */
  readonly execId: string;
  /** Input as UTF-8 text. */
  readonly stdin?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly writablePaths?: readonly string[] | undefined;
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
  /** Time of modification in milliseconds since the epoch. */
  readonly modTime: number;
  /** Hash in hex; files only. */
  readonly sha256?: string;
}

export interface FileChange {
  readonly path: string;
  readonly op: "create" | "modify" | "delete" | "move";
  readonly from?: string;
  /** Unified diff of at most 64 KiB. */
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

/** Names that environment variables of commands may have. */
export const environmentName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Lowest value of `limits.output`. */
export const leastOutput = 1024;

/** Limits of a sandbox: `wall` in milliseconds, sizes in bytes. */
export interface SandboxLimits {
  readonly wall: number;
  readonly output: number;
  readonly processes: number;
  readonly disk: number;
  readonly file: number;
}

/** Settings of a team for its sandboxes. */
export interface SandboxSettings {
  readonly limits: SandboxLimits;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Error codes with their HTTP status; the first code of a status is used for answers without a code.
 * `exists` is a `conflict` with a path that exists already, `precondition` one with If-Match or If-None-Match, and
 * `key_reused` one with another request of the same Idempotency-Key.
 */
export const errorStatus = {
  invalid_request: 400,
  path_outside: 403,
  path_not_writable: 403,
  workspace_read_not_found: 404,
  exec_unknown: 404,
  conflict: 409,
  exists: 409,
  precondition: 409,
  key_reused: 409,
  exec_id_reused: 409,
  payload_too_large: 413,
  range: 416,
  not_unique: 422,
  no_match: 422,
  limit: 429,
  unsupported: 501,
  exec_transport_error: 502,
  capacity_exceeded: 503,
} as const;
export type SandboxErrorCode = keyof typeof errorStatus;

/** Refusal by the sandbox, or failure to reach it: `exec_transport_error`, with status 0 if there was no answer. */
export class SandboxError extends Error {
  readonly code: SandboxErrorCode;
  readonly status: number;
  /** Bytes of the file outside which a range lies. */
  readonly size: number | undefined;
  constructor(code: SandboxErrorCode, message: string, status: number = errorStatus[code], size?: number) {
    super(message);
    this.name = "SandboxError";
    this.code = code;
    this.status = status;
    this.size = size;
  }
  /** Whether the sandbox was not reached or has no capacity now, so that the same call may succeed later. */
  get isUnavailable(): boolean {
    return this.code === "exec_transport_error" || this.code === "capacity_exceeded";
  }
}

/** Options of a changing call. `key` makes it happen at most once: outcomes are kept 24 h. */
export interface WriteOptions {
  readonly key: string;
  readonly writablePaths?: readonly string[] | undefined;
  readonly signal?: AbortSignal;
  /** SHA-256 that the file must still have, else `conflict`. */
  readonly ifMatch?: string;
}

/** Files placed in `.skills/` for commands to read, by their paths there; `digest` identifies all of them. */
export interface SkillFiles {
  readonly digest: string;
  readonly files: Readonly<Record<string, string>>;
}

export interface SearchMatch {
  readonly path: string;
  readonly line: number;
  readonly content: string;
  readonly context?: readonly string[];
}

export interface ContentQuery {
  readonly pattern: string;
  readonly directory?: string;
  readonly max_results?: number;
  readonly context_lines?: number;
  readonly literal?: boolean;
  readonly ignore_case?: boolean;
  readonly glob?: string;
}

export interface ContentHits {
  readonly matches: readonly SearchMatch[];
  readonly total: number;
  readonly truncated: boolean;
}

export interface FileQuery {
  readonly pattern: string;
  readonly directory?: string;
  readonly max_results?: number;
}

/** What the wanted files may be called or contain, in any case. */
export interface LocalizeQuery {
  /** Paths, parts of paths, and names of files. */
  readonly paths: readonly string[];
  readonly identifiers: readonly string[];
  readonly phrases: readonly string[];
  readonly directory?: string;
}

/** Matching file, by its path from the searched folder, with the lines around its first match. */
export interface LocalizedFile {
  readonly path: string;
  readonly score: number;
  readonly snippet?: { readonly line: number; readonly lines: readonly string[] };
}

/** Arguments of `change`, by operation. Paths are relative to the workspace. */
export interface ChangeArguments {
  readonly mkdir: { readonly path: string };
  readonly delete: { readonly path: string; readonly recursive?: boolean };
  readonly move: { readonly source: string; readonly destination: string; readonly overwrite?: boolean };
  readonly copy: { readonly source: string; readonly destination: string; readonly overwrite?: boolean };
  readonly edit: { readonly path: string; readonly old_text: string; readonly new_text?: string };
  readonly patch: {
    readonly path: string;
    readonly hunks: readonly { readonly old_text: string; readonly new_text?: string }[];
  };
  readonly apply_patch: { readonly patch: string };
}
export type ChangeOperation = keyof ChangeArguments;

/** Outcome of a change; `message` is a sentence for the model if the list is not enough. */
export interface ChangeOutcome {
  readonly changes: readonly FileChange[];
  readonly message?: string;
  /** File that was written whole, in its new state. */
  readonly file?: { readonly size: number; readonly sha256: string };
  /** Whether an archive was unpacked only up to some entry. */
  readonly partial?: true;
}

/** Forms of a log that git names. */
export const logFormats = [
  "oneline",
  "short",
  "medium",
  "full",
  "fuller",
  "reference",
  "email",
  "raw",
] as const;
type LogFormat = (typeof logFormats)[number];

/** Arguments of `git`, by operation. `directory` is the folder in which git starts; paths are relative to it. */
export interface GitArguments {
  readonly status: { readonly directory?: string; readonly short?: boolean };
  readonly diff: { readonly directory?: string; readonly staged?: boolean; readonly path?: string };
  readonly log: { readonly directory?: string; readonly count?: number; readonly format?: LogFormat };
  /** Commits the current state of these files, with what is already staged; or all changes. */
  readonly commit: {
    readonly directory?: string;
    readonly message: string;
    readonly files?: readonly string[];
    readonly all?: boolean;
  };
}
export type GitOperation = keyof GitArguments;

/** Act of a file call on a path. */
export type FileAct = "read" | "write" | "delete";

/** Returns whether a statement about one act holds for another: deleting is also writing. */
export const includesAct = <Act extends string>(stated: Act, done: Act): boolean =>
  stated === done || (stated === "write" && done === "delete");

/** Glob of paths that are closed to a caller: for one act (`write` includes deleting), or as plain text for all. */
export type ClosedPath = string | { readonly act: FileAct; readonly match: string };

/** Precondition of a person's change to a file or folder: `*` is any, otherwise ETags as in HTTP. */
export interface Preconditions {
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

/**
 * Identity of a person's change: it is made once under its key, and only by the sandbox instance for which it
 * began.
 */
export interface ChangeIdentity {
  readonly key: string;
  /** Instance of the sandbox; absent: any. */
  readonly instance?: string | undefined;
}

/** Part of a folder's entries by name: the first ones, those after a name, or the last ones before one. */
export interface ListPart {
  readonly after?: string;
  readonly before?: string;
  /** Absent: 10 000, the most. */
  readonly limit?: number;
}

/** Access of a person to the files of a workspace. Every method rejects with a `SandboxError`. */
export interface WorkspaceFiles {
  /** Opens a file, or the part that a Range header names: the answer has its bytes, its ETag and its Content-Range. */
  open(path: string, range?: string): Promise<Response>;
  /** Lists entries by name, without the skills folder. */
  list(path: string, part: ListPart & { readonly limit: number }): Promise<readonly FileStat[]>;
  /** Writes a whole file; a body of another size is refused, since it was cut off. */
  put(
    path: string,
    body: {
      readonly content: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | null;
      readonly size: number;
    },
    options: Preconditions & ChangeIdentity,
  ): Promise<ChangeOutcome>;
  /** Streams a folder as a tar archive, without the skills folder. */
  pack(path: string): Promise<Response>;
  /** Unpacks a tar archive into a folder; entries before a refused one stay. */
  unpack(
    path: string,
    body: ReadableStream<Uint8Array> | null,
    options: ChangeIdentity,
  ): Promise<ChangeOutcome>;
  remove(
    path: string,
    options: Preconditions & ChangeIdentity & { readonly recursive: boolean },
  ): Promise<ChangeOutcome>;
}

/** Sandbox of a session from the view of one thread. Every method rejects with a `SandboxError`. */
export interface Sandbox {
  readonly id: string;
  /** Returns the view of another thread: changes by others after `actor` last saw a file are conflicts for it. */
  as(actor: string): Sandbox;
  /**
   * Returns a view whose file calls refuse to touch closed paths and to follow links; lists and searches omit
   * closed paths.
   */
  closing(paths: readonly ClosedPath[]): Sandbox;
  /** Paths that are closed to this view. */
  readonly closed: readonly ClosedPath[];
  /** Folder of the workspace to which relative paths refer; `.` is its root. */
  readonly directory: string;
  /** Returns the id of the sandbox's memory of commands; it changes whenever that memory is lost. */
  instance(): Promise<string>;
  capabilities(): Promise<SandboxCapabilities>;
  /** Resolves when the sandbox has its settings, skills and initial files. */
  ready(): Promise<void>;
  /**
   * Ends a key: returns the outcome of its change; if nothing was changed, the change can no longer happen, and the
   * result is null.
   */
  settle(key: string): Promise<ChangeOutcome | null>;
  /**
   * Runs a command and streams its events to `exit`, whatever cuts its connections; the exit's reason is `lost` if
   * the outcome cannot be known.
   */
  exec(request: ExecRequest, signal: AbortSignal): AsyncIterable<ExecEvent>;
  /**
   * Starts a command, whatever cuts its connections, and returns once it runs; false if it cannot be known whether it
   * does.
   */
  start(request: ExecRequest, signal: AbortSignal): Promise<boolean>;
  /** Streams the events after `seq` `after` until `deadline` (epoch ms); `exec_unknown` for an id never seen here. */
  attach(execId: string, after: number, deadline: number, signal: AbortSignal): AsyncIterable<ExecEvent>;
  /**
   * Returns events that no other reader has received, without waiting; the same reader receives its own again, and
   * new ones.
   */
  poll(execId: string, reader: string): Promise<readonly ExecEvent[]>;
  /** Ends a command; does nothing if it has ended or was never seen. */
  kill(execId: string): Promise<void>;
  read(path: string, range?: { readonly offset: number; readonly length: number }): Promise<Uint8Array>;
  write(path: string, content: Uint8Array | string, options: WriteOptions): Promise<ChangeOutcome>;
  stat(path: string): Promise<FileStat>;
  /** Lists entries by name. */
  list(path: string, part?: ListPart): Promise<readonly FileStat[]>;
  change<O extends ChangeOperation>(
    op: O,
    args: ChangeArguments[O],
    options: WriteOptions,
  ): Promise<ChangeOutcome>;
  /** Returns a unified diff with three lines of context; "files are identical" if they are. */
  diff(a: string, b: string): Promise<string>;
  searchContent(query: ContentQuery): Promise<ContentHits>;
  /** Finds paths, newest first. */
  searchFiles(query: FileQuery): Promise<readonly string[]>;
  /** Finds the ten files that match best, the best first. */
  localize(query: LocalizeQuery): Promise<readonly LocalizedFile[]>;
  /**
   * Returns git's output, with unquoted paths (`core.quotePath=false`); of a commit, its hash. A commit whose
   * answer is lost may have happened.
   */
  git<O extends GitOperation>(
    op: O,
    args: GitArguments[O],
    options: { readonly signal: AbortSignal; readonly writablePaths?: readonly string[] | undefined },
  ): Promise<string>;
  destroy(): Promise<void>;
}
