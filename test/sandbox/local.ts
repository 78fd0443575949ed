import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { Database, SqlValue } from "../../src/sandbox/worker/files/database.ts";
import { createWorkspace, type WorkspaceServer } from "../../src/sandbox/worker/workspace.ts";

/** A workspace in this process, over SQLite in memory, for tests in plain Node. */
export interface LocalWorkspace {
  readonly server: WorkspaceServer;
  readonly fetch: (request: Request) => Promise<Response>;
  /** Moves the clock of the workspace. */
  readonly advance: (ms: number) => void;
  /** A new server over the same storage, as after an eviction: commands that run are lost. */
  readonly restart: () => LocalWorkspace;
}

function databaseOf(sqlite: DatabaseSync): Database {
  let depth = 0;
  return {
    all: <Row>(sql: string, ...values: readonly SqlValue[]) =>
      sqlite.prepare(sql).all(...(values as readonly SQLInputValue[])) as unknown as Row[],
    transaction: (run) => {
      const name = `level_${depth}`;
      sqlite.exec(`SAVEPOINT ${name}`);
      depth += 1;
      try {
        return run();
      } catch (error) {
        sqlite.exec(`ROLLBACK TO ${name}`);
        throw error;
      } finally {
        depth -= 1;
        sqlite.exec(`RELEASE ${name}`);
      }
    },
  };
}

function serve(sqlite: DatabaseSync, clock: { offset: number }): LocalWorkspace {
  const server = createWorkspace({
    database: databaseOf(sqlite),
    now: () => Date.now() + clock.offset,
    waitUntil: (promise) => void promise.catch(() => undefined),
    remind: () => undefined,
    erase: async () => {
      for (const row of sqlite.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()) {
        sqlite.exec(`DROP TABLE ${String(row["name"])}`);
      }
    },
  });
  return {
    server,
    fetch: (request) => server.fetch(request),
    advance: (ms) => {
      clock.offset += ms;
    },
    restart: () => serve(sqlite, clock),
  };
}

export const createLocalWorkspace = (sqlite = new DatabaseSync(":memory:")): LocalWorkspace =>
  serve(sqlite, { offset: 0 });
