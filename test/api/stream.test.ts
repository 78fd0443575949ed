import { expect, test } from "vitest";
import { accepted, anId, problemOf, setUp } from "./harness.ts";
import { event, socketDouble } from "./socket-double.ts";

/** SSE out of a session's socket (AP-21, AP-23). */

const path = `/v1/sessions/${anId()}/events`;

async function open(query = "", headers: Record<string, string> = {}) {
  const harness = setUp();
  const socket = socketDouble();
  const requests: Request[] = [];
  const session = await harness.session(anId());
  session.fetch = async (request) => {
    requests.push(request);
    return socket.response;
  };
  const answer = harness.call("GET", `${path}${query}`, undefined, {
    Accept: "text/event-stream",
    ...headers,
  });
  return { ...harness, socket, requests, answer };
}

/** Reads what the stream says until it holds `text`. */
async function until(reader: ReadableStreamDefaultReader<Uint8Array>, text: string): Promise<string> {
  let read = "";
  const decoder = new TextDecoder();
  while (!read.includes(text)) {
    const { value, done } = await reader.read();
    if (done) break;
    read += decoder.decode(value, { stream: true });
  }
  return read;
}

test("AP-21: who accepts a page before a stream gets the page", async () => {
  const { call, session } = setUp();
  await session(anId(), () => accepted({ data: [], next_after: 0, head_seq: 0 }));
  const page = await call("GET", path, undefined, { Accept: "application/json, text/event-stream" });
  expect(await page.json()).toEqual({ data: [], next_after: 0, head_seq: 0 });
  const { socket, answer } = await open("", { Accept: "text/event-stream, application/json" });
  await socket.received(1);
  socket.say({ type: "welcome" });
  expect((await answer).headers.get("Content-Type")).toContain("text/event-stream");
});

test("AP-23: SSE names events by type, numbers durable ones only, and carries deltas and items", async () => {
  const { socket, answer, requests } = await open("?after=3");
  await socket.received(1);
  expect(socket.sent[0]).toEqual({ type: "hello", after: 3, deltas: "all" });
  expect(requests[0]?.headers.get("Upgrade")).toBe("websocket");
  expect(requests[0]?.headers.get("limpet-session")).toBe(anId());
  expect(JSON.parse(requests[0]?.headers.get("limpet-principal") ?? "")).toMatchObject({ tenant: "default" });
  expect(requests[0]?.headers.get("Authorization")).toBeNull();
  socket.say({ type: "welcome", head_seq: 4 }, event(4, "run_start", { text: "a\nb" }));
  const response = await answer;
  expect(response.status).toBe(200);
  expect(response.headers.get("Content-Type")).toBe("text/event-stream; charset=utf-8");
  expect(response.headers.get("Cache-Control")).toBe("no-store");
  socket.say({ type: "live", seq: 4 });
  socket.say({ type: "delta", kind: "text_delta", item: "i1", off: 0, data: "Hé" });
  socket.say(event(5, "error", {}));
  const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  expect(await until(reader, "id: 5")).toBe(
    [
      "retry: 1000\n",
      'event: welcome\ndata: {"type":"welcome","head_seq":4}\n',
      'event: run_start\nid: 4\ndata: {"v":1,"seq":4,"id":"e4","type":"run_start","data":{"text":"a\\nb"}}\n',
      'event: live\ndata: {"type":"live","seq":4}\n',
      'event: delta\ndata: {"type":"delta","kind":"text_delta","item":"i1","off":0,"data":"Hé"}\n',
      'event: error\nid: 5\ndata: {"v":1,"seq":5,"id":"e5","type":"error","data":{}}\n',
      "",
    ].join("\n"),
  );
  await reader.cancel();
});

test("AP-23: a stream of a type that no event has is refused with the nearest one", async () => {
  const { answer } = await open("?types=run_end,turn_ends");
  const response = await answer;
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { detail: '/types: no event has the type "turn_ends"; did you mean turn_end?' },
  ]);
});

test("AP-23: Last-Event-ID beats after; filters travel in the hello", async () => {
  const { socket, answer } = await open("?after=3&types=run_end,error&thread=main&deltas=none", {
    "Last-Event-ID": "9",
  });
  await socket.received(1);
  expect(socket.sent[0]).toEqual({
    type: "hello",
    after: 9,
    deltas: "none",
    types: ["run_end", "error"],
    threads: ["main"],
  });
  socket.say({ type: "welcome" });
  await (await answer).body?.cancel();
});

test("AP-23: a Last-Event-ID without a value is none", async () => {
  const { socket, answer } = await open("?after=3", { "Last-Event-ID": "" });
  await socket.received(1);
  expect(socket.sent[0]).toMatchObject({ type: "hello", after: 3 });
  socket.say({ type: "welcome" });
  await (await answer).body?.cancel();
});

test("AP-21: when the reader goes, the session's socket is closed", async () => {
  const { socket, answer } = await open();
  await socket.received(1);
  expect(socket.sent[0]).toEqual({ type: "hello", deltas: "all" });
  socket.say({ type: "snapshot", seq: 1 });
  const response = await answer;
  await response.body?.cancel();
  expect(await socket.closed).toBe(1000);
});

test("AP-23: a stream whose session's socket breaks as it is acknowledged ends, so that its reader comes again", async () => {
  const { socket, answer } = await open("?after=0");
  await socket.received(1);
  socket.say({ type: "welcome" });
  const { body } = await answer;
  Object.assign(socket.response.webSocket ?? {}, {
    send: () => {
      throw new TypeError("the socket is closed");
    },
  });
  for (let at = 1; at <= 100; at += 1) socket.say(event(at, "turn_start"));
  await expect(new Response(body).text()).rejects.toThrow("the socket is closed");
  expect(await socket.closed).toBe(1000);
});

test("AP-26: frames are acknowledged at the reader's pace, at least each hundred", async () => {
  const { socket, answer } = await open("?after=0");
  await socket.received(1);
  socket.say({ type: "welcome" });
  const response = await answer;
  for (let at = 1; at <= 250; at += 1) socket.say(event(at, "turn_start"));
  expect(socket.sent).toHaveLength(2);
  const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  await until(reader, "id: 250");
  expect(socket.sent.slice(1)).toEqual([
    { type: "ack", frames: 0 },
    { type: "ack", frames: 100 },
    { type: "ack", frames: 200 },
  ]);
  socket.say(event(251, "message_added", { text: "x".repeat(256 * 1024) }));
  socket.say(event(252, "turn_end"));
  await until(reader, "id: 252");
  expect(socket.sent.at(-1)).toEqual({ type: "ack", frames: 252 });
  await reader.cancel();
});

test("AP-23: the stream ends when the session ends it, after what it said", async () => {
  const { socket, answer } = await open("?after=0");
  await socket.received(1);
  socket.say({ type: "welcome" });
  const response = await answer;
  socket.say(event(1, "run_end"), { type: "bye", code: 4413, resume_after: 1, retry_ms: 500 });
  socket.end(4413);
  const text = await response.text();
  expect(text).toMatch(/id: 1\n[^]*event: bye\n/);
  expect(await socket.closed).toBe(1000);
});

test("AP-10: what the session refuses before its first frame is an HTTP problem", async () => {
  const ahead = await open("?after=99");
  await ahead.socket.received(1);
  ahead.socket.say({
    type: "error",
    problem: { code: "cursor_ahead", detail: "head is 4", meta: { head_seq: 4 } },
  });
  const response = await ahead.answer;
  expect(response.status).toBe(409);
  expect(await problemOf(response)).toMatchObject({ code: "cursor_ahead", meta: { head_seq: 4 } });
  expect(ahead.socket.isClosed()).toBe(true);
  const codes = { 4401: 401, 4403: 403, 4404: 404, 4410: 404, 4429: 429, 4400: 400, 1012: 503, 1006: 503 };
  for (const [code, status] of Object.entries(codes)) {
    const { socket, answer } = await open();
    await socket.received(1);
    socket.end(Number(code));
    expect((await answer).status, code).toBe(status);
  }
});

test("AP-10: a refused upgrade is the problem that the session named", async () => {
  const { call, session } = setUp();
  const double = await session(anId());
  double.fetch = async () =>
    Response.json({ code: "too_many_connections", detail: "32 sockets" }, { status: 429 });
  const full = await call("GET", path, undefined, { Accept: "text/event-stream" });
  expect([full.status, (await problemOf(full))["detail"]]).toEqual([429, "32 sockets"]);
  double.fetch = async () => new Response("oops", { status: 500 });
  expect((await call("GET", `${path}?live=sse`)).status).toBe(500);
  expect((await call("GET", `/v1/sessions/${anId("z")}/events?live=sse`)).status).toBe(404);
});

test("RE-V2: cursors that are none and parameters that do not stream are 400", async () => {
  const cases: readonly [string, Record<string, string>][] = [
    ["?after=-1", {}],
    ["?after=9007199254740992", {}],
    ["?after=x", {}],
    ["", { "Last-Event-ID": "x" }],
    ["", { "Last-Event-ID": "-1" }],
    ["?before=9", {}],
    ["?limit=9", {}],
    ["?deltas=some", {}],
    ["?colour=red", {}],
  ];
  for (const [query, headers] of cases) {
    const { answer, requests } = await open(query, headers);
    const response = await answer;
    expect(response.status, query).toBe(400);
    expect(await problemOf(response)).toMatchObject({ code: "invalid_request" });
    expect(requests).toEqual([]);
  }
});

test("AP-23: without asking for a stream the same address is a page", async () => {
  const { call, session } = setUp();
  const { calls } = await session(anId(), () => accepted({ data: [] }));
  expect((await call("GET", `${path}?after=0`, undefined, { Accept: "application/json" })).status).toBe(200);
  expect(calls).toHaveLength(1);
});
