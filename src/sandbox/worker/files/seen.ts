import { fail } from "../errors.ts";
import type { Disk, Entry } from "./files.ts";

const seenVersion = (disk: Disk, actor: string, path: string): number | undefined =>
  disk.database.all<{ version: number }>(
    "SELECT version FROM seen WHERE actor = ? AND path = ?",
    actor,
    path,
  )[0]?.version;

/** Records that an actor has seen this content. */
export function recordSeen(disk: Disk, actor: string | undefined, path: string, entry: Entry | null): void {
  if (actor === undefined || entry?.type !== "file") return;
  if (seenVersion(disk, actor, path) === entry.version) return;
  disk.database.all(
    "INSERT OR REPLACE INTO seen (actor, path, version) VALUES (?, ?, ?)",
    actor,
    path,
    entry.version,
  );
}

/** Refuses a write over a change that this actor has not seen; a file it never saw may be written. */
export function checkUnseen(disk: Disk, actor: string | undefined, path: string, entry: Entry | null): void {
  if (actor === undefined || entry?.type !== "file") return;
  const known = seenVersion(disk, actor, path);
  if (known === undefined || known === entry.version) return;
  fail(
    "conflict",
    `${path} was changed by ${entry.writer} after you last read it; read it again, then repeat`,
  );
}
