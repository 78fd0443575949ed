import * as z from "zod";
import { chunkDecisions, noOutcome } from "../../../session/decisions.ts";
import type { Decision } from "../../../session/decisions.ts";
import { cursorBindingOf, pageClause, pageOf, pageQueryFields, readCursor } from "../../../session/paging.ts";
import type { Page } from "../../../session/paging.ts";
import type { DatabaseRow, RunQuery, Tables } from "../database.ts";
import type { SessionSummary } from "../rpc.ts";
import { dayMs } from "./days.ts";

/** This file keeps what was decided in a tenant's sessions, deleted ones too: a row for each report that told of any. */

/** Sets how long a decision is kept. */
const auditLifeMs = 90 * dayMs;

/** Defines the query of `GET /audit`. */
export const listAuditSchema = z.strictObject({
  session: z.string().max(64).optional(),
  agent: z.string().max(64).optional(),
  tool: z.string().max(128).optional(),
  verdict: z.enum(["allow", "approved", "ask", "deny"]).optional(),
  action: z.string().max(64).optional().describe("What somebody did outside sessions, like revoke_key."),
  ...pageQueryFields,
});

/** Describes a decision with the session in which it was made; its id is that of its event. */
type ListedDecision = Decision & { readonly id: string; readonly session: string };

/** Stores the decisions that a summary tells of beyond the event up to which they are known, under the time of the last. */
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
  all("DELETE FROM audit WHERE at < ?", at - auditLifeMs);
}

/** Says what somebody did to a tenant's keys, tokens, grants, approvals or logins, and to which. */
export interface AuditedAction {
  readonly who: string;
  readonly action: string;
  readonly subject: string | null;
}

/** Stores what somebody did outside sessions; such rows are numbered among themselves. */
export const recordAction = (tables: Tables, { who, action, subject }: AuditedAction, at: number): void =>
  tables.write((all) => {
    const [row] = all("SELECT max(first) AS last FROM audit WHERE session = ''");
    const seq = Number(row?.["last"] ?? 0) + 1;
    const nowhere = { seq, at, thread: "", agent: "", run: null, call: null };
    const decision: Decision = { ...nowhere, ...noOutcome, who, action, subject };
    all(
      "INSERT INTO audit (at, session, first, decisions) VALUES (?, '', ?, ?)",
      at,
      seq,
      JSON.stringify([decision]),
    );
  });

const toListedDecision = (row: DatabaseRow): ListedDecision => {
  const session = String(row["session"]);
  const decision = JSON.parse(String(row["json"])) as Decision;
  return { id: `${session}:${decision.seq}`, session, ...noOutcome, ...decision };
};

/** Selects decisions under the time of the last of their report, and an id that orders those of a session. */
const decisionRows = `SELECT audit.at AS at, audit.session AS session, each.value AS json,
    audit.session || ':' || substr('00000000000000' || (each.value ->> 'seq'), -15) AS id
  FROM audit, json_each(audit.decisions) AS each WHERE audit.at >= ?`;

/** Lists the decisions of a tenant, those of the newest report first. */
export function listAudit(
  tables: Tables,
  tenant: string,
  query: z.output<typeof listAuditSchema>,
  now: number,
): Page<ListedDecision> {
  const { cursor, limit, ...filters } = query;
  const binding = cursorBindingOf({ audit: tenant, ...filters });
  const position = readCursor(cursor, binding);
  const page = pageClause(position, "at", true, limit);
  const { session, agent, tool, verdict, action } = filters;
  const wanted = [
    ["session", session],
    ["json ->> 'agent'", agent],
    ["json ->> 'tool'", tool],
    ["json ->> 'verdict'", verdict],
    ["json ->> 'action'", action],
  ].flatMap(([column, value]) => (value === undefined ? [] : [[`AND ${column} = ?`, value] as const]));
  const rows = tables.read(
    `SELECT * FROM (${decisionRows}) WHERE true ${wanted.map(([term]) => term).join(" ")} ${page.where} ${page.tail}`,
    now - auditLifeMs,
    ...wanted.map(([, value]) => value),
    ...page.values,
  );
  return pageOf(rows, { position, column: "at", limit, binding }, toListedDecision);
}
