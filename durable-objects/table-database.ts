import type { DatabaseRow, TableDatabase } from "../src/engine/access/database.ts";

/** Returns the database of the tables in an object's storage. */
export const databaseOf = (storage: DurableObjectStorage): TableDatabase => ({
  all: (query, ...values) => storage.sql.exec<DatabaseRow>(query, ...values).toArray(),
  transaction: (work) => storage.transactionSync(work),
});
