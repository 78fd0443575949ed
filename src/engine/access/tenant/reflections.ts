import { pruneReflections, matchReflections, mostReflections } from "../../../agent/memory/reflections.ts";
import type { SharedReflections } from "../../../agent/definition/memory.ts";
import type { Reflection } from "../../../agent/state/records.ts";
import type { DatabaseRow, Tables } from "../database.ts";
import type { TenantStores } from "../rpc.ts";

/** Stores lessons of failed runs, which the sessions of a tenant share. */

export interface ReflectionRules {
  readonly ttlMs: number;
  readonly now: number;
}

const reflectionOf = ({ json }: DatabaseRow): Reflection => JSON.parse(String(json)) as Reflection;

/** Stores rows, each once by its id, and deletes expired rows and the oldest above 500. */
export const addReflections = (
  tables: Tables,
  rows: readonly Reflection[],
  { ttlMs, now }: ReflectionRules,
): void =>
  tables.write((all) => {
    for (const row of rows)
      all(
        "INSERT OR IGNORE INTO reflections (id, at, json) VALUES (?, ?, ?)",
        row.id,
        row.at,
        JSON.stringify(row),
      );
    all("DELETE FROM reflections WHERE at <= ?", now - ttlMs);
    all(
      `DELETE FROM reflections WHERE id IN
        (SELECT id FROM reflections ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?)`,
      mostReflections,
    );
  });

/** Finds the lessons about tasks like the given one. */
export const findReflections = (
  tables: Tables,
  task: string,
  rules: ReflectionRules,
): readonly Reflection[] => {
  const rows = tables.read("SELECT json FROM reflections").map(reflectionOf);
  return matchReflections(pruneReflections(rows, rules), task);
};

/** Creates a session's access to its tenant's lessons. */
export const createSharedReflections = (stores: () => TenantStores): SharedReflections => ({
  add: (rows, ttlMs) => stores().addReflections(rows, ttlMs),
  find: (task, ttlMs) => stores().findReflections(task, ttlMs),
});
