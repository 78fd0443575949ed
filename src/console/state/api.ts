import type { LimpetClient } from "../../client/index.ts";
import type { Json } from "../../chat/message.ts";

/** Requests of the console beside a session's stream, by the client that holds the key. */

interface RequestOptions {
  readonly method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Sent as JSON, or as bytes. */
  readonly body?: Json | Blob;
  readonly signal?: AbortSignal;
}

export interface Api {
  /** Makes a request under `/v1`; a refusal is thrown as a `LimpetError`. */
  readonly request: (address: string, options?: RequestOptions) => Promise<Response>;
  /** Makes a request and reads its answer as JSON. */
  readonly read: <T>(address: string, options?: RequestOptions) => Promise<T>;
}

export const createApi = (client: () => LimpetClient): Api => {
  const request: Api["request"] = (address, { method = "GET", body, signal } = {}) => {
    const [path, search] = address.split("?", 2);
    return client().request({
      method,
      path: `/v1${path}`,
      query: Object.fromEntries(new URLSearchParams(search)),
      ...(body === undefined ? {} : { body }),
      headers: method === "GET" ? {} : { "Idempotency-Key": crypto.randomUUID() },
      signal,
    });
  };
  return {
    request,
    read: async <T>(address: string, options?: RequestOptions) =>
      (await (await request(address, options)).json()) as T,
  };
};
