import * as z from "zod";
import { fromBase64Url, jsonFromBase64Url, jsonToBase64Url, toBase64Url } from "../../sandbox/base64.ts";
import { jurisdictionSchema, scopeSchema } from "./scopes.ts";

/** Browser tokens have the form `lt_<claims>.<HMAC-SHA-256>`; with one algorithm there is no header to forge. */

const claimsSchema = z.strictObject({
  tenant: z.string().min(1),
  jurisdiction: jurisdictionSchema,
  session: z.string().min(1),
  /** When the session was created, in milliseconds since the epoch. */
  made: z.int(),
  scopes: z.array(scopeSchema),
  /** Milliseconds since the epoch. */
  exp: z.int().positive(),
  /** Key that minted the token. */
  by: z.string().min(1),
  kid: z.string().min(1),
  origin: z.string().optional(),
});
export type Claims = z.output<typeof claimsSchema>;

/** Key of the deployment that signs tokens; `secret` is base64url of 32 bytes. */
export interface SigningKey {
  readonly kid: string;
  readonly secret: string;
}

const algorithm = { name: "HMAC", hash: "SHA-256" } as const;
const tokenFormat = /^lt_([A-Za-z0-9_-]{1,4096})\.([A-Za-z0-9_-]{43})$/;
const utf8 = new TextEncoder();

const importKey = (key: SigningKey, use: "sign" | "verify"): Promise<CryptoKey> =>
  crypto.subtle.importKey("raw", fromBase64Url(key.secret) ?? new Uint8Array(0), algorithm, false, [use]);

/** Encodes and signs a token. */
export async function signToken(claims: Claims, key: SigningKey): Promise<string> {
  const body = jsonToBase64Url(claims);
  const signature = await crypto.subtle.sign("HMAC", await importKey(key, "sign"), utf8.encode(body));
  return `lt_${body}.${toBase64Url(new Uint8Array(signature))}`;
}

/** Returns the claims of a token that a valid key signed, otherwise null; the caller checks the expiry. */
export async function verifyToken(
  token: string,
  signingKey: (kid: string) => SigningKey | null,
): Promise<Claims | null> {
  const [, body = "", signature = ""] = tokenFormat.exec(token) ?? [];
  const claims = claimsSchema.safeParse(jsonFromBase64Url(body)).data ?? null;
  const signed = fromBase64Url(signature);
  const key = claims === null ? null : signingKey(claims.kid);
  if (claims === null || signed === null || key === null) return null;
  const valid = await crypto.subtle.verify("HMAC", await importKey(key, "verify"), signed, utf8.encode(body));
  return valid ? claims : null;
}

/** Returns whether a credential has the form of a token. */
export const isToken = (credential: string): boolean => credential.startsWith("lt_");
