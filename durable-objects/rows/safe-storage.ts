import { ProblemError } from "../../src/session/problems.ts";
import type { LogLine } from "../../src/tools/log-line.ts";
import { logFailure } from "../log.ts";

/** Part of an object's storage that commits use. */
export type CommitStorage = Pick<DurableObjectStorage, "sql" | "transactionSync">;

const storageProblem = {
  code: "storage_error",
  detail: "The session could not be stored, so nothing was done. Send the request again.",
  retryAfterMs: 1_000,
} as const;

/** Turns a failed transaction into a problem: a caller may repeat it, and the next alarm takes up a run. */
export const createSafeStorage = (storage: DurableObjectStorage, line: LogLine): CommitStorage => ({
  sql: storage.sql,
  transactionSync: (work) => {
    try {
      return storage.transactionSync(work);
    } catch (error) {
      logFailure(line, "session_commit_failed", error);
      throw new ProblemError(storageProblem);
    }
  },
});
