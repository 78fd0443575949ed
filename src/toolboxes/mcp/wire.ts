import type { FetchLike } from "@modelcontextprotocol/client";
import { fieldsOf, parseJson } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { AuthorizationError } from "./authorized-send.ts";
import { createAuthorizedSend } from "./authorized-send.ts";
import type { McpEndpoint } from "./port.ts";

/** This file stands between the library and the egress: it bounds answers and knows what became of each request. */

export interface McpWire {
  readonly fetch: FetchLike;
  /** Lets one GET request leave: on its stream a server of the older transport answers. */
  readonly allowStream: () => void;
  /** Returns the status of the newest answer; 0 before the first. */
  readonly lastStatus: () => number;
  /** Returns whether an answer was longer than is read. */
  readonly isTooLarge: () => boolean;
  /** Returns why no further request can be sent; null if it can. */
  readonly refusal: () => AuthorizationError | null;
  /** Resolves when no request is under way, or after a moment. */
  readonly settled: () => Promise<void>;
}

const longestAnswer = 1_048_576;

/** Limits all answers of a listing or a call together, since a list may have many pages. */
const mostInAll = 8_388_608;

/** Limits the wait for a notice of cancellation. */
const settleMs = 2_000;

const headersOf = (init: RequestInit | undefined): Headers => new Headers(init?.headers);

const isGet = (init: RequestInit | undefined): boolean => (init?.method ?? "GET") === "GET";

/** Returns whether this asks for the rest of an answer that was cut off, by the id of its last event. */
const isRest = (init: RequestInit | undefined): boolean =>
  isGet(init) && headersOf(init).has("last-event-id");

/** Counts what has come in all, and says what is too long. */
type CountBytes = (bytes: number) => string | null;

const capStream = (body: ReadableStream<Uint8Array>, count: CountBytes): ReadableStream<Uint8Array> => {
  const cap = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      const problem = count(chunk.length);
      if (problem === null) return controller.enqueue(chunk);
      controller.error(new Error(problem));
    },
  });
  return body.pipeThrough(cap);
};

/** Counts the bytes of each answer and of all. */
const createCounter = () => {
  let large = false;
  let total = 0;
  const countAnswer = (): CountBytes => {
    let size = 0;
    return (bytes) => {
      size += bytes;
      total += bytes;
      if (size <= longestAnswer && total <= mostInAll) return null;
      large = true;
      return size > longestAnswer
        ? "the answer is longer than 1 MiB"
        : "the answers are longer than 8 MiB in all";
    };
  };
  return { countAnswer, isTooLarge: () => large };
};

/** Returns the id of a request to call a tool. */
const callIdOf = (init: RequestInit | undefined): Json | undefined => {
  const { method, id } = typeof init?.body === "string" ? fieldsOf(parseJson(init.body) ?? null) : {};
  return method === "tools/call" ? id : undefined;
};

/** Statuses of whoever stands before the tool: of credentials, and of sessions that are over. */
const notOfTools: ReadonlySet<number> = new Set([401, 403, 404]);

/** What a tool says of a call is its answer, whatever status the server gives it; the library would drop its words. */
const takeAnswer = async (response: Response, init: RequestInit | undefined): Promise<Response> => {
  if (response.status < 400 || notOfTools.has(response.status)) return response;
  const id = callIdOf(init);
  if (id === undefined) return response;
  const text = await response.text();
  const said = fieldsOf(parseJson(text) ?? null);
  // A server that says so of a session that is over is asked again with a new one.
  const isOver =
    headersOf(init).has("mcp-session-id") && /session/i.test(JSON.stringify(said["error"] ?? null));
  const isAnswer = said["id"] === id && said["error"] !== undefined && !(response.status === 400 && isOver);
  const { status, statusText, headers } = response;
  return isAnswer
    ? new Response(text, { headers: { "content-type": "application/json" } })
    : new Response(text, { status, statusText, headers });
};

const unrefused = (): null => null;

export const createWire = ({ send: given, authorize }: Pick<McpEndpoint, "send" | "authorize">): McpWire => {
  const { send, refusal } =
    authorize === null ? { send: given, refusal: unrefused } : createAuthorizedSend(given, authorize);
  let streams = 0;
  let status = 0;
  const { countAnswer, isTooLarge } = createCounter();
  let count = countAnswer();
  const inFlight = new Set<Promise<unknown>>();
  const answer = async (address: string, init: RequestInit | undefined): Promise<Response> => {
    const { method = "GET", body, signal } = init ?? {};
    const response = await send(address, {
      method,
      headers: headersOf(init),
      ...(typeof body === "string" ? { body } : {}),
      ...(signal == null ? {} : { signal }),
    });
    status = response.status;
    if (response.body === null) return response;
    // The rest of an answer counts with its beginning.
    if (!isRest(init)) count = countAnswer();
    const capped = capStream(response.body, count);
    const { statusText, headers } = response;
    return takeAnswer(new Response(capped, { status, statusText, headers }), init);
  };
  return {
    fetch: (url, init) => {
      // This ends with its call, which is not to wait for it.
      if (isRest(init) && !isTooLarge()) return answer(String(url), init);
      // A stream that the server may speak on at any time would keep the session awake.
      if (isGet(init) && streams === 0) return Promise.resolve(new Response(null, { status: 405 }));
      if (isGet(init)) streams -= 1;
      const answered = answer(String(url), init);
      const done = answered.catch(() => undefined).finally(() => inFlight.delete(done));
      inFlight.add(done);
      return answered;
    },
    allowStream: () => {
      streams += 1;
    },
    lastStatus: () => status,
    isTooLarge,
    refusal,
    settled: () => {
      const waits = Promise.withResolvers<void>();
      const timer = setTimeout(waits.resolve, settleMs);
      void Promise.all(inFlight).then(() => waits.resolve());
      return waits.promise.finally(() => clearTimeout(timer));
    },
  };
};
