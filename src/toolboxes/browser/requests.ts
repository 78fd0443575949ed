import { fieldsOf } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";
import { fromBase64, toBase64 } from "../../sandbox/base64.ts";
import type { ToolContext } from "../../tools/define-tool.ts";
import { EgressError } from "../../tools/egress/egress.ts";
import { textIn } from "./devtools.ts";

/**
 * Makes the requests of a page, which has no network of its own, by the deployment's egress, which checks every
 * address and every redirect.
 */

/** Request that a page wants to make. */
export interface PageRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array<ArrayBuffer> | null;
}

const longestAnswer = 8 * 1_048_576;
const longestRequestMs = 20_000;

/** Limits for the pages of one call. */
const mostAtOnce = 6;
const mostRequests = 500;
const mostBytes = 32 * 1_048_576;

/** Headers that are dropped, since the browser gets inflated bodies, whose length it can count. */
const droppedHeaders = new Set(["content-encoding", "content-length", "transfer-encoding"]);

const joinBytes = (pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> => {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
};

const bodyOf = ({ postDataEntries, postData }: JsonObject): PageRequest["body"] => {
  if (!Array.isArray(postDataEntries))
    return typeof postData === "string" ? Uint8Array.from(new TextEncoder().encode(postData)) : null;
  return joinBytes(postDataEntries.map((entry) => fromBase64(textIn(fieldsOf(entry), "bytes"))));
};

/** Reads a request from the event that paused it. */
export const readRequest = (paused: JsonObject): PageRequest => {
  const request = fieldsOf(paused["request"]);
  const headers = Object.entries(fieldsOf(request["headers"])).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as const] : [],
  );
  return { url: textIn(request, "url"), method: textIn(request, "method"), headers, body: bodyOf(request) };
};

const headersOf = ({ headers }: Response): readonly JsonObject[] => [
  ...[...headers]
    .filter(([name]) => !droppedHeaders.has(name) && name !== "set-cookie")
    .map(([name, value]) => ({ name, value })),
  ...headers.getSetCookie().map((value) => ({ name: "set-cookie", value })),
];

/** Outcome of a request: an answer in the browser's format, or why there is none. */
type PageAnswer =
  | { readonly ok: true; readonly status: number; readonly fields: JsonObject }
  | { readonly ok: false; readonly denied: boolean; readonly problem: string };

/** Makes the request of a page, whose address is `from`. */
export type AnswerRequest = (request: PageRequest, from: string) => Promise<PageAnswer>;

/** Creates a queue that runs a few pieces of work at once while the others wait. */
const createTurns = (most: number) => {
  const waiting: (() => void)[] = [];
  let active = 0;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (active < most) active += 1;
    else await new Promise<void>((next) => void waiting.push(next));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) active -= 1;
      else next();
    }
  };
};

/** Makes the requests of pages while their connection lasts, within the limits of one call. */
export const createRequests = (
  { egress }: Pick<ToolContext, "egress">,
  ended: AbortSignal,
): AnswerRequest => {
  const takeTurn = createTurns(mostAtOnce);
  let requests = 0;
  let bytes = 0;
  const send = async ({ url, method, headers, body }: PageRequest, from: string): Promise<PageAnswer> => {
    ended.throwIfAborted();
    requests += 1;
    if (requests > mostRequests || bytes >= mostBytes) return tooMuch;
    const response = await egress(url, {
      method,
      headers: Object.fromEntries(headers),
      ...(body === null || method === "GET" || method === "HEAD" ? {} : { body }),
      redirects: "refuse",
      maxBytes: Math.min(longestAnswer, mostBytes - bytes),
      timeout: longestRequestMs,
      signal: ended,
      from,
    });
    const content = new Uint8Array(await response.arrayBuffer());
    bytes += content.length;
    const fields = {
      responseCode: response.status,
      responseHeaders: headersOf(response),
      body: toBase64(content),
    };
    return { ok: true, status: response.status, fields };
  };
  return async (request, from) => {
    try {
      return await takeTurn(() => send(request, from));
    } catch (error) {
      const denied = error instanceof EgressError && error.code === "egress_denied";
      return { ok: false, denied, problem: error instanceof Error ? error.message : "failed" };
    }
  };
};

const tooMuch: PageAnswer = {
  ok: false,
  denied: true,
  problem: `a call makes at most ${mostRequests} requests for pages and reads ${mostBytes} bytes`,
};
