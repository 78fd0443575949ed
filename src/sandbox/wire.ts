import { SandboxError, errorStatus, type ClosedPath, type SandboxErrorCode } from "./contract.ts";
import { startTimeLimit, unlessAborted } from "./time-limit.ts";

/** Receiver of requests, such as a service binding or a test. */
export interface Fetcher {
  fetch(request: Request): Promise<Response>;
}

interface SandboxWireRequest {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** Path below `/v1/sandbox/:id`. */
  readonly path: string;
  readonly body?: BodyInit;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for the answer, as far as `read` reads it; absent: a minute. */
  readonly timeoutMs?: number;
}

/** Sends requests to one sandbox and converts refusals to `SandboxError`. */
export interface Wire {
  /** Returns what `read` makes of the answer, within the time of the request. */
  readonly send: <Answer>(
    request: SandboxWireRequest,
    read: (response: Response) => Promise<Answer>,
  ) => Promise<Answer>;
  /** Returns `Sandbox-Instance` of the newest answer; null before the first. */
  readonly instance: () => string | null;
}

/** Milliseconds to wait for an answer. */
const requestTimeout = 60_000;

const codes = Object.keys(errorStatus) as SandboxErrorCode[];

/** Reads the error of an answer: the status decides, and the code only refines it. */
async function readRefusal(response: Response): Promise<SandboxError> {
  const text = await response.text();
  let body: { readonly error?: unknown; readonly code?: unknown; readonly size?: unknown } = {};
  try {
    body = (JSON.parse(text) as typeof body | null) ?? {};
  } catch {
    body = {};
  }
  const possible = codes.filter((code) => errorStatus[code] === response.status);
  const other = response.status < 500 ? "invalid_request" : "exec_transport_error";
  const code = possible.find((known) => known === body.code) ?? possible[0] ?? other;
  const message = typeof body.error === "string" ? body.error : `the sandbox answered ${response.status}`;
  const size = typeof body.size === "number" ? body.size : undefined;
  return new SandboxError(code, message.slice(0, 4000), response.status, size);
}

const createUnreachable = (reason: string): SandboxError =>
  new SandboxError("exec_transport_error", `the sandbox could not be reached: ${reason}`, 0);

export const readJson = <Answer>(response: Response): Promise<Answer> => response.json<Answer>();

/** Leaves the body to the caller, for whom it may come as long as it wants. */
export const leaveBody = async (response: Response): Promise<Response> => response;

export const dropBody = async ({ body }: Response): Promise<void> => body?.cancel();

/** State that the views of one sandbox share. */
export interface WireMemory {
  instance: string | null;
}

/** Caller of every request: the thread whose view determines conflicts, and the paths closed to it. */
interface WireCaller {
  readonly actor?: string;
  readonly closed?: readonly ClosedPath[];
}

const headersOf = ({ actor, closed }: WireCaller): Record<string, string> => ({
  ...(actor === undefined ? {} : { "Sandbox-Actor": encodeURIComponent(actor) }),
  ...(closed === undefined ? {} : { "Sandbox-Closed-Paths": encodeURIComponent(JSON.stringify(closed)) }),
});

export function createWire(fetcher: Fetcher, id: string, caller: WireCaller, memory: WireMemory): Wire {
  const named = headersOf(caller);
  return {
    instance: () => memory.instance,
    send: async ({ method, path, body, headers, signal, timeoutMs = requestTimeout }, read) => {
      const limit = startTimeLimit(timeoutMs, signal);
      const request = new Request(`http://sandbox/v1/sandbox/${id}${path}`, {
        method,
        headers: { ...named, ...headers },
        body: body ?? null,
        ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
        signal: limit.signal,
      });
      const answer = async () => {
        const response = await fetcher.fetch(request);
        if (limit.signal.aborted) await response.body?.cancel();
        memory.instance = response.headers.get("Sandbox-Instance") ?? memory.instance;
        if (!response.ok) throw await readRefusal(response);
        return await read(response);
      };
      try {
        return await unlessAborted(answer(), limit.signal);
      } catch (error) {
        if (signal?.aborted === true || error instanceof SandboxError) throw error;
        throw createUnreachable(limit.signal.aborted ? "no answer in time" : "the connection failed");
      } finally {
        limit.stop();
      }
    },
  };
}
