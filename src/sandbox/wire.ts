import { SandboxError, type SandboxErrorCode } from "./contract.ts";

/** Anything that answers requests: a service binding, a test. */
export interface Fetcher {
  fetch(request: Request): Promise<Response>;
}

interface WireRequest {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** Path below `/v1/sandbox/:id`. */
  readonly path: string;
  readonly body?: BodyInit;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the answer's head. */
  readonly timeoutMs?: number;
}

/** Sends requests to one sandbox and turns refusals into `SandboxError`. */
export interface Wire {
  readonly send: (request: WireRequest) => Promise<Response>;
  /** `Sandbox-Instance` of the newest answer; null before the first. */
  readonly instance: () => string | null;
}

const requestTimeout = 60_000;

const codes: Readonly<Record<number, readonly SandboxErrorCode[]>> = {
  400: ["invalid_request"],
  403: ["path_outside", "path_not_writable"],
  404: ["workspace_read_not_found", "exec_unknown"],
  409: ["conflict", "exists", "exec_id_reused"],
  413: ["payload_too_large"],
  416: ["range"],
  422: ["not_unique", "no_match"],
  429: ["limit"],
  501: ["unsupported"],
  502: ["exec_transport_error"],
  503: ["capacity_exceeded"],
};

/** The error of an answer: its status decides, its code only refines (TB-28). */
async function refusal(response: Response): Promise<SandboxError> {
  const text = await response.text();
  let body: { readonly error?: unknown; readonly code?: unknown } = {};
  try {
    body = JSON.parse(text) as typeof body;
  } catch {
    body = {};
  }
  const possible =
    codes[response.status] ?? (response.status < 500 ? ["invalid_request"] : ["exec_transport_error"]);
  const code = possible.find((known) => known === body.code) ?? possible[0] ?? "exec_transport_error";
  const message = typeof body.error === "string" ? body.error : `the sandbox answered ${response.status}`;
  return new SandboxError(code, response.status, message.slice(0, 4000));
}

const unreachable = (reason: string): SandboxError =>
  new SandboxError("exec_transport_error", 0, `the sandbox could not be reached: ${reason}`);

/** Settles with the promise, or rejects when the signal is aborted: not every fetcher heeds a signal. */
export async function unlessAborted<Result>(
  promise: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** What the views of one sandbox share. */
export interface WireMemory {
  instance: string | null;
}

/** `actor` names the thread whose view of the files counts for conflicts. */
export function createWire(
  fetcher: Fetcher,
  id: string,
  actor: string | undefined,
  memory: WireMemory = { instance: null },
): Wire {
  const named: Record<string, string> =
    actor === undefined ? {} : { "Sandbox-Actor": encodeURIComponent(actor) };
  return {
    instance: () => memory.instance,
    send: async ({ method, path, body, headers, signal, timeoutMs }) => {
      const timeout = AbortSignal.timeout(timeoutMs ?? requestTimeout);
      const ends = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
      const request = new Request(`http://sandbox/v1/sandbox/${id}${path}`, {
        method,
        headers: { ...named, ...headers },
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      });
      let response: Response;
      try {
        response = await unlessAborted(fetcher.fetch(request), ends);
      } catch (error) {
        if (signal?.aborted === true) throw error;
        throw unreachable(timeout.aborted ? "no answer in time" : "the connection failed");
      }
      memory.instance = response.headers.get("Sandbox-Instance") ?? memory.instance;
      if (!response.ok) throw await refusal(response);
      return response;
    },
  };
}
