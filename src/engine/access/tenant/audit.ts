import * as z from "zod";
import { chunkDecisions, noOutcome } from "../../../session/decisions.ts";
import type { Decision } from "../../../session/decisions.ts";
import {
  cursorBindingOf,
  isReadDescending,
  pageOf,
  pageQueryFields,
  readCursor,
  refuseCursor,
} from "../../../session/paging.ts";
import type { Page, PagePosition } from "../../../session/paging.ts";
import type { DatabaseRow, DatabaseValue, RunQuery, Tables } from "../database.ts";
import { isFirstDelivery } from "../once.ts";
import type { SessionSummary } from "../rpc.ts";
import { dayMs } from "./days.ts";

/** Stores the decisions of a tenant's sessions, including deleted ones: a row for each report that holds any. */

/** Milliseconds that a decision is kept. */
export const auditLifeMs = 90 * dayMs;

/** Query of `GET /audit`. */
export const listAuditSchema = z.strictObject({
  session: z.string().max(64).optional().describe("The id of the session of the call."),
  agent: z.string().max(64).optional().describe("The agent that made the call."),
  tool: z.string().max(128).optional().describe("The called tool."),
  verdict: z.enum(["allow", "approved", "ask", "deny"]).optional().describe("What was decided."),
  action: z.string().max(64).optional().describe("An action outside sessions, like revoke_key."),
  ...pageQueryFields,
});

/** Decision with its session; the id is that of its event. */
type ListedDecision = Decision & { readonly id: string; readonly session: string };

const forgetOld = (all: RunQuery, at: number): void => {
  all("DELETE FROM audit WHERE at < ?", at - auditLifeMs);
};

/** Stores the decisions of a summary after the last known event, under the time of the newest one. */
export function keepDecisions(all: RunQuery, { id, head_seq, ledger }: SessionSummary, known: number): void {
  const fresh = (ledger.decisions ?? []).filter(({ seq }) => seq > known && seq <= head_seq);
  const at = fresh.at(-1)?.at;
  if (at === undefined) return;
  for (const decisions of chunkDecisions(fresh))
    all(
      "INSERT INTO audit (at, session, first, decisions) VALUES (?, ?, ?, ?)",
      at,
      id,
      decisions[0]?.seq ?? 0,
      JSON.stringify(decisions),
    );
  forgetOld(all, at);
}

/** Action on a tenant's keys, tokens, grants, approvals or logins, with its subject. */
export interface AuditedAction {
  readonly who: string;
  readonly action: string;
  readonly subject: string | null;
}

/** Action outside the tenant's object; `id` is the same whenever it is delivered again. */
export interface DeliveredAction extends AuditedAction {
  readonly id: string;
  readonly at: number;
}

/**
 * Stores an action outside sessions. Such rows have a numbering of their own; an action stands after the one before it
 * although the clock may have gone back.
 */
export const recordAction = (all: RunQuery, { who, action, subject }: AuditedAction, at: number): void => {
  const [newest] = all("SELECT at, first FROM audit WHERE session = '' ORDER BY at DESC, first DESC LIMIT 1");
  const seq = Number(newest?.["first"] ?? 0) + 1;
  const nowhere = { seq, at, thread: "", agent: "", run: null, call: null };
  const decision: Decision = { ...nowhere, ...noOutcome, who, action, subject };
  all(
    "INSERT INTO audit (at, session, first, decisions) VALUES (?, '', ?, ?)",
    Math.max(at, Number(newest?.["at"] ?? at)),
    seq,
    JSON.stringify([decision]),
  );
  forgetOld(all, at);
};

/** Stores actions that are delivered until it is known that they arrived, each once. */
export const recordDelivered = (tables: Tables, actions: readonly DeliveredAction[], now: number): void =>
  tables.write((all) => {
    for (const { id, at, ...action } of actions)
      if (isFirstDelivery(all, `action ${id}`, now)) recordAction(all, action, at);
  });

/**
 * Decision with its place in the list: by the time of the last decision of its report, and within a session by
 * number.
 */
type ListedRow = Readonly<{ at: number; id: string; shown: ListedDecision }>;

const rowsOf = (report: DatabaseRow, down: boolean): readonly ListedRow[] => {
  const [at, session] = [Number(report["at"]), String(report["session"])];
  const decisions = JSON.parse(String(report["decisions"])) as readonly Decision[];
  const rows = decisions.map((decision) => ({
    at,
    id: `${session}:${String(decision.seq).padStart(15, "0")}`,
    shown: { id: `${session}:${decision.seq}`, session, ...noOutcome, ...decision },
  }));
  return down ? rows.toReversed() : rows;
};

const isBeyond = ({ at, id }: ListedRow, position: PagePosition | null, down: boolean): boolean =>
  position === null || at !== position.at || (down ? id < position.id : id > position.id);

type ReportPlace = readonly [at: DatabaseValue, session: DatabaseValue, first: DatabaseValue];

/** Returns the place of the first report, in reading order, that may hold a decision beyond a position. */
const placeOf = ({ at, id }: PagePosition, down: boolean): ReportPlace => {
  const [, session, seq] = /^(.*):(\d{15})$/.exec(id) ?? refuseCursor();
  return [at, session ?? "", down ? Number(seq) : 0];
};

interface Reading {
  readonly since: number;
  readonly session: string | undefined;
  readonly down: boolean;
}

/** Selects the next reports from a place on, with or without the one at that place. */
function selectReports(
  tables: Tables,
  { since, session, down }: Reading,
  { place, beyond, limit }: { place: ReportPlace | null; beyond: boolean; limit: number },
): readonly DatabaseRow[] {
  const order = down ? "DESC" : "ASC";
  const compare = `${down ? "<" : ">"}${beyond ? "" : "="}`;
  return tables.read(
    `SELECT at, session, first, decisions FROM audit WHERE at >= ?
      ${session === undefined ? "" : "AND session = ?"}
      ${place === null ? "" : `AND (at, session, first) ${compare} (?, ?, ?)`}
      ORDER BY at ${order}, session ${order}, first ${order} LIMIT ${limit}`,
    since,
    ...(session === undefined ? [] : [session]),
    ...(place ?? []),
  );
}

/** Number of reports that one request reads at most, however few decisions its filters let through. */
const mostReports = 1_000;

/** Reads reports from a place on in pieces of the given size. */
function* readReports(
  tables: Tables,
  reading: Reading,
  from: ReportPlace | null,
  piece: number,
): Generator<DatabaseRow> {
  let place = from;
  for (let read = 0; read < mostReports; read += piece) {
    const limit = Math.min(piece, mostReports - read);
    const reports = selectReports(tables, reading, { place, beyond: read > 0, limit });
    yield* reports;
    const last = reports.at(-1);
    if (last === undefined || reports.length < limit) return;
    place = [last["at"] ?? null, last["session"] ?? null, last["first"] ?? null];
  }
}

/** Least number of reports in a piece. */
const leastPiece = 100;

/** Lists the decisions of a tenant, those of the newest report first. */
export function listAudit(
  tables: Tables,
  tenant: string,
  query: z.output<typeof listAuditSchema>,
  now: number,
): Page<ListedDecision> {
  const { cursor, limit, session, tool, agent, verdict, action } = query;
  const binding = cursorBindingOf({ audit: tenant, session, agent, tool, verdict, action });
  const position = readCursor(cursor, binding);
  const down = isReadDescending(position, true);
  const isWanted = ({ shown }: ListedRow): boolean =>
    (["agent", "tool", "verdict", "action"] as const).every(
      (field) => query[field] === undefined || query[field] === shown[field],
    );
  const place = position === null ? null : placeOf(position, down);
  const reading = { since: now - auditLifeMs, session, down };
  const found: ListedRow[] = [];
  let read = 0;
  let end: ListedRow | undefined;
  for (const report of readReports(tables, reading, place, Math.max(limit + 1, leastPiece))) {
    const rows = rowsOf(report, down).filter((row) => isBeyond(row, position, down));
    found.push(...rows.filter(isWanted));
    read += 1;
    end = rows.at(-1) ?? end;
    if (found.length > limit) break;
  }
  const stop = read === mostReports ? { end } : {};
  return pageOf(found, { position, column: "at", limit, binding, ...stop }, ({ shown }) => shown);
}
