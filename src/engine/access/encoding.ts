import { hexOf } from "../../sandbox/sha256.ts";

/** Creates random bytes and digests for keys, tokens and names. */

type ByteArray = Uint8Array<ArrayBuffer>;

const utf8 = new TextEncoder();

/** Returns `size` bytes from the platform's cryptographic source. */
export const randomBytes = (size: number): ByteArray => crypto.getRandomValues(new Uint8Array(size));

/** Returns `size` random bytes in lower-case hex. */
export const randomHex = (size: number): string => hexOf(randomBytes(size));

/** Returns the SHA-256 of the parts, each after its length in four bytes, so that no two lists collide. */
export async function digestOf(...parts: readonly string[]): Promise<ByteArray> {
  const encoded = parts.map((part) => utf8.encode(part));
  const bytes = new Uint8Array(encoded.reduce((size, part) => size + 4 + part.length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const part of encoded) {
    view.setUint32(at, part.length);
    bytes.set(part, at + 4);
    at += 4 + part.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** Compares bytes in a time that does not depend on where they differ; lengths are not secret. */
export function areSameBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (const [at, byte] of left.entries()) difference |= byte ^ (right[at] ?? 0);
  return difference === 0;
}
