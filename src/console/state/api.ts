import { answeredWithin, slowestUpload } from "../../client/call.ts";
import { inTime } from "../../client/http.ts";
import { LimpetError } from "../../client/index.ts";
import type { LimpetClient } from "../../client/index.ts";
import { newCommandId } from "../../client/retry.ts";
import type { Json } from "../../chat/message.ts";
import { noteDate } from "../parts/format.ts";

/** Requests of the console beside a session's stream, by the client that holds the key. */

interface RequestOptions {
  readonly method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Sent as JSON, or as bytes. */
  readonly body?: Json | Blob;
  readonly signal?: AbortSignal;
}

export interface Api {
  /** Makes a request under `/v1`; a refusal, or none in time, is thrown as a `LimpetError`. */
  readonly request: (address: string, options?: RequestOptions) => Promise<Response>;
  /** Makes a request and reads its answer as JSON. */
  readonly read: <T>(address: string, options?: RequestOptions) => Promise<T>;
}

/** Tells whether a fault is over once the page has a key, or another one. */
export const isRefusal = (fault: unknown): boolean =>
  fault instanceof LimpetError && [401, 403].includes(fault.problem.status);

export const encodePath = (path: string): string => path.split("/").map(encodeURIComponent).join("/");

/** Gives up a server that does not answer in a minute; what is sent with the request takes its time, too. */
const limit = <T>(work: (signal: AbortSignal) => Promise<T>, { body, signal }: RequestOptions): Promise<T> =>
  inTime(work, signal, answeredWithin + (body instanceof Blob ? body.size : 0) / slowestUpload);

export const createApi = (client: () => LimpetClient): Api => {
  const send: Api["request"] = async (address, { method = "GET", body, signal } = {}) => {
    const [path, search] = address.split("?", 2);
    const sent = Date.now();
    const response = await client().request({
      method,
      path: `/v1${path}`,
      query: Object.fromEntries(new URLSearchParams(search)),
      ...(body === undefined ? {} : { body }),
      headers: method === "GET" ? {} : { "Idempotency-Key": newCommandId() },
      signal,
    });
    noteDate(response.headers.get("Date"), sent);
    return response;
  };
  const read = <T>(address: string, options: RequestOptions = {}): Promise<T> =>
    limit(async (signal) => (await (await send(address, { ...options, signal })).json()) as T, options);
  return {
    request: (address, options = {}) => limit((signal) => send(address, { ...options, signal }), options),
    read,
  };
};
