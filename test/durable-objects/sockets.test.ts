import { runInDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import { createConnections } from "../../durable-objects/sockets/connections.ts";
import { findFrameProblem } from "../support/documented.ts";
import { api, create, request, sessionOf } from "../support/worker/session.ts";
import type { Sent, Session } from "../support/worker/session.ts";
import type { Frame } from "../support/worker/watch.ts";

/** Limits of a session's sockets: slow readers, floods, credentials that end (AP-13, AP-25, AP-26, RE-V9, RE-V10). */

const tokenOf = async (session: Session, body: object): Promise<string> => {
  const answer = await session.call("POST", "/tokens", { body });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return String(answer.body["token"]);
};

/** The acknowledgement that a hint says is missing. */
const hinted = (frame: Frame): object =>
  JSON.parse(/^send (\{[^}]*\}); /.exec(String(frame["hint"]))?.[1] ?? "null") as object;

test("AP-26 RE-V10: a reader that acknowledges no more loses deltas first, then resumes whole from the log", async () => {
  const session = await create("flood");
  const watch = await session.watch();
  watch.send({ type: "ack", frames: 1 });
  const other = await session.watch();
  let frames = 0;
  other.onMessage = () => {
    frames = other.frames.length;
    other.send({ type: "ack", frames });
  };
  await session.send("i1", "Go");
  const lag = await watch.until(({ type }) => type === "lag");
  expect(lag).toMatchObject({ shed: "deltas" });
  expect(hinted(lag)).toEqual({ type: "ack", frames: watch.frames.indexOf(lag) + 1 });
  await other.event("run_end");
  await session.settled();
  expect(
    watch.events.some(({ type }) => type === "run_end"),
    "nothing more came",
  ).toBe(false);
  expect(other.frames.some(({ type }) => type === "lag")).toBe(false);
  const lives = watch.frames.filter(({ type }) => type === "live").length;
  watch.send({ type: "ack", frames: watch.frames.length });
  await watch.event("run_end");
  await watch.until(
    (frame) => frame.type === "live" && watch.frames.filter(({ type }) => type === "live").length > lives,
  );
  const log = await session.events();
  expect(watch.events).toEqual(log);
  expect(other.events).toEqual(log);
  expect([watch.faults, other.faults]).toEqual([[], []]);
  watch.close();
  other.close();
});

test("AP-26: deltas go on with the whole item after a lag in the middle of it", async () => {
  const session = await create("flood");
  const watch = await session.watch();
  await session.send("i1", "Go");
  await watch.until(({ type }) => type === "lag");
  const seen = watch.frames.length;
  watch.send({ type: "ack", frames: seen });
  await watch.until((frame) => frame.type === "item_state" && watch.frames.indexOf(frame) >= seen);
  watch.onMessage = () => watch.send({ type: "ack", frames: watch.frames.length });
  await watch.event("run_end");
  expect(watch.faults).toEqual([]);
  watch.close();
});

test("AP-26: a log larger than a reader may hold comes in pages, each after an acknowledgement", async () => {
  const session = await create("big");
  // A run's budget ends it before the log is large enough.
  for (const input of ["i1", "i2"]) {
    await session.send(input, "Go");
    await session.settled();
  }
  const log = await session.events();
  const size = log.reduce((sum, event) => sum + JSON.stringify(event).length, 0);
  expect(size).toBeGreaterThan(2 ** 20 * 1.4);
  const watch = await session.watch({ after: 0 });
  await watch.until(({ type }) => type === "lag");
  expect(watch.events.length).toBeLessThan(log.length);
  expect(watch.frames.some(({ type }) => type === "live")).toBe(false);
  watch.onMessage = () => watch.send({ type: "ack", frames: watch.frames.length });
  watch.onMessage(0);
  await watch.until(({ type }) => type === "live");
  expect(watch.events).toEqual(log);
  watch.close();
});

test("AP-26: acknowledgements count on over an eviction", async () => {
  const session = await create("flood");
  const watch = await session.watch();
  await session.send("i1", "Go");
  watch.onMessage = () => watch.send({ type: "ack", frames: watch.frames.length });
  await watch.event("run_end");
  watch.onMessage = () => undefined;
  await session.evict();
  await session.send("i2", "Again");
  await watch.until(({ type }) => type === "lag");
  watch.onMessage = () => watch.send({ type: "ack", frames: watch.frames.length });
  watch.onMessage(0);
  while (watch.events.filter(({ type }) => type === "run_end").length < 2) await scheduler.wait(2);
  expect(watch.faults).toEqual([]);
  expect(watch.events).toEqual(await session.events());
  watch.close();
});

test("AP-26: an acknowledgement that comes after a hibernation covers none of the frames sent since", async () => {
  const session = await create("flood");
  const watch = await session.watch();
  await session.send("i1", "Go");
  watch.onMessage = () => watch.send({ type: "ack", frames: watch.frames.length });
  await watch.event("run_end");
  await session.settled();
  watch.onMessage = () => undefined;
  const before = watch.frames.length;
  await session.evict();
  await session.send("i2", "Again");
  const lag = await watch.until(({ type }) => type === "lag");
  expect(hinted(lag)).toEqual({ type: "ack", frames: watch.frames.indexOf(lag) + 1 });
  await session.settled();
  watch.send({ type: "ack", frames: before }, { type: "ping" });
  const pong = await watch.until(({ type }) => type === "pong");
  expect(watch.frames.indexOf(pong), "nothing more came").toBe(watch.frames.indexOf(lag) + 1);
  watch.onMessage = () => watch.send({ type: "ack", frames: watch.frames.length });
  watch.onMessage(0);
  while (watch.events.filter(({ type }) => type === "run_end").length < 2) await scheduler.wait(2);
  expect(watch.events).toEqual(await session.events());
  watch.close();
});

test("AP-26: a reader that has never acknowledged is told once and paced: no deltas, and the whole log", async () => {
  const session = await create("big");
  for (const input of ["i1", "i2"]) {
    await session.send(input, "Go");
    await session.settled();
  }
  const log = await session.events();
  const watch = await session.watch({ after: 0 });
  await watch.until(({ type }) => type === "live");
  expect(watch.events).toEqual(log);
  expect(watch.frames.filter(({ type }) => type === "lag")).toHaveLength(1);
  await session.send("i3", "Go");
  await session.settled();
  const all = await session.events();
  await watch.until(({ type, event }) => type === "event" && (event as StoredEvent).seq === all.length);
  expect(watch.events).toEqual(all);
  expect(watch.frames.some(({ type }) => type === "delta" || type === "bye")).toBe(false);
  expect(watch.faults).toEqual([]);
  watch.close();
});

test("AP-26: a silent reader is closed 4413 once it was sent as much as one may be that never acknowledges", async () => {
  const session = await create("text");
  const sent: Frame[] = [];
  let resumed = 0;
  await runInDurableObject(session.stub(), async (_, state) => {
    const limits = { unacked: 100, patience: 20, pace: 400, silent: 1_000 };
    const connections = createConnections({ head: () => 9, resume: () => (resumed += 1) }, limits);
    const [client, server] = Object.values(new WebSocketPair());
    if (client === undefined || server === undefined) throw new Error("no pair");
    state.acceptWebSocket(server);
    client.accept();
    client.addEventListener("message", ({ data }) => sent.push(JSON.parse(String(data)) as Frame));
    const over = new Promise((resolve) => client.addEventListener("close", resolve));
    connections.change(server, { ready: true, after: 4 });
    const frame = JSON.stringify({ type: "event", padding: "x".repeat(300) });
    for (let count = 0; count < 4; count++) {
      connections.send(server, [frame]);
      connections.applyBackpressure(server);
    }
    await over;
  });
  expect(resumed).toBe(0);
  expect(sent.map(({ type }) => type)).toEqual(["event", "lag", "event", "event", "bye"]);
  expect(findFrameProblem(sent.at(-1))).toBeNull();
  expect(sent.at(-1)).toMatchObject({
    code: 4413,
    resume_after: 4,
    hint: expect.stringContaining("100 frames"),
  });
});

test.each([
  ["stops acknowledging", 0],
  ["acknowledges a part that leaves it lagging, and then no more", 1],
])("AP-26: a reader that %s is closed 4413 with the place to resume", async (_, parts) => {
  const session = await create("text");
  const sent: string[] = [];
  const closed: unknown[] = [];
  await runInDurableObject(session.stub(), async (_, state) => {
    const limits = { unacked: 100, patience: 20, pace: 100, silent: 1_000 };
    const connections = createConnections({ head: () => 9, resume: () => undefined }, limits);
    const [client, server] = Object.values(new WebSocketPair());
    if (client === undefined || server === undefined) throw new Error("no pair");
    state.acceptWebSocket(server);
    client.accept();
    client.addEventListener("message", ({ data }) => sent.push(String(data)));
    const over = new Promise((resolve) => client.addEventListener("close", resolve));
    connections.change(server, { ready: true, after: 4 });
    connections.acknowledge(server, 0);
    connections.send(server, [JSON.stringify({ type: "event", padding: "x".repeat(200) })]);
    expect(connections.applyBackpressure(server)).toBe(true);
    expect(connections.applyBackpressure(server)).toBe(true);
    if (parts > 0) expect(connections.acknowledge(server, parts)).toBe(false);
    closed.push(await over);
  });
  expect(closed).toMatchObject([{ code: 4413 }]);
  expect(sent.slice(1).map((frame) => JSON.parse(frame) as object)).toEqual([
    { type: "lag", shed: "deltas", seq: 4, hint: expect.stringContaining('"frames":2}') as string },
    {
      type: "bye",
      code: 4413,
      resume_after: 4,
      retry_ms: 1_000,
      hint: expect.stringContaining("resume_after") as string,
    },
  ]);
});

test("AP-25: frames over 256 KiB, of bytes or of no known kind close 4400 and store nothing", async () => {
  const session = await create("text");
  const head = (await session.events()).length;
  const bad: readonly (string | ArrayBuffer)[] = [
    "{",
    "7",
    '{"type":"nonsense"}',
    '{"type":"send","id":"c1"}',
    '{"type":"ping","more":1}',
    '[{"type":"nonsense"},{"type":"send","id":"c1","input":{"content":"Go"}}]',
    JSON.stringify({ type: "send", id: "c1", input: { content: "x".repeat(262_144) } }),
    JSON.stringify({ type: "send", id: "c1", input: { content: "ü".repeat(132_000) } }),
    new Uint8Array([1, 2, 3]).buffer,
  ];
  for (const frame of bad) {
    const watch = await session.watch();
    await watch.until(({ type }) => type === "live");
    watch.socket.send(frame);
    const error = await watch.until(({ type }) => type === "error");
    expect(error["problem"]).toMatchObject({ code: frame === "{" ? "invalid_json" : "invalid_request" });
    expect(await watch.closed()).toBe(4400);
  }
  expect((await session.events()).length).toBe(head);
});

test("AP-10: the error of a bad frame names the field that is wrong, of a frame that is no JSON that it is none", async () => {
  const session = await create("text");
  const cases: readonly [string, object][] = [
    [
      '{"type":\n"ack",}',
      {
        code: "invalid_json",
        detail: "The frame is not JSON at line 2, column 7.",
        meta: { line: 2, column: 7 },
      },
    ],
    ['{"type":"send","id":"c1"}', { code: "invalid_request", errors: [{ pointer: "/input" }] }],
    ['{"type":"hello","afer":3}', { code: "invalid_request", errors: [{ pointer: "/afer" }] }],
    ['{"type":"hello","after":"3"}', { code: "invalid_request", errors: [{ pointer: "/after" }] }],
    [
      '{"type":"hello","types":["run_end","turn_ends"]}',
      {
        code: "invalid_request",
        errors: [{ pointer: "/types", message: 'no event has the type "turn_ends"; did you mean turn_end?' }],
      },
    ],
    [
      '{"type":"set","types":["llm_provider_raw","run_ends"]}',
      { code: "invalid_request", errors: [{ pointer: "/types" }] },
    ],
    [
      '{"type":"sned","id":"c1"}',
      {
        errors: [
          {
            pointer: "/type",
            message: expect.stringMatching(/^there is no type sned; did you mean send\? \(/),
          },
        ],
      },
    ],
    ['{"type":7}', { errors: [{ message: expect.stringMatching(/^type is one of auth, hello, ack, /) }] }],
    [
      '{"type":"send","id":"c1","inptu":{}}',
      {
        errors: [
          {
            pointer: "/inptu",
            message: "inptu is not a field here; did you mean input? (known: type, id, input)",
          },
          { pointer: "/input" },
        ],
      },
    ],
  ];
  for (const [frame, problem] of cases) {
    const watch = await session.watch();
    await watch.until(({ type }) => type === "live");
    watch.socket.send(frame);
    const error = await watch.until(({ type }) => type === "error");
    expect(error["problem"], frame).toMatchObject(problem);
    expect(error["id"], frame).toBe(frame.includes('"c1"') ? "c1" : undefined);
    expect(await watch.closed()).toBe(4400);
  }
});

test("AP-25: more than a burst of 60 frames closes 4429", async () => {
  const session = await create("text");
  const watch = await session.watch();
  await watch.until(({ type }) => type === "live");
  for (let count = 0; count < 80; count++) watch.send({ type: "set", deltas: "all" });
  expect(await watch.closed()).toBe(4429);
  const many = await session.watch();
  await many.until(({ type }) => type === "live");
  many.send(...Array.from({ length: 80 }, () => ({ type: "set", deltas: "all" })));
  expect(await many.closed()).toBe(4429);
});

test("AP-25: acknowledgements and pings are not counted, however many a busy session needs", async () => {
  const session = await create("text");
  const watch = await session.watch();
  await watch.until(({ type }) => type === "live");
  const ack = { type: "ack", frames: 1 };
  for (let count = 0; count < 200; count++) watch.send(ack);
  watch.send(...Array.from({ length: 200 }, () => [ack, { type: "ping" }]).flat());
  watch.send(...Array.from({ length: 40 }, () => ({ type: "set", deltas: "all" })));
  watch.send({ type: "send", id: "c1", input: { content: "Go" } });
  await watch.until((frame) => frame.type === "result" && frame["id"] === "c1");
  await watch.event("run_end");
  expect(watch.frames.filter(({ type }) => type === "pong")).toHaveLength(200);
  watch.close();
});

test("AP-18 RE-C28: inputs of one socket are taken in the order they were sent, also those of one message", async () => {
  const session = await create("text", "Go");
  await session.settled();
  const watch = await session.watch();
  const send = (id: string): object => ({ type: "send", id, input: { content: id, on_busy: "queue" } });
  watch.send(send("a"), send("b"));
  watch.send(send("c"));
  await watch.until((frame) => frame.type === "result" && frame["id"] === "b");
  await watch.until((frame) => frame.type === "result" && frame["id"] === "c");
  const log = await session.events();
  const taken = log.flatMap((event) => (event.type === "input_accepted" ? event.data.content : []));
  expect(taken).toMatchObject(["Go", "a", "b", "c"].map((text) => ({ text })));
  watch.close();
});

test("AP-25: a session takes 32 sockets; one that is closed makes room", async () => {
  const session = await create("text");
  const watches = await Promise.all(Array.from({ length: 32 }, () => session.watch()));
  await Promise.all(watches.map((watch) => watch.until(({ type }) => type === "live")));
  const refused = await request("GET", `/sessions/${session.id}/ws`, { headers: { Upgrade: "websocket" } });
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({ code: "too_many_connections" });
  watches[0]?.close();
  while ((await request("GET", `/sessions/${session.id}/snapshot`)).status !== 200);
  let again = await request("GET", `/sessions/${session.id}/ws`, { headers: { Upgrade: "websocket" } });
  for (let tries = 0; again.status !== 101 && tries < 50; tries++) {
    await scheduler.wait(2);
    again = await request("GET", `/sessions/${session.id}/ws`, { headers: { Upgrade: "websocket" } });
  }
  expect(again.status).toBe(101);
  again.webSocket?.accept();
  again.webSocket?.close(1000);
  await session.send("i1", "Go");
  await Promise.all(watches.slice(1).map((watch) => watch.event("run_end")));
  for (const watch of watches) watch.close();
});

test("AP-25: sockets that ping no more, as those of a network that is gone, make room when a session has 32", async () => {
  const session = await create("text");
  const watches = await Promise.all(Array.from({ length: 32 }, () => session.watch()));
  const [lost, alive] = [watches.slice(0, 3), watches.slice(3)];
  for (const watch of lost) {
    watch.send({ type: "ping" });
    await watch.until(({ type }) => type === "pong");
  }
  const upgrade = () => request("GET", `/sessions/${session.id}/ws`, { headers: { Upgrade: "websocket" } });
  expect((await upgrade()).status).toBe(429);
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    vi.setSystemTime(Date.now() + 130_000);
    const again = await upgrade();
    expect(again.status).toBe(101);
    again.webSocket?.accept();
    again.webSocket?.close(1000);
  } finally {
    vi.useRealTimers();
  }
  for (const watch of lost) expect(await watch.closed()).toBe(4408);
  await session.send("i1", "Go");
  await Promise.all(alive.map((watch) => watch.event("run_end")));
  for (const watch of alive) watch.close();
});

test("RE-V9 AP-13: a token that ran out closes 4401 on the next frame in either direction; a renewed one misses nothing", async () => {
  const session = await create("slow");
  const ttl = 60;
  const first = await tokenOf(session, { scopes: ["sessions:read"], ttl });
  const renewed = await session.watch({ after: 0 }, first);
  const silent = await session.watch({ after: 0 }, first);
  const speaking = await session.watch({ after: 0 }, first);
  for (const watch of [renewed, silent, speaking]) await watch.until(({ type }) => type === "live");
  renewed.send({ type: "auth", token: await tokenOf(session, { scopes: ["sessions:read"], ttl: 900 }) });
  renewed.send({ type: "ping" });
  // The renewal asks the team's object: it is over when the attachment holds the later expiry.
  const soonest = () =>
    runInDurableObject(session.stub(), (_, state) =>
      state
        .getWebSockets()
        .map(
          (socket) =>
            (socket.deserializeAttachment() as { principal: { expires: number } }).principal.expires,
        ),
    );
  while (new Set(await soonest()).size < 2) await scheduler.wait(2);
  await runInDurableObject(session.stub(), (_, state) => {
    for (const socket of state.getWebSockets()) {
      const seen = socket.deserializeAttachment() as { principal: { expires: number } };
      if (seen.principal.expires < Date.now() + 120_000)
        socket.serializeAttachment({ ...seen, principal: { ...seen.principal, expires: Date.now() - 1 } });
    }
  });
  await session.evict();
  speaking.send({ type: "ack", frames: 1 });
  expect(await speaking.closed()).toBe(4401);
  await session.send("i1", "Go");
  expect(await silent.closed()).toBe(4401);
  expect(silent.frames.at(-1)).toMatchObject({ type: "bye", code: 4401, resume_after: silent.events.length });
  await renewed.event("run_end");
  expect(renewed.events).toEqual((await session.events()).slice(0, renewed.events.length));
  renewed.close();
});

test("AP-13: an open socket takes no token of another tenant, session or origin, nor one that may not read", async () => {
  const [session, other] = [await create("text"), await create("text")];
  const { body } = await api("POST", "/keys", { body: { scopes: ["sessions:read"], tenant: "other" } });
  const cases: readonly (readonly [string, number])[] = [
    [String(body["key"]), 4404],
    [await tokenOf(other, { scopes: ["sessions:read"], ttl: 60 }), 4404],
    [await tokenOf(session, { scopes: ["usage:read"], ttl: 60 }), 4403],
    [await tokenOf(session, { scopes: ["sessions:read"], ttl: 60, origin: "https://limpet.example" }), 4403],
  ];
  for (const [token, code] of cases) {
    const watch = await session.watch();
    watch.send({ type: "auth", token });
    expect(await watch.closed(), token).toBe(code);
  }
  const wrong = await session.watch();
  wrong.send({ type: "auth", token: "nonsense" });
  const error = await wrong.until(({ type }) => type === "error");
  expect(error["problem"]).toMatchObject({ code: "unauthenticated" });
  wrong.close();
});

test("AP-22: a socket may do only what its credential may", async () => {
  const session = await create("text");
  const watch = await session.watch(
    { after: 0 },
    await tokenOf(session, { scopes: ["sessions:read"], ttl: 60 }),
  );
  watch.send({ type: "send", id: "c1", input: { content: "Go" } });
  const error = await watch.until(({ type }) => type === "error");
  expect(error).toMatchObject({ id: "c1", problem: { code: "scope_missing" } });
  expect(watch.ended).toBeNull();
  watch.close();
});

test("AP-13: a token ends with its session: one created again under the same ref does not know it, by any way in", async () => {
  const sent = { body: { agent: "text", ref: "ticket-7" } };
  const opened = async (): Promise<Session> => {
    const { body, status } = await api("POST", "/sessions", sent);
    expect(status).toBe(201);
    return sessionOf(String(body["id"]));
  };
  const first = await opened();
  const scopes = ["sessions:read", "sessions:write", "sessions:manage", "asks:answer", "tokens:mint"];
  const key = await tokenOf(first, { scopes });
  const upgrade = { Upgrade: "websocket" };
  const ways: readonly (readonly [string, string, Sent])[] = [
    ["GET", "", {}],
    ["GET", "/snapshot", {}],
    ["GET", "/notes", {}],
    ["GET", "/events", { headers: { Accept: "text/event-stream" } }],
    ["GET", "/ws", { headers: upgrade }],
    ["POST", "/messages", { body: { content: "Go" } }],
    ["POST", "/messages", { body: { content: "Go", wait: 1 } }],
    ["POST", "/tokens", { body: {} }],
    ["POST", "/clear", { body: {} }],
    ["PATCH", "", { body: { title: "x" } }],
    ["DELETE", "", {}],
  ];
  expect((await first.call("GET", "", { key })).status).toBe(200);
  const mine = await first.watch({ after: 0 }, key);
  expect((await first.call("DELETE")).status).toBe(204);
  expect(await mine.closed()).toBe(4410);
  expect((await first.call("GET", "", { key })).status, "there is none").toBe(404);
  const second = await opened();
  expect(second.id).toBe(first.id);
  const fresh = await tokenOf(second, { scopes });
  for (const [method, path, more] of ways) {
    const answer = await request(method, `/sessions/${second.id}${path}`, { ...more, key });
    expect([answer.status, Object(await answer.json())["code"]], `${method} ${path}`).toEqual([
      401,
      "unauthenticated",
    ]);
  }
  expect((await second.call("GET", "", { key: fresh })).status).toBe(200);
  const renewing = await second.watch({ after: 0 }, fresh);
  renewing.send({ type: "auth", token: key });
  expect(await renewing.closed()).toBe(4401);
  expect(await second.events()).toHaveLength(1);
});
