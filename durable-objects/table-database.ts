import type { DatabaseRow, TableDatabase } from "../src/engine/access/database.ts";

/** Gives an object's storage to the tables that it keeps. */
export const databaseOf = (storage: DurableObjectStorage): TableDatabase => ({
  all: (query, ...values) => storage.sql.exec<DatabaseRow>(query, ...values).toArray(),
  transaction: (work) => storage.transactionSync(work),
});
