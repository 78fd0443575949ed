import type { CommitStorage } from "./safe-storage.ts";
import { migrations, schema } from "./schema.ts";

/** A session's tables exist from its creation on and are brought up to date when it wakes. */

export const hasTables = (sql: SqlStorage): boolean =>
  sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'threads'").toArray().length > 0;

export const createTables = (sql: SqlStorage): void => {
  sql.exec(schema);
  sql.exec("INSERT INTO meta VALUES ('schema_version', ?)", String(migrations.length + 1));
};

/** Names the session of the rows once, for its events. */
export const writeSessionId = (sql: SqlStorage, session: string): void => {
  sql.exec("INSERT INTO meta VALUES ('session', ?)", session);
};

export const readSessionId = (sql: SqlStorage): string =>
  sql.exec<{ value: string }>("SELECT value FROM meta WHERE key = 'session'").one().value;

/** Brings the tables of an older schema version up to date, step by step, each in its own transaction. */
export const migrate = (storage: CommitStorage, steps: readonly string[] = migrations): void => {
  const { value } = storage.sql
    .exec<{ value: string }>("SELECT value FROM meta WHERE key = 'schema_version'")
    .one();
  for (let version = Number(value); version <= steps.length; version++) {
    storage.transactionSync(() => {
      storage.sql.exec(steps[version - 1] ?? "");
      storage.sql.exec("UPDATE meta SET value = ? WHERE key = 'schema_version'", String(version + 1));
    });
  }
};
