import { base32, sha256 } from "./sha256.ts";

/** Base32 of SHA-256 over the length-prefixed fields, so that different lists of fields get different names. */
export function hashName(...fields: readonly string[]): string {
  const encoder = new TextEncoder();
  const prefixed = fields.flatMap((field) => {
    const bytes = encoder.encode(field);
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, bytes.length);
    return [...length, ...bytes];
  });
  return base32(sha256(Uint8Array.from(prefixed)));
}

/** The id of a session's sandbox, made of the names of Worker, tenant and session. */
export const sandboxId = (worker: string, tenant: string, session: string): string =>
  hashName(worker, tenant, session);
