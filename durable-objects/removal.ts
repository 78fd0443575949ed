import { ProblemError } from "../src/session/problems.ts";
import type { SessionCall } from "../src/session/rpc.ts";
import type { SessionSummary, TenantDirectory } from "../src/engine/access/rpc.ts";
import type { TenantAddress } from "../src/sandbox/jurisdiction.ts";
import type { Session } from "../src/agent/state/session.ts";
import type { Engine } from "../src/engine/engine.ts";
import { SandboxError } from "../src/sandbox/contract.ts";
import type { Clock } from "./alarms/clock.ts";
import { shareInFlight } from "./serialize.ts";
import { logFailure } from "./log.ts";
import { createSafeStorage } from "./rows/safe-storage.ts";
import { withTimeout } from "./with-timeout.ts";

const firstPause = 2_000;

/** Ends a session: its rows go at once, its index entry and its sandbox as soon as its tenant's object and the sandbox answer. */
export interface Removal {
  /** Removes all rows or throws; one row with the final summary stays until the tenant's object has it and the sandbox is gone. */
  readonly begin: (session: Session, told: SessionSummary) => void;
  /** Returns whether nothing is left; it retries what is left for at most 2 s. */
  readonly finish: () => Promise<boolean>;
  /** Throws while something is left: nothing of a deleted session may reach the next one of its name. */
  readonly vacant: () => void;
  /** Returns whether this call's key deleted an earlier session of this name; null if the tenant's object does not answer. */
  readonly did: (call: SessionCall) => Promise<boolean | null>;
}

const removalProblem = {
  code: "overloaded",
  detail: "What the deleted session of this name left is still being removed. Send it again.",
  retryAfterMs: firstPause,
} as const;

interface PendingRemoval extends TenantAddress {
  readonly session: string;
  readonly tries: number;
  /** Holds the final summary for the tenant's index, as JSON. */
  readonly told: string;
  /** Is 1 if the session may have a sandbox, else 0. */
  readonly sandboxed: number;
}

const longestPause = 3_600_000;
/** Limits the retries to about four days; after that only the next session of this name tries again. */
const maxTries = 100;

/** Returns whether the sandbox may still be there; a refusal means that there is none to remove. */
const isUnreachable = (error: unknown): boolean =>
  !(error instanceof SandboxError) ||
  error.code === "exec_transport_error" ||
  error.code === "capacity_exceeded";

const tablesOf = (sql: SqlStorage): readonly string[] =>
  sql
    .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*'")
    .toArray()
    .map(({ name }) => name);

/** Names the others that hold something of a session. */
interface RemovalContext {
  readonly engine: Engine;
  readonly tenant: (address: TenantAddress) => Pick<TenantDirectory, "index" | "wasDeleted">;
}

const finalSummaryOf = ({ told }: PendingRemoval): SessionSummary => JSON.parse(told) as SessionSummary;

/** Reports the removal and returns whether the tenant's object has received it. */
const reportRemoval = async ({ engine, tenant }: RemovalContext, rest: PendingRemoval): Promise<boolean> => {
  const heard = tenant(rest)
    .index(finalSummaryOf(rest))
    .then(() => true);
  return heard.catch((error: unknown) => {
    logFailure(engine.logLine, "session_index_failed", error);
    return false;
  });
};

/** Destroys the sandbox and returns whether nothing is left in it. */
const destroySandbox = async (
  { engine }: RemovalContext,
  { tenant, jurisdiction, session, sandboxed }: PendingRemoval,
): Promise<boolean> => {
  if (sandboxed === 0) return true;
  try {
    await engine.sandbox({ tenant, jurisdiction, id: session }).destroy();
  } catch (error) {
    if (isUnreachable(error)) {
      logFailure(engine.logLine, "sandbox_removal_failed", error);
      return false;
    }
  }
  return true;
};

export const createRemoval = (
  storage: DurableObjectStorage,
  clock: Clock,
  outside: () => RemovalContext,
): Removal => {
  const { sql } = storage;

  const left = (): PendingRemoval | null =>
    tablesOf(sql).includes("removal")
      ? sql.exec<PendingRemoval & Record<string, SqlStorageValue>>("SELECT * FROM removal").one()
      : null;

  const tried = shareInFlight(async () => {
    const rest = left();
    if (rest === null) return true;
    const pause = Math.min(longestPause, firstPause * 2 ** Math.min(rest.tries, 20));
    clock.reset(rest.tries < maxTries ? Date.now() + pause : null);
    sql.exec("UPDATE removal SET tries = tries + 1");
    const done = await Promise.all([reportRemoval(outside(), rest), destroySandbox(outside(), rest)]);
    if (done.includes(false)) return false;
    const gone = storage.deleteAll();
    clock.reset(null);
    await gone;
    return true;
  });

  return {
    finish: async () => left() === null || (await withTimeout(tried())) === true,
    vacant: () => {
      if (left() !== null) throw new ProblemError(removalProblem);
    },
    did: async ({ op, principal, session, key }) => {
      if (op !== "delete" || key === undefined) return false;
      const rest = left();
      if (rest !== null && finalSummaryOf(rest).removal?.key === key) return true;
      return withTimeout(outside().tenant(principal).wasDeleted({ session, key }));
    },
    begin: ({ tenant, jurisdiction, id, sandboxed }, told) => {
      createSafeStorage(storage, outside().engine.logLine).transactionSync(() => {
        for (const table of tablesOf(sql)) sql.exec(`DROP TABLE "${table}"`);
        sql.exec(
          "CREATE TABLE removal (tenant TEXT, jurisdiction TEXT, session TEXT, tries INTEGER, told TEXT, sandboxed INTEGER)",
        );
        const used = sandboxed ? 1 : 0;
        sql.exec(
          "INSERT INTO removal VALUES (?, ?, ?, 0, ?, ?)",
          tenant,
          jurisdiction,
          id,
          JSON.stringify(told),
          used,
        );
      });
      clock.reset(Date.now() + firstPause);
    },
  };
};
