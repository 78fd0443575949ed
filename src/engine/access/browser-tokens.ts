import * as z from "zod";
import { refuse, refuseField } from "../../session/problems.ts";
import type { Principal, Scope } from "../../session/rpc.ts";
import { base32 } from "../../sandbox/sha256.ts";
import { toBase64Url } from "../../sandbox/base64.ts";
import type { DatabaseRow, Tables } from "./database.ts";
import { randomBytes } from "./encoding.ts";
import { withoutKey } from "./once.ts";
import type { Once } from "./once.ts";
import { browserScopes, scopeSchema } from "./scopes.ts";
import { signToken } from "./tokens.ts";
import type { Claims, SigningKey } from "./tokens.ts";

/** Mints browser tokens and keeps the two keys that sign them. */

/** Milliseconds that a key signs; it then verifies for as long again, far longer than a token lives. */
const rotationMs = 24 * 3_600_000;

const originSchema = z.string().refine((text) => {
  const url = URL.parse(text);
  return url !== null && url.origin === text && /^https?:$/.test(url.protocol);
}, "an origin consists of scheme, host and port only, like https://app.example.com");

const lifetime = z.int().min(1).max(3600).describe("Lifetime of the token in seconds.");

/** What a caller says of a new token; the deployment adds the rest. */
export const mintTokenBody = z.strictObject({
  scopes: z.array(scopeSchema).min(1).optional(),
  ttl: lifetime.optional(),
  origin: originSchema.optional(),
});

export const mintTokenSchema = mintTokenBody.extend({
  session: z.string(),
  /** When the session was created. */
  made: z.int(),
  ttl: lifetime,
  /** Whether pages of the origin may call this deployment. */
  admitted: z.boolean().optional(),
});

/** Minted token as the API shows it, once. */
export interface MintedToken {
  readonly token: string;
  readonly session: string;
  readonly scopes: readonly Scope[];
  /** Milliseconds since the epoch. */
  readonly expires_at: number;
  readonly origin: string | null;
}

const toKey = (row: DatabaseRow): SigningKey => ({ kid: String(row["kid"]), secret: String(row["secret"]) });

/** Finds the valid signing key with this id. */
export function findSigningKey(tables: Tables, kid: string): SigningKey | null {
  const [row] = tables.read("SELECT kid, secret FROM signing_keys WHERE kid = ?", kid);
  return row === undefined ? null : toKey(row);
}

const newestKeyQuery = "SELECT * FROM signing_keys ORDER BY created_at DESC, kid LIMIT 1";

/** Returns the key that signs now: each day has a new one, and the previous one only verifies. */
function ensureCurrentKey(tables: Tables, now: number): SigningKey {
  const [row] = tables.read(newestKeyQuery);
  if (row !== undefined && now - Number(row["created_at"]) < rotationMs) return toKey(row);
  const made: SigningKey = { kid: base32(randomBytes(5)), secret: toBase64Url(randomBytes(32)) };
  tables.write((all) => {
    all("DELETE FROM signing_keys WHERE kid <> ?", String(row?.["kid"] ?? ""));
    all("INSERT INTO signing_keys (kid, secret, created_at) VALUES (?, ?, ?)", made.kid, made.secret, now);
  });
  return made;
}

type TokenRequest = z.output<typeof mintTokenSchema>;

/** Returns what a new token may do: no scope, lifetime or origin beyond its minter's own. */
const grantClaims = (principal: Principal, body: TokenRequest, now: number): Omit<Claims, "kid"> => {
  const scopes = body.scopes ?? browserScopes.filter((scope) => principal.scopes.includes(scope));
  const missing = scopes.find((scope) => !principal.scopes.includes(scope));
  if (missing !== undefined) {
    return refuse("scope_missing", `The minter itself lacks the scope ${missing}.`, {
      errors: [{ pointer: "/scopes", code: "scope_missing", message: `Leave out ${missing}.` }],
    });
  }
  const { origin = body.origin } = principal;
  if (body.origin !== undefined && body.origin !== origin) {
    return refuse("scope_missing", "The minter itself is bound to another origin.", {
      errors: [{ pointer: "/origin", code: "scope_missing", message: "Leave it out." }],
    });
  }
  if (body.origin !== undefined && body.admitted === false)
    return refuseField(
      "invalid_request",
      "/origin",
      `no page of ${body.origin} may call here: add it to access.origins in the team file and deploy, or leave it out`,
      { rule: "origin_not_allowed" },
    );
  return {
    tenant: principal.tenant,
    jurisdiction: principal.jurisdiction,
    session: body.session,
    made: body.made,
    scopes: [...scopes],
    exp: Math.min(now + body.ttl * 1000, principal.expires ?? Number.MAX_SAFE_INTEGER),
    by: principal.by,
    ...(origin === undefined ? {} : { origin }),
  };
};

/**
 * Mints a token for one session. A repetition under the same idempotency key signs the same token again, because
 * only its claims are stored, whatever a deploy has changed since.
 */
export async function mintToken(
  tables: Tables,
  principal: Principal,
  body: TokenRequest,
  now: number,
  once: Once = withoutKey(tables),
): Promise<MintedToken & { readonly replayed: boolean }> {
  const { kid } = ensureCurrentKey(tables, now);
  const { value: claims, replayed } = once((): Claims => ({ ...grantClaims(principal, body, now), kid }));
  const signer = replayed && claims.exp <= now ? null : findSigningKey(tables, claims.kid);
  if (signer === null)
    return refuse("idempotency_key_reused", "The token of this Idempotency-Key has expired: use a new key.");
  const token = await signToken(claims, signer);
  const { session, exp: expires_at, origin: bound = null } = claims;
  return { token, session, scopes: claims.scopes, expires_at, origin: bound, replayed };
}
