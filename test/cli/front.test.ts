import { createServer, request } from "node:http";
import type {
  IncomingHttpHeaders,
  IncomingMessage,
  RequestListener,
  Server,
  ServerResponse,
} from "node:http";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { afterEach, expect, test } from "vitest";
import { createFront } from "../../src/cli/serve/front.ts";
import { sendRaw } from "../support/raw-http.ts";

/** What `npm start` puts before wrangler (AP-14): it passes everything on but what a client says about itself. */

const opened = new Set<Server>();
afterEach(() => {
  for (const server of opened) {
    server.closeAllConnections();
    server.close();
  }
  opened.clear();
});

const listen = async (server: Server): Promise<number> => {
  opened.add(server);
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  return (server.address() as AddressInfo).port;
};

interface Upstream {
  readonly answer?: RequestListener;
  readonly upgrade?: (from: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

/** A front on a port of its own, before a server that says what it was told. */
const setUp = async ({ answer, upgrade }: Upstream = {}) => {
  const heard: IncomingMessage[] = [];
  const behind = createServer((from, to) => {
    heard.push(from);
    if (answer !== undefined) return answer(from, to);
    from.resume();
    to.end(JSON.stringify({ method: from.method, url: from.url }));
  });
  if (upgrade !== undefined)
    behind.on("upgrade", (from, socket, head) => {
      heard.push(from);
      upgrade(from, socket, head);
    });
  const target = await listen(behind);
  const port = await listen(createFront({ target: () => target, voucher: "the-word" }));
  return { host: "127.0.0.1", port, url: `http://127.0.0.1:${port}`, heard, behind };
};

/** What wrangler and its Worker are told of a client. */
const claims = ({
  host,
  "cf-connecting-ip": address,
  "limpet-front": voucher,
  ...others
}: IncomingHttpHeaders = {}): unknown => ({
  host,
  address,
  voucher,
  others: Object.keys(others).filter((name) => /^(mf-|cf-|x-forwarded|forwarded|proxy-)/.test(name)),
});

const lies = [
  "MF-Original-URL: http://localhost:8787/v1/keys",
  "MF-Sec-Fetch-Mode: cors",
  'MF-CF-Blob: {"clientIp":"127.0.0.1:1"}',
  "CF-Connecting-IP: 10.0.0.1",
  "cf-connecting-ip: ::1",
  "X-Forwarded-Proto: https",
  "X-Forwarded-For: 10.0.0.1",
  "Forwarded: for=10.0.0.1",
  "Limpet-Front: a-guess",
];
const truth = { host: "evil.example:8787", address: "127.0.0.1", voucher: "the-word", others: [] };

test("AP-14: what a client says of itself goes no further, and the truth is vouched for", async () => {
  const front = await setUp();
  const { status } = await sendRaw(front, ["GET /v1/keys HTTP/1.1", "Host: evil.example:8787", ...lies]);
  expect([status, claims(front.heard[0]?.headers)]).toEqual([200, truth]);
});

test("AP-14: an upgrade is no way around it", async () => {
  const front = await setUp({ upgrade: (_, socket) => void socket.end("HTTP/1.1 101 OK\r\n\r\n") });
  const upgrade = ["Upgrade: websocket", "Sec-WebSocket-Protocol: limpet.v1", "Origin: http://evil.example"];
  await sendRaw(front, ["GET /ws HTTP/1.1", "Host: evil.example:8787", ...upgrade, ...lies]);
  expect(claims(front.heard[0]?.headers)).toEqual(truth);
  expect(front.heard[0]?.headers).toMatchObject({
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-protocol": "limpet.v1",
    origin: "http://evil.example",
  });
});

test("AP-14: an address that is said in another way than by a path and a Host is refused", async () => {
  const front = await setUp();
  const heads = [
    ["GET http://localhost:8787/v1/keys HTTP/1.1", "Host: evil.example:8787"],
    ["OPTIONS * HTTP/1.1", "Host: evil.example:8787"],
    ["GET /v1/keys HTTP/1.0"],
    ["GET http://localhost:8787/ws HTTP/1.1", "Host: evil.example:8787", "Upgrade: websocket"],
  ];
  for (const head of heads) {
    const { status, body } = await sendRaw(front, head);
    expect([status, body], head[0]).toEqual([400, expect.stringContaining("Write the address as a path")]);
  }
  expect(front.heard).toEqual([]);
});

test("AP-14: method, path, headers and body go through, and so do the answer's", async () => {
  const front = await setUp({
    answer: (from, to) => {
      let text = "";
      from.setEncoding("utf8");
      from.on("data", (piece: string) => void (text += piece));
      from.on("end", () => {
        const { "content-type": type, authorization, "idempotency-key": key } = from.headers;
        to.writeHead(418, "Teapot", {
          "Content-Type": "application/json",
          "Retry-After": "3",
          "Set-Cookie": ["a=1", "b=2"],
        });
        to.end(JSON.stringify([from.method, from.url, type, authorization, key, text]));
      });
    },
  });
  for (const body of ["{}", "ü".repeat(300_000)]) {
    const answer = await fetch(`${front.url}/v1/sessions/a%2Fb?x=1&y=%20`, {
      method: "PATCH",
      headers: { "Content-Type": "application/json", Authorization: "Bearer k", "Idempotency-Key": "k1" },
      body,
    });
    expect([answer.status, answer.statusText, answer.headers.get("Retry-After")]).toEqual([
      418,
      "Teapot",
      "3",
    ]);
    expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    const told = ["PATCH", "/v1/sessions/a%2Fb?x=1&y=%20", "application/json", "Bearer k", "k1", body];
    expect(await answer.json()).toEqual(told);
  }
  const head = await fetch(front.url, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([418, ""]);
});

test("AP-23: a stream is given on piece by piece, and ends behind the front when its reader leaves", async () => {
  const ended = Promise.withResolvers<void>();
  const front = await setUp({
    answer: (_, to) => {
      to.on("close", ended.resolve);
      to.writeHead(200, { "Content-Type": "text/event-stream" }).write("data: 1\n\n");
    },
  });
  const stop = new AbortController();
  const answer = await fetch(front.url, { signal: stop.signal });
  const { value } = (await answer.body?.getReader().read()) ?? {};
  expect(new TextDecoder().decode(value)).toBe("data: 1\n\n");
  stop.abort();
  await ended.promise;
});

test("AP-18: a client that leaves before its answer is waited for no longer", async () => {
  const asked = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const front = await setUp({
    answer: (_, to) => {
      to.on("close", ended.resolve);
      asked.resolve();
    },
  });
  const stop = new AbortController();
  const answer = fetch(front.url, { signal: stop.signal });
  await asked.promise;
  stop.abort();
  await expect(answer).rejects.toThrow();
  await ended.promise;
});

test.each([
  ["an answer", 413, (_: IncomingMessage, to: ServerResponse) => void to.writeHead(413).end("too much")],
  ["a breach", 503, (from: IncomingMessage) => void from.socket.destroy()],
])("AP-8: %s before the body was read reaches its sender, who can send on", async (_, status, upstream) => {
  const front = await setUp({ answer: upstream });
  const sent = request(`${front.url}/x`, { method: "POST" });
  const answer = Promise.withResolvers<number | undefined>();
  sent.on("response", (response) => {
    response.resume();
    answer.resolve(response.statusCode);
  });
  sent.on("error", answer.reject);
  sent.write(Buffer.alloc(8_000_000));
  expect(await answer.promise).toBe(status);
  const flushed = Promise.withResolvers<void>();
  sent.once("finish", flushed.resolve);
  sent.once("close", () => flushed.reject(new Error("it was cut off")));
  sent.end(Buffer.alloc(8_000_000));
  await flushed.promise;
});

test("AP-22: a socket is passed on in both directions, with what came early", async () => {
  const front = await setUp({
    upgrade: (_, socket, head) => {
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nwelcome ",
      );
      socket.write(head);
      socket.pipe(socket);
    },
  });
  let text = "";
  const socket = connect(front.port, front.host);
  socket.setEncoding("utf8");
  const until = (wanted: string): Promise<void> =>
    new Promise((done) => {
      const look = (): void =>
        text.includes(wanted) ? done() : void socket.once("data", () => setImmediate(look));
      look();
    });
  socket.on("data", (piece: string) => void (text += piece));
  socket.write(
    "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nearly ",
  );
  await until("early ");
  socket.write("late ");
  await until("late ");
  expect(text.replace(/^[\s\S]*\r\n\r\n/, "")).toBe("welcome early late ");
  expect(text).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
  const closed = new Promise((done) => void socket.once("close", done));
  socket.end();
  await closed;
});

test("AP-22: a refused upgrade is an answer, and the connection ends", async () => {
  const front = await setUp({
    upgrade: (_, socket) => {
      socket.write(
        "HTTP/1.1 401 Unauthorized\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n",
      );
      socket.end("5\r\nno-no\r\n0\r\n\r\n");
    },
  });
  const { status, body } = await sendRaw(front, ["GET /ws HTTP/1.1", "Host: a", "Upgrade: websocket"]);
  expect([status, body]).toEqual([401, expect.stringContaining("no-no")]);
});

test("AP-14: a wrangler that is not there yet, or goes, is told as such or breaks the answer off", async () => {
  const gone = await setUp();
  gone.behind.close();
  const early = await listen(createFront({ target: () => null, voucher: "the-word" }));
  for (const port of [gone.port, early]) {
    const answer = await fetch(`http://127.0.0.1:${port}`, { method: "POST", body: Buffer.alloc(1_000_000) });
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining("try again")]);
    const head = ["GET /ws HTTP/1.1", "Host: a", "Upgrade: websocket"];
    expect((await sendRaw({ host: "127.0.0.1", port }, head)).status).toBe(503);
  }
  const dying = await setUp({
    answer: (from, to) =>
      void to.writeHead(200).write("half", () => setImmediate(() => from.socket.destroy())),
  });
  const half = await fetch(dying.url);
  await expect(half.text()).rejects.toThrow();
});

test("AP-22: a client's offer to compress a socket goes no further: workerd would hold 200 KB for each", async () => {
  const front = await setUp({ upgrade: (_, socket) => void socket.end("HTTP/1.1 101 OK\r\n\r\n") });
  const upgrade = [
    "Upgrade: websocket",
    "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
  ];
  await sendRaw(front, ["GET /ws HTTP/1.1", "Host: localhost", ...upgrade]);
  expect(front.heard[0]?.headers).toMatchObject({ upgrade: "websocket" });
  expect(front.heard[0]?.headers).not.toHaveProperty("sec-websocket-extensions");
});
