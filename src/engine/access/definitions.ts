import { splitText } from "../../chat/text.ts";
import type { Tables } from "./database.ts";

/** Stores one copy of each revision that sessions of any tenant pin. */

/** Characters of a definition in one row. */
const partSize = 256 * 1024;

/** Stores a revision's definition for a tenant that pins it. */
export function pinDefinition(tables: Tables, tenant: string, revision: string, json: string): void {
  tables.write((all) => {
    all("INSERT OR IGNORE INTO pins (revision, tenant) VALUES (?, ?)", revision, tenant);
    const known = all("SELECT 1 FROM definitions WHERE revision = ? LIMIT 1", revision).length > 0;
    for (const [part, text] of known ? [] : splitText(json, partSize).entries())
      all("INSERT INTO definitions (revision, part, text) VALUES (?, ?, ?)", revision, part, text);
  });
}

/** Deletes a tenant's pin, and with the last pin the definition. */
export function unpinDefinition(tables: Tables, tenant: string, revision: string): void {
  tables.write((all) => {
    all("DELETE FROM pins WHERE revision = ? AND tenant = ?", revision, tenant);
    if (all("SELECT 1 FROM pins WHERE revision = ? LIMIT 1", revision).length > 0) return;
    all("DELETE FROM definitions WHERE revision = ?", revision);
  });
}

/** Returns the stored JSON of a revision, or null if no undeleted session can pin it. */
export function readDefinition(tables: Tables, revision: string): string | null {
  const parts = tables.read("SELECT text FROM definitions WHERE revision = ? ORDER BY part", revision);
  return parts.length === 0 ? null : parts.map((row) => String(row["text"])).join("");
}
