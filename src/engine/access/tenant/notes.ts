import * as z from "zod";
import type { SharedNotes } from "../../../agent/definition/memory.ts";
import { cursorBindingOf, pageClause, pageOf, pageQueryFields, readCursor } from "../../../session/paging.ts";
import type { Page } from "../../../session/paging.ts";
import { firstLine, parseNote, storeLimits } from "../../../tools/stores.ts";
import type { NoteHead } from "../../../tools/stores.ts";
import type { Tables } from "../database.ts";
import { deleteExpiredKeys } from "../once.ts";
import type { TenantStores } from "../rpc.ts";

/** Stores notes that the sessions of a tenant share. */

/** Whose notes: those of one agent in all sessions, or of all agents if null. */
export interface NotesOwner {
  readonly agent: string | null;
}

export const readNote = (tables: Tables, { agent }: NotesOwner, name: string): string | null => {
  const [row] = tables.read("SELECT content FROM notes WHERE agent = ? AND name = ?", agent ?? "", name);
  return row === undefined ? null : String(row["content"]);
};

export const listNotes = (tables: Tables, { agent }: NotesOwner): readonly NoteHead[] =>
  tables
    .read("SELECT name, first_line FROM notes WHERE agent = ? ORDER BY name", agent ?? "")
    .map((row) => ({ name: String(row["name"]), first_line: String(row["first_line"]) }));

/** Writes a note over the one of its name; a second write with the same key does nothing. */
export const writeNote = (
  tables: Tables,
  { agent }: NotesOwner,
  { key, now, ...given }: { name: string; content: string; key: string; now: number },
): string | null => {
  const { data: note, error } = parseNote(given);
  if (note === undefined) return `invalid_arguments: ${error.issues[0]?.message ?? "no note"}`;
  const { name, content } = note;
  const owner = agent ?? "";
  const done = JSON.stringify(["note", owner, key]);
  return tables.write((all) => {
    if (all("SELECT 1 FROM idempotency WHERE key = ?", done).length > 0) return null;
    const [others] = all("SELECT count(*) AS count FROM notes WHERE agent = ? AND name <> ?", owner, name);
    if (Number(others?.["count"] ?? 0) >= storeLimits.notes)
      return `limit: there are ${storeLimits.notes} notes; overwrite one of them`;
    all(
      "INSERT OR REPLACE INTO notes (agent, name, first_line, updated_at, content) VALUES (?, ?, ?, ?, ?)",
      owner,
      name,
      firstLine(content),
      now,
      content,
    );
    deleteExpiredKeys(all, now);
    all("INSERT INTO idempotency (key, body, created, at) VALUES (?, '', '', ?)", done, now);
    return null;
  });
};

/** Creates a session's access to shared notes. */
export const createSharedNotes = (stores: () => TenantStores, owner: NotesOwner): SharedNotes => ({
  read: (name) => stores().readNote(owner, name),
  list: () => stores().listNotes(owner),
  write: (note, key) => stores().writeNote(owner, note, key),
});

export const listNotesSchema = z.strictObject({
  ...pageQueryFields,
  /** Owners of the notes; null means the whole tenant. */
  agents: z.array(z.string().max(64)).max(64).nullable(),
});

/** Lists notes with their contents, by owner and name, as the API shows them. */
export function showNotes(
  tables: Tables,
  { agents, limit, cursor }: z.output<typeof listNotesSchema>,
): Page<object> {
  const binding = cursorBindingOf({ notes: agents });
  const position = readCursor(cursor, binding);
  const page = pageClause(position, "at", false, limit);
  const rows = tables.read(
    `SELECT * FROM (SELECT agent || '/' || name AS id, 0 AS at, agent, name, content FROM notes
       WHERE agent IN (SELECT value FROM json_each(?))) WHERE true ${page.where} ${page.tail}`,
    JSON.stringify(agents ?? [""]),
    ...page.values,
  );
  return pageOf(rows, { position, column: "at", limit, binding }, ({ agent, name, content }) => ({
    name: String(name),
    content: String(content),
    ...(agents === null ? {} : { agent: String(agent) }),
  }));
}
