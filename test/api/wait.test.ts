import { expect, test } from "vitest";
import type { SessionCall, SessionReply } from "../../src/session/rpc.ts";
import { accepted, anId, setUp } from "./harness.ts";
import { event, socketDouble } from "./socket-double.ts";
import type { SocketDouble } from "./socket-double.ts";

/** Waiting for the run that answers an input (AP-18). */

const S = `/v1/sessions/${anId()}`;
const run = { id: "run_1", state: "completed" };
const answers: Record<string, SessionReply> = {
  send: accepted({ input: "in_1", status: "applied", run: "run_1", seq: 5 }, { status: 202 }),
  run: accepted(run),
  get: accepted({ status: "running", waiting_for: [] }),
};

/** Resolves after everything that was under way. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise(setImmediate);
  }
}

type Replies = Readonly<Record<string, SessionReply | (() => SessionReply)>>;

async function sending(replies: Replies = {}, path = `${S}/messages`, wait?: number) {
  const harness = setUp();
  const socket: SocketDouble = socketDouble();
  const next: SocketDouble = socketDouble();
  const opened = [socket, next];
  const perform = ({ op }: SessionCall) => {
    const reply = replies[op] ?? answers[op] ?? accepted(null);
    return typeof reply === "function" ? reply() : reply;
  };
  const session = await harness.session(anId(), perform);
  session.fetch = async () => (opened.shift() ?? socket).response;
  const answer = harness.call("POST", path, { content: "hi", ...(wait === undefined ? {} : { wait }) });
  return { ...harness, session, socket, next, answer, calls: session.calls };
}

test("AP-18: with wait the answer is 200 with the run once it ended, and the socket is closed", async () => {
  const { socket, answer, calls } = await sending({}, `${S}/messages`, 300);
  await socket.received(1);
  expect(socket.sent[0]).toMatchObject({ type: "hello", after: 5, deltas: "none" });
  socket.say({ type: "welcome" }, { type: "live", seq: 5 });
  socket.say(event(6, "run_end", {}, "run_0"));
  socket.say(event(7, "run_end", {}, "run_1"));
  const response = await answer;
  expect([response.status, await response.json()]).toEqual([200, run]);
  expect(socket.isClosed()).toBe(true);
  expect(calls.map(({ op, params }) => [op, params])).toEqual([
    ["send", { content: "hi" }],
    ["get", {}],
    ["run", { run: "run_1" }],
  ]);
});

test("AP-18: a run that is over with the message's own commit is answered at once", async () => {
  const ended = { input: "in_1", status: "applied", run: "run_1", run_state: "failed", seq: 9 };
  const { answer, calls } = await sending({ send: accepted(ended, { status: 202 }) }, `${S}/messages`, 300);
  expect((await answer).status).toBe(200);
  expect(calls.map(({ op }) => op)).toEqual(["send", "run"]);
});

test("AP-1 AP-18: POST to a session waits by itself", async () => {
  for (const path of [S, S.replace("/v1", "")]) {
    const { socket, answer } = await sending({}, path);
    await socket.received(1);
    socket.say({ type: "welcome" }, event(6, "run_end", {}, "run_1"));
    expect((await answer).status).toBe(200);
  }
});

test("AP-18: without wait, and with wait 0, the receipt comes at once", async () => {
  for (const wait of [undefined, 0]) {
    const { socket, answer } = await sending({}, `${S}/messages`, wait);
    const response = await answer;
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({ input: "in_1", run: "run_1" });
    expect(socket.sent).toEqual([]);
  }
});

test("AP-18: a queued input is followed to the run that it joins, not the one it found", async () => {
  const queued = accepted({ input: "in_2", status: "accepted", run: "run_1", seq: 9 }, { status: 202 });
  const { socket, answer, calls } = await sending({ send: queued }, `${S}/messages`, 60);
  await socket.received(1);
  socket.say({ type: "welcome" }, { type: "live", seq: 9 });
  socket.say(event(10, "run_end", {}, "run_1"), event(11, "input_applied", { input: "in_9" }, "run_2"));
  socket.say(event(12, "run_end", {}, "run_2"), event(13, "input_applied", { input: "in_2" }, "run_3"));
  socket.say(event(14, "run_end", {}, "run_3"));
  expect((await answer).status).toBe(200);
  expect(calls.at(-1)?.params).toEqual({ run: "run_3" });
});

test("AP-18: 202 with the open asks when only an answer can go on, now or from the start", async () => {
  const asks = accepted({
    data: [
      { id: "a1", kind: "approval", status: "open", approval: { tool: "fs_delete" } },
      { id: "a2", kind: "question", status: "open" },
    ],
    next_cursor: null,
  });
  const told = [
    { id: "a1", kind: "approval" },
    { id: "a2", kind: "question" },
  ];
  const asking = accepted({
    status: "waiting",
    waiting_for: [{ kind: "thread" }, { kind: "ask", ask: "a1" }],
    active_run: "run_0",
  });
  const later = await sending({ get: asking, asks }, `${S}/messages`, 60);
  await later.socket.received(1);
  later.socket.say({ type: "welcome" }, { type: "live", seq: 5 });
  later.socket.say(event(6, "run_waiting", { on: [{ kind: "ask" }] }, "run_1"));
  const receipt = { input: "in_1", status: "applied", run: "run_1", seq: 5 };
  const waiting = await later.answer;
  expect([waiting.status, await waiting.json()]).toEqual([202, { ...receipt, asks: told }]);
  expect(later.calls.at(-1)?.params).toEqual({ run: "run_1", limit: 200 });
  const queued = accepted({ input: "in_2", status: "accepted", run: "run_1", seq: 9 }, { status: 202 });
  const before = await sending({ get: asking, asks, send: queued }, `${S}/messages`, 60);
  await before.socket.received(1);
  before.socket.say({ type: "welcome" }, { type: "live", seq: 9 });
  const queuedBehind = await before.answer;
  expect([queuedBehind.status, await queuedBehind.json()]).toMatchObject([202, { asks: told }]);
  expect(before.calls.at(-1)?.params).toEqual({ run: "run_0", limit: 200 });
});

test("AP-18: a message that was queued is told with the run that it joined meanwhile, also if it is sent again", async () => {
  const queued = accepted({ input: "in_2", status: "accepted", run: "run_1", seq: 9 }, { status: 202 });
  const get = accepted({ status: "waiting", waiting_for: [{ kind: "ask", ask: "a1" }], active_run: "run_2" });
  const asks = accepted({ data: [{ id: "a1", kind: "question" }], next_cursor: null });
  const { socket, answer } = await sending({ send: queued, get, asks }, `${S}/messages`, 60);
  await socket.received(1);
  socket.say({ type: "welcome" }, event(10, "run_end", {}, "run_1"));
  socket.say(event(11, "input_applied", { input: "in_2" }, "run_2"));
  socket.say(event(12, "run_waiting", { on: [{ kind: "ask" }] }, "run_2"), { type: "live", seq: 12 });
  const response = await answer;
  const receipt = { input: "in_2", status: "applied", run: "run_2", seq: 9 };
  const told = [{ id: "a1", kind: "question" }];
  expect([response.status, await response.json()]).toEqual([202, { ...receipt, asks: told }]);
});

test.each(["withdrawn", "returned"])(
  "AP-18: who waits with a message that is %s is told so, and not that it waits still",
  async (status) => {
    const queued = accepted({ input: "in_2", status: "accepted", run: "run_1", seq: 9 }, { status: 202 });
    const { socket, answer } = await sending({ send: queued }, `${S}/messages`, 60);
    await socket.received(1);
    socket.say({ type: "welcome" }, { type: "live", seq: 9 });
    socket.say(event(10, `input_${status}`, { input: "in_2" }));
    const response = await answer;
    const receipt = { input: "in_2", status, run: null, seq: 9 };
    expect([response.status, await response.json()]).toEqual([202, receipt]);
  },
);

test("AP-18: an ask that is answered while it is looked for does not end the waiting", async () => {
  const asking = accepted({ status: "waiting", waiting_for: [{ kind: "ask", ask: "a1" }] });
  const { socket, answer } = await sending({ get: asking, asks: accepted({ data: [] }) }, S, 60);
  await socket.received(1);
  socket.say({ type: "live", seq: 5 }, event(6, "run_waiting", { on: [{ kind: "ask" }] }, "run_1"));
  socket.say(event(9, "run_end", {}, "run_1"));
  expect((await answer).status).toBe(200);
});

test("AP-18: a wait for time does not end the waiting", async () => {
  const { socket, answer, calls } = await sending({}, `${S}/messages`, 60);
  await socket.received(1);
  socket.say({ type: "live", seq: 5 }, event(6, "run_waiting", { on: [{ kind: "retry" }] }, "run_1"));
  socket.say(event(9, "run_end", {}, "run_1"));
  expect((await answer).status).toBe(200);
  expect(calls.map(({ op }) => op)).toEqual(["send", "get", "get", "run"]);
});

test("AP-18: an ask in the replay counts only if it is still open once the stream is live", async () => {
  let live = false;
  const get = () =>
    live ? accepted({ status: "running" }) : accepted({ status: "waiting", waiting_for: [{ kind: "ask" }] });
  const { socket, answer } = await sending({ get }, `${S}/messages`, 60);
  await socket.received(1);
  socket.say(event(6, "run_waiting", { on: [{ kind: "ask" }] }, "run_1"));
  await settled();
  live = true;
  socket.say(event(7, "run_resumed", {}, "run_1"), { type: "live", seq: 7 });
  socket.say(event(8, "run_end", {}, "run_1"));
  expect((await answer).status).toBe(200);
});

test("AP-18: a stream that breaks off is opened again after the last event, and the wait goes on", async () => {
  const queued = accepted({ input: "in_1", status: "accepted", run: null, seq: 5 }, { status: 202 });
  for (const code of [1006, 1012, 1013]) {
    const { socket, next, answer } = await sending({ send: queued }, `${S}/messages`, 60);
    await socket.received(1);
    socket.say({ type: "live", seq: 5 }, event(6, "input_applied", { input: "in_1" }, "run_1"));
    await settled();
    socket.end(code);
    await next.received(1);
    expect(next.sent[0]).toMatchObject({ type: "hello", after: 6 });
    next.say({ type: "welcome" }, event(7, "run_end", {}, "run_1"));
    expect((await answer).status).toBe(200);
  }
});

test("AP-18 RE-P1: a stored input whose session cannot be watched is no error: 202 once the time is over", async () => {
  const broken = Object.assign(new Error("reset"), { retryable: true });
  const full = {
    type: "urn:limpet:problem:too_many_connections",
    code: "too_many_connections",
    detail: "32",
  };
  for (const fetch of [() => Promise.reject(broken), async () => Response.json(full, { status: 429 })]) {
    const harness = setUp();
    const session = await harness.session(anId(), () => answers["send"] ?? accepted(null));
    session.fetch = fetch;
    const response = await harness.call("POST", `${S}/messages`, { content: "hi", wait: 0.05 });
    expect([response.status, await response.json()]).toMatchObject([202, { input: "in_1" }]);
  }
});

const crowded = async (replies: Replies) => {
  const { session, answer, calls } = await sending(replies, `${S}/messages`, 60);
  const code = "too_many_connections";
  session.fetch = async () =>
    Response.json({ type: `urn:limpet:problem:${code}`, code, detail: "32" }, { status: 429 });
  const response = await answer;
  const body: unknown = await response.json();
  return { said: [response.status, body], read: calls.filter(({ op }) => op === "events") };
};

const pageOf = (...frames: readonly ReturnType<typeof event>[]) =>
  accepted({ data: frames.map((frame) => frame.event), next_after: frames.at(-1)?.event.seq ?? 9 });

test("AP-18: in a session that takes no more watchers the run is the answer once it is over", async () => {
  const pages = [pageOf(), pageOf(event(12, "run_end", {}, "run_1"))];
  const { said, read } = await crowded({ events: () => pages.shift() ?? pageOf() });
  expect(said).toEqual([200, run]);
  expect(read.map(({ params }) => params)).toMatchObject([{ after: 5 }, { after: 9 }]);
});

test("AP-18: there an input in the queue is followed to its run, and a question is told at once", async () => {
  const queued = accepted({ input: "in_2", status: "accepted", run: "run_1", seq: 9 }, { status: 202 });
  const events = pageOf(
    event(10, "run_end", {}, "run_1"),
    event(11, "input_applied", { input: "in_2" }, "run_2"),
    event(12, "run_end", {}, "run_2"),
  );
  expect((await crowded({ send: queued, events })).said).toEqual([200, run]);
  const get = accepted({
    status: "waiting",
    waiting_for: [{ kind: "ask" }],
    active_run: "run_1",
    open_asks: ["a1"],
  });
  const asks = accepted({ data: [{ id: "a1", kind: "question" }] });
  const { said } = await crowded({ events: pageOf(), get, asks });
  expect(said).toMatchObject([202, { asks: [{ id: "a1", kind: "question" }] }]);
});

test("AP-18: 202 when the input comes back, the time is over, or the session ends the stream for good", async () => {
  for (const type of ["input_returned", "input_withdrawn"]) {
    const { socket, answer } = await sending({}, `${S}/messages`, 60);
    await socket.received(1);
    socket.say(event(6, type, { input: "other" }), event(7, type, { input: "in_1" }));
    expect((await answer).status).toBe(202);
  }
  const hung = await sending({}, `${S}/messages`, 60);
  await hung.socket.received(1);
  hung.socket.end(4401);
  expect((await hung.answer).status).toBe(202);
  const timed = await sending({}, `${S}/messages`, 0.05);
  expect((await timed.answer).status).toBe(202);
  expect(timed.socket.isClosed()).toBe(true);
});

test("AP-10 AP-18: who waits in a session that is deleted meanwhile is told that there is none", async () => {
  const { socket, answer } = await sending({}, `${S}/messages`, 60);
  await socket.received(1);
  socket.say({ type: "welcome" }, { type: "bye", code: 4410, retry_ms: 1_000 });
  socket.end(4410);
  const response = await answer;
  expect([response.status, await response.json()]).toMatchObject([404, { code: "not_found" }]);
});

test("AP-18: a refused input is refused before any waiting", async () => {
  const busy: SessionReply = { ok: false, problem: { code: "session_busy", detail: "a run is active" } };
  const { answer, socket } = await sending({ send: busy }, S);
  expect((await answer).status).toBe(409);
  expect(socket.sent).toEqual([]);
});

test("AP-6: a replayed input that was waited for is marked", async () => {
  const replayed = accepted(
    { input: "in_1", status: "applied", run: "run_1", seq: 5 },
    { status: 202, replayed: true },
  );
  const { socket, answer } = await sending({ send: replayed }, S);
  await socket.received(1);
  socket.say(event(6, "run_end", {}, "run_1"));
  const response = await answer;
  expect([response.status, response.headers.get("Idempotent-Replayed")]).toEqual([200, "true"]);
});
