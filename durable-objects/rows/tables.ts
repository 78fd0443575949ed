import type { CommitStorage } from "./safe-storage.ts";
import { migrations, schema } from "./schema.ts";

/** A session's tables exist from its creation on and are brought up to date when it wakes. */

export const hasTables = (sql: SqlStorage): boolean =>
  sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'threads'").toArray().length > 0;

/** Writes the version; the first one has no row, so that a session's creation does not pay for it. */
const writeVersion = (sql: SqlStorage, version: number): void => {
  if (version > 1) sql.exec("INSERT OR REPLACE INTO meta VALUES ('schema_version', ?)", String(version));
};

const readVersion = (sql: SqlStorage): number => {
  const query = "SELECT value FROM meta WHERE key = 'schema_version'";
  return Number(sql.exec<{ value: string }>(query).toArray()[0]?.value ?? 1);
};

export const createTables = (sql: SqlStorage): void => {
  sql.exec(schema);
  writeVersion(sql, migrations.length + 1);
};

export const migrate = (storage: CommitStorage, steps: readonly string[] = migrations): void => {
  for (let version = readVersion(storage.sql); version <= steps.length; version++) {
    storage.transactionSync(() => {
      storage.sql.exec(steps[version - 1] ?? "");
      writeVersion(storage.sql, version + 1);
    });
  }
};
