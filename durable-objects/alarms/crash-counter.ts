import { ProblemError } from "../../src/session/problems.ts";
import { migrate } from "../rows/tables.ts";

/** Drives that died before any commit, counted in a row, so that nothing is tried for ever. */
export interface CrashCounter {
  /** A drive begins; `isFresh` = in a new isolate. Answers how many died in a row, this one included if it dies. */
  readonly begin: (isFresh: boolean) => number;
  /** Something was committed. */
  readonly clear: () => void;
  /** The platform refused what a drive begins with: it is no dead one, and begins again later. Throws what else went wrong. */
  readonly ignoreRefusal: (error: unknown) => null;
}

export const createCrashCounter = (storage: DurableObjectStorage, later: () => void): CrashCounter => {
  const { sql } = storage;
  let counting = false;
  const isBusy = (): boolean => {
    migrate(storage);
    return sql.exec("SELECT 1 FROM turns WHERE json ->> '$.run' IS NOT NULL LIMIT 1").toArray().length > 0;
  };
  const clear = (): void => {
    if (counting) sql.exec("DELETE FROM meta WHERE key = 'drives'");
    counting = false;
  };
  return {
    begin: (isFresh) => {
      if (!isFresh || !isBusy()) return 0;
      const known = sql.exec<{ value: string }>("SELECT value FROM meta WHERE key = 'drives'").toArray()[0];
      const count = Number(known?.value ?? 0) + 1;
      sql.exec("INSERT OR REPLACE INTO meta VALUES ('drives', ?)", String(count));
      counting = true;
      return count;
    },
    clear,
    ignoreRefusal: (error) => {
      if (!(error instanceof ProblemError)) throw error;
      clear();
      later();
      return null;
    },
  };
};

/** Drives that may die in a row before anything is stored. */
export const maxDeadDrives = 3;
