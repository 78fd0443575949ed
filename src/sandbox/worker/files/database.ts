import { fail } from "../errors.ts";

/** Part of SQLite that the workspace needs; blobs may be returned as either buffer type. */
export type SqlValue = string | number | null | Uint8Array<ArrayBuffer>;

export interface Database {
  all<Row>(sql: string, ...values: readonly SqlValue[]): Row[];
  /** Runs synchronously; all writes are undone if `run` throws. */
  transaction<Result>(run: () => Result): Result;
}

/** Returns the bytes of a blob column. */
export const blob = (value: ArrayBuffer | Uint8Array): Uint8Array<ArrayBuffer> =>
  new Uint8Array(value instanceof Uint8Array ? Uint8Array.from(value).buffer : value);

const tables = `
  -- Settings of PUT /, the digest of the skills that lie here, and the instance.
  CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  -- The tree: one row per file, directory (children name its id as parent) and link. The root is id 0 and has no row.
  -- version changes with every change of the content; writer says who made the last one.
  CREATE TABLE IF NOT EXISTS entries (
    parent INTEGER NOT NULL, name TEXT NOT NULL, id INTEGER NOT NULL, type TEXT NOT NULL,
    mode INTEGER NOT NULL, mtime INTEGER NOT NULL, size INTEGER NOT NULL,
    sha256 TEXT, target TEXT, version INTEGER NOT NULL, writer TEXT NOT NULL,
    PRIMARY KEY (parent, name)) WITHOUT ROWID;
  -- Contents, in pieces far below the limit of a row.
  CREATE TABLE IF NOT EXISTS chunks (id INTEGER NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (id, n)) WITHOUT ROWID;
  -- Which version of a path an actor saw last.
  CREATE TABLE IF NOT EXISTS seen (actor TEXT NOT NULL, path TEXT NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (actor, path)) WITHOUT ROWID;
  -- Commands by their start-once id; body is the hash of the request.
  CREATE TABLE IF NOT EXISTS commands (
    exec_id TEXT PRIMARY KEY, body TEXT NOT NULL, started_at INTEGER NOT NULL,
    ended_at INTEGER, exit_code INTEGER, reason TEXT, truncated INTEGER NOT NULL DEFAULT 0,
    -- The reader that polled last, and the events it was given: those after read_from up to read_to.
    reader TEXT, read_from INTEGER NOT NULL DEFAULT 0, read_to INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS outputs (exec_id TEXT NOT NULL, seq INTEGER NOT NULL, stream TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (exec_id, seq)) WITHOUT ROWID;
  -- Answers to keyed file changes.
  CREATE TABLE IF NOT EXISTS outcomes (key TEXT PRIMARY KEY, body TEXT NOT NULL, answer TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
`;

/** Reads a value of `meta`; returns null if it was never set. */
export const metaOf = (database: Database, key: string): string | null =>
  database.all<{ value: string }>("SELECT value FROM meta WHERE key = ?", key)[0]?.value ?? null;

export const setMeta = (database: Database, key: string, value: string): void => {
  database.all("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", key, value);
};

/** Storage of one workspace, from its first row to its removal. */
export interface WorkspaceStorage extends Database {
  /** Name of the workspace and of its memory of commands: `<workspace>.<memory>`. */
  readonly instance: () => string;
  /** Gives the memory of commands another name, since some are forgotten. */
  readonly renameMemory: () => void;
  readonly isClosed: () => boolean;
  /** Ends the workspace: what still runs for it fails, and nothing of it reaches the next one of its id. */
  readonly close: () => void;
}

const partsOf = (instance: string): readonly string[] => instance.split(".");

/** Returns whether two instances are of the same workspace, whatever it has forgotten of its commands. */
export const isSameWorkspace = (a: string, b: string): boolean => partsOf(a)[0] === partsOf(b)[0];

/**
 * Opens the storage of a workspace. Its tables are made for its first row: before it, nothing is found and nothing
 * changes, and an object that is only asked takes no storage.
 */
export function openStorage(database: Database): WorkspaceStorage {
  const isMade = (): boolean =>
    database.all("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'").length > 0;
  let made = isMade();
  let closed = false;
  let instance = (made ? metaOf(database, "instance") : null) ?? `${crypto.randomUUID()}.0`;
  const make = (): void => {
    for (const statement of tables.replaceAll(/--.*$/gm, "").split(";"))
      if (statement.trim() !== "") database.all(statement);
    setMeta(database, "instance", instance);
    made = true;
  };
  return {
    all: (sql, ...values) => {
      if (closed) fail("conflict", "the workspace was removed meanwhile");
      if (!made && !sql.startsWith("INSERT")) return [];
      if (!made) make();
      return database.all(sql, ...values);
    },
    transaction: (run) => {
      try {
        return database.transaction(run);
      } catch (error) {
        made = isMade();
        throw error;
      }
    },
    instance: () => instance,
    renameMemory: () => {
      const [workspace = "", memory] = partsOf(instance);
      instance = `${workspace}.${Number(memory) + 1}`;
      if (made) setMeta(database, "instance", instance);
    },
    isClosed: () => closed,
    close: () => void (closed = true),
  };
}
