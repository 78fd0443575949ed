import { fromBase64, hasOnlyBase64Letters, jsonToBase64Url, toBase64Url } from "../../sandbox/base64.ts";

/** Signs the assertion by which a client proves its private key to an authorization server (RFC 7523). */

const lifetimeSeconds = 120;

type KeyKind = readonly [
  alg: string,
  key: { readonly name: string; readonly namedCurve?: string; readonly hash?: string },
  sign: { readonly name: string; readonly hash?: string },
];

/** Kinds of keys, in the order in which they are tried. */
const kinds: readonly KeyKind[] = [
  ["ES256", { name: "ECDSA", namedCurve: "P-256" }, { name: "ECDSA", hash: "SHA-256" }],
  ["RS256", { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }, { name: "RSASSA-PKCS1-v1_5" }],
  ["ES384", { name: "ECDSA", namedCurve: "P-384" }, { name: "ECDSA", hash: "SHA-384" }],
  ["EdDSA", { name: "Ed25519" }, { name: "Ed25519" }],
];

/** Reads the bytes of a key in PEM; line breaks may be written as \n, as variables often hold them. */
const readPem = (pem: string): Uint8Array<ArrayBuffer> | null => {
  const [, body] = /-----BEGIN PRIVATE KEY-----([\s\S]+?)-----END PRIVATE KEY-----/.exec(pem) ?? [];
  const base64 = body?.replaceAll("\\n", "").trim() ?? "";
  return base64 !== "" && hasOnlyBase64Letters(base64) ? fromBase64(base64) : null;
};

interface SigningKey {
  readonly key: CryptoKey;
  readonly kind: KeyKind;
}

const importKey = async (pem: string): Promise<SigningKey> => {
  const bytes = readPem(pem);
  for (const kind of bytes === null ? [] : kinds) {
    const key = await crypto.subtle
      .importKey("pkcs8", bytes ?? new Uint8Array(), kind[1], false, ["sign"])
      .catch(() => null);
    if (key !== null) return { key, kind };
  }
  throw new Error(
    "private_key is not a PKCS #8 key (-----BEGIN PRIVATE KEY-----) for ES256, RS256, ES384 or EdDSA",
  );
};

/** Returns a signed assertion that `client` requests a token from `audience` at `now` (epoch ms). */
export const signAssertion = async (
  pem: string,
  { client, audience, now }: { readonly client: string; readonly audience: string; readonly now: number },
): Promise<string> => {
  const {
    key,
    kind: [alg, , algorithm],
  } = await importKey(pem);
  const at = Math.floor(now / 1_000);
  const claims = {
    iss: client,
    sub: client,
    aud: audience,
    iat: at,
    exp: at + lifetimeSeconds,
    jti: crypto.randomUUID(),
  };
  const text = `${jsonToBase64Url({ alg, typ: "JWT" })}.${jsonToBase64Url(claims)}`;
  const signature = await crypto.subtle.sign(algorithm, key, new TextEncoder().encode(text));
  return `${text}.${toBase64Url(new Uint8Array(signature))}`;
};
