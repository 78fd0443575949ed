import type { Protocol } from "./protocol.ts";

/**
 * Posts with the headers of a vendor's SDK, without its telemetry. They never change, so the SDK, whose evaluation
 * was a tenth of a cold isolate's first reply, only provides types and the test of these headers.
 */
export const createPost = (fields: Readonly<Record<string, string>>): Protocol["post"] => {
  const headers = new Headers(fields);
  return (address, send, body, signal) => send(address, { method: "POST", headers, body, signal });
};
