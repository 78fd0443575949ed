import type { FetchLike } from "@modelcontextprotocol/client";
import { fieldsOf, parseJson } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { EgressError } from "../../tools/egress/egress.ts";
import { createAuthorizedSend } from "./authorized-send.ts";
import type { McpEndpoint } from "./port.ts";

/** Stands between the library and the egress: limits answers and tracks the outcome of each request. */

export interface McpWire {
  readonly fetch: FetchLike;
  /** Permits one GET request, on whose stream a server of the older transport answers. */
  readonly allowStream: () => void;
  /** Returns the status of the newest answer; 0 before the first. */
  readonly lastStatus: () => number;
  /** Returns whether the newest answer is a stream of events, which may go on after its beginning. */
  readonly isStream: () => boolean;
  /** Returns which limit an answer went beyond; null for none. */
  readonly excess: () => string | null;
  /** Returns why no further request can be sent; null if it can. */
  readonly refusal: () => Error | null;
  /** Returns where the newest answer came from, without its query, if requests are redirected; otherwise null. */
  readonly redirectedTo: () => string | null;
  /** Resolves when no request is under way, or after a moment. */
  readonly settled: () => Promise<void>;
}

const longestAnswer = 1_048_576;

/** Bytes of all answers of a listing or a call together, since a list may have many pages. */
const mostInAll = 8_388_608;

/** Milliseconds to wait for a notice of cancellation. */
const settleMs = 2_000;

const headersOf = (init: RequestInit | undefined): Headers => new Headers(init?.headers);

const isGet = (init: RequestInit | undefined): boolean => (init?.method ?? "GET") === "GET";

/** Returns whether a request asks for the rest of a cut-off answer, by the id of its last event. */
const isRest = (init: RequestInit | undefined): boolean =>
  isGet(init) && headersOf(init).has("last-event-id");

/** Counts received bytes, and returns what is too long, if anything. */
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

/** Creates a counter of the bytes of each answer and of all. */
const createCounter = () => {
  let excess: string | null = null;
  let total = 0;
  const countAnswer = (): CountBytes => {
    let size = 0;
    return (bytes) => {
      size += bytes;
      total += bytes;
      if (size <= longestAnswer && total <= mostInAll) return null;
      return (excess =
        size > longestAnswer
          ? "the answer is longer than 1 MiB"
          : "the answers are longer than 8 MiB in all");
    };
  };
  return { countAnswer, excess: () => excess };
};

/** Returns the id of a request to call a tool. */
const callIdOf = (init: RequestInit | undefined): Json | undefined => {
  const { method, id } = typeof init?.body === "string" ? fieldsOf(parseJson(init.body) ?? null) : {};
  return method === "tools/call" ? id : undefined;
};

/** Statuses that do not come from a tool: for credentials, and for sessions that are over. */
const notOfTools: ReadonlySet<number> = new Set([401, 403, 404]);

/** Treats a tool's error as its answer, whatever status the server gives it; the library would drop its text. */
const takeAnswer = async (response: Response, init: RequestInit | undefined): Promise<Response> => {
  if (response.status < 400 || notOfTools.has(response.status)) return response;
  const id = callIdOf(init);
  if (id === undefined) return response;
  const text = await response.text();
  const message = fieldsOf(parseJson(text) ?? null);
  // If a server answers so because its session is over, it is called again with a new one.
  const isOver =
    headersOf(init).has("mcp-session-id") && /session/i.test(JSON.stringify(message["error"] ?? null));
  const isAnswer =
    message["id"] === id && message["error"] !== undefined && !(response.status === 400 && isOver);
  const { status, statusText, headers } = response;
  return isAnswer
    ? new Response(text, { headers: { "content-type": "application/json" } })
    : new Response(text, { status, statusText, headers });
};

const unrefused = (): null => null;

/** Returns the place of an answer, if that is not the place to which its request was sent. */
const movedFrom = (address: string, answered: string): string | null => {
  const [from, to] = [new URL(address), new URL(answered)];
  const place = `${to.origin}${to.pathname}`;
  return place === `${from.origin}${from.pathname}` ? null : place;
};

export const createWire = ({ send: given, authorize }: Pick<McpEndpoint, "send" | "authorize">): McpWire => {
  const { send, refusal } =
    authorize === null ? { send: given, refusal: unrefused } : createAuthorizedSend(given, authorize);
  let denial: Error | null = null;
  let redirectedTo: string | null = null;
  let streams = 0;
  let status = 0;
  let isStream = false;
  const { countAnswer, excess } = createCounter();
  let count = countAnswer();
  const inFlight = new Set<Promise<unknown>>();
  const answer = async (address: string, init: RequestInit | undefined): Promise<Response> => {
    const { method = "GET", body, signal } = init ?? {};
    const response = await send(address, {
      method,
      headers: headersOf(init),
      ...(typeof body === "string" ? { body } : {}),
      ...(signal == null ? {} : { signal }),
    }).catch((error: unknown) => {
      if (error instanceof EgressError && error.code === "egress_denied") denial = error;
      throw error;
    });
    status = response.status;
    redirectedTo = response.url === "" ? null : movedFrom(address, response.url);
    isStream = /text\/event-stream/i.test(response.headers.get("content-type") ?? "");
    if (response.body === null) return response;
    // The rest of an answer counts with its beginning.
    if (!isRest(init)) count = countAnswer();
    const capped = capStream(response.body, count);
    const { statusText, headers } = response;
    return takeAnswer(new Response(capped, { status, statusText, headers }), init);
  };
  return {
    fetch: (url, init) => {
      // This request ends with its call, which must not wait for it.
      if (isRest(init) && excess() === null) return answer(String(url), init);
      // A stream on which the server may send at any time would keep the session awake.
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
    isStream: () => isStream,
    excess,
    refusal: () => refusal() ?? denial,
    redirectedTo: () => redirectedTo,
    settled: () => {
      const waits = Promise.withResolvers<void>();
      const timer = setTimeout(waits.resolve, settleMs);
      void Promise.all(inFlight).then(() => waits.resolve());
      return waits.promise.finally(() => clearTimeout(timer));
    },
  };
};
