import type { TenantAddress } from "../../sandbox/jurisdiction.ts";
import { jurisdictionSchema } from "./scopes.ts";
import type { DatabaseRow, RunQuery, Tables } from "./database.ts";
import { inTime } from "./replies.ts";
import type { TenantDirectory } from "./rpc.ts";
import { auditLifeMs } from "./tenant/audit.ts";
import type { AuditedAction, DeliveredAction } from "./tenant/audit.ts";

/**
 * Brings what was done in the team's object into the audits of the tenants that did it. An action is queued in the
 * transaction that does it, so that no answer waits for a tenant's object and nothing is done without its audit.
 */

/** Queues an action for the audit of its caller's tenant. */
export const queueAction = (
  all: RunQuery,
  { tenant, jurisdiction }: TenantAddress,
  { who, action, subject }: AuditedAction,
  at: number,
): void => {
  all(
    `INSERT INTO audit_outbox (tenant, jurisdiction, who, action, subject, at) VALUES (?, ?, ?, ?, ?, ?)`,
    tenant,
    jurisdiction,
    who,
    action,
    subject,
    at,
  );
};

/** Returns whether a tenant has not confirmed all of its actions. */
export const hasQueuedActions = (tables: Tables): boolean =>
  tables.read("SELECT 1 FROM audit_outbox LIMIT 1").length > 0;

const toAction = (row: DatabaseRow): DeliveredAction => ({
  id: String(row["n"]),
  at: Number(row["at"]),
  who: String(row["who"]),
  action: String(row["action"]),
  subject: row["subject"] === null ? null : String(row["subject"]),
});

const toAddress = (row: DatabaseRow): TenantAddress => ({
  tenant: String(row["tenant"]),
  jurisdiction: jurisdictionSchema.parse(row["jurisdiction"]),
});

/** Most actions that a tenant is sent at once. */
const batch = 100;
/** Milliseconds that a tenant has to confirm them. */
const confirmMs = 5_000;

type AuditOf = (address: TenantAddress) => Pick<TenantDirectory, "recordActions">;

/** Delivers the oldest actions of one tenant; rejects if it does not confirm them. */
async function deliverTo(tables: Tables, address: TenantAddress, auditOf: AuditOf): Promise<void> {
  const { tenant } = address;
  const rows = tables.read("SELECT * FROM audit_outbox WHERE tenant = ? ORDER BY n LIMIT ?", tenant, batch);
  await inTime(auditOf(address).recordActions(rows.map(toAction)), confirmMs);
  const last = rows.at(-1)?.["n"] ?? null;
  tables.write((all) => all("DELETE FROM audit_outbox WHERE tenant = ? AND n <= ?", tenant, last));
}

/**
 * Delivers all that is queued, also meanwhile. What a tenant does not confirm stays, until no audit would list it any
 * longer.
 */
export async function deliverActions(tables: Tables, auditOf: AuditOf, now: number): Promise<void> {
  const failed = new Set<string>();
  for (;;) {
    const waiting = tables
      .read("SELECT DISTINCT tenant, jurisdiction FROM audit_outbox")
      .map(toAddress)
      .filter(({ tenant }) => !failed.has(tenant));
    if (waiting.length === 0) break;
    const deliver = (address: TenantAddress): Promise<unknown> =>
      deliverTo(tables, address, auditOf).catch(() => failed.add(address.tenant));
    await Promise.all(waiting.map(deliver));
  }
  if (failed.size > 0) tables.write((all) => all("DELETE FROM audit_outbox WHERE at < ?", now - auditLifeMs));
}
