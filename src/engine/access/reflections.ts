import { pruneReflections, matchReflections, mostReflections } from "../../agent/memory/reflections.ts";
import type { SharedReflections } from "../../agent/definition/memory.ts";
import type { Reflection } from "../../agent/state/records.ts";
import type { DatabaseRow, Tables } from "./database.ts";
import type { TenantStores } from "./rpc.ts";

/** Lessons of runs that failed, as the sessions of a tenant share them. */

export interface ReflectionRules {
  readonly ttlMs: number;
  readonly now: number;
}

const reflectionOf = ({ json }: DatabaseRow): Reflection => JSON.parse(String(json)) as Reflection;

/** Keeps rows, each once by its id; what is too old, and the oldest above 500, leave. */
export const addReflections = (
  tables: Tables,
  tenant: string,
  rows: readonly Reflection[],
  { ttlMs, now }: ReflectionRules,
): void =>
  tables.write((all) => {
    for (const row of rows)
      all(
        "INSERT OR IGNORE INTO reflections (tenant, id, at, json) VALUES (?, ?, ?, ?)",
        tenant,
        row.id,
        row.at,
        JSON.stringify(row),
      );
    all("DELETE FROM reflections WHERE tenant = ? AND at <= ?", tenant, now - ttlMs);
    all(
      `DELETE FROM reflections WHERE tenant = ? AND id IN
        (SELECT id FROM reflections WHERE tenant = ? ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?)`,
      tenant,
      tenant,
      mostReflections,
    );
  });

/** Those of a tenant that are about the like of a task. */
export const findReflections = (
  tables: Tables,
  tenant: string,
  task: string,
  rules: ReflectionRules,
): readonly Reflection[] => {
  const rows = tables.read("SELECT json FROM reflections WHERE tenant = ?", tenant).map(reflectionOf);
  return matchReflections(pruneReflections(rows, rules), task);
};

/** The same from a session. */
export const createSharedReflections = (team: () => TenantStores, tenant: string): SharedReflections => ({
  add: (rows, ttlMs) => team().addReflections(tenant, rows, ttlMs),
  find: (task, ttlMs) => team().findReflections(tenant, task, ttlMs),
});
