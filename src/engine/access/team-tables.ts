import type { Migrations } from "./database.ts";

/** Tables of the team's object: callers, and the definitions that sessions pin. */
export const teamMigrations: Migrations = [
  `
  -- Tenants that were ever given a key; their jurisdiction never changes. NULL means anywhere.
  CREATE TABLE tenants (tenant TEXT PRIMARY KEY, jurisdiction TEXT) WITHOUT ROWID;
  -- API keys. A revoked key has no row.
  CREATE TABLE keys (
    id TEXT PRIMARY KEY, digest TEXT NOT NULL, tenant TEXT NOT NULL, name TEXT, scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL, created_by TEXT NOT NULL, expires_at INTEGER
  ) WITHOUT ROWID;
  -- Signers of browser tokens, at most two.
  CREATE TABLE signing_keys (
    kid TEXT PRIMARY KEY, secret TEXT NOT NULL, created_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  -- Compiled definitions that sessions pin, cut into parts below the row limit.
  CREATE TABLE definitions (
    revision TEXT NOT NULL, part INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (revision, part)
  ) WITHOUT ROWID;
  -- Which tenants pin a definition, by the ids of their objects.
  CREATE TABLE pins (
    revision TEXT NOT NULL, tenant TEXT NOT NULL, PRIMARY KEY (revision, tenant)
  ) WITHOUT ROWID;
  -- What was done to keys and tokens, until the tenant of the caller has it in its audit; no number is given twice.
  CREATE TABLE audit_outbox (
    n INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, jurisdiction TEXT, who TEXT NOT NULL,
    action TEXT NOT NULL, subject TEXT, at INTEGER NOT NULL
  );
  -- What was done under an Idempotency-Key; \`key\` and \`body\` are digests.
  CREATE TABLE idempotency (
    key TEXT PRIMARY KEY, body TEXT NOT NULL, created TEXT NOT NULL, at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX idempotency_by_time ON idempotency (at);
  `,
];
