import { splitText } from "../../chat/text.ts";
import type { RunQuery, Tables } from "./database.ts";

/** This file keeps one copy of each pinned revision for as long as an undeleted session may need it. */

/** Limits the characters of a definition in one row. */
const partSize = 256 * 1024;
/** Sets how long a definition stays that no session pins, because sessions being created will pin it. */
export const definitionKeepMs = 24 * 3_600_000;

const unpinnedCondition = "kept_at < ? AND revision NOT IN (SELECT revision FROM sessions)";

/** Stores a revision's definition before a session pins it, and deletes those that nobody needs any more. */
export function keepDefinition(tables: Tables, revision: string, json: string, now: number): void {
  tables.write((all) => {
    const known = all("UPDATE definitions SET kept_at = ? WHERE revision = ? RETURNING part", now, revision);
    for (const [part, text] of known.length > 0 ? [] : splitText(json, partSize).entries())
      all(
        "INSERT INTO definitions (revision, part, text, kept_at) VALUES (?, ?, ?, ?)",
        revision,
        part,
        text,
        now,
      );
    all(`DELETE FROM definitions WHERE ${unpinnedCondition}`, now - definitionKeepMs);
  });
}

/** Records that a session does not pin a revision any more. */
export function releaseDefinition(all: RunQuery, revision: string, now: number): void {
  all(
    `DELETE FROM definitions WHERE revision = ? AND ${unpinnedCondition}`,
    revision,
    now - definitionKeepMs,
  );
}

/** Returns the stored JSON of a revision, or null if no undeleted session can pin it. */
export function readDefinition(tables: Tables, revision: string): string | null {
  const parts = tables.read("SELECT text FROM definitions WHERE revision = ? ORDER BY part", revision);
  return parts.length === 0 ? null : parts.map((row) => String(row["text"])).join("");
}
