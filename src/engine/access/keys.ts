import { base32, hexOf } from "../../sandbox/sha256.ts";
import { toBase64Url } from "../../sandbox/base64.ts";
import { digestOf, randomBytes, areSameBytes } from "./encoding.ts";

/** API keys have the form `lk_<id>_<43 base64url>`; they are shown once and stored as SHA-256. */

const keyFormat = /^lk_([a-z2-7]{16})_[A-Za-z0-9_-]{43}$/;
const dummyDigest = "0".repeat(64);

/** Returns whether a text has the characters of a credential, and so can be sent as one. */
export const isCredential = (text: string): boolean => /^[A-Za-z0-9\-._~+/]{1,4096}=*$/.test(text);

/** Returns the id inside a well-formed API key, otherwise null. */
export const keyIdOf = (credential: string): string | null => keyFormat.exec(credential)?.[1] ?? null;

/** Returns the hex SHA-256 of a credential, the only form in which a credential is stored. */
export const credentialDigest = async (credential: string): Promise<string> =>
  hexOf(await digestOf("credential", credential));

/** Generates a key with 256 random bits; `credential` is never stored. */
export async function generateKey(): Promise<{ id: string; credential: string; digest: string }> {
  const id = base32(randomBytes(10));
  const credential = `lk_${id}_${toBase64Url(randomBytes(32))}`;
  return { id, credential, digest: await credentialDigest(credential) };
}

/** Compares in constant time; an unknown key (null) is compared with a dummy and never matches. */
export function matchesDigest(digest: string, stored: string | null): boolean {
  const encoder = new TextEncoder();
  const same = areSameBytes(encoder.encode(digest), encoder.encode(stored ?? dummyDigest));
  return same && stored !== null;
}
