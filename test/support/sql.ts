import { DatabaseSync } from "node:sqlite";
import type { StatementSync } from "node:sqlite";

/** The part of a Durable Object's storage that the store uses, over an in-memory SQLite; `beforeWrite` may throw to cut the power. */
export interface FakeStorage {
  readonly sql: SqlStorage;
  readonly transactionSync: <T>(closure: () => T) => T;
}

type Value = string | number | null | ArrayBuffer;

/** The platform gives and takes bytes as `ArrayBuffer`, this SQLite as `Uint8Array`. */
const toNode = (value: Value) => (value instanceof ArrayBuffer ? new Uint8Array(value) : value);

const fromNode = (row: object): object =>
  Object.values(row).some((value) => value instanceof Uint8Array)
    ? Object.fromEntries(
        Object.entries(row).map(([key, value]) => [
          key,
          value instanceof Uint8Array ? new Uint8Array(value).buffer : value,
        ]),
      )
    : row;

const isWrite = (query: string): boolean => /^\s*(INSERT|UPDATE|DELETE|CREATE|ALTER|DROP)/i.test(query);

/** Compiled once each, as by the platform, however often an isolate is lost; SQLite itself notices when tables change. */
const statementsOf = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

export const createStorage = (
  database: DatabaseSync,
  beforeWrite: () => void = () => undefined,
): FakeStorage => {
  const statements = statementsOf.get(database) ?? new Map<string, StatementSync>();
  statementsOf.set(database, statements);
  const compiled = (query: string): StatementSync => {
    const statement = statements.get(query) ?? database.prepare(query);
    statements.set(query, statement);
    return statement;
  };
  const exec = (query: string, ...values: Value[]): unknown => {
    if (isWrite(query)) beforeWrite();
    let rows: unknown[] = [];
    if (values.length === 0 && query.includes(";")) database.exec(query);
    else
      rows = compiled(query)
        .all(...values.map(toNode))
        .map(fromNode);
    return {
      toArray: () => rows,
      one: () => {
        if (rows.length !== 1) throw new Error(`expected one row, got ${rows.length}`);
        return rows[0];
      },
      [Symbol.iterator]: () => rows[Symbol.iterator](),
    };
  };
  const sql = { exec } as unknown as SqlStorage;
  const transactionSync = <T>(closure: () => T): T => {
    database.exec("BEGIN");
    try {
      const result = closure();
      beforeWrite();
      database.exec("COMMIT");
      return result;
    } catch (error) {
      database.exec("ROLLBACK");
      throw error;
    }
  };
  return { sql, transactionSync };
};

export const openDatabase = (): DatabaseSync => new DatabaseSync(":memory:");
