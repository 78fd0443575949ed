import type { Tables } from "../database.ts";

/**
 * Tracks which definitions a tenant's sessions pin. The team stores them: it receives a definition before the first
 * session of its revision exists, and is notified after the last one is gone.
 */

/** Milliseconds that a definition without a pin is kept, because sessions under creation will pin it. */
export const definitionKeepMs = 24 * 3_600_000;

/** Returns whether the team keeps a revision for this tenant, and records that a session is about to pin it. */
export const renewPin = (tables: Tables, revision: string, now: number): boolean => {
  const [pin] = tables.read("SELECT unused FROM pins WHERE revision = ?", revision);
  if (pin === undefined || pin["unused"] !== 0) return false;
  tables.write((all) => all("UPDATE pins SET kept_at = ? WHERE revision = ?", now, revision));
  return true;
};

/** Records that the team keeps a revision for this tenant. */
export const addPin = (tables: Tables, revision: string, now: number): void =>
  tables.write((all) => {
    all("INSERT OR REPLACE INTO pins (revision, kept_at, unused) VALUES (?, ?, 0)", revision, now);
  });

/** Marks the revisions that no session needs, and returns all of which the team has not been notified. */
export const takeUnusedPins = (tables: Tables, now: number): readonly string[] => {
  const unused = tables.read(
    `SELECT revision FROM pins WHERE unused = 1 OR
       (kept_at < ? AND NOT EXISTS
         (SELECT 1 FROM sessions WHERE pins.revision IN (sessions.revision, sessions.next_revision)))`,
    now - definitionKeepMs,
  );
  const revisions = unused.map((row) => String(row["revision"]));
  if (revisions.length > 0)
    tables.write((all) => {
      for (const revision of revisions) all("UPDATE pins SET unused = 1 WHERE revision = ?", revision);
    });
  return revisions;
};

/** Deletes the pin of a revision that the team no longer keeps for this tenant. */
export const dropPin = (tables: Tables, revision: string): void =>
  tables.write((all) => {
    all("DELETE FROM pins WHERE revision = ? AND unused = 1", revision);
  });
