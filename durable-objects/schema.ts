/** What a model sees of a message from an edit on; the newest of a message holds: since version 2. */
const overlays = `
  CREATE TABLE overlays (thread TEXT NOT NULL, pos INTEGER NOT NULL, edit INTEGER NOT NULL, json TEXT NOT NULL,
    PRIMARY KEY (thread, pos, edit)) WITHOUT ROWID;
`;

/** What threads share (AG-42 to AG-47): since version 2. */
const sharedStores = `
  CREATE TABLE tasks (n INTEGER PRIMARY KEY, json TEXT NOT NULL);
  -- one value or note a row; head = what a list shows of it; sizes in bytes
  CREATE TABLE entries (store TEXT NOT NULL, key TEXT NOT NULL, revision INTEGER NOT NULL, size INTEGER NOT NULL, head TEXT NOT NULL,
    json TEXT NOT NULL, PRIMARY KEY (store, key)) WITHOUT ROWID;
`;

/** Called threads, written at their start and their end (AG-15): since version 3. */
const calledThreads = `
  CREATE TABLE children (id TEXT PRIMARY KEY, caller TEXT NOT NULL, started INTEGER NOT NULL, json TEXT NOT NULL) WITHOUT ROWID;
  CREATE INDEX children_of ON children (caller, started);
`;

/** Who took what out of the view, by the number of the edit (EF-42): since version 4. */
const retirements = `
  CREATE TABLE retirements (edit INTEGER PRIMARY KEY, json TEXT NOT NULL);
`;

/** What each turn changes, apart from the rest of its thread: since version 5. */
const turns = `
  CREATE TABLE turns (n INTEGER PRIMARY KEY, thread TEXT NOT NULL UNIQUE, json TEXT NOT NULL,
    -- newest finished calls, a line each
    history TEXT NOT NULL);
`;

/** Older releases had all of it in the thread's row; what a row of `turns` has too much is not looked at. */
const turnsSplit = `${turns}
  INSERT INTO turns (thread, json, history) SELECT id, state, ifnull(state ->> '$.history', '') FROM threads;
  ALTER TABLE events ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE events ADD COLUMN session TEXT NOT NULL DEFAULT '';
`;

/** Tables of a SessionObject, created with the session and never by a read. Values are JSON; times are milliseconds since the epoch. */
export const schema = `
  -- schema_version; dead drives in a row
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  -- a thread without its chat and what its turns change; main's row also holds the session's own fields
  CREATE TABLE threads (id TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID;
  -- one message a row, as it was written; retired = the edit that took it out of the view, 0 while it is in it
  CREATE TABLE messages (thread TEXT NOT NULL, pos INTEGER NOT NULL, retired INTEGER NOT NULL, json TEXT NOT NULL,
    PRIMARY KEY (thread, pos)) WITHOUT ROWID;
  -- outcomes of calls that wait for their siblings
  CREATE TABLE outcomes (thread TEXT NOT NULL, call TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (thread, call)) WITHOUT ROWID;
  CREATE TABLE inputs (id TEXT PRIMARY KEY, status TEXT NOT NULL, json TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE asks (id TEXT PRIMARY KEY, status TEXT NOT NULL, json TEXT NOT NULL) WITHOUT ROWID;
  -- the events of one commit, a line each without what they share; last = seq of the last line; session '' = whole lines
  CREATE TABLE events (last INTEGER PRIMARY KEY, first INTEGER NOT NULL, lines TEXT NOT NULL, at INTEGER NOT NULL DEFAULT 0, session TEXT NOT NULL DEFAULT '');
  -- text of an open streamed item, so that a crash leaves what was shown
  CREATE TABLE items (id TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE runs (n INTEGER PRIMARY KEY, id TEXT NOT NULL, json TEXT NOT NULL);
  -- one model attempt a row (MO-33)
  CREATE TABLE usage (n INTEGER PRIMARY KEY, agent TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL, outcome TEXT NOT NULL,
    cost INTEGER, estimated INTEGER NOT NULL, json TEXT NOT NULL);
  -- answers of commands by their key, kept 7 days
  CREATE TABLE idempotency (key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, status INTEGER NOT NULL, json TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
  -- long texts and bytes in pieces
  CREATE TABLE blobs (id TEXT NOT NULL, piece INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (id, piece)) WITHOUT ROWID;
  ${overlays}
  ${sharedStores}
  ${calledThreads}
  ${retirements}
  ${turns}
`;

/** Whether a thread has a run is told by what its turns change: since version 6. */
const unbusied = "ALTER TABLE threads DROP COLUMN busy;";

export const schemaVersion = 6;

/** Steps from one schema version to the next, in order; step i leads to version i + 2. */
export const migrations: readonly string[] = [
  overlays + sharedStores,
  calledThreads,
  retirements,
  turnsSplit,
  unbusied,
];
