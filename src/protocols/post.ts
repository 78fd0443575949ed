import type { Protocol } from "./protocol.ts";

/**
 * Posts with the headers that a vendor's SDK sends, but for its telemetry. They never change, so the SDK itself, whose
 * evaluation was a tenth of a cold isolate's first reply, gives types and the test of these headers, and does not run.
 */
export const createPost = (fields: Readonly<Record<string, string>>): Protocol["post"] => {
  const headers = new Headers(fields);
  return (address, send, body, signal) => send(address, { method: "POST", headers, body, signal });
};
