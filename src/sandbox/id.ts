import { base32, sha256 } from "./sha256.ts";

/** The id of a session's sandbox: base32 of SHA-256 over the length-prefixed names of Worker, tenant and session. */
export function sandboxId(worker: string, tenant: string, session: string): string {
  const encoder = new TextEncoder();
  const fields = [worker, tenant, session].flatMap((field) => {
    const bytes = encoder.encode(field);
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, bytes.length);
    return [...length, ...bytes];
  });
  return base32(sha256(Uint8Array.from(fields)));
}
