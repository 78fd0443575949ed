/** This file defines the SQLite access that the team's tables need; TeamObject's storage and Node's both fit. */

export type DatabaseValue = string | number | null;
export type DatabaseRow = Readonly<Record<string, DatabaseValue>>;

/** Runs one statement and returns its rows. */
export type RunQuery = (query: string, ...values: readonly DatabaseValue[]) => readonly DatabaseRow[];

export interface TeamDatabase {
  readonly all: RunQuery;
  /** Runs `work` in one transaction that a throw rolls back. */
  transaction<T>(work: () => T): T;
}

/** Lists the migrations in a fixed order: a step is never edited, only followed by another. */
const migrations: readonly string[] = [
  `
  -- API keys. A revoked key has no row.
  CREATE TABLE keys (
    id TEXT PRIMARY KEY, digest TEXT NOT NULL, tenant TEXT NOT NULL, name TEXT, scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL, created_by TEXT NOT NULL, expires_at INTEGER
  ) WITHOUT ROWID;
  -- Signers of browser tokens, at most two.
  CREATE TABLE signing_keys (
    kid TEXT PRIMARY KEY, secret TEXT NOT NULL, created_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  -- One row per undeleted session, as the list shows it.
  CREATE TABLE sessions (
    tenant TEXT NOT NULL, id TEXT NOT NULL, ref TEXT, agent TEXT NOT NULL, title TEXT, metadata TEXT NOT NULL,
    status TEXT NOT NULL, revision TEXT NOT NULL, head_seq INTEGER NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
  ) WITHOUT ROWID;
  CREATE INDEX sessions_by_creation ON sessions (tenant, created_at, id);
  CREATE INDEX sessions_by_update ON sessions (tenant, updated_at, id);
  CREATE INDEX sessions_by_revision ON sessions (revision);
  -- Deleted sessions, so that a late summary brings none of them back.
  CREATE TABLE tombstones (
    tenant TEXT NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (tenant, id)
  ) WITHOUT ROWID;
  -- Compiled definitions that sessions pin, cut into parts below the row limit.
  CREATE TABLE definitions (
    revision TEXT NOT NULL, part INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (revision, part)
  ) WITHOUT ROWID;
  -- What was done under an Idempotency-Key; \`key\` and \`body\` are digests.
  CREATE TABLE idempotency (
    key TEXT PRIMARY KEY, body TEXT NOT NULL, created TEXT NOT NULL, at INTEGER NOT NULL
  ) WITHOUT ROWID;
  `,
  `
  -- Notes that the sessions of a tenant share; agent = '' where all its agents do.
  CREATE TABLE notes (
    tenant TEXT NOT NULL, agent TEXT NOT NULL, name TEXT NOT NULL, first_line TEXT NOT NULL,
    updated_at INTEGER NOT NULL, content TEXT NOT NULL,
    PRIMARY KEY (tenant, agent, name)
  ) WITHOUT ROWID;
  `,
  `
  -- What tenants spent on a UTC day, by its first millisecond; cost in 10⁻⁹ USD, time in milliseconds.
  CREATE TABLE tenant_days (
    tenant TEXT NOT NULL, day INTEGER NOT NULL,
    tokens INTEGER NOT NULL, cost INTEGER NOT NULL, time INTEGER NOT NULL, calls INTEGER NOT NULL,
    PRIMARY KEY (tenant, day)
  ) WITHOUT ROWID;
  -- Shares of a day that sessions hold; \`at\` is when one was given.
  CREATE TABLE leases (
    tenant TEXT NOT NULL, session TEXT NOT NULL, id TEXT NOT NULL, day INTEGER NOT NULL, at INTEGER NOT NULL,
    tokens INTEGER NOT NULL, cost INTEGER NOT NULL, time INTEGER NOT NULL, calls INTEGER NOT NULL,
    PRIMARY KEY (tenant, session, id)
  ) WITHOUT ROWID;
  `,
  `
  -- When a definition was last stored or asked for by a session about to be created.
  ALTER TABLE definitions ADD COLUMN kept_at INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- Remembered approvals; a revoked one stays until it would have ended, so that no session brings it back.
  CREATE TABLE grants (
    tenant TEXT NOT NULL, id TEXT NOT NULL, session TEXT NOT NULL, scope TEXT NOT NULL, agent TEXT NOT NULL,
    tool TEXT NOT NULL, pattern TEXT NOT NULL, given_by TEXT NOT NULL, at INTEGER NOT NULL, revoked INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
  ) WITHOUT ROWID;
  `,
  `
  -- Lessons of runs that failed, by tenant; \`id\` is of the session and the run.
  CREATE TABLE reflections (
    tenant TEXT NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, json TEXT NOT NULL, PRIMARY KEY (tenant, id)
  ) WITHOUT ROWID;
  `,
  `
  CREATE INDEX sessions_at_work ON sessions (tenant) WHERE status <> 'idle';
  `,
  `
  -- Whose memory it is: a subject, a session, or the whole tenant; \`forgotten_at\` is when it was deleted last.
  CREATE TABLE memory_owners (
    id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, owner TEXT NOT NULL, forgotten_at INTEGER, UNIQUE (tenant, owner)
  );
  -- What agents remember; \`id\` is of the session, the run and the call, \`vector\` base64 of bytes that \`made_by\` made.
  CREATE TABLE memories (
    n INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, owner INTEGER NOT NULL, at INTEGER NOT NULL,
    session TEXT NOT NULL, run TEXT NOT NULL, agent TEXT NOT NULL, text TEXT NOT NULL, tags TEXT NOT NULL,
    made_by TEXT, vector TEXT, UNIQUE (tenant, id)
  );
  CREATE INDEX memories_by_owner ON memories (owner, at, n);
  -- Their words by \`n\`; the owner is a word of its own.
  CREATE VIRTUAL TABLE memory_words USING fts5(owner, words, content = '', contentless_delete = 1);
  `,
  `
  -- What is over is found by its time.
  CREATE INDEX tombstones_by_time ON tombstones (at);
  CREATE INDEX idempotency_by_time ON idempotency (at);
  `,
];

/** Gives access to the team's tables, which the first write creates, so that reads create no storage. */
export interface Tables {
  /** Returns the rows of a read; there are none if nothing was ever written. */
  read(query: string, ...values: readonly DatabaseValue[]): readonly DatabaseRow[];
  /** Runs `work` in one transaction with all tables in place. */
  write<T>(work: (all: RunQuery) => T): T;
}

/** Opens tables over a database; `meta` keeps the schema version. `latest` limits the migrations that are applied. */
export function openTables(database: TeamDatabase, latest = migrations.length): Tables {
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
    if (from === latest) return;
    database.all("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID");
    for (const step of migrations.slice(from, latest)) {
      for (const statement of step.split(";\n").filter((text) => /\S/.test(text))) database.all(statement);
    }
    database.all("INSERT OR REPLACE INTO meta (key, value) VALUES ('schema_version', ?)", String(latest));
  };
  const write: Tables["write"] = (work) => {
    const result = database.transaction(() => {
      migrate();
      return work((query, ...values) => database.all(query, ...values));
    });
    known = latest;
    return result;
  };
  return {
    write,
    read(query, ...values) {
      const found = version();
      if (found === 0) return [];
      return found === latest ? database.all(query, ...values) : write((all) => all(query, ...values));
    },
  };
}
