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
import type { Sealer } from "../../secrets/seal.ts";
import type { ServerLogins } from "../../tools/server-login.ts";
import type { Tables } from "../database.ts";
import { tenantObjectName } from "../names.ts";
import { recordAction } from "./audit.ts";

/** This file keeps a tenant's registrations and tokens at authorization servers, and the logins that are under way. */

/** Asks for a token of an MCP server on behalf of a session; null: an administrator looks at the server. */
export interface ServerAuthorization {
  readonly address: TenantAddress;
  readonly server: string;
  readonly session: string | null;
  readonly request: AuthorizationRequest;
}

/** What became of a login: its state was unknown, old or used before; the exchange failed; or somebody said yes or no. */
export type LoginEnd =
  | { readonly kind: "unknown" }
  | {
      readonly kind: "failed" | "refused" | "signed_in";
      readonly server: string;
      readonly session: string | null;
    };

export interface TenantLogins {
  /** Returns a token, the address to sign in at, or why neither can be had. */
  readonly authorize: (asked: ServerAuthorization) => Promise<AuthorizationAnswer>;
  /** Ends the login with this state, once; `query` is what its authorization server sent. */
  readonly finish: (answered: {
    readonly address: TenantAddress;
    readonly state: string;
    readonly query: string;
  }) => Promise<LoginEnd>;
}

export interface TenantLoginParts {
  readonly tables: Tables;
  readonly sealer: Sealer | null;
  readonly logins: ServerLogins;
  readonly redactor: Pick<Redactor, "text">;
  readonly now: () => number;
}

const loginLifeMs = 600_000;

const longestReason = 300;

/** A state opens to the address of its tenant: whoever holds one learns nothing, and nobody else can make one. */
const stateBound = "state of a login";

/** Returns the tenant in which a login with this state began; null if this deployment gave out no such state. */
export const readState = async (sealer: Sealer | null, state: string): Promise<TenantAddress | null> => {
  const opened = (await sealer?.open(state, stateBound)) ?? null;
  return opened === null ? null : (parseJson(opened) as unknown as TenantAddress);
};

const missingKey =
  "LIMPET_ADMIN_KEY is not set, and it encrypts what authorization servers give; in development write it into .dev.vars";

interface TakenLogin {
  readonly server: string;
  readonly session: string | null;
  readonly login: string;
}

/** Takes a login away, so that its state counts once. */
const takeLogin = (tables: Tables, id: string, now: number): TakenLogin | null => {
  if (tables.read("SELECT 1 FROM mcp_logins WHERE id = ?", id).length === 0) return null;
  const [row] = tables.write((all) => all("DELETE FROM mcp_logins WHERE id = ? RETURNING *", id));
  if (row === undefined || Number(row["expires_at"]) <= now) return null;
  const { server, session, login } = row;
  return { server: String(server), session: session === null ? null : String(session), login: String(login) };
};

const writeCredentials = (
  tables: Tables,
  server: string,
  rows: readonly (readonly [issuer: string, sealed: string])[],
): void =>
  tables.write((all) => {
    all("DELETE FROM mcp_credentials WHERE server = ?", server);
    for (const [issuer, sealed] of rows)
      all("INSERT INTO mcp_credentials (server, issuer, sealed) VALUES (?, ?, ?)", server, issuer, sealed);
  });

/** Runs the work on one server one after the other, since a refresh token counts once. */
const createQueues = () => {
  const last = new Map<string, Promise<unknown>>();
  return <T>(server: string, work: () => Promise<T>): Promise<T> => {
    const result = (last.get(server) ?? Promise.resolve()).then(work);
    last.set(
      server,
      result.catch(() => undefined),
    );
    return result;
  };
};

/** Names the place of a sealed text: moved to another, it cannot be opened. */
const boundOf = (address: TenantAddress, ...more: readonly string[]): string =>
  JSON.stringify([tenantObjectName(address), ...more]);

/** What the steps of a login work with: the tenant's tables and the deployment's key. */
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

const keepStored = async (
  { tables, sealer, address }: Vault,
  server: string,
  stored: readonly IssuerCredentials[],
): Promise<void> => {
  const seal = async ({ issuer, value }: IssuerCredentials) =>
    [issuer, await sealer.seal(JSON.stringify(value), boundOf(address, server, issuer))] as const;
  writeCredentials(tables, server, await Promise.all(stored.map(seal)));
};

const keepLogin = async (
  { tables, sealer, address, now }: Vault,
  { server, session }: Pick<ServerAuthorization, "server" | "session">,
  { state, value }: { readonly state: string; readonly value: Json },
): Promise<void> => {
  const id = sha256Hex(state);
  const login = await sealer.seal(JSON.stringify(value), boundOf(address, id));
  const expiresAt = now() + loginLifeMs;
  tables.write((all) => {
    all("DELETE FROM mcp_logins WHERE expires_at <= ?", now());
    all(
      "INSERT INTO mcp_logins (id, server, session, login, expires_at) VALUES (?, ?, ?, ?, ?)",
      id,
      server,
      session,
      login,
      expiresAt,
    );
  });
};

const authorize = async (
  vault: Vault,
  { server, session, request }: ServerAuthorization,
): Promise<AuthorizationAnswer> => {
  const { sealer, logins, address, now } = vault;
  const stored = await readStored(vault, server);
  const { tenant, jurisdiction } = address;
  const state = (): Promise<string> => sealer.seal(JSON.stringify({ tenant, jurisdiction }), stateBound);
  const after = await logins.authorize(server, stored, { request, state, now });
  if (after.stored !== stored) await keepStored(vault, server, after.stored);
  if (after.outcome.kind === "token") return after.outcome;
  const { login } = after.outcome;
  await keepLogin(vault, { server, session }, login);
  return { kind: "login", url: login.url };
};

const finish = async (
  vault: Vault,
  { server, session, login }: TakenLogin,
  { id, query }: { readonly id: string; readonly query: string },
): Promise<LoginEnd> => {
  const { sealer, logins, address, now } = vault;
  const opened = await sealer.open(login, boundOf(address, id));
  if (opened === null) return { kind: "unknown" };
  const stored = await readStored(vault, server);
  const after = await logins.finish(server, stored, { login: parseJson(opened) ?? null, query, now });
  if (after !== null) {
    await keepStored(vault, server, after);
    recordAction(vault.tables, { who: "login", action: "sign_in", subject: server }, now());
  }
  return { kind: after === null ? "refused" : "signed_in", server, session };
};

/** Creates the logins of a tenant over its tables. */
export const createTenantLogins = (parts: TenantLoginParts): TenantLogins => {
  const { tables, sealer, redactor, now } = parts;
  const inTurn = createQueues();
  return {
    authorize: async (asked) => {
      if (sealer === null) return { kind: "failure", reason: missingKey };
      const vault = { ...parts, sealer, address: asked.address };
      try {
        return await inTurn(asked.server, () => authorize(vault, asked));
      } catch (error) {
        const reason = firstCharacters(redactor.text(errorMessageOf(error)), longestReason);
        return { kind: "failure", reason: `no token can be had: ${reason}` };
      }
    },
    finish: async ({ address, state, query }) => {
      const id = sha256Hex(state);
      const taken = takeLogin(tables, id, now());
      if (taken === null || sealer === null) return { kind: "unknown" };
      const vault = { ...parts, sealer, address };
      const { server, session } = taken;
      return inTurn(server, () => finish(vault, taken, { id, query })).catch(() => ({
        kind: "failed",
        server,
        session,
      }));
    },
  };
};
