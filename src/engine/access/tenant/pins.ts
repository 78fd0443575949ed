import type { Tables } from "../database.ts";

/**
 * This file knows which definitions a tenant's sessions pin. The team keeps them: it is asked before the first session
 * of a revision exists, and told after the last one has gone.
 */

/** Sets how long a definition stays that no session pins, because sessions being created will pin it. */
export const definitionKeepMs = 24 * 3_600_000;

/** Returns whether the team keeps a revision for this tenant, and notes that a session is about to pin it. */
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

/** Marks the revisions that no session needs, and returns all of which the team has still to learn that. */
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

/** Forgets a revision that the team does not keep for this tenant any more. */
export const dropPin = (tables: Tables, revision: string): void =>
  tables.write((all) => {
    all("DELETE FROM pins WHERE revision = ? AND unused = 1", revision);
  });
