import { pruneReflections, matchReflections, mostReflections } from "../../agent/memory/reflections.ts";
import type { SharedReflections } from "../../agent/definition/memory.ts";
import type { Reflection } from "../../agent/state/records.ts";
import type { DatabaseRow, Tables } from "./database.ts";
import type { TenantStores } from "./rpc.ts";

/** This file keeps lessons of failed runs, which the sessions of a tenant share. */

export interface ReflectionRules {
  readonly ttlMs: number;
  readonly now: number;
}

const reflectionOf = ({ json }: DatabaseRow): Reflection => JSON.parse(String(json)) as Reflection;

/** Stores rows, each once by its id, and deletes those that are too old and the oldest above 500. */
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

/** Finds the lessons of a tenant about tasks like the given one. */
export const findReflections = (
  tables: Tables,
  tenant: string,
  task: string,
  rules: ReflectionRules,
): readonly Reflection[] => {
  const rows = tables.read("SELECT json FROM reflections WHERE tenant = ?", tenant).map(reflectionOf);
  return matchReflections(pruneReflections(rows, rules), task);
};

/** Gives a session access to its tenant's lessons. */
export const createSharedReflections = (team: () => TenantStores, tenant: string): SharedReflections => ({
  add: (rows, ttlMs) => team().addReflections(tenant, rows, ttlMs),
  find: (task, ttlMs) => team().findReflections(tenant, task, ttlMs),
});
