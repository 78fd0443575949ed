/** Opens tables over SQLite: the storage of a Durable Object or of Node. */

export type DatabaseValue = string | number | null;
export type DatabaseRow = Readonly<Record<string, DatabaseValue>>;

/** Runs one statement and returns its rows. */
export type RunQuery = (query: string, ...values: readonly DatabaseValue[]) => readonly DatabaseRow[];

export interface TableDatabase {
  readonly all: RunQuery;
  /** Runs `work` in one transaction that a throw rolls back. */
  transaction<T>(work: () => T): T;
}

/** Steps of a schema in a fixed order: a step is never edited, only followed by another. */
export type Migrations = readonly string[];

/** Access to an object's tables, which the first write creates, so that a read creates no storage. */
export interface Tables {
  /** Returns the rows of a read; none if nothing was ever written. */
  readonly read: RunQuery;
  /** Runs `work` in one transaction with all tables created. */
  write<T>(work: (all: RunQuery) => T): T;
}

/** Opens tables over a database; `meta` keeps the schema version. */
export function openTables(database: TableDatabase, migrations: Migrations): Tables {
  const latest = migrations.length;
  let known: number | null = null;
  const version = (): number => {
    if (known !== null) return known;
    const [meta] = database.all("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'meta'");
    if (meta === undefined) return 0;
    const [row] = database.all("SELECT value FROM meta WHERE key = 'schema_version'");
    known = Number(row?.["value"] ?? 0);
    return known;
  };
  const migrate = (): void => {
    const from = version();
    // A newer deploy that was rolled back left columns that this one does not read.
    if (from >= latest) return;
    database.all("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID");
    for (const step of migrations.slice(from)) {
      for (const statement of step.split(";\n").filter((text) => /\S/.test(text))) database.all(statement);
    }
    database.all("INSERT OR REPLACE INTO meta (key, value) VALUES ('schema_version', ?)", String(latest));
  };
  const write: Tables["write"] = (work) => {
    const result = database.transaction(() => {
      migrate();
      return work((query, ...values) => database.all(query, ...values));
    });
    known = Math.max(known ?? 0, latest);
    return result;
  };
  return {
    write,
    read(query, ...values) {
      const found = version();
      if (found === 0) return [];
      return found >= latest ? database.all(query, ...values) : write((all) => all(query, ...values));
    },
  };
}
