import type { Migrations } from "../database.ts";

/** Tables of a tenant's object: its sessions, its days, and what its sessions share. */
export const tenantMigrations: Migrations = [
  `
  -- One row per undeleted session, as the list shows it and in the order of its creation, since the first key costs
  -- no index of its own. next_revision = what the session goes over to before its next run, pinned like the one that it
  -- has; last_end = how the newest run of the person's thread ended, as JSON; search = what \`q\` looks at, without case.
  CREATE TABLE sessions (
    id TEXT NOT NULL, ref TEXT, agent TEXT NOT NULL, title TEXT, metadata TEXT NOT NULL,
    status TEXT NOT NULL, revision TEXT NOT NULL, head_seq INTEGER NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, usage TEXT NOT NULL,
    next_revision TEXT, last_end TEXT, search TEXT NOT NULL,
    PRIMARY KEY (created_at, id)
  ) WITHOUT ROWID;
  CREATE INDEX sessions_by_update ON sessions (updated_at, id);
  CREATE INDEX sessions_at_work ON sessions (id) WHERE status <> 'idle';
  -- What each session used on a UTC day, by its first millisecond, up to the \`head_seq\` of the session's row; metadata =
  -- that of the calls, cost in 10⁻⁹ USD. Sums of deleted sessions stay, apart from those of a later one of the same id.
  CREATE TABLE usage (
    day INTEGER NOT NULL, session TEXT NOT NULL, created_at INTEGER NOT NULL, agent TEXT NOT NULL, provider TEXT NOT NULL,
    model TEXT NOT NULL, metadata TEXT NOT NULL, calls INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL, total INTEGER NOT NULL, cost INTEGER, estimated INTEGER NOT NULL,
    PRIMARY KEY (day, session, created_at, agent, provider, model, metadata)
  ) WITHOUT ROWID;
  -- Deleted sessions, so that no late summary of one brings it back: the same id may be made anew at another time.
  CREATE TABLE tombstones (
    id TEXT NOT NULL, created_at INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (id, created_at)
  ) WITHOUT ROWID;
  CREATE INDEX tombstones_by_time ON tombstones (at);
  -- Definitions that are pinned at the team. \`kept_at\`: when a session was last about to pin it; \`unused\` is 1 from
  -- when no session needs it until the team has been told.
  CREATE TABLE pins (revision TEXT PRIMARY KEY, kept_at INTEGER NOT NULL, unused INTEGER NOT NULL) WITHOUT ROWID;
  -- What was done under an Idempotency-Key; \`key\` and \`body\` are digests.
  CREATE TABLE idempotency (
    key TEXT PRIMARY KEY, body TEXT NOT NULL, created TEXT NOT NULL, at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX idempotency_by_time ON idempotency (at);
  -- Notes that sessions share; agent = '' where all agents do.
  CREATE TABLE notes (
    agent TEXT NOT NULL, name TEXT NOT NULL, first_line TEXT NOT NULL,
    updated_at INTEGER NOT NULL, content TEXT NOT NULL,
    PRIMARY KEY (agent, name)
  ) WITHOUT ROWID;
  -- What was spent on a UTC day, by its first millisecond; cost in 10⁻⁹ USD, time in milliseconds. \`open\` has the
  -- shares of it that sessions hold, in the same row, so that a run costs two rows of its tenant's day and no more.
  CREATE TABLE days (
    day INTEGER PRIMARY KEY,
    tokens INTEGER NOT NULL, cost INTEGER NOT NULL, time INTEGER NOT NULL, calls INTEGER NOT NULL, open TEXT NOT NULL
  );
  -- Those shares, each by its session and number; \`at\` is when one was given.
  CREATE VIEW leases AS SELECT
    substr(each.key, 1, instr(each.key, ' ') - 1) AS session, substr(each.key, instr(each.key, ' ') + 1) AS id,
    days.day AS day, each.value ->> 0 AS at, each.value ->> 1 AS tokens, each.value ->> 2 AS cost,
    each.value ->> 3 AS time, each.value ->> 4 AS calls
  FROM days, json_each(days.open) AS each;
  -- Remembered approvals; a revoked one stays until it would have ended, so that no session brings it back.
  CREATE TABLE grants (
    id TEXT PRIMARY KEY, session TEXT NOT NULL, scope TEXT NOT NULL, agent TEXT NOT NULL,
    tool TEXT NOT NULL, pattern TEXT NOT NULL, given_by TEXT NOT NULL, at INTEGER NOT NULL, revoked INTEGER NOT NULL
  ) WITHOUT ROWID;
  -- Lessons of runs that failed; \`id\` is of the session and the run.
  CREATE TABLE reflections (id TEXT PRIMARY KEY, at INTEGER NOT NULL, json TEXT NOT NULL) WITHOUT ROWID;
  -- Whose memory it is: a subject, a session, or the whole tenant; \`forgotten_at\` is when it was deleted last.
  CREATE TABLE memory_owners (id INTEGER PRIMARY KEY, owner TEXT NOT NULL UNIQUE, forgotten_at INTEGER);
  -- What agents remember; \`id\` is of the session, the run and the call, \`vector\` base64 of bytes that \`made_by\` made.
  CREATE TABLE memories (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, owner INTEGER NOT NULL, at INTEGER NOT NULL,
    session TEXT NOT NULL, run TEXT NOT NULL, agent TEXT NOT NULL, text TEXT NOT NULL, tags TEXT NOT NULL,
    made_by TEXT, vector TEXT
  );
  CREATE INDEX memories_by_owner ON memories (owner, at, n);
  -- Their words by \`n\`; the owner is a word of its own.
  CREATE VIRTUAL TABLE memory_words USING fts5(owner, words, content = '', contentless_delete = 1);
  -- What the newest session to ask an MCP server saw; tools = how many it offered, -1 if it never answered.
  CREATE TABLE mcp_servers (
    server TEXT PRIMARY KEY, state TEXT NOT NULL, error TEXT, tools INTEGER NOT NULL, at INTEGER NOT NULL
  ) WITHOUT ROWID;
  -- The hashes that are approved of a server's tools: approved = 1 for one that an administrator approved, 0 for one of
  -- the first list, which counts without a lock only.
  CREATE TABLE tool_pins (
    server TEXT NOT NULL, tool TEXT NOT NULL, hash TEXT NOT NULL, approved INTEGER NOT NULL,
    PRIMARY KEY (server, tool)
  ) WITHOUT ROWID;
  -- Tools of the newest list that differ from what is approved; pinned is null if nothing was.
  CREATE TABLE tool_changes (
    server TEXT NOT NULL, tool TEXT NOT NULL, pinned TEXT, found TEXT NOT NULL, PRIMARY KEY (server, tool)
  ) WITHOUT ROWID;
  -- What sessions wait for people to answer, as the list shows it.
  CREATE TABLE open_asks (
    session TEXT NOT NULL, id TEXT NOT NULL, opened_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, json TEXT NOT NULL,
    PRIMARY KEY (session, id)
  ) WITHOUT ROWID;
  -- What was decided in sessions, one row for a report; at = the session's time of it, first = its first event's number.
  CREATE TABLE audit (
    at INTEGER NOT NULL, session TEXT NOT NULL, first INTEGER NOT NULL, decisions TEXT NOT NULL,
    PRIMARY KEY (at, session, first)
  ) WITHOUT ROWID;
  CREATE INDEX audit_by_session ON audit (session, at, first);
  -- What authorization servers of MCP servers gave the tenant, encrypted: the client's registration and its tokens.
  CREATE TABLE mcp_credentials (
    server TEXT NOT NULL, issuer TEXT NOT NULL, sealed TEXT NOT NULL, PRIMARY KEY (server, issuer)
  ) WITHOUT ROWID;
  -- Logins under way by the digest of their state; session is null if an administrator began it, login is encrypted.
  -- address = that of the tenant, as JSON, by which its sessions are found.
  -- outcome = null while the state may still be used, then used, signed_in or refused; the last two until their
  -- sessions know it. A state that has expired stays, since its session may still wait.
  CREATE TABLE mcp_logins (
    id TEXT PRIMARY KEY, server TEXT NOT NULL, session TEXT, login TEXT NOT NULL, expires_at INTEGER NOT NULL,
    address TEXT NOT NULL, outcome TEXT
  ) WITHOUT ROWID;
  `,
];
