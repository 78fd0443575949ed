import { parseJson } from "../../../chat/json.ts";
import { firstCharacters } from "../../../chat/text.ts";
import type { Json } from "../../../chat/message.ts";
import { sha256Hex } from "../../../sandbox/sha256.ts";
import type { TenantAddress } from "../../../sandbox/jurisdiction.ts";
import type { IssuerCredentials } from "../../../toolboxes/mcp/port.ts";
import { errorMessageOf } from "../../../tools/errors.ts";
import type { Redactor } from "../../../tools/redaction.ts";
import type {
  AuthorizationAnswer,
  AuthorizationRequest,
} from "../../../tools/egress/server-authorization.ts";
import type { LoginSettlement } from "../../../session/rpc.ts";
import type { Sealer } from "../../secrets/seal.ts";
import type { ServerLogins } from "../../tools/server-login.ts";
import type { RunQuery, Tables } from "../database.ts";
import { tenantObjectName } from "../names.ts";
import { recordAction } from "./audit.ts";

/** Stores a tenant's registrations and tokens at authorization servers, and its active logins. */

/** Request for a token of an MCP server on behalf of a session; null: on behalf of an administrator. */
export interface ServerAuthorization {
  readonly address: TenantAddress;
  readonly server: string;
  readonly session: string | null;
  /** Whether a person can be asked to sign in; otherwise no login begins. */
  readonly interactive: boolean;
  readonly request: AuthorizationRequest;
}

/**
 * Result of a login: its state was unknown, expired or used before, or the login is no longer needed (`unknown`);
 * the exchange failed; or the person refused or signed in.
 */
export type LoginEnd = "unknown" | "failed" | "refused" | "signed_in";

/** Sessions of tenants that wait for logins. */
export interface LoginSessions {
  readonly awaitsLogin: (address: TenantAddress, session: string, server: string) => Promise<boolean>;
  readonly settleLogin: (
    address: TenantAddress,
    session: string,
    settlement: LoginSettlement,
  ) => Promise<void>;
}

export interface TenantLogins {
  /** Returns a token, the address to sign in at, or why neither is available. */
  readonly authorize: (asked: ServerAuthorization) => Promise<AuthorizationAnswer>;
  /**
   * Ends the login with this state, once, and notifies every session that waits for it; `query` is the response of
   * its authorization server. Rejects while a session cannot be notified, and continues at the next call of this or of
   * `tellSessions`.
   */
  readonly finish: (answered: {
    readonly address: TenantAddress;
    readonly state: string;
    readonly query: string;
  }) => Promise<LoginEnd>;
  /** Notifies sessions that have not heard of the end of their login; returns whether some cannot be notified now. */
  readonly tellSessions: () => Promise<boolean>;
}

export interface TenantLoginParts {
  readonly tables: Tables;
  readonly sealer: Sealer | null;
  readonly logins: ServerLogins;
  readonly sessions: LoginSessions;
  readonly redactor: Pick<Redactor, "text">;
  readonly now: () => number;
  /** Milliseconds for which sessions wait for a login. */
  readonly askMs: number;
}

const loginLifeMs = 600_000;

const longestReason = 300;

/**
 * Binds a state to this use. A state is the sealed address of its tenant: it reveals nothing, and only this
 * deployment can make one.
 */
const stateBound = "state of a login";

/** Returns the tenant in which a login with this state began; null if this deployment did not issue the state. */
export const readState = async (sealer: Sealer | null, state: string): Promise<TenantAddress | null> => {
  const opened = (await sealer?.open(state, stateBound)) ?? null;
  return opened === null ? null : (parseJson(opened) as unknown as TenantAddress);
};

const missingKey =
  "LIMPET_ADMIN_KEY is not set, and it encrypts the tokens of authorization servers; in development write it into .dev.vars";

interface StoredLogin {
  readonly id: string;
  readonly server: string;
  readonly session: string | null;
  readonly login: string;
  readonly isOpen: boolean;
  readonly outcome: "refused" | "signed_in" | null;
}

const findLogin = (tables: Tables, id: string, now: number): StoredLogin | null => {
  const [row] = tables.read("SELECT * FROM mcp_logins WHERE id = ?", id);
  if (row === undefined) return null;
  const { server, session, login, outcome, expires_at: expiresAt } = row;
  return {
    id,
    server: String(server),
    session: session === null ? null : String(session),
    login: String(login),
    isOpen: outcome === null && Number(expiresAt) > now,
    outcome: outcome === "refused" || outcome === "signed_in" ? outcome : null,
  };
};

/** Marks a state as used; returns false if another request did so before. */
const takeLogin = (tables: Tables, id: string): boolean =>
  tables.write((all) =>
    all("UPDATE mcp_logins SET outcome = 'used' WHERE id = ? AND outcome IS NULL RETURNING id", id),
  ).length > 0;

type SealedRow = readonly [issuer: string, sealed: string];

const writeCredentials = (all: RunQuery, server: string, rows: readonly SealedRow[]): void => {
  all("DELETE FROM mcp_credentials WHERE server = ?", server);
  for (const [issuer, sealed] of rows)
    all("INSERT INTO mcp_credentials (server, issuer, sealed) VALUES (?, ?, ?)", server, issuer, sealed);
};

const holdsCredentials = (all: RunQuery, server: string): boolean =>
  all("SELECT 1 FROM mcp_credentials WHERE server = ?", server).length > 0;

/** Deletes what authorization servers issued for a server, and its active logins. */
export const forgetLogins = (all: RunQuery, server: string): void => {
  all("DELETE FROM mcp_credentials WHERE server = ?", server);
  all("DELETE FROM mcp_logins WHERE server = ?", server);
};

/**
 * Milliseconds that a request for a token waits for those before it: if each takes 15 seconds to fail, many would
 * wait for minutes.
 */
const longestWaitMs = 20_000;

/**
 * Runs the work on each server one piece after the other, since a refresh token can be used once; the end of a
 * login goes first.
 */
const createQueues = (now: () => number) => {
  const queues = new Map<string, (() => Promise<void>)[]>();
  const drain = async (server: string, waiting: (() => Promise<void>)[]): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next();
    queues.delete(server);
  };
  return async <T>(server: string, work: () => Promise<T>, goesFirst = false): Promise<T> => {
    const waiting = queues.get(server) ?? [];
    const since = now();
    const { promise, resolve } = Promise.withResolvers<T>();
    const run = async (): Promise<void> => {
      const isLate = !goesFirst && now() - since > longestWaitMs;
      const late = new Error("other requests for a token of this server took too long; try again later");
      const result = isLate ? Promise.reject<T>(late) : work();
      resolve(result);
      await result.catch(() => undefined);
    };
    waiting.splice(goesFirst ? 0 : waiting.length, 0, run);
    if (!queues.has(server)) {
      queues.set(server, waiting);
      void drain(server, waiting);
    }
    return promise;
  };
};

/** Returns the place to which a sealed text is bound: moved elsewhere, it cannot be opened. */
const boundOf = (address: TenantAddress, ...more: readonly string[]): string =>
  JSON.stringify([tenantObjectName(address), ...more]);

/** Tables of the tenant and key of the deployment, for the steps of a login. */
interface Vault extends Omit<TenantLoginParts, "sealer" | "redactor"> {
  readonly sealer: Sealer;
  readonly address: TenantAddress;
}

const readStored = async (
  { tables, sealer, address }: Vault,
  server: string,
): Promise<readonly IssuerCredentials[]> => {
  const stored: IssuerCredentials[] = [];
  for (const row of tables.read("SELECT issuer, sealed FROM mcp_credentials WHERE server = ?", server)) {
    const issuer = String(row["issuer"]);
    const opened = await sealer.open(String(row["sealed"]), boundOf(address, server, issuer));
    if (opened !== null) stored.push({ issuer, value: parseJson(opened) ?? null });
  }
  return stored;
};

const sealStored = (
  { sealer, address }: Vault,
  server: string,
  stored: readonly IssuerCredentials[],
): Promise<readonly SealedRow[]> =>
  Promise.all(
    stored.map(
      async ({ issuer, value }) =>
        [issuer, await sealer.seal(JSON.stringify(value), boundOf(address, server, issuer))] as const,
    ),
  );

/**
 * Number of logins at a server that are kept of one session, or of administrators; the oldest are deleted, so that
 * nobody can fill the table.
 */
const mostLogins = 100;

/** Stores a login, and deletes those whose asks nobody can answer any more. */
const keepLogin = async (
  { tables, sealer, address, now, askMs }: Vault,
  { server, session }: Pick<ServerAuthorization, "server" | "session">,
  { state, value }: { readonly state: string; readonly value: Json },
): Promise<void> => {
  const id = sha256Hex(state);
  const login = await sealer.seal(JSON.stringify(value), boundOf(address, id));
  const expiresAt = now() + loginLifeMs;
  tables.write((all) => {
    all("DELETE FROM mcp_logins WHERE server = ? AND expires_at <= ?", server, expiresAt - askMs);
    all(
      `DELETE FROM mcp_logins WHERE server = ?1 AND session IS ?2 AND id NOT IN (SELECT id FROM mcp_logins
       WHERE server = ?1 AND session IS ?2 ORDER BY expires_at DESC LIMIT ${mostLogins - 1})`,
      server,
      session,
    );
    all(
      "INSERT INTO mcp_logins (id, server, session, login, expires_at, address) VALUES (?, ?, ?, ?, ?, ?)",
      id,
      server,
      session,
      login,
      expiresAt,
      JSON.stringify(address),
    );
  });
};

const authorize = async (
  vault: Vault,
  { server, session, interactive, request }: ServerAuthorization,
): Promise<AuthorizationAnswer> => {
  const { sealer, logins, address, now } = vault;
  const stored = await readStored(vault, server);
  const { tenant, jurisdiction } = address;
  const state = (): Promise<string> => sealer.seal(JSON.stringify({ tenant, jurisdiction }), stateBound);
  const after = await logins.authorize(server, stored, { request, state, now });
  if (after.stored !== stored) {
    const rows = await sealStored(vault, server, after.stored);
    vault.tables.write((all) => {
      const isForgotten = stored.length > 0 && !holdsCredentials(all, server);
      if (!isForgotten) writeCredentials(all, server, rows);
    });
  }
  if (after.outcome.kind === "token") return after.outcome;
  if (!interactive) return { kind: "login", url: null };
  const { login } = after.outcome;
  await keepLogin(vault, { server, session }, login);
  return { kind: "login", url: login.url };
};

/** Exchanges the code of a login; stores its credentials and the end of every login at this server together. */
const exchange = async (
  vault: Vault,
  { id, server, login }: StoredLogin,
  query: string,
): Promise<"refused" | "signed_in"> => {
  const { tables, sealer, logins, address, now } = vault;
  const opened = await sealer.open(login, boundOf(address, id));
  if (opened === null) throw new Error("the login began under another key");
  const stored = await readStored(vault, server);
  const after = await logins.finish(server, stored, { login: parseJson(opened) ?? null, query, now });
  const rows = after === null ? null : await sealStored(vault, server, after);
  tables.write((all) => {
    if (rows === null) return all("UPDATE mcp_logins SET outcome = 'refused' WHERE id = ?", id);
    const isForgotten = all("SELECT 1 FROM mcp_logins WHERE id = ?", id).length === 0;
    if (isForgotten) throw new Error("the login was deleted meanwhile");
    writeCredentials(all, server, rows);
    return all(
      "UPDATE mcp_logins SET outcome = 'signed_in' WHERE server = ? AND outcome IS NOT 'refused'",
      server,
    );
  });
  if (rows !== null)
    tables.write((all) => recordAction(all, { who: "login", action: "sign_in", subject: server }, now()));
  return rows === null ? "refused" : "signed_in";
};

/** Notifies the sessions of ended logins, each of which is deleted once its session knows. */
const settle = async (
  { tables, sessions }: Pick<TenantLoginParts, "tables" | "sessions">,
  address: TenantAddress,
  { id, server }: Pick<StoredLogin, "id" | "server">,
  outcome: "refused" | "signed_in",
): Promise<void> => {
  const granted = outcome === "signed_in";
  const rows = tables.read(
    `SELECT DISTINCT session FROM mcp_logins
     WHERE server = ? AND outcome = ? AND (id = ? OR outcome = 'signed_in')`,
    server,
    outcome,
    id,
  );
  const notify = async (session: string | null): Promise<void> => {
    if (session !== null) await sessions.settleLogin(address, session, { server, granted });
    const told = "server = ? AND session IS ? AND outcome = 'signed_in' AND id <> ?";
    if (granted) tables.write((all) => all(`DELETE FROM mcp_logins WHERE ${told}`, server, session, id));
  };
  await Promise.all(rows.map(({ session }) => notify(session === null ? null : String(session))));
  // By its state, this login is found again until all sessions know of its end.
  tables.write((all) => all("DELETE FROM mcp_logins WHERE id = ?", id));
};

/** Notifies the sessions of all ended logins; returns whether some cannot be notified now. */
const settleAll = async (parts: TenantLoginParts): Promise<boolean> => {
  const { tables, now, askMs } = parts;
  // Nobody waits any more for the oldest.
  tables.write((all) => all("DELETE FROM mcp_logins WHERE expires_at <= ?", now() - askMs));
  const ended = tables.read(
    "SELECT id, server, outcome, address FROM mcp_logins WHERE outcome IN ('refused', 'signed_in')",
  );
  let isLeft = false;
  for (const { id, server, outcome, address } of ended) {
    const home = parseJson(String(address)) as unknown as TenantAddress;
    const told = { id: String(id), server: String(server) };
    await settle(parts, home, told, outcome === "refused" ? "refused" : "signed_in").catch(() => {
      isLeft = true;
    });
  }
  return isLeft;
};

/** Creates the logins of a tenant over its tables. */
export const createTenantLogins = (parts: TenantLoginParts): TenantLogins => {
  const { tables, sealer, sessions, redactor, now } = parts;
  const inTurn = createQueues(now);
  return {
    authorize: async (asked) => {
      if (sealer === null) return { kind: "failure", reason: missingKey };
      const vault = { ...parts, sealer, address: asked.address };
      try {
        return await inTurn(asked.server, () => authorize(vault, asked));
      } catch (error) {
        const reason = firstCharacters(redactor.text(errorMessageOf(error)), longestReason);
        return { kind: "failure", reason: `no token is available: ${reason}` };
      }
    },
    finish: async ({ address, state, query }) => {
      const login = findLogin(tables, sha256Hex(state), now());
      if (login === null || sealer === null) return "unknown";
      let { outcome } = login;
      if (outcome === null) {
        const { id, server, session } = login;
        if (!login.isOpen) return "unknown";
        // Somebody who was refused, or is no longer needed, does not sign in.
        if (session !== null && !(await sessions.awaitsLogin(address, session, server))) return "unknown";
        if (!takeLogin(tables, id)) return "unknown";
        const vault = { ...parts, sealer, address };
        outcome = await inTurn(server, () => exchange(vault, login, query), true).catch(() => null);
      }
      if (outcome === null) return "failed";
      await settle(parts, address, login, outcome);
      return outcome;
    },
    tellSessions: () => settleAll(parts),
  };
};
