import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createClient } from "../../src/client/index.ts";
import type { ClientOptions, OpenSession, StoredEvent, Transcript } from "../../src/client/index.ts";

/** The connection of the typed client against a socket and a server that tests play, on a clock that tests move. */

const session = `s_${"a".repeat(26)}`;

/** A WebSocket whose other end is the test. */
class PlayedSocket extends EventTarget {
  static readonly all: PlayedSocket[] = [];
  readyState = 0;
  readonly sent: { readonly type: string; readonly [field: string]: unknown }[] = [];
  readonly url: string;
  readonly protocols: readonly string[];
  constructor(url: string, protocols: readonly string[]) {
    super();
    this.url = url;
    this.protocols = protocols;
    PlayedSocket.all.push(this);
  }
  send(text: string): void {
    this.sent.push(JSON.parse(text) as { type: string });
  }
  close(): void {
    this.readyState = 3;
  }
  accept(): void {
    this.readyState = 1;
    this.dispatchEvent(new Event("open"));
  }
  give(...frames: readonly object[]): void {
    this.dispatchEvent(Object.assign(new Event("message"), { data: JSON.stringify(frames) }));
  }
  end(code: number): void {
    this.readyState = 3;
    this.dispatchEvent(Object.assign(new Event("close"), { code }));
  }
}

const newest = (): PlayedSocket => {
  const socket = PlayedSocket.all.at(-1);
  if (socket === undefined) throw new Error("no socket");
  return socket;
};

const eventFrame = (
  seq: number,
  type = "turn_start",
): { readonly type: "event"; readonly event: StoredEvent } => ({
  type: "event",
  event: {
    v: 1,
    seq,
    id: `${session}:${seq}`,
    at: seq,
    session,
    type,
    thread: "main",
    agent: { name: "a", prefix: "" },
    data: {},
  } as unknown as StoredEvent,
});

const view = {
  id: session,
  prefix: "",
  usage: {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    total: 0,
    calls: 0,
    cost_usd: 0,
    estimated: false,
  },
  head_seq: 0,
  updated_at: 0,
};

interface PlayedRequest {
  readonly url: string;
  readonly headers: Headers;
  readonly signal: AbortSignal | null;
}

let requests: PlayedRequest[] = [];
/** What the server answers to all but snapshots; the default is that the session is there. */
let answer: (request: PlayedRequest) => Response | Promise<Response>;

const play = (options: Partial<ClientOptions> = {}) =>
  createClient({
    url: "http://limpet.test",
    WebSocket: PlayedSocket as unknown as typeof WebSocket,
    fetch: async (input, init) => {
      const url = typeof input === "string" ? input : "";
      const request = { url, headers: new Headers(init?.headers), signal: init?.signal ?? null };
      requests.push(request);
      return answer(request);
    },
    ...options,
  }).sessions.get(session);

const snapshot = (seq: number): Response =>
  Response.json({ seq, session: view, threads: [], asks: [], inputs: [], runs: [] });

const refusal = (status: number, code: string): Response =>
  Response.json({ type: "", title: "", status, detail: code, code, retryable: false }, { status });

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"],
  });
  vi.spyOn(Math, "random").mockReturnValue(0.999_999);
  requests = [];
  PlayedSocket.all.length = 0;
  answer = () => snapshot(0);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** Lets everything happen that waits for nothing but promises, and what is due. */
const settle = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms + 20);

const opened = async (options: Partial<ClientOptions> = {}): Promise<OpenSession> => {
  const open = play(options).open();
  await settle();
  newest().accept();
  newest().give({ type: "welcome", head_seq: 0 }, { type: "live", seq: 0 });
  await settle();
  return open;
};

const typesOf = (socket: PlayedSocket, type: string) => socket.sent.filter((frame) => frame.type === type);

test("AP-52: it says hello behind what it holds, and acknowledges each 100 frames and each 256 KiB", async () => {
  await opened();
  expect(newest().url).toBe(`ws://limpet.test/v1/sessions/${session}/ws`);
  expect(typesOf(newest(), "hello")).toEqual([{ type: "hello", after: 0, deltas: "all" }]);
  newest().give(...Array.from({ length: 97 }, (_, at) => eventFrame(at + 1)));
  await settle();
  expect(typesOf(newest(), "ack")).toEqual([]);
  newest().give(eventFrame(98));
  await settle();
  expect(typesOf(newest(), "ack")).toEqual([{ type: "ack", frames: 100 }]);
  newest().give({ ...eventFrame(99), more: "x".repeat(256 * 1024) });
  await settle();
  expect(typesOf(newest(), "ack")).toHaveLength(2);
  newest().give({ type: "lag", shed: "deltas", seq: 99, hint: "ack" });
  await settle();
  expect(typesOf(newest(), "ack").at(-1)).toEqual({ type: "ack", frames: 102 });
});

test("AP-52: an event that came before is dropped; a jump begins again behind the last one", async () => {
  const open = await opened();
  newest().give(eventFrame(1), eventFrame(2), eventFrame(2), eventFrame(1));
  await settle();
  expect(open.getEvents().map(({ seq }) => seq)).toEqual([1, 2]);
  newest().give(eventFrame(4));
  await settle(10_000);
  expect(PlayedSocket.all).toHaveLength(2);
  newest().accept();
  expect(typesOf(newest(), "hello")).toEqual([{ type: "hello", after: 2, deltas: "all" }]);
  newest().give({ type: "welcome" }, eventFrame(3), eventFrame(4), { type: "live", seq: 4 });
  await settle();
  expect(open.getEvents().map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
  open.close();
});

test("AP-52: delays double from 250 ms to 10 s with full jitter, and begin anew after 30 s of health", async () => {
  const open = await opened();
  const delays: number[] = [];
  open.subscribe(() => {
    const { status, retry_at } = open.getSnapshot();
    if (status === "offline") delays.push(Math.round((retry_at ?? 0) - Date.now()));
  });
  for (let failure = 0; failure < 8; failure += 1) {
    newest().end(1006);
    await settle(11_000);
    newest().accept();
    newest().give({ type: "welcome" }, { type: "live", seq: 0 });
    await settle();
  }
  for (const [at, wanted] of [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000].entries()) {
    expect(delays[at], `failure ${at}`).toBeGreaterThan(wanted - 40);
    expect(delays[at], `failure ${at}`).toBeLessThanOrEqual(wanted);
  }
  await settle(14_000);
  newest().give({ type: "pong" });
  await settle(14_000);
  newest().give({ type: "pong" });
  await settle(3_000);
  newest().end(1012);
  await settle(1_000);
  expect(delays.at(-1)).toBeLessThanOrEqual(250);
  open.close();
});

test("AP-52: a ping at first and each 15 s, whatever comes; 10 s without a word after one are the end", async () => {
  const open = await opened();
  const first = newest();
  expect(typesOf(first, "ping")).toHaveLength(1);
  await settle(14_800);
  first.give(eventFrame(1));
  expect(typesOf(first, "ping")).toHaveLength(1);
  await settle(200);
  expect(typesOf(first, "ping")).toHaveLength(2);
  first.give({ type: "pong" });
  await settle(24_000);
  expect(typesOf(first, "ping")).toHaveLength(3);
  expect(open.getSnapshot().status).toBe("live");
  await settle(2_000);
  expect(PlayedSocket.all.length).toBe(2);
  open.close();
});

test("AP-52: a server that accepts and stays silent is given up after 10 s, again with growing delays, and the state says why", async () => {
  const open = play().open();
  await settle();
  newest().accept();
  await settle(9_900);
  expect(open.getSnapshot().status).toBe("connecting");
  await settle(100);
  const { status, problem, retry_at } = open.getSnapshot();
  expect([status, problem?.code]).toEqual(["offline", "stream_refused"]);
  expect((retry_at ?? 0) - Date.now()).toBeLessThanOrEqual(250);
  await settle(250);
  expect(PlayedSocket.all.length).toBe(2);
  newest().accept();
  await settle(10_000);
  const { retry_at: later } = open.getSnapshot();
  expect((later ?? 0) - Date.now()).toBeGreaterThan(250);
  // A frame is no welcome, and one that never opens is given up as well.
  await settle(600);
  newest().give({ type: "pong" });
  await settle(10_000);
  expect(open.getSnapshot().status).toBe("offline");
  open.close();
});

test("AP-52: a page whose browser goes offline is not live, and is again once the server is reached", async () => {
  const browser = new EventTarget();
  vi.stubGlobal("addEventListener", browser.addEventListener.bind(browser));
  const open = await opened();
  expect(open.getSnapshot().status).toBe("live");
  browser.dispatchEvent(new Event("offline"));
  await settle();
  expect(open.getSnapshot()).toMatchObject({ status: "offline", problem: { code: "connection_lost" } });
  browser.dispatchEvent(new Event("online"));
  await settle();
  newest().accept();
  newest().give({ type: "welcome", head_seq: 0 }, { type: "live", seq: 0 });
  await settle();
  expect(open.getSnapshot().status).toBe("live");
  expect(PlayedSocket.all).toHaveLength(2);
  open.close();
  browser.dispatchEvent(new Event("offline"));
  await settle(60_000);
  expect(PlayedSocket.all).toHaveLength(2);
});

test("AP-52: a welcome and then silence end the connection, when the ping has had no answer for 10 s", async () => {
  const open = play().open();
  await settle();
  newest().accept();
  newest().give({ type: "welcome", head_seq: 0 });
  await settle(24_900);
  expect(open.getSnapshot().status).toBe("connecting");
  await settle(200);
  expect(open.getSnapshot()).toMatchObject({ status: "offline", problem: { code: "connection_lost" } });
  open.close();
});

test("AP-52: a server that answers no request is given up after 20 s, and said to be silent", async () => {
  answer = ({ signal }) =>
    new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new Error("aborted"))));
  const open = play().open();
  await settle(19_900);
  expect(open.getSnapshot().status).toBe("connecting");
  await settle(200);
  expect(open.getSnapshot()).toMatchObject({ status: "offline", problem: { code: "server_silent" } });
  answer = () => snapshot(0);
  await settle(1_000);
  newest().accept();
  newest().give({ type: "welcome", head_seq: 0 }, { type: "live", seq: 0 });
  await settle();
  expect(open.getSnapshot().status).toBe("live");
  open.close();
});

test("AP-52: a token that ended is renewed, and travels in the subprotocol or in the first frame", async () => {
  const tokens = ["lt_first", "lt second"];
  const open = await opened({ getToken: () => tokens.shift() ?? "lt_third" });
  expect(newest().protocols).toEqual(["limpet.v1", "bearer.lt_first"]);
  expect(requests.every(({ headers }) => headers.get("Authorization") === "Bearer lt_first")).toBe(true);
  newest().end(4401);
  await settle(1_000);
  newest().accept();
  expect(newest().protocols).toEqual(["limpet.v1"]);
  expect(newest().sent.slice(0, 2)).toEqual([
    { type: "auth", token: "lt second" },
    { type: "hello", after: 0, deltas: "all" },
  ]);
  open.close();
});

test.each([4403, 4404, 4410, 4426])("AP-52: the close code %i is final", async (code) => {
  const open = await opened();
  newest().end(code);
  await settle(60_000);
  expect(open.getSnapshot()).toMatchObject({ status: "closed", problem: { status: code - 4000 } });
  expect(PlayedSocket.all).toHaveLength(1);
});

test.each([
  [4401, 401, "token_revoked"],
  [4403, 403, "key_suspended"],
  [4404, 404, "session_moved"],
  [4410, 404, "session_expired"],
  [4426, 400, "hello_too_old"],
])("AP-52: with the close code %i what the server said before is shown", async (code, status, said) => {
  const open = play().open();
  await settle();
  newest().accept();
  const problem: unknown = await refusal(status, said).json();
  newest().give({ type: "error", problem }, { type: "bye", code });
  newest().end(code);
  await settle(60_000);
  expect(open.getSnapshot()).toMatchObject({ status: "closed", problem: { status, code: said } });
  expect(PlayedSocket.all).toHaveLength(1);
});

test("AP-52: a server that only closes with 4401 has refused the key", async () => {
  const open = play({ token: "lk_x" }).open();
  await settle();
  newest().accept();
  newest().end(4401);
  await settle(60_000);
  expect(open.getSnapshot()).toMatchObject({ status: "closed", problem: { code: "unauthenticated" } });
});

test.each([1006, 1012, 1013, 4408, 4413, 4429])(
  "AP-52: after the close code %i it connects again",
  async (code) => {
    const open = await opened();
    newest().end(code);
    await settle(1_000);
    expect(PlayedSocket.all).toHaveLength(2);
    open.close();
  },
);

test("AP-52: a refusal of the session or the key is final and says why; a server that is away is waited for", async () => {
  answer = () => refusal(404, "not_found");
  const missing = play().open();
  await settle();
  expect(missing.getSnapshot()).toMatchObject({ status: "closed", problem: { code: "not_found" } });
  answer = () => refusal(401, "unauthenticated");
  const refused = play({ token: "lk_wrong" }).open();
  await settle();
  expect(refused.getSnapshot()).toMatchObject({ status: "closed", problem: { code: "unauthenticated" } });
  answer = () => Promise.reject(new TypeError("fetch failed"));
  const away = play().open();
  await settle();
  expect(away.getSnapshot()).toMatchObject({ status: "offline", problem: { code: "unreachable" } });
  answer = () => snapshot(0);
  away.reconnect();
  await settle();
  expect(PlayedSocket.all).toHaveLength(1);
  away.close();
});

test("AP-52: a command whose answer breaks off goes again under its key, and is one command", async () => {
  const receipt = { input: "in_1", status: "applied", run: "run_1", seq: 0 };
  const broken = new ReadableStream({ start: (controller) => controller.error(new TypeError("terminated")) });
  const answers = [new Response(broken), Response.json(receipt)];
  answer = () => answers.shift() ?? snapshot(0);
  const sent = play().send("hello");
  await settle(1_000);
  expect(await sent).toEqual(receipt);
  const keys = requests.map(({ headers }) => headers.get("Idempotency-Key"));
  expect(keys).toHaveLength(2);
  expect(new Set(keys).size).toBe(1);
});

test("AP-52: a command that is swallowed goes again after 20 s, and what waits behind it goes out", async () => {
  const posted: (string | null)[] = [];
  let isSwallowing = true;
  answer = ({ url, headers }) => {
    if (!url.includes("/messages")) return snapshot(0);
    posted.push(headers.get("Idempotency-Key"));
    if (isSwallowing) return new Promise(() => undefined);
    return Response.json({ input: "in_1", status: "applied", run: "run_1", seq: 0 });
  };
  const client = play();
  const sent = [client.send({ id: "a", content: "one" }), client.send({ id: "b", content: "two" })];
  await settle(19_000);
  expect(posted).toEqual(["a"]);
  isSwallowing = false;
  await settle(2_000);
  await Promise.all(sent);
  expect(posted).toEqual(["a", "a", "b"]);
});

test("AP-52: a command with much in it has the time that a slow connection needs", async () => {
  answer = ({ url }) => (url.includes("/messages") ? new Promise(() => undefined) : snapshot(0));
  void play().send("x".repeat(1_000_000));
  await settle(69_000);
  expect(requests).toHaveLength(1);
  await settle(2_000);
  expect(requests).toHaveLength(2);
});

test("AP-52: a token that does not come is told after 20 s, and asked for again after two minutes", async () => {
  const tokens = [new Promise<string>(() => undefined), "lt_second"];
  const open = play({ getToken: () => tokens.shift() ?? "lt_third" }).open();
  await settle(20_000);
  expect(open.getSnapshot()).toMatchObject({ status: "offline", problem: { code: "server_silent" } });
  await settle(90_000);
  expect(tokens, "a person may still be asked for it").toHaveLength(1);
  await settle(20_000);
  expect(newest().protocols).toEqual(["limpet.v1", "bearer.lt_second"]);
  open.close();
});

test("AP-51: a stream that was ended before it began is not opened", async () => {
  vi.stubGlobal("WebSocket", undefined);
  const events = play({ WebSocket: undefined as never }).events({ signal: AbortSignal.abort() });
  expect(await Array.fromAsync(events)).toEqual([]);
  await settle();
  expect(requests.filter(({ signal }) => signal?.aborted !== true)).toEqual([]);
});

test("AP-51: earlier entries that were asked for before there were any are read once there are", async () => {
  const asked: string[] = [];
  answer = ({ url }) => {
    if (!url.includes("/events")) return snapshot(3_000);
    asked.push(url);
    const { searchParams } = new URL(url);
    const [after, before] = ["after", "before"].map((name) => Number(searchParams.get(name)));
    const all = Array.from({ length: 3_000 }, (_, at) => eventFrame(at + 1).event);
    const data = all.filter(({ seq }) => seq > Number(after) && (before === 0 || seq < Number(before)));
    return Response.json({ data, next_after: 3_000 });
  };
  const open = play().open();
  expect(await open.loadEarlier()).toBe(false);
  await settle();
  newest().accept();
  newest().give({ type: "welcome", head_seq: 3_000 });
  const missing = Number((newest().sent[0] as { after?: number } | undefined)?.after);
  newest().give(...Array.from({ length: 3_000 - missing }, (_, at) => eventFrame(missing + at + 1)));
  newest().give({ type: "live", seq: 3_000 });
  await settle();
  expect(open.getSnapshot()).toMatchObject({ status: "live", earlier: true });
  const before = asked.length;
  await open.loadEarlier();
  expect(asked.length).toBeGreaterThan(before);
  open.close();
});

/** A stream of server-sent events that the test writes. */
const playStream = () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const write = (text: string): Promise<void> => writer.write(new TextEncoder().encode(text));
  return { response: new Response(readable), write };
};

test("AP-52: after three failed upgrades the stream is read without a WebSocket, which is tried again each 60 s", async () => {
  const streams: ReturnType<typeof playStream>[] = [];
  answer = ({ url, headers }) => {
    if (url.includes("/snapshot")) return snapshot(0);
    if (headers.get("Accept") !== "text/event-stream") return Response.json(view);
    const stream = playStream();
    streams.push(stream);
    return stream.response;
  };
  const open = play().open();
  for (let failure = 0; failure < 3; failure += 1) {
    await settle(1_000);
    newest().end(1006);
  }
  await settle(2_000);
  expect(PlayedSocket.all).toHaveLength(3);
  expect(streams).toHaveLength(1);
  // JSON leaves line ends as they are that only Unicode knows.
  const event = { ...eventFrame(1).event, data: { text: "one\u2028id: 9\u2029two" } };
  const text = `event: turn_start\nid: 1\ndata: ${JSON.stringify(event)}\n\n`;
  await streams[0]?.write(`retry: 1000\n\nevent: welcome\ndata: {"type":"welcome"}\n\n${text.slice(0, 30)}`);
  await streams[0]?.write(`${text.slice(30)}event: live\ndata: {"type":"live","seq":1}\n\n:\n\n`);
  await settle();
  expect(open.getSnapshot()).toMatchObject({ status: "live", seq: 1 });
  for (let beat = 0; beat < 3; beat += 1) {
    await settle(15_000);
    await streams[0]?.write("event: heartbeat\ndata: {}\n\n");
  }
  await settle(16_000);
  expect(PlayedSocket.all).toHaveLength(4);
  newest().accept();
  expect(typesOf(newest(), "hello")).toEqual([{ type: "hello", after: 1, deltas: "all" }]);
  open.close();
});

test("AP-52: a page whose WebSockets throw at once, since it may open none, reads the stream without them", async () => {
  const stream = playStream();
  answer = ({ url, headers }) => {
    if (url.includes("/snapshot")) return snapshot(0);
    return headers.get("Accept") === "text/event-stream" ? stream.response : Response.json(view);
  };
  const refuse = function refuseSocket() {
    throw new DOMException("insecure", "SecurityError");
  };
  const open = play({ WebSocket: refuse as unknown as typeof WebSocket }).open();
  await settle(2_000);
  await stream.write('event: live\ndata: {"type":"live","seq":0}\n\n');
  await settle();
  expect(open.getSnapshot().status).toBe("live");
  open.close();
});

test("AP-51: Node 20, which has neither a WebSocket nor Promise.withResolvers, sends and reads all the same", async () => {
  vi.stubGlobal("WebSocket", undefined);
  vi.spyOn(Promise, "withResolvers").mockImplementation(() => {
    throw new TypeError("Promise.withResolvers is not a function");
  });
  const stream = playStream();
  answer = ({ url, headers }) => {
    if (url.includes("/snapshot")) return snapshot(0);
    if (headers.get("Accept") === "text/event-stream") return stream.response;
    return Response.json({ input: "in_1", status: "applied", run: "run_1", seq: 0 });
  };
  const node20 = play({ WebSocket: undefined as never });
  const open = node20.open();
  expect(await node20.send("hello")).toMatchObject({ run: "run_1" });
  await settle();
  await stream.write('event: live\ndata: {"type":"live","seq":0}\n\n');
  await settle();
  expect(open.getSnapshot().status).toBe("live");
  // It stays the same stream, since no WebSocket is to be tried again.
  for (let beat = 0; beat < 8; beat += 1) {
    await settle(15_000);
    await stream.write("event: heartbeat\ndata: {}\n\n");
  }
  expect(open.getSnapshot().status).toBe("live");
  open.close();
});

test("AP-51: subscribers are told at most once a frame, and what did not change stays the same object", async () => {
  const open = await opened();
  const seen: Transcript[] = [];
  open.subscribe(() => seen.push(open.getSnapshot()));
  newest().give(eventFrame(1), eventFrame(2));
  newest().give(eventFrame(3));
  newest().give(eventFrame(4));
  await settle();
  expect(seen.length).toBeLessThanOrEqual(2);
  expect(open.getSnapshot()).toBe(open.getSnapshot());
  expect(open.getSnapshot().seq).toBe(4);
  expect(seen.at(-1)?.asks).toBe(seen[0]?.asks);
  open.close();
});
