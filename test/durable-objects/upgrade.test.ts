import { expect, test, vi } from "vitest";
import { allScopes } from "../../src/session/rpc.ts";
import type { Principal } from "../../src/session/rpc.ts";
import { createRouter } from "../../src/api/index.ts";
import type { RouterContext, RouterEnv, SessionStub } from "../../src/api/index.ts";
import type { Team } from "../../src/config/team.ts";
import type { TeamDirectory } from "../../src/engine/access/rpc.ts";
import type { TenantAddress } from "../../src/sandbox/jurisdiction.ts";
import { recordClose } from "../support/documented.ts";
import { sessionObjectName } from "../../src/engine/access/names.ts";

/** WebSocket upgrades through the router (AP-13, AP-22), in the runtime that has sockets. */

const session = `s_${"a".repeat(26)}`;
const address = `https://limpet.example/v1/sessions/${session}/ws`;
const env: RouterEnv = { LIMPET_ADMIN_KEY: "an-admin-key-of-thirty-two-chars" };
const team = {
  access: { origins: [], token_ttl: 900_000, rate_limit: { rpm: 600 } },
  observability: { log_level: "error" },
  providers: [],
  agents: [],
  secrets: [],
} as unknown as Team;

const acme: TenantAddress = { tenant: "acme", jurisdiction: null };

const principals: Record<string, Principal> = {
  good: { ...acme, by: "k1", scopes: allScopes },
  foreign: { ...acme, tenant: "other", by: "k2", scopes: allScopes },
  weak: { ...acme, by: "k3", scopes: ["usage:read"] },
  elsewhere: { ...acme, by: "k4", scopes: allScopes, session: `s_${"b".repeat(26)}` },
  brief: { ...acme, by: "k6", scopes: allScopes, expires: Date.now() + 60_000 },
  lasting: { ...acme, by: "k7", scopes: allScopes, expires: Date.now() + 86_400_000 },
  root: { ...acme, by: "operator", scopes: allScopes },
  bound: { ...acme, by: "k5", scopes: allScopes, origin: "https://app.example" },
};

/** A router over one session of `acme` that says what it was given and echoes what it hears. */
async function setUp() {
  const upgrades: Request[] = [];
  const heard: unknown[] = [];
  const name = sessionObjectName(acme, session);
  const ends: WebSocket[] = [];
  const known: SessionStub = {
    perform: async () => ({ ok: false, problem: { code: "internal", detail: "" } }),
    reportFileChange: async () => ({ ok: false, problem: { code: "internal", detail: "" } }),
    explainCall: async () => ({ ok: false, problem: { code: "internal", detail: "" } }),
    fetch: async (request) => {
      upgrades.push(request);
      const pair = new WebSocketPair();
      pair[1].accept();
      ends.push(pair[1]);
      pair[1].addEventListener("message", ({ data }) => {
        heard.push(data);
        pair[1].send(`heard ${data}`);
      });
      return new Response(null, { status: 101, webSocket: pair[0] });
    },
  };
  const absent: SessionStub = {
    perform: (call) => known.perform(call),
    reportFileChange: (report) => known.reportFileChange(report),
    explainCall: async () => ({ ok: false, problem: { code: "internal", detail: "" } }),
    fetch: async () => Response.json({ code: "not_found", detail: "" }, { status: 404 }),
  };
  const directory = {
    authenticate: async (credential: string) => {
      if (credential === "busy") return { ok: false, problem: { code: "overloaded", detail: "busy" } };
      if (credential === "slow") await new Promise(() => undefined);
      const principal = principals[credential];
      return principal === undefined
        ? { ok: false, problem: { code: "unauthenticated", detail: "unknown" } }
        : { ok: true, principal };
    },
  } as unknown as TeamDirectory;
  const sessions: RouterContext["exports"]["SessionObject"] = {
    getByName: (asked) => (asked === name ? known : absent),
    jurisdiction: () => sessions,
  };
  const ctx: RouterContext = {
    exports: {
      SessionObject: sessions,
      TenantObject: {} as never,
      TeamObject: { getByName: () => directory },
      ProviderGate: { getByName: () => ({ health: async () => [], resetHealth: async () => undefined }) },
    },
  };
  const router = createRouter({
    team,
    toolsOf: () => [],
    callsOf: () => [],
    judgeCall: () => null,
    windowOf: () => 0,
    workspace: () => ({}) as never,
    servers: {} as never,
    log: () => undefined,
  });
  const ask = (headers: Record<string, string> = {}, url = address) =>
    router.fetch(new Request(url, { headers: { Upgrade: "websocket", ...headers } }), env, ctx);
  return { ask, upgrades, heard, ends };
}

/** A client's end: messages and closing as promises. */
function clientOf(response: Response) {
  const socket = response.webSocket;
  if (socket === null) throw new Error(`no socket: ${response.status}`);
  const messages: string[] = [];
  let wake = (): void => undefined;
  socket.addEventListener("message", ({ data }) => {
    messages.push(String(data));
    wake();
  });
  const closed = new Promise<{ code: number }>((resolve) =>
    socket.addEventListener("close", ({ code, reason }) => {
      recordClose(code, reason);
      resolve({ code });
    }),
  );
  socket.accept();
  const next = async (): Promise<string> => {
    while (messages.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    return messages.shift() ?? "";
  };
  return { socket, next, closed };
}
const principalIn = (request: Request | undefined): Principal =>
  JSON.parse(request?.headers.get("limpet-principal") ?? "") as Principal;
const auth = (token: string) => JSON.stringify({ type: "auth", token });

test("AP-13: a token in the subprotocol opens the session's own socket; only limpet.v1 is echoed", async () => {
  const { ask, upgrades } = await setUp();
  const response = await ask({ "Sec-WebSocket-Protocol": "limpet.v1, bearer.good" });
  expect(response.status).toBe(101);
  expect(response.headers.get("Sec-WebSocket-Protocol")).toBe("limpet.v1");
  expect(response.headers.get("Request-Id")).toMatch(/^req_/);
  const client = clientOf(response);
  client.socket.send("hello");
  expect(await client.next()).toBe("heard hello");
  const [request] = upgrades;
  expect(principalIn(request)).toMatchObject(principals["good"] ?? {});
  expect(request?.headers.get("limpet-session")).toBe(session);
  expect([...(request?.headers ?? [])].join()).not.toContain("bearer");
  client.socket.close(1000);
});

test("AP-12: a socket outlives its key by 15 minutes at most, a shorter life stands", async () => {
  const now = Date.now();
  const lives: Record<string, readonly [number, number]> = {
    good: [14, 15],
    brief: [0, 1],
    lasting: [14, 15],
  };
  for (const [token, [least, most]] of Object.entries(lives)) {
    const { ask, upgrades } = await setUp();
    clientOf(await ask({ Authorization: `Bearer ${token}` })).socket.close(1000);
    const minutes = ((principalIn(upgrades[0]).expires ?? Infinity) - now) / 60_000;
    expect(minutes, token).toBeGreaterThanOrEqual(least);
    expect(minutes, token).toBeLessThanOrEqual(most + 0.1);
  }
  const { ask, upgrades } = await setUp();
  clientOf(await ask({ Authorization: "Bearer root" })).socket.close(1000);
  expect(principalIn(upgrades[0]).expires).toBeUndefined();
});

test("AP-13: an Authorization header does as well, without a subprotocol in the answer", async () => {
  const { ask } = await setUp();
  const response = await ask({ Authorization: "Bearer good" });
  expect(response.status).toBe(101);
  expect(response.headers.get("Sec-WebSocket-Protocol")).toBeNull();
  clientOf(response).socket.close(1000);
});

test("AP-10: what cannot be upgraded is an HTTP problem", async () => {
  const { ask, upgrades } = await setUp();
  const statusOf = async (headers: Record<string, string>, url?: string) => (await ask(headers, url)).status;
  expect(await statusOf({ "Sec-WebSocket-Protocol": "limpet.v1, bearer.bad" })).toBe(401);
  expect(await statusOf({ Authorization: "Bearer weak" })).toBe(403);
  expect(await statusOf({ Authorization: "Bearer foreign" })).toBe(404);
  expect(await statusOf({ Authorization: "Bearer elsewhere" })).toBe(401);
  expect(await statusOf({ Authorization: "Bearer bound" })).toBe(403);
  expect(await statusOf({ Authorization: "Bearer good", Origin: "https://evil.example" })).toBe(403);
  expect(await statusOf({ Authorization: "Bearer good", "Sec-WebSocket-Protocol": "limpet.v2" })).toBe(426);
  expect(await statusOf({ Authorization: "Bearer good", Upgrade: "h2c" })).toBe(400);
  expect(await statusOf({}, `${address}?token=good`)).toBe(400);
  expect(upgrades).toEqual([]);
});

test("AP-13: without a credential the first frame is auth; what follows reaches the session in order, both ways", async () => {
  const { ask, upgrades, heard, ends } = await setUp();
  const client = clientOf(await ask({ "Sec-WebSocket-Protocol": "limpet.v1" }));
  client.socket.send(auth("good"));
  for (const text of ["one", "two", "three"]) client.socket.send(text);
  expect([await client.next(), await client.next(), await client.next()]).toEqual([
    "heard one",
    "heard two",
    "heard three",
  ]);
  client.socket.send("four");
  expect(await client.next()).toBe("heard four");
  expect(heard).toEqual(["one", "two", "three", "four"]);
  expect(principalIn(upgrades[0])).toMatchObject(principals["good"] ?? {});
  ends[0]?.close(4413, "slow");
  expect((await client.closed).code).toBe(4413);
});

test("AP-25: a late credential that opens nothing closes the socket with its code and says why", async () => {
  const cases = { bad: 4401, weak: 4403, foreign: 4404, elsewhere: 4401, bound: 4403, busy: 1013 };
  for (const [token, code] of Object.entries(cases)) {
    const { ask, upgrades } = await setUp();
    const client = clientOf(await ask());
    client.socket.send(auth(token));
    expect(JSON.parse(await client.next()), token).toMatchObject({
      type: "error",
      problem: { code: expect.any(String), status: expect.any(Number) },
    });
    expect((await client.closed).code, token).toBe(code);
    expect(upgrades).toEqual([]);
  }
});

test("AP-25: whoever sends more than the lobby holds is closed for its rate, no frame is dropped in silence", async () => {
  const { ask, heard } = await setUp();
  const client = clientOf(await ask());
  client.socket.send(auth("slow"));
  for (let count = 0; count < 65; count += 1) client.socket.send(`frame ${count}`);
  expect((await client.closed).code).toBe(4429);
  expect(heard).toEqual([]);
});

test("AP-25: bytes and a frame over 256 KiB are bad ones also while its sender's credential is looked at", async () => {
  for (const frame of ["x".repeat(262_145), new Uint8Array(9).buffer]) {
    const { ask, heard } = await setUp();
    const client = clientOf(await ask());
    client.socket.send(auth("slow"));
    client.socket.send(frame);
    expect((await client.closed).code).toBe(4400);
    expect(heard).toEqual([]);
  }
});

test("AP-25: anything but auth first is a bad frame", async () => {
  for (const frame of [
    "{",
    "[]",
    '{"type":"hello","after":0}',
    '{"type":"auth"}',
    '{"type":"auth","token":7}',
    new Uint8Array([1]).buffer,
  ]) {
    const { ask, upgrades } = await setUp();
    const client = clientOf(await ask());
    client.socket.send(frame);
    expect((await client.closed).code).toBe(4400);
    expect(upgrades).toEqual([]);
  }
});

test("AP-13: the auth frame must come within 5 s", async () => {
  const { ask } = await setUp();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const client = clientOf(await ask());
  let closed = false;
  void client.closed.then(() => (closed = true));
  await vi.advanceTimersByTimeAsync(4_999);
  expect(closed).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect((await client.closed).code).toBe(4408);
  vi.useRealTimers();
});
