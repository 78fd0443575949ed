import type { CommitStorage } from "./safe-storage.ts";

/** Tables of SessionObject; reads never create them. Values are JSON; times are milliseconds since the epoch. */
const schema = `
  -- schema_version, from the second on; dead drives in a row; which message shows the bytes of an attachment
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  -- a thread without its chat and what its turns change; main's row also holds the session's own fields
  CREATE TABLE threads (id TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID;
  -- what each turn of a thread changes; history = newest finished calls, a line each; log = in main's row, the newest
  -- commits of the session with their events, whose contents stand in messages and outcomes
  CREATE TABLE turns (thread TEXT PRIMARY KEY, json TEXT NOT NULL, history TEXT NOT NULL, log TEXT NOT NULL) WITHOUT ROWID;
  -- one message a row, as it was written; retired = the edit that took it out of the view, 0 while it is in it;
  -- marks = those that it got later; json = the fields between origin and run
  CREATE TABLE messages (thread TEXT NOT NULL, pos INTEGER NOT NULL, retired INTEGER NOT NULL, at INTEGER, tokens INTEGER,
    role TEXT, origin TEXT, run TEXT, turn INTEGER, marks TEXT, json TEXT NOT NULL, PRIMARY KEY (thread, pos)) WITHOUT ROWID;
  -- what a model sees of a message from an edit on; the newest of a message holds
  CREATE TABLE overlays (thread TEXT NOT NULL, pos INTEGER NOT NULL, edit INTEGER NOT NULL, json TEXT NOT NULL,
    PRIMARY KEY (thread, pos, edit)) WITHOUT ROWID;
  -- who took what out of the view, or which messages came back into it, by the number of the edit
  CREATE TABLE retirements (edit INTEGER PRIMARY KEY, json TEXT NOT NULL);
  -- outcomes of calls that wait for their siblings
  CREATE TABLE outcomes (thread TEXT NOT NULL, call TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (thread, call)) WITHOUT ROWID;
  CREATE TABLE inputs (id TEXT PRIMARY KEY, status TEXT NOT NULL, json TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE asks (id TEXT PRIMARY KEY, status TEXT NOT NULL, json TEXT NOT NULL) WITHOUT ROWID;
  -- the log of older commits, some in a pack; first and last number its events
  CREATE TABLE events (last INTEGER PRIMARY KEY, first INTEGER NOT NULL, pack BLOB NOT NULL);
  -- text of an open streamed item, so that a crash leaves what was shown
  CREATE TABLE items (id TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;
  -- runs that have ended, by their number
  CREATE TABLE runs (n INTEGER PRIMARY KEY, id TEXT NOT NULL, json TEXT NOT NULL);
  -- called threads, numbered in the order in which they began; written at their start and their end
  CREATE TABLE children (id TEXT PRIMARY KEY, n INTEGER NOT NULL, caller TEXT NOT NULL, json TEXT NOT NULL) WITHOUT ROWID;
  -- lists them in this order, and those of a caller
  CREATE INDEX children_order ON children (n, id, caller);
  -- the task board
  CREATE TABLE tasks (n INTEGER PRIMARY KEY, json TEXT NOT NULL);
  -- one value or note of the shared stores a row; head = what a list shows of it; sizes in bytes
  CREATE TABLE entries (store TEXT NOT NULL, key TEXT NOT NULL, revision INTEGER NOT NULL, size INTEGER NOT NULL, head TEXT NOT NULL,
    json TEXT NOT NULL, PRIMARY KEY (store, key)) WITHOUT ROWID;
  -- sums of model attempts by UTC day, by whom and what was asked and under which metadata; each attempt is a line in
  -- the log; first and last = number of the newest event when the first and the last of them were stored
  CREATE TABLE usage (day INTEGER NOT NULL, agent TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
    metadata TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, calls INTEGER NOT NULL,
    answered INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL, total INTEGER NOT NULL, cost INTEGER, estimated INTEGER NOT NULL,
    PRIMARY KEY (day, agent, provider, model, metadata)) WITHOUT ROWID;
  -- answers of commands by their key, kept 7 days
  CREATE TABLE idempotency (key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, status INTEGER NOT NULL, json TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
  -- long texts and bytes in pieces
  CREATE TABLE blobs (id TEXT NOT NULL, piece INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (id, piece)) WITHOUT ROWID;
`;

/** Steps between schema versions: step i leads to version i + 2. There is one version so far. */
const migrations: readonly string[] = [];

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
