import * as z from "zod";
import { cursorBindingOf, pageClause, pageOf, pageQueryFields, readCursor } from "../../../session/paging.ts";
import type { Page } from "../../../session/paging.ts";
import type { RunQuery, DatabaseRow, Tables, DatabaseValue } from "../database.ts";
import { keepDecisions } from "./audit.ts";
import { keepAsks } from "./asks.ts";
import { forgetSession } from "./memories.ts";
import { isBuried, keepDelete } from "../once.ts";
import type { SessionSummary } from "../rpc.ts";
import { settleLease } from "./days.ts";
import { keepUsage } from "./usage.ts";

/** Stores a tenant's index of sessions. */

/** Milliseconds that a tombstone is kept, longer than any summary that could still be in flight. */
const tombstoneMs = 7 * 24 * 3_600_000;

const statusSchema = z.enum(["idle", "running", "waiting"]);
const timeSchema = z.union([
  z.int().nonnegative(),
  z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
]);

/** Query of `GET /sessions`; times are milliseconds since the epoch or RFC 3339. */
export const listSessionsSchema = z.strictObject({
  status: z
    .union([statusSchema, z.array(statusSchema).min(1)])
    .optional()
    .describe("One status, or several."),
  agent: z.string().max(64).optional().describe("The agent of the session."),
  metadata: z
    .record(z.string().max(64), z.string().max(512))
    .refine((pairs) => Object.keys(pairs).length <= 16, "at most 16 pairs")
    .optional()
    .describe("Pairs that a session's metadata must hold: `metadata[name]=value`."),
  q: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe("A text in the title, the ref or the id; case is ignored."),
  created_after: timeSchema.optional().describe("Only sessions created later: milliseconds or RFC 3339."),
  updated_before: timeSchema
    .optional()
    .describe("Only sessions last changed before: milliseconds or RFC 3339."),
  order: z
    .enum(["-created_at", "created_at", "-updated_at", "updated_at"])
    .default("-created_at")
    .describe("The sort key; `-` begins with the newest."),
  ...pageQueryFields,
});
export type ListSessions = z.output<typeof listSessionsSchema>;

/** Listed session: the summary without the fields that only the tenant's object needs. */
export type ListedSession = Omit<
  SessionSummary,
  "next_revision" | "ledger" | "asks" | "lease" | "removal" | "last_end"
> & { readonly last_end: SessionSummary["last_end"] | null };

const toListedSession = (row: DatabaseRow): ListedSession => ({
  id: String(row["id"]),
  ref: row["ref"] === null ? null : String(row["ref"]),
  agent: String(row["agent"]),
  title: row["title"] === null ? null : String(row["title"]),
  metadata: z.record(z.string(), z.string()).parse(JSON.parse(String(row["metadata"]))),
  status: statusSchema.parse(row["status"]),
  revision: String(row["revision"]),
  head_seq: Number(row["head_seq"]),
  created_at: Number(row["created_at"]),
  updated_at: Number(row["updated_at"]),
  usage: z.json().parse(JSON.parse(String(row["usage"]))),
  last_end: JSON.parse(String(row["last_end"])) as ListedSession["last_end"],
});

/** Folds the differences that a search ignores: case, and Unicode's several encodings of one character. */
const foldText = (text: string): string => text.normalize("NFKC").toLowerCase();

function filtersOf(query: ListSessions): { where: readonly string[]; values: readonly DatabaseValue[] } {
  const states = query.status === undefined ? [] : [query.status].flat();
  const terms: readonly (readonly [boolean, string, readonly DatabaseValue[]])[] = [
    [states.length > 0, `status IN (${states.map(() => "?").join(", ")})`, states],
    [query.agent !== undefined, "agent = ?", [query.agent ?? null]],
    [query.created_after !== undefined, "created_at > ?", [query.created_after ?? null]],
    [query.updated_before !== undefined, "updated_at < ?", [query.updated_before ?? null]],
    [query.q !== undefined, "instr(search, ?) > 0", [foldText(query.q ?? "")]],
    ...Object.entries(query.metadata ?? {}).map(
      ([key, value]) =>
        [
          true,
          "EXISTS (SELECT 1 FROM json_each(metadata) WHERE json_each.key = ? AND json_each.value = ?)",
          [key, value],
        ] as const,
    ),
  ];
  const chosen = terms.filter(([wanted]) => wanted);
  return { where: chosen.map(([, term]) => term), values: chosen.flatMap(([, , values]) => values) };
}

/** Returns a page of the sessions of a tenant, to which its cursors are bound. */
export function listSessions(tables: Tables, tenant: string, query: ListSessions): Page<ListedSession> {
  const { cursor, limit, ...bound } = query;
  const binding = cursorBindingOf({ tenant, ...bound });
  const position = readCursor(cursor, binding);
  const column = query.order.replace("-", "");
  const filters = filtersOf(query);
  const page = pageClause(position, column, query.order.startsWith("-"), limit);
  const where = ["true", ...filters.where].join(" AND ");
  const rows = tables.read(
    `SELECT * FROM sessions WHERE ${where} ${page.where} ${page.tail}`,
    ...filters.values,
    ...page.values,
  );
  return pageOf(rows, { position, column, limit, binding }, toListedSession);
}

/** Writes a tombstone at the time of the removal, which is after the creation even if the clock was set back. */
function writeTombstone(all: RunQuery, { id, created_at, updated_at, removal }: SessionSummary): void {
  const at = Math.max(removal?.at ?? updated_at, created_at + 1);
  all("DELETE FROM sessions WHERE created_at = ? AND id = ?", created_at, id);
  all("INSERT OR REPLACE INTO tombstones (id, created_at, at) VALUES (?, ?, ?)", id, created_at, at);
  all("DELETE FROM tombstones WHERE at < ?", at - tombstoneMs);
  all("DELETE FROM grants WHERE session = ? AND scope = 'session'", id);
  forgetSession(all, id);
}

/** Updates or inserts the row of a session; setting an indexed column costs a write even if its value is unchanged. */
function upsert(all: RunQuery, summary: SessionSummary, isKnown: boolean): void {
  const values = [
    summary.ref,
    summary.agent,
    summary.title,
    JSON.stringify(summary.metadata),
    summary.status,
    summary.revision,
    summary.next_revision ?? null,
    summary.head_seq,
    summary.updated_at,
    JSON.stringify(summary.usage),
    JSON.stringify(summary.last_end ?? null),
    foldText([summary.title ?? "", summary.ref ?? "", summary.id].join("\n")),
    summary.created_at,
    summary.id,
  ];
  if (isKnown)
    all(
      `UPDATE sessions SET ref = ?, agent = ?, title = ?, metadata = ?, status = ?, revision = ?, next_revision = ?,
         head_seq = ?, updated_at = ?, usage = ?, last_end = ?, search = ? WHERE created_at = ? AND id = ?`,
      ...values,
    );
  else
    all(
      `INSERT INTO sessions (ref, agent, title, metadata, status, revision, next_revision, head_seq, updated_at, usage,
         last_end, search, created_at, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...values,
    );
}

/**
 * Stores a session's summary idempotently: the newest wins, and `removal` deletes the session. A session created
 * again under the same `ref` after its deletion has another time of creation and is listed again. Returns the
 * event up to which its ledger is known.
 */
export function indexSession(tables: Tables, summary: SessionSummary): number {
  return tables.write((all) => {
    const { id: session, created_at, head_seq, lease, removal, ledger } = summary;
    if (removal !== undefined) keepDelete(all, session, removal);
    if (isBuried(all, session, created_at)) return head_seq;
    if (lease !== undefined) settleLease(all, session, lease);
    const [row] = all("SELECT head_seq FROM sessions WHERE created_at = ? AND id = ?", created_at, session);
    const known = Number(row?.["head_seq"] ?? 0);
    if (known < ledger.since || head_seq < known) return known;
    keepDecisions(all, summary, known);
    for (const usage of ledger.rows) keepUsage(all, summary, usage);
    keepAsks(all, session, summary.status === "deleted" ? [] : (summary.asks ?? []));
    if (summary.status === "deleted") writeTombstone(all, summary);
    else upsert(all, summary, row !== undefined);
    return head_seq;
  });
}
