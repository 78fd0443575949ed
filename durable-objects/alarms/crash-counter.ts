import { ProblemError } from "../../src/session/problems.ts";
import { migrate } from "../rows/tables.ts";

/**
 * Counts the drives in a row that died before any commit, so that nothing is retried for ever. A drive whose commit
 * fails counts, too: its number could be written just before, so the fault is not the disk's but that of what the run
 * writes. While nothing can be written, no drive begins and none is counted.
 */
export interface CrashCounter {
  /**
   * Begins a drive; `isFresh` means that the session is not in memory. That and the first drive of an isolate count.
   * Returns how many died in a row, including this one if it dies.
   */
  readonly begin: (isFresh: boolean) => number;
  /** Resets the count, because something was committed. */
  readonly clear: () => void;
  /** Ignores a refusal to load the session, whose team did not answer: it is no crash and is retried later; throws other errors. */
  readonly ignoreRefusal: (error: unknown) => null;
}

export const createCrashCounter = (storage: DurableObjectStorage, later: () => void): CrashCounter => {
  const { sql } = storage;
  /** Whether a number may be stored: at first it may be that of an isolate whose drive died. */
  let counting = true;
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
      if (!(isFresh || counting) || !isBusy()) return 0;
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

/** Number of drives in a row that may die before anything is stored. */
export const maxDeadDrives = 3;
