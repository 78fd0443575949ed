import type { TenantAddress } from "./jurisdiction.ts";
import { base32, sha256 } from "./sha256.ts";

/**
 * Returns the SHA-256 of the fields, each after its length in four bytes, so that no two lists of fields share a
 * digest.
 */
export function digestFields(...fields: readonly string[]): Uint8Array {
  const encoder = new TextEncoder();
  const prefixed = fields.flatMap((field) => {
    const bytes = encoder.encode(field);
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, bytes.length);
    return [...length, ...bytes];
  });
  return sha256(Uint8Array.from(prefixed));
}

/** Returns the digest of the fields in base32. */
export const hashName = (...fields: readonly string[]): string => base32(digestFields(...fields));

/** Returns the id of a session's sandbox, which the sandbox Worker keeps in the jurisdiction before the id. */
export const sandboxId = (
  worker: string,
  { tenant, jurisdiction }: TenantAddress,
  session: string,
): string => {
  const id = hashName(worker, jurisdiction ?? "", tenant, session);
  return jurisdiction === null ? id : `${jurisdiction}-${id}`;
};
