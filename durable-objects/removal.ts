import type { Host } from "../src/agent/host.ts";
import type { SessionReply } from "../src/agent/rpc.ts";
import type { Session } from "../src/agent/state.ts";
import type { Engine } from "../src/engine/engine.ts";
import { SandboxError } from "../src/sandbox/contract.ts";
import type { Sandbox } from "../src/sandbox/contract.ts";
import type { Clock } from "./clock.ts";
import { logFailure } from "./log.ts";
import { within } from "./within.ts";

const firstPause = 2_000;

/** The end of a session: its rows go at once, its sandbox as soon as that answers (RE-P14, RE-C32). */
interface Removal {
  /** Removes all that is stored; if the session used its sandbox, a row that names it stays until that is gone, too. */
  readonly begin: (session: Session) => void;
  /** Whether nothing is left; tries what is left, for at most 2 s. */
  readonly over: () => Promise<boolean>;
}

/** Nothing of a deleted session may reach the next one of its name. */
export const sandboxLeft: SessionReply = {
  ok: false,
  problem: {
    code: "overloaded",
    detail: "The files of the deleted session of this name are still being removed. Send it again.",
    retryAfterMs: firstPause,
  },
};

/** The session's sandbox; that there is one is stored before it is asked for anything, since it goes with the session (RE-P14). */
export const sandboxOf = (
  engine: Engine,
  { read, update }: Pick<Host, "read" | "update">,
): Host["sandbox"] => {
  let sandbox: Sandbox | null = null;
  return () => {
    if (read().sandboxed === false)
      update((draft) => {
        draft.state = { ...draft.state, sandboxed: true };
      });
    return (sandbox ??= engine.sandbox(read()));
  };
};

interface Left {
  readonly tenant: string;
  readonly session: string;
  readonly tries: number;
}

const longestPause = 3_600_000;
/** About four days of tries; after that only the next session of this name tries again. */
const mostTries = 100;

/** Whether the sandbox may still be there; a refusal means that there is none to remove. */
const isUnreachable = (error: unknown): boolean =>
  !(error instanceof SandboxError) ||
  error.code === "exec_transport_error" ||
  error.code === "capacity_exceeded";

const tablesOf = (sql: SqlStorage): readonly string[] =>
  sql
    .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*'")
    .toArray()
    .map(({ name }) => name);

export const createRemoval = (storage: DurableObjectStorage, clock: Clock, engine: () => Engine): Removal => {
  const { sql } = storage;
  let trying: Promise<boolean> | null = null;

  const left = (): Left | null =>
    tablesOf(sql).includes("removal")
      ? sql.exec<Left & Record<string, SqlStorageValue>>("SELECT * FROM removal").one()
      : null;

  const tried = async ({ tenant, session, tries }: Left): Promise<boolean> => {
    const pause = Math.min(longestPause, firstPause * 2 ** Math.min(tries, 20));
    clock.reset(tries < mostTries ? Date.now() + pause : null);
    sql.exec("UPDATE removal SET tries = tries + 1");
    try {
      await engine().sandbox({ tenant, id: session }).destroy();
    } catch (error) {
      if (isUnreachable(error)) {
        logFailure(engine().logLine, "sandbox_removal_failed", error);
        return false;
      }
    }
    await storage.deleteAll();
    clock.reset(null);
    return true;
  };

  return {
    begin: ({ tenant, id, sandboxed }) => {
      if (sandboxed === false) {
        clock.reset(null);
        void storage.deleteAll();
        return;
      }
      storage.transactionSync(() => {
        for (const table of tablesOf(sql)) sql.exec(`DROP TABLE "${table}"`);
        sql.exec("CREATE TABLE removal (tenant TEXT, session TEXT, tries INTEGER)");
        sql.exec("INSERT INTO removal VALUES (?, ?, 0)", tenant, id);
      });
      clock.reset(Date.now() + firstPause);
    },
    over: async () => {
      const rest = left();
      if (rest === null) return true;
      trying ??= tried(rest).finally(() => {
        trying = null;
      });
      return (await within(trying)) === true;
    },
  };
};
