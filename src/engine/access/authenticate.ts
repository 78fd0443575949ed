import type { Problem } from "../../session/problems.ts";
import { allScopes } from "../../session/rpc.ts";
import type { Principal } from "../../session/rpc.ts";
import { findSigningKey } from "./browser-tokens.ts";
import type { Tables } from "./database.ts";
import { operator, operatorTenant, findStoredKey } from "./key-store.ts";
import type { StoredKey } from "./key-store.ts";
import { credentialDigest, isCredential, matchesDigest, keyIdOf } from "./keys.ts";
import type { TeamDirectory } from "./rpc.ts";
import { isToken, verifyToken } from "./tokens.ts";

/** Authenticates the caller who presents a credential. All faults get the same answer, except an expiry. */

type AuthenticateAnswer = Awaited<ReturnType<TeamDirectory["authenticate"]>>;

/** Length of LIMPET_ADMIN_KEY that makes it no weaker than a short random string. */
const adminKeyMinLength = 24;

/** Says what to do about a deployment's admin key that is absent, weak or never accepted, without the key. */
export const findAdminKeyProblem = (adminKey: string | undefined): string | null => {
  if (adminKey === undefined || adminKey.length < adminKeyMinLength)
    return `Set the secret LIMPET_ADMIN_KEY to at least ${adminKeyMinLength} random characters`;
  if (!isCredential(adminKey))
    return "LIMPET_ADMIN_KEY has a character that no Authorization header can carry: set it to letters, digits and -._~+/ alone";
  return isToken(adminKey)
    ? "LIMPET_ADMIN_KEY begins with lt_, as browser tokens do: set it to another"
    : null;
};

/** Returns whether the deployment has a usable admin key. */
const isAdminKeyUsable = (adminKey: string | undefined): adminKey is string =>
  findAdminKeyProblem(adminKey) === null;

const refusalOf = (code: "unauthenticated" | "token_expired", detail: string): AuthenticateAnswer => ({
  ok: false,
  problem: { code, detail } satisfies Problem,
});
const unknownCredential = refusalOf("unauthenticated", "The credential is unknown, revoked or forged.");
const expiredCredential = refusalOf("token_expired", "The credential has expired: get a new one.");

const acceptPrincipal = (principal: Principal, now: number): AuthenticateAnswer =>
  principal.expires !== undefined && principal.expires <= now ? expiredCredential : { ok: true, principal };

/** Returns the current rights of the key behind a token, or null if the key was revoked. */
const findMinter = (tables: Tables, by: string): Pick<StoredKey, "scopes" | "expires_at"> | null =>
  by === operator || by === "dev" ? { scopes: allScopes, expires_at: null } : findStoredKey(tables, by);

async function authenticateToken(tables: Tables, token: string, now: number): Promise<AuthenticateAnswer> {
  const claims = await verifyToken(token, (kid) => findSigningKey(tables, kid));
  if (claims === null) return unknownCredential;
  const minter = findMinter(tables, claims.by);
  if (minter === null) return unknownCredential;
  const { tenant, jurisdiction, session, made, by } = claims;
  const scopes = claims.scopes.filter((scope) => minter.scopes.includes(scope));
  const expires = Math.min(claims.exp, minter.expires_at ?? Infinity);
  const bound = claims.origin === undefined ? {} : { origin: claims.origin };
  return acceptPrincipal({ tenant, jurisdiction, by, scopes, session, made, expires, ...bound }, now);
}

function authenticateKey(
  tables: Tables,
  credential: string,
  digest: string,
  now: number,
): AuthenticateAnswer {
  const id = keyIdOf(credential);
  const key = id === null ? null : findStoredKey(tables, id);
  if (!matchesDigest(digest, key?.digest ?? null) || key === null) return unknownCredential;
  const expires = key.expires_at === null ? {} : { expires: key.expires_at };
  const { id: by, tenant, jurisdiction, scopes } = key;
  return acceptPrincipal({ tenant, jurisdiction, by, scopes, ...expires }, now);
}

/** Verifies an API key, a browser token or the admin key. */
export async function authenticate(
  tables: Tables,
  credential: string,
  setting: { adminKey: string | undefined; now: number },
): Promise<AuthenticateAnswer> {
  if (isToken(credential)) return authenticateToken(tables, credential, setting.now);
  const digest = await credentialDigest(credential);
  const { adminKey } = setting;
  const admin = isAdminKeyUsable(adminKey) ? await credentialDigest(adminKey) : null;
  if (matchesDigest(digest, admin)) {
    const principal = { tenant: operatorTenant, jurisdiction: null, by: operator, scopes: allScopes };
    return acceptPrincipal(principal, setting.now);
  }
  return authenticateKey(tables, credential, digest, setting.now);
}

/** Milliseconds for which an open socket may stay open without a new check of its credential. */
const socketMs = 15 * 60_000;

/** Limits the principal of a socket: any key or token but the operator's counts for at most 15 minutes, then the client renews it. */
export const limitForSocket = (principal: Principal, now: number): Principal =>
  principal.by === operator || principal.by === "dev"
    ? principal
    : { ...principal, expires: Math.min(principal.expires ?? Infinity, now + socketMs) };
