import { ServerResponse, createServer, request } from "node:http";
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, Server } from "node:http";
import { Socket } from "node:net";
import { pipeline } from "node:stream";
import type { Duplex } from "node:stream";

/**
 * This is the front of `npm start`. Wrangler believes what a client says of itself: `MF-Original-URL` replaces the
 * address and Host that a browser sent, `CF-Connecting-IP` the client's address. So only the front can be reached from
 * outside: it drops such headers, sets true ones, and adds a secret by which wrangler's Worker recognises it.
 */

export interface FrontOptions {
  /** Returns wrangler's port on 127.0.0.1; null while it serves at none. */
  readonly target: () => number | null;
  readonly voucher: string;
}

/** Headers in which a client could describe itself, and those that apply only to its own connection. */
const strippedHeaders =
  /^(mf-.*|cf-.*|x-forwarded-.*|forwarded|limpet-front|expect|connection|keep-alive|proxy-.*)$/;
/** Header that offers to compress a client's socket, which would cost workerd 200 KB and save a near network little. */
const compression = "sec-websocket-extensions";
const hopByHop = /^(connection|keep-alive|transfer-encoding)$/i;

const headersOf = ({ headers, socket }: IncomingMessage, voucher: string): OutgoingHttpHeaders => ({
  ...Object.fromEntries(
    Object.entries(headers).filter(([name]) => name !== compression && !strippedHeaders.test(name)),
  ),
  // A server that is asked to close would cut off a body that it does not read to its end.
  connection: headers.upgrade === undefined ? "keep-alive" : "Upgrade",
  "cf-connecting-ip": socket.remoteAddress ?? "",
  "limpet-front": voucher,
});

const forwardRequest = (from: IncomingMessage, port: number, voucher: string): ClientRequest =>
  request({
    host: "127.0.0.1",
    port,
    agent: false,
    setHost: false,
    method: from.method,
    path: from.url,
    headers: headersOf(from, voucher),
  });

const isLoopback = (address = ""): boolean => /^((::ffff:)?127\.|::1$)/.test(address);

/** Returns whether a path is one of wrangler's own pages, which show stored data to anyone claiming to be local. */
const isWranglers = (path: string): boolean =>
  /^\/(cdn-cgi|__cf_local)(\/|$)/.test(URL.parse(`http://front${path}`)?.pathname ?? "");

const noAnswer = [503, "Wrangler does not answer: try again in a moment."] as const;

/** Returns the port for a request, or the status and the sentence with which it is refused. */
const findTarget = (
  { url = "", headers, socket }: IncomingMessage,
  target: FrontOptions["target"],
): number | readonly [number, string] => {
  if (!url.startsWith("/") || headers.host === undefined)
    return [400, "Write the address as a path, with a Host."];
  return isWranglers(url) && !isLoopback(socket.remoteAddress)
    ? [403, "Wrangler's own pages are reachable only from this machine."]
    : (target() ?? noAnswer);
};

const refuse = (to: ServerResponse, status: number, sentence: string): void => {
  // A started answer ends as the one behind it does.
  if (to.headersSent) return;
  to.writeHead(status, { "Content-Type": "text/plain; charset=utf-8" }).end(`${sentence}\n`);
};

const ignore = (): void => undefined;

const returnAnswer = (answer: IncomingMessage, to: ServerResponse): void => {
  const kept = answer.rawHeaders.filter((_, at, all) => !hopByHop.test(all[at - (at % 2)] ?? ""));
  to.writeHead(answer.statusCode ?? 502, answer.statusMessage, kept);
  to.flushHeaders();
  pipeline(answer, to, ignore);
};

/** Passes a request on and its answer back. */
const relayRequest = (
  from: IncomingMessage,
  to: ServerResponse,
  port: number,
  voucher: string,
): ClientRequest => {
  const on = forwardRequest(from, port, voucher);
  on.on("response", (answer) => returnAnswer(answer, to));
  on.on("error", () => refuse(to, ...noAnswer));
  // The unread rest of a body would hold up its sender.
  on.on("close", () => void from.unpipe(on).resume());
  to.on("close", () => on.destroy());
  return on;
};

/** Formats the head of an upgrade's answer for its client. */
const headOf = ({ statusMessage = "", rawHeaders }: IncomingMessage): string => {
  const lines = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1] ?? ""}`] : [],
  );
  return [`HTTP/1.1 101 ${statusMessage}`, ...lines, "", ""].join("\r\n");
};

const joinStreams = (one: Duplex, other: Duplex): void => {
  pipeline(one, other, ignore);
  pipeline(other, one, ignore);
};

/** Passes an upgrade on; its refusal is an answer like any other. */
const relayUpgrade = (
  from: IncomingMessage,
  socket: Socket,
  head: Buffer,
  { target, voucher }: FrontOptions,
): void => {
  const to = new ServerResponse(from);
  to.assignSocket(socket);
  to.on("finish", () => socket.end());
  socket.on("error", ignore);
  const port = findTarget(from, target);
  if (typeof port !== "number") return refuse(to, ...port);
  const on = relayRequest(from, to, port, voucher);
  on.on("upgrade", (answer, upstream, early) => {
    to.detachSocket(socket);
    socket.write(headOf(answer));
    socket.write(early);
    upstream.write(head);
    joinStreams(socket, upstream);
  });
  on.end();
};

/** Creates a server that passes everything on to wrangler; it does not listen yet. */
export const createFront = (options: FrontOptions): Server => {
  const { target, voucher } = options;
  const server = createServer((from, to) => {
    const port = findTarget(from, target);
    if (typeof port === "number") from.pipe(relayRequest(from, to, port, voucher));
    else refuse(to, ...port);
  });
  server.on("upgrade", (from, socket, head) => {
    if (socket instanceof Socket) relayUpgrade(from, socket, head, options);
    else socket.destroy();
  });
  return server;
};
