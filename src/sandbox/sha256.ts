import { createHash } from "node:crypto";

/** Computes SHA-256 synchronously, since file hashes are computed inside a storage transaction, which cannot await. */

/** Returns the 32 bytes of the SHA-256 of a text (as UTF-8) or of bytes. */
export const sha256 = (input: string | Uint8Array): Uint8Array => createHash("sha256").update(input).digest();

/** Returns a short digest that distinguishes texts: the first 96 bits of SHA-256 as 16 characters of base64url. */
export const shortDigest = (text: string): string =>
  createHash("sha256").update(text).digest("base64url").slice(0, 16);

const digits = "0123456789abcdef";

/** Formats bytes as lower-case hex. */
export const hexOf = (bytes: Uint8Array): string => {
  let text = "";
  for (const byte of bytes) text += digits.charAt(byte >> 4) + digits.charAt(byte & 15);
  return text;
};

/** Returns the SHA-256 in lower-case hex. */
export const sha256Hex = (input: string | Uint8Array): string =>
  createHash("sha256").update(input).digest("hex");

/** Formats bytes as lower-case base32 (RFC 4648) without padding. */
export function base32(bytes: Uint8Array): string {
  const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  let text = "";
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet[(value >>> bits) & 31];
    }
  }
  return bits > 0 ? text + alphabet[(value << (5 - bits)) & 31] : text;
}
