import { connectionsOf } from "../src/agent/hooks/servers.ts";
import { pauseAfter } from "../src/agent/state/ask.ts";
import { ProblemError } from "../src/session/problems.ts";
import type { Decision } from "../src/session/decisions.ts";
import { chunkDecisions } from "../src/session/decisions.ts";
import type { SessionCall } from "../src/session/rpc.ts";
import type { SessionSummary, TenantDirectory } from "../src/engine/access/rpc.ts";
import type { TenantAddress } from "../src/sandbox/jurisdiction.ts";
import type { Json } from "../src/chat/message.ts";
import type { Session } from "../src/agent/state/session.ts";
import type { Draft } from "../src/agent/transaction/draft.ts";
import type { Engine } from "../src/engine/engine.ts";
import { createAuthorizer } from "../src/engine/tools/pinned-servers.ts";
import { SandboxError } from "../src/sandbox/contract.ts";
import { limitTime } from "../src/sandbox/time-limit.ts";
import type { Clock } from "./alarms/clock.ts";
import { withReplyTimeout } from "../src/engine/access/replies.ts";
import { shareInFlight } from "./waits.ts";
import { logFailure } from "./log.ts";
import { fieldsOf } from "../src/chat/json.ts";
import { sendSummary } from "./index-report.ts";
import { readDecisions } from "./rows/archive.ts";
import { readDailyUsage, writeSums } from "./rows/ledger.ts";
import { createSafeStorage } from "./rows/safe-storage.ts";
import { hasTables } from "./rows/tables.ts";

const firstPause = 2_000;

/**
 * Ends a session: its rows are deleted at once, its index entry and its sandbox as soon as its tenant's
 * object and the sandbox answer. Its browser and its sessions at MCP servers are asked to end once.
 */
export interface Removal {
  /**
   * Removes all rows or throws; the final summary and the usage, with these last calls, stay until the tenant's object
   * has them and the sandbox is removed.
   */
  readonly begin: (last: Pick<Draft, "state" | "ledger">, summary: SessionSummary) => void;
  /** Tries to remove the rest, which may take over a minute, and returns whether nothing is left; the alarm tries again. */
  readonly finish: () => Promise<boolean>;
  /** Throws while something is left: nothing of a deleted session may reach the next one of its name. */
  readonly requireVacant: () => void;
  /**
   * Returns whether this call's key deleted an earlier session of this name, or made one that was deleted;
   * null if the tenant's object did not answer.
   */
  readonly wasDeletedUnderKeyOf: (call: SessionCall) => Promise<boolean | null>;
}

const removalProblem = {
  code: "overloaded",
  detail: "A deleted session of this name is still being removed. Send the request again.",
  retryAfterMs: firstPause,
} as const;

interface PendingRemoval extends TenantAddress {
  readonly session: string;
  readonly tries: number;
  /** Final summary for the tenant's index, as JSON. */
  readonly summary: string;
  /** 1 if the session may have a sandbox, else 0. */
  readonly sandboxed: number;
  /** Names of MCP servers with what ends a session there, as JSON. */
  readonly servers: string;
  /** Browser that the session left open; null if it left none. */
  readonly browser: string | null;
}

const longestPause = 3_600_000;
/** Number of retries, over about four days; after that only the next session of this name tries again. */
const maxTries = 100;

/** Returns whether the sandbox may still be there; a refusal means that there is none to remove. */
const isUnreachable = (error: unknown): boolean => !(error instanceof SandboxError) || error.isUnavailable;

const tablesOf = (sql: SqlStorage): readonly string[] =>
  sql
    .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*'")
    .toArray()
    .map(({ name }) => name);

/** Other objects that hold something of a session. */
interface RemovalContext {
  readonly engine: Engine;
  readonly tenant: (
    address: TenantAddress,
  ) => Pick<TenantDirectory, "index" | "wasDeleted" | "authorizeServer">;
}

const finalSummaryOf = ({ summary }: PendingRemoval): SessionSummary => JSON.parse(summary) as SessionSummary;

/** Reports the removal with the session's usage and returns whether the tenant's object has received it. */
const reportRemoval = async (
  { engine, tenant }: RemovalContext,
  pending: PendingRemoval,
  sql: SqlStorage,
): Promise<boolean> => {
  const source = {
    usage: (since: number) => readDailyUsage(sql, since),
    decisions: (since: number) => readKeptDecisions(sql, since),
  };
  const heard = sendSummary(tenant(pending), finalSummaryOf(pending), source, true).then(() => true);
  return heard.catch((error: unknown) => {
    logFailure(engine.logLine, "session_index_failed", error);
    return false;
  });
};

/** Keeps the decisions of a session whose log is deleted, until its tenant's object has them. */
const keepDecisions = (sql: SqlStorage, decisions: readonly Decision[]): void => {
  if (decisions.length === 0) return;
  sql.exec("CREATE TABLE decisions (json TEXT NOT NULL)");
  for (const chunk of chunkDecisions(decisions))
    sql.exec("INSERT INTO decisions VALUES (?)", JSON.stringify(chunk));
};

/** Reads the kept decisions after an event. */
const readKeptDecisions = (sql: SqlStorage, since: number): readonly Decision[] =>
  !tablesOf(sql).includes("decisions")
    ? []
    : sql
        .exec<{ json: string }>("SELECT json FROM decisions ORDER BY rowid")
        .toArray()
        .flatMap(({ json }) => JSON.parse(json) as readonly Decision[])
        .filter(({ seq }) => seq > since);

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

const endServersMs = 5_000;

/**
 * Asks the browser and the MCP servers once to end what the session left there; what does not answer ends by
 * itself in time.
 */
const endRemotes = async (
  { engine, tenant: find }: RemovalContext,
  { servers, browser, tries, tenant, jurisdiction }: PendingRemoval,
): Promise<void> => {
  if (tries > 0) return;
  const connections = JSON.parse(servers) as readonly (readonly [string, Json])[];
  const address = { tenant, jurisdiction };
  const authorizerOf = createAuthorizer((asked) => find(address).authorizeServer({ ...asked, address }), {
    session: null,
    interactive: () => false,
  });
  await limitTime(endServersMs, undefined, (signal) =>
    Promise.allSettled([
      ...connections.map(([name, connection]) =>
        engine.servers.end(name, connection, { signal, authorize: authorizerOf(name) }),
      ),
      ...(browser === null ? [] : [engine.closeBrowser(browser)]),
    ]),
  );
};

const serverSessionsOf = ({ engine }: RemovalContext, { serverLinks }: Session): string => {
  const found = Object.entries(serverLinks).flatMap(([name, link]) =>
    connectionsOf(link).map((connection) => [name, engine.servers.sessionOf(connection)] as const),
  );
  return JSON.stringify(found.filter(([, session]) => session !== null));
};

/** Replaces the rows of a session by what is still to be done about it. */
const replaceRows = (
  sql: SqlStorage,
  { state, ledger }: Pick<Draft, "state" | "ledger">,
  summary: SessionSummary,
  serverSessions: string,
): void => {
  const { tenant, jurisdiction, id, sandboxed, page } = state;
  const decisions = readDecisions(sql, 0);
  writeSums(sql, ledger, state);
  for (const table of tablesOf(sql)) if (table !== "usage") sql.exec(`DROP TABLE "${table}"`);
  keepDecisions(sql, decisions);
  sql.exec(
    "CREATE TABLE removal (tenant TEXT, jurisdiction TEXT, session TEXT, tries INTEGER, summary TEXT, sandboxed INTEGER, servers TEXT, browser TEXT)",
  );
  sql.exec(
    "INSERT INTO removal VALUES (?, ?, ?, 0, ?, ?, ?, ?)",
    tenant,
    jurisdiction,
    id,
    JSON.stringify(summary),
    sandboxed ? 1 : 0,
    serverSessions,
    page?.browser ?? null,
  );
};

/** Returns when a removal is tried again, in milliseconds since the epoch; null if it is given up. */
const retryAt = ({ tries }: PendingRemoval): number | null =>
  tries < maxTries ? Date.now() + pauseAfter(tries, firstPause, longestPause) : null;

export const createRemoval = (
  storage: DurableObjectStorage,
  clock: Clock,
  outside: () => RemovalContext,
): Removal => {
  const { sql } = storage;

  const readPending = (): PendingRemoval | null =>
    tablesOf(sql).includes("removal")
      ? sql.exec<PendingRemoval & Record<string, SqlStorageValue>>("SELECT * FROM removal").one()
      : null;

  const finish = shareInFlight(async () => {
    const pending = readPending();
    if (pending === null) return true;
    clock.reset(retryAt(pending));
    sql.exec("UPDATE removal SET tries = tries + 1");
    const [done] = await Promise.all([
      Promise.all([reportRemoval(outside(), pending, sql), destroySandbox(outside(), pending)]),
      endRemotes(outside(), pending),
    ]);
    if (done.includes(false)) {
      // The alarm may have come, and joined this try.
      clock.reset(retryAt(pending));
      return false;
    }
    const gone = storage.deleteAll();
    clock.reset(null);
    await gone;
    return true;
  });

  return {
    finish,
    requireVacant: () => {
      if (readPending() !== null) throw new ProblemError(removalProblem);
    },
    wasDeletedUnderKeyOf: async ({ op, principal, session, key, params }) => {
      if (key === undefined) return false;
      const wasDeleted = (under: string | null): Promise<boolean | null> =>
        withReplyTimeout(outside().tenant(principal).wasDeleted({ session, key: under }));
      // The id of a session comes from the key that makes it, unless it has a name.
      if (op === "fork" || (op === "create" && fieldsOf(params)["ref"] === undefined))
        return !hasTables(sql) && (await wasDeleted(null)) === true;
      if (op !== "delete") return false;
      const pending = readPending();
      if (pending !== null && finalSummaryOf(pending).removal?.key === key) return true;
      return wasDeleted(key);
    },
    begin: (last, summary) => {
      const context = outside();
      const serverSessions = serverSessionsOf(context, last.state);
      createSafeStorage(storage, context.engine.logLine).transactionSync(() =>
        replaceRows(sql, last, summary, serverSessions),
      );
      clock.reset(Date.now() + firstPause);
    },
  };
};
