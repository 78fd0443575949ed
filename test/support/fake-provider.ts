import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { checkBody } from "./fake-provider-check.ts";
import { isFields, list } from "./fake-provider-fields.ts";
import type { Fields, Kind } from "./fake-provider-fields.ts";
import { anthropicFrames, chatFrames } from "./fake-provider-reply.ts";
import type { Speech } from "./fake-provider-reply.ts";
import { responsesFrames } from "./fake-provider-responses.ts";

/** A request that the server received; `closed` is true once the client went away before the answer's end. */
export interface FakeRequest {
  readonly kind: Kind;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body's bytes as text, and parsed. */
  readonly text: string;
  readonly body: Fields;
  /** Milliseconds since the epoch at which it was complete. */
  readonly at: number;
  readonly closed: () => boolean;
}

/** How a request is answered: by speech, raw stream bytes, or any HTTP answer. */
export interface FakeReply {
  readonly speech?: Speech;
  /** The stream's bytes as they are. */
  readonly raw?: string | Uint8Array;
  /** Any other answer; `body` that is no string is sent as JSON. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Milliseconds before the headers, and between frames. */
  readonly wait?: number;
  readonly delay?: number;
  /** Byte of the stream after which the socket is destroyed, the stream ends cleanly, or falls silent. */
  readonly cutAt?: number;
  readonly endAt?: number;
  readonly stallAt?: number;
  /** With `stallAt`: told when the silence begins. */
  readonly onStall?: () => void;
  /** With `stallAt`: milliseconds between pings. */
  readonly pingEvery?: number;
  /** Bytes per write; absent: a frame per write. */
  readonly split?: number;
  /** Answers what the real API would refuse. */
  readonly lenient?: boolean;
}

/** Decides a reply from the request and how many came before it. */
export type Script = (request: FakeRequest, count: number) => FakeReply | Promise<FakeReply>;

export interface FakeProvider {
  readonly port: number;
  /** Base URL of a kind: `http://127.0.0.1:PORT/KIND…`. */
  readonly url: (kind: Kind) => string;
  readonly requests: readonly FakeRequest[];
  /** Replaces the script. */
  readonly play: (script: Script) => void;
  readonly close: () => Promise<void>;
}

const prefixes: Readonly<Record<Kind, string>> = {
  anthropic: "",
  openai: "/v1",
  responses: "/v1",
  grok: "/grok/v1",
  gemini: "/v1beta/openai",
  compatible: "/compatible/v1",
};

const kindOf = (path: string): Kind | null => {
  if (path === "/v1/messages") return "anthropic";
  if (path.endsWith("/v1/responses")) return "responses";
  const kinds = Object.keys(prefixes) as Kind[];
  return (
    kinds.find(
      (kind) => kind !== "anthropic" && kind !== "responses" && path === `${prefixes[kind]}/chat/completions`,
    ) ?? null
  );
};

const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

const errorBody = (kind: Kind, type: string, message: string): unknown =>
  kind === "anthropic"
    ? { type: "error", error: { type, message } }
    : { error: { message, type, code: null } };

const sendJson = (response: ServerResponse, status: number, body: unknown, headers = {}): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
};

/** A stream in the dialect of a kind as its frames. */
export const framesOfKind = (kind: Kind, speech: Speech, model: string, seed = 1): readonly string[] => {
  if (kind === "anthropic") return anthropicFrames(speech, model, seed);
  return kind === "responses" ? responsesFrames(speech, model, seed) : chatFrames(speech, model, kind, seed);
};

const framesOf = (reply: FakeReply, request: FakeRequest, seed: number): readonly Uint8Array[] => {
  if (reply.raw !== undefined) return [Buffer.from(reply.raw)];
  const speech = reply.speech ?? { pieces: [{ text: "Hello." }] };
  const model = speech.model ?? String(request.body["model"]);
  return framesOfKind(request.kind, speech, model, seed).map((text) => Buffer.from(text));
};

const resplit = (frames: readonly Uint8Array[], size: number | undefined): readonly Uint8Array[] => {
  if (size === undefined) return frames;
  const whole = Buffer.concat(frames);
  const count = Math.ceil(whole.byteLength / size);
  return Array.from({ length: count }, (_, at) => whole.subarray(at * size, (at + 1) * size));
};

const write = (response: ServerResponse, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve) => void response.write(bytes, () => resolve()));

const stall = async (reply: FakeReply, request: FakeRequest, response: ServerResponse): Promise<void> => {
  const ping = Buffer.from(
    request.kind === "anthropic" ? 'event: ping\ndata: {"type":"ping"}\n\n' : ": ping\n\n",
  );
  reply.onStall?.();
  while (!request.closed()) {
    await sleep(reply.pingEvery ?? 20);
    if (reply.pingEvery !== undefined && !request.closed()) await write(response, ping);
  }
};

const stream = async (
  reply: FakeReply,
  request: FakeRequest,
  response: ServerResponse,
  seed: number,
): Promise<void> => {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "request-id": `req_${seed}`,
    ...reply.headers,
  });
  response.flushHeaders();
  const limit = reply.cutAt ?? reply.endAt ?? reply.stallAt ?? Number.POSITIVE_INFINITY;
  let sent = 0;
  for (const bytes of resplit(framesOf(reply, request, seed), reply.split)) {
    if (request.closed()) return;
    const part = bytes.subarray(0, Math.max(0, limit - sent));
    // Unpaced frames are not awaited one by one, so that the network may join them as it does for a fast provider.
    const written = part.byteLength > 0 ? write(response, part) : undefined;
    if (reply.delay !== undefined || reply.split !== undefined) await written;
    sent += part.byteLength;
    if (sent >= limit) break;
    if (reply.delay !== undefined) await sleep(reply.delay);
    else if (reply.split !== undefined) await new Promise(setImmediate);
  }
  if (reply.cutAt !== undefined) response.destroy();
  else if (reply.stallAt !== undefined) await stall(reply, request, response);
  else response.end();
};

const answer = async (
  reply: FakeReply,
  request: FakeRequest,
  response: ServerResponse,
  seed: number,
): Promise<void> => {
  if (reply.wait !== undefined) await sleep(reply.wait);
  const { status, headers, body } = reply;
  if (status === undefined && body === undefined) return stream(reply, request, response, seed);
  const type = typeof body === "string" ? "text/html" : "application/json";
  response.writeHead(status ?? 200, { "content-type": type, "request-id": `req_${seed}`, ...headers });
  response.end(typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body));
};

const lastText = (body: Fields): string => {
  const messages = list(body["messages"] ?? body["input"]).filter(isFields);
  const texts = messages
    .filter(({ role }) => role === "user")
    .flatMap(({ content }) =>
      Array.isArray(content) ? content.filter(isFields).map(({ text }) => text) : [content],
    );
  return texts.findLast((text) => typeof text === "string") ?? "";
};

const countResults = (body: Fields): number =>
  JSON.stringify(body["messages"] ?? body["input"] ?? []).match(
    /"type":"tool_result"|"role":"tool"|"type":"function_call_output"/g,
  )?.length ?? 0;

/**
 * What is played unless a script is given. It obeys the last text of the user: `stream N` says N words, one a delta;
 * `loop TOOL N JSON` calls a tool until the history holds N results; any other text is said back.
 */
const echoScript: Script = ({ body }) => {
  const text = lastText(body);
  const words = /^stream (\d+)$/.exec(text);
  if (words !== null) {
    const count = Number(words[1]);
    return { speech: { pieces: [{ text: "word ".repeat(count) }], chunk: 5 } };
  }
  const loop = /^loop ([\w-]+) (\d+)(?: (\{.*\}))?$/s.exec(text);
  if (loop !== null && countResults(body) < Number(loop[2]))
    return { speech: { pieces: [{ call: loop[1] ?? "", rawArgs: loop[3] ?? "{}" }] } };
  return { speech: { pieces: [{ text: loop === null ? `You said: ${text}` : "Done." }] } };
};

const hasKey = (headers: FakeRequest["headers"]): boolean =>
  /^Bearer \S+$/.test(headers["authorization"] ?? "") || headers["x-api-key"] !== undefined;

/** What the API refuses before a script is asked: status, type, sentence. */
const refusal = (request: FakeRequest): readonly [number, string, string] | null => {
  if (request.method !== "POST") return [405, "invalid_request_error", "Method Not Allowed"];
  if (!hasKey(request.headers)) return [401, "authentication_error", "no key"];
  if (!(request.headers["content-type"] ?? "").startsWith("application/json"))
    return [400, "invalid_request_error", "content-type must be application/json"];
  if (request.kind === "anthropic" && request.headers["anthropic-version"] === undefined)
    return [400, "invalid_request_error", "anthropic-version: header is required"];
  const fault = checkBody(parse(request.text), request.kind);
  return fault === null ? null : [400, "invalid_request_error", fault];
};

/** Starts the server on loopback. `port` 0 picks a free one. */
export const startFakeProvider = async (script: Script = echoScript, port = 0): Promise<FakeProvider> => {
  const requests: FakeRequest[] = [];
  let playing = script;
  let queue: FakeReply[] = [];

  const control = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url === "/_requests") {
      const kept = requests.map(({ kind, path, headers, body, at }) => ({ kind, path, headers, body, at }));
      return sendJson(response, 200, { count: requests.length, requests: kept });
    }
    queue = queue.concat(parse(await readBody(request)) as FakeReply[]);
    return sendJson(response, 200, { queued: queue.length });
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = new URL(request.url ?? "", "http://x").pathname;
    if (path.startsWith("/_")) return control(request, response);
    let gone = false;
    response.on("close", () => void (gone = !response.writableFinished));
    const text = await readBody(request);
    const kind = kindOf(path);
    if (kind === null) return sendJson(response, 404, errorBody("openai", "not_found_error", "no such path"));
    const body = parse(text);
    const taken: FakeRequest = {
      kind,
      path,
      method: request.method ?? "",
      headers: request.headers as Record<string, string>,
      text,
      body: isFields(body) ? body : {},
      at: Date.now(),
      closed: () => gone,
    };
    requests.push(taken);
    const count = requests.length - 1;
    const reply = queue.shift() ?? (await playing(taken, count));
    const refused = reply.lenient === true ? null : refusal(taken);
    if (refused === null) return answer(reply, taken, response, count + 1);
    const [status, type, message] = refused;
    return sendJson(response, status, errorBody(kind, type, message));
  };

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(port, "127.0.0.1", resolve));
  const bound = (server.address() as AddressInfo).port;
  return {
    port: bound,
    url: (kind) => `http://127.0.0.1:${bound}${prefixes[kind]}`,
    requests,
    play: (next) => void (playing = next),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
};

if (import.meta.main) {
  const { values } = parseArgs({ options: { port: { type: "string", default: "0" } } });
  const { port } = await startFakeProvider(echoScript, Number(values.port));
  console.log(JSON.stringify({ listening: port }));
}
