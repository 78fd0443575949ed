import type { Problem } from "../../session/problems.ts";
import { allScopes } from "../../session/rpc.ts";
import type { Principal, TeamRpc } from "../../session/rpc.ts";
import { signingKey } from "./browser-tokens.ts";
import type { Tables } from "./database.ts";
import { operator, operatorTenant, storedKey } from "./key-store.ts";
import type { StoredKey } from "./key-store.ts";
import { credentialDigest, digestMatches, keyIdOf } from "./keys.ts";
import { isToken, verifyToken } from "./tokens.ts";

/** Who presents a credential. One answer for all that is wrong with it, but for an expiry. */

type Answer = Awaited<ReturnType<TeamRpc["authenticate"]>>;

/** LIMPET_ADMIN_KEY must be no weaker than a short random string. */
export const adminKeyMinLength = 24;

/** Whether the deployment has a usable admin key. */
export const adminKeyUsable = (adminKey: string | undefined): adminKey is string =>
  adminKey !== undefined && adminKey.length >= adminKeyMinLength;

const refused = (code: "unauthenticated" | "token_expired", detail: string): Answer => ({
  ok: false,
  problem: { code, detail } satisfies Problem,
});
const unknown = refused("unauthenticated", "The credential is unknown, revoked or forged.");
const expired = refused("token_expired", "The credential has expired: get a new one.");

const accepted = (principal: Principal, now: number): Answer =>
  principal.expires !== undefined && principal.expires <= now ? expired : { ok: true, principal };

/** What the key behind a token may do now; null if it was revoked. */
const minterOf = (tables: Tables, by: string): Pick<StoredKey, "scopes" | "expires_at"> | null =>
  by === operator || by === "dev" ? { scopes: allScopes, expires_at: null } : storedKey(tables, by);

async function byToken(tables: Tables, token: string, now: number): Promise<Answer> {
  const claims = await verifyToken(token, (kid) => signingKey(tables, kid));
  if (claims === null) return unknown;
  const minter = minterOf(tables, claims.by);
  if (minter === null) return unknown;
  const { tenant, session, made, by } = claims;
  const scopes = claims.scopes.filter((scope) => minter.scopes.includes(scope));
  const expires = Math.min(claims.exp, minter.expires_at ?? Infinity);
  const bound = claims.origin === undefined ? {} : { origin: claims.origin };
  return accepted({ tenant, by, scopes, session, made, expires, ...bound }, now);
}

function byKey(tables: Tables, credential: string, digest: string, now: number): Answer {
  const id = keyIdOf(credential);
  const key = id === null ? null : storedKey(tables, id);
  if (!digestMatches(digest, key?.digest ?? null) || key === null) return unknown;
  const expires = key.expires_at === null ? {} : { expires: key.expires_at };
  return accepted({ tenant: key.tenant, by: key.id, scopes: key.scopes, ...expires }, now);
}

/** Verifies an API key, a browser token or the admin key. */
export async function authenticate(
  tables: Tables,
  credential: string,
  setting: { adminKey: string | undefined; now: number },
): Promise<Answer> {
  if (isToken(credential)) return byToken(tables, credential, setting.now);
  const digest = await credentialDigest(credential);
  const { adminKey } = setting;
  const admin = adminKeyUsable(adminKey) ? await credentialDigest(adminKey) : null;
  if (digestMatches(digest, admin)) {
    return accepted({ tenant: operatorTenant, by: operator, scopes: allScopes }, setting.now);
  }
  return byKey(tables, credential, digest, setting.now);
}

/** How long an open socket may go on without its credential being checked again, in milliseconds. */
const socketMs = 15 * 60_000;

/** Whom a socket is opened for: a key that may be revoked counts for 15 minutes, then the client must renew it. */
export const forSocket = (principal: Principal, now: number): Principal =>
  principal.by === operator || principal.by === "dev"
    ? principal
    : { ...principal, expires: Math.min(principal.expires ?? Infinity, now + socketMs) };
