import { DatabaseSync } from "node:sqlite";
import { openTables } from "../../../src/engine/access/database.ts";
import { tenantMigrations } from "../../../src/engine/access/tenant/tables.ts";
import type { TableDatabase, DatabaseRow, Migrations, Tables } from "../../../src/engine/access/database.ts";

const isRow = (row: Record<string, unknown>): row is DatabaseRow =>
  Object.values(row).every(
    (value) => value === null || typeof value === "string" || typeof value === "number",
  );

/** A tenant's tables, or those of other migrations, over Node's SQLite in memory; `dump` is everything stored, as text. */
export function memoryTables(migrations: Migrations = tenantMigrations): {
  tables: Tables;
  database: TableDatabase;
  dump: () => string;
} {
  const sqlite = new DatabaseSync(":memory:");
  const all: TableDatabase["all"] = (query, ...values) =>
    sqlite
      .prepare(query)
      .all(...values)
      .map((row) => ({ ...row }))
      .filter(isRow);
  const database: TableDatabase = {
    all,
    transaction(work) {
      sqlite.exec("BEGIN");
      try {
        const result = work();
        sqlite.exec("COMMIT");
        return result;
      } catch (fault) {
        sqlite.exec("ROLLBACK");
        throw fault;
      }
    },
  };
  const dump = (): string =>
    all("SELECT name FROM sqlite_master WHERE type = 'table'")
      .map(({ name }) => `${name}: ${JSON.stringify(all(`SELECT * FROM ${name}`))}`)
      .join("\n");
  return { tables: openTables(database, migrations), database, dump };
}
