import { expect, test } from "vitest";
import { allScopes } from "../../src/session/rpc.ts";
import type { SessionCall } from "../../src/session/rpc.ts";
import { problemKinds } from "../../src/session/problems.ts";
import { deriveSessionId, sessionIdPattern } from "../../src/engine/access/names.ts";
import { writeNote } from "../../src/engine/access/tenant/notes.ts";
import { accepted, anId, operator, problemOf, setUp } from "./harness.ts";

const S = `/v1/sessions/${anId()}`;
const receipt = { input: "in_1", status: "applied", run: "run_1", seq: 3 };

test("AP-11: each session route is one call with its body, query and path as parameters", async () => {
  const { call, session } = setUp();
  const { calls } = await session(anId());
  const cases: readonly [string, string, unknown, SessionCall["op"], unknown][] = [
    ["GET", S, undefined, "get", {}],
    ["PATCH", S, { title: "t" }, "patch", { title: "t" }],
    ["DELETE", S, undefined, "delete", {}],
    ["POST", `${S}/messages`, { content: "hi" }, "send", { content: "hi" }],
    [
      "GET",
      `${S}/messages?thread=main&before=12&limit=5&retired=true`,
      undefined,
      "messages",
      { thread: "main", before: "12", limit: "5", retired: "true" },
    ],
    ["GET", `${S}/inputs`, undefined, "inputs", {}],
    ["GET", `${S}/inputs/in_1`, undefined, "input", { input: "in_1" }],
    ["PATCH", `${S}/inputs/in_1`, { content: "x" }, "edit_input", { content: "x", input: "in_1" }],
    ["DELETE", `${S}/inputs/in_1`, undefined, "withdraw", { input: "in_1" }],
    ["GET", `${S}/runs?limit=2`, undefined, "runs", { limit: "2" }],
    ["GET", `${S}/runs/run_1`, undefined, "run", { run: "run_1" }],
    ["GET", `${S}/threads`, undefined, "threads", {}],
    ["POST", `${S}/cancel`, { mode: "now" }, "cancel", { mode: "now" }],
    ["POST", `${S}/cancel`, undefined, "cancel", {}],
    ["GET", `${S}/asks?status=open`, undefined, "asks", { status: "open" }],
    ["POST", `${S}/asks/a1`, { decision: "approve" }, "answer", { decision: "approve", ask: "a1" }],
    [
      "POST",
      `${S}/respond`,
      { question_id: "a1", response: "yes" },
      "answer",
      { ask: "a1", decision: "answer", text: "yes" },
    ],
    [
      "GET",
      `${S}/events?after=4&types=run_end,error&types=turn_end`,
      undefined,
      "events",
      { after: "4", types: "run_end,error,turn_end" },
    ],
    ["GET", `${S}/snapshot`, undefined, "snapshot", {}],
    ["POST", `${S}/clear`, undefined, "clear", {}],
    ["POST", `${S}/rewind`, { at: 3 }, "rewind", { at: 3 }],
    ["POST", `${S}/migrate`, undefined, "migrate", {}],
    ["PATCH", `${S}/messages/msg_main_1`, { pinned: true }, "pin", { pinned: true, message: "msg_main_1" }],
    ["GET", `${S}/usage`, undefined, "usage", {}],
    ["GET", `${S}/state`, undefined, "state", {}],
    ["GET", `${S}/tasks`, undefined, "tasks", {}],
    ["GET", `${S}/notes`, undefined, "notes", {}],
  ];
  for (const [method, path, body, op, params] of cases) {
    const response = await call(method, path, body);
    expect(response.status, `${method} ${path}`).toBe(200);
    expect(calls.at(-1), `${method} ${path}`).toMatchObject({ op, session: anId(), principal: operator });
    expect(calls.at(-1)?.params, `${method} ${path}`).toEqual(params);
  }
  expect(calls).toHaveLength(cases.length);
});

test("AG-47: notes that sessions share come from their tenant, for whoever may read the session", async () => {
  const { call, session, tenant, fetch } = setUp();
  const { tables } = tenant();
  writeNote(tables, { agent: null }, { name: "n", content: "x", key: "k", now: 1 });
  writeNote(tables, { agent: "a" }, { name: "n", content: "y", key: "k2", now: 1 });
  const shown = async (answer: unknown): Promise<unknown> => {
    await session(anId(), () => accepted(answer));
    return (await call("GET", `${S}/notes?limit=2`)).json();
  };
  const ends = { next_cursor: null, prev_cursor: null };
  expect(await shown({ agents: null })).toEqual({ data: [{ name: "n", content: "x" }], ...ends });
  expect(await shown({ agents: ["a", "b"] })).toMatchObject({ data: [{ content: "y", agent: "a" }] });
  expect(await shown({ data: [] })).toEqual({ data: [] });
  await session(anId());
  const minted = await call("POST", `${S}/tokens`, { scopes: ["sessions:read"] });
  const { token } = await minted.json<{ token: string }>();
  await session(anId(), () => accepted({ agents: null }));
  const headers = { Authorization: `Bearer ${token}` };
  expect((await fetch(`${S}/notes`, { headers })).status).toBe(200);
  await session(anId(), () => ({ ok: false, problem: { code: "not_found", detail: "no such session" } }));
  expect((await call("GET", `${S}/notes`)).status).toBe(404);
});

test("AP-9: a session's answers hold its head as ETag, and If-Match reaches PATCH as it was sent", async () => {
  const { call, session } = setUp();
  const { calls } = await session(anId(), () => accepted({}, { seq: 41 }));
  for (const [method, body] of [
    ["GET", undefined],
    ["PATCH", {}],
  ] as const) {
    const response = await call(method, S, body, { "If-Match": '"41"' });
    expect(response.headers.get("ETag")).toBe('"41"');
  }
  await call("PATCH", S, {}, { "If-Match": "*" });
  expect(calls.map(({ ifMatch }) => ifMatch)).toEqual([undefined, '"41"', "*"]);
  expect((await call("GET", `${S}/usage`)).headers.get("ETag")).toBeNull();
});

test("AP-9: every answer has its own Request-Id and continues a valid trace", async () => {
  const { call, fetch, session } = setUp();
  await session(anId());
  const trace = "0af7651916cd43dd8448eb211c80319c";
  const sent = `00-${trace}-b7ad6b7169203331-01`;
  const response = await call("GET", S, undefined, { traceparent: sent });
  expect(response.headers.get("traceparent")).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
  for (const bad of ["", "00-zz", `00-${"0".repeat(32)}-b7ad6b7169203331-01`, sent.replace("00-", "ff-")]) {
    const other = await call("GET", S, undefined, { traceparent: bad });
    expect(other.headers.get("traceparent")).not.toContain(trace);
  }
  const ids = await Promise.all(
    ["/healthz", "/v1/capabilities", "/nowhere", S].map(async (path) =>
      (await fetch(path)).headers.get("Request-Id"),
    ),
  );
  expect(new Set(ids).size).toBe(4);
  expect(ids.every((id) => /^req_[a-z2-7]{26}$/.test(id ?? ""))).toBe(true);
});

test("AP-3: a session's id comes from its ref, else its idempotency key, else chance", async () => {
  const { call, session } = setUp();
  const ids = {
    ref: await deriveSessionId("ref", "default", "ticket-7"),
    idem: await deriveSessionId("idem", "default", "key-1"),
  };
  const doubles = {
    ref: await session(ids.ref, (sent) => accepted({ id: sent.session }, { status: 201, seq: 1 })),
    idem: await session(ids.idem, (sent) => accepted({ id: sent.session }, { status: 201, seq: 1 })),
  };
  for (const path of ["/v1/sessions", "/sessions"]) {
    const byRef = await call("POST", path, { ref: "ticket-7" });
    expect(byRef.status).toBe(201);
    expect(await byRef.json()).toEqual({ id: ids.ref });
    expect(byRef.headers.get("Location")).toBe(`/v1/sessions/${ids.ref}`);
    expect(byRef.headers.get("ETag")).toBe('"1"');
  }
  expect(doubles.ref.calls[0]).toMatchObject({ op: "create", session: ids.ref, params: { ref: "ticket-7" } });
  await call("POST", "/v1/sessions", { ref: "ticket-7" }, { "Idempotency-Key": "key-1" });
  expect(doubles.ref.calls.at(-1)?.key).toBe("key-1");
  await call("POST", "/v1/sessions", {}, { "Idempotency-Key": "key-1" });
  expect(doubles.idem.calls[0]).toMatchObject({ op: "create", session: ids.idem, key: "key-1" });
  expect((await call("POST", "/v1/sessions", {})).status).toBe(404);
});

test("AP-3: without a name, ids are random and fit their pattern", async () => {
  const seen: string[] = [];
  const harness = setUp();
  const get = harness.sessions.get.bind(harness.sessions);
  harness.sessions.get = (name) =>
    get(name) ?? {
      calls: [],
      perform: async (sent: SessionCall) => {
        seen.push(sent.session);
        return accepted({}, { status: 201 });
      },
      fetch: async () => new Response(),
      reports: [],
      explained: [],
      reportFileChange: async () => accepted({}),
      explainCall: async () => accepted({}),
    };
  for (const body of [{}, {}, { ref: "" }, { ref: 7 }, { ref: "x".repeat(129) }])
    await harness.call("POST", "/v1/sessions", body);
  expect(new Set(seen).size).toBe(5);
  expect(seen.every((id) => sessionIdPattern.test(id))).toBe(true);
});

test("AP-6: the key is the header's, else the body's id; a replay is marked", async () => {
  const { call, session } = setUp();
  const { calls } = await session(anId(), ({ key }) =>
    accepted(receipt, { status: 202, replayed: key === "k1" }),
  );
  const keyed = await call("POST", `${S}/messages`, { id: "b1", content: "x" }, { "Idempotency-Key": "k1" });
  expect(keyed.headers.get("Idempotent-Replayed")).toBe("true");
  const plain = await call("POST", `${S}/messages`, { id: "b1", content: "x" });
  expect(plain.headers.get("Idempotent-Replayed")).toBeNull();
  await call("POST", `${S}/messages`, { content: "x" });
  await call("POST", `${S}/messages`, { id: 7, content: "x" });
  await call("GET", S, undefined, { "Idempotency-Key": "k1" });
  expect(calls.map(({ key }) => key)).toEqual(["k1", "b1", undefined, undefined, undefined]);
  expect(calls[1]?.params).toEqual({ id: "b1", content: "x" });
  for (const bad of ["", "x".repeat(129), "tab\there", "ü"]) {
    const response = await call("POST", `${S}/cancel`, {}, { "Idempotency-Key": bad });
    expect(response.status, bad).toBe(400);
  }
});

test("AP-2: a query on a command and a field that the address holds are refused with a pointer", async () => {
  const { call, session } = setUp();
  const { calls } = await session(anId());
  const cases: readonly [string, string, unknown, string][] = [
    ["POST", `${S}/cancel?mode=now`, {}, "/mode"],
    ["DELETE", `${S}?force=1`, undefined, "/force"],
    ["PATCH", `${S}/inputs/in_1`, { input: "in_2" }, "/input"],
    ["POST", `${S}/asks/a1`, { ask: "a2", decision: "approve" }, "/ask"],
    ["POST", `${S}/tokens`, { session: anId("b") }, "/session"],
    ["POST", `${S}/tokens`, { made: 1 }, "/made"],
    ["POST", `${S}/respond`, { question_id: "a1" }, "/response"],
    ["POST", `${S}/respond`, { question_id: "a1", response: "x", extra: 1 }, "/extra"],
    ["GET", `${S}/events?after=1&after=2`, undefined, "/after"],
    ["GET", `${S}/events?live=sse&after=-1.5`, undefined, "/after"],
    ["GET", `${S}/events?live=sse&after=9007199254740992`, undefined, "/after"],
    ["GET", `${S}/events?live=sse&after=x`, undefined, "/after"],
    ["GET", `${S}/events?live=sse&after=`, undefined, "/after"],
    ["POST", `${S}/messages`, { content: "x", wait: 301 }, "/wait"],
    ["POST", `${S}/messages`, { content: "x", wait: -1 }, "/wait"],
    ["POST", S, { content: "x", wait: "5" }, "/wait"],
  ];
  for (const [method, path, body, pointer] of cases) {
    const response = await call(method, path, body);
    expect(response.status, path).toBe(400);
    expect(await problemOf(response), path).toMatchObject({
      code: "invalid_request",
      errors: [expect.objectContaining({ pointer })],
    });
  }
  expect(calls.filter(({ op }) => op !== "get")).toEqual([]);
});

test("AP-2: an unknown field of a stream is told with the nearest and the known ones, as everywhere", async () => {
  const { call, session } = setUp();
  await session(anId());
  const response = await call("GET", `${S}/events?live=sse&aftr=3`);
  expect([response.status, (await problemOf(response))["detail"]]).toEqual([
    400,
    "/aftr: aftr is not a field here; did you mean after? (known: after, deltas, live, thread, types)",
  ]);
});

test("AP-10: each code has a status of its class, and the body is problem+json", async () => {
  const { call, session } = setUp();
  for (const [code, { status, retryable }] of Object.entries(problemKinds)) {
    await session(anId(), () => ({
      ok: false,
      problem: {
        code: code as keyof typeof problemKinds,
        detail: "why",
        retryAfterMs: 2500,
        meta: { run: "r" },
      },
    }));
    const response = await call("POST", `${S}/cancel`, {});
    expect(response.status, code).toBe(status);
    expect(response.headers.get("Content-Type")).toBe("application/problem+json");
    expect(response.headers.get("Retry-After"), code).toBe(status === 429 || status === 503 ? "3" : null);
    const body = await response.json<Record<string, unknown>>();
    expect(body, code).toMatchObject({ type: `urn:limpet:problem:${code}`, status, code, retryable });
    expect(body["request_id"]).toBe(response.headers.get("Request-Id"));
    if (code !== "not_found") {
      expect(body).toMatchObject({ detail: "why", retry_after_ms: 2500, meta: { run: "r" } });
    }
  }
});

test("AP-10: a fault of ours is 500 internal and says nothing of what it was", async () => {
  const { call, session, lines } = setUp();
  await session(anId(), () => {
    throw new TypeError("secret prompt text in /srv/limpet/store.ts: SELECT 1");
  });
  const response = await call("GET", S);
  expect(response.status).toBe(500);
  const text = await response.text();
  expect(text).not.toMatch(/secret|SELECT|store|TypeError/);
  expect(lines.at(-1)).toMatchObject({ level: "error", code: "internal", fault: "TypeError" });
  expect(JSON.stringify(lines)).not.toContain("secret prompt");
});

const platformFault = (fields: object) => Object.assign(new Error("reset"), fields);

test("RE-2: a retryable fault of the platform is tried once more on a new stub, where repeating is safe", async () => {
  const { call, session } = setUp();
  let faults = 1;
  const perform = (fields: object) => () => {
    faults -= 1;
    if (faults >= 0) throw platformFault(fields);
    return accepted(receipt, { status: 202 });
  };
  const first = await session(anId(), perform({ retryable: true }));
  expect((await call("GET", S)).status).toBe(202);
  expect(first.calls).toHaveLength(2);
  for (const path of ["messages", "inputs", "events", "runs/run_1/turns/1/context"]) {
    faults = 1;
    expect((await call("GET", `${S}/${path}`)).status, path).toBe(202);
  }
  faults = 1;
  expect((await call("POST", `${S}/messages`, { id: "k", content: "x" })).status).toBe(202);
  faults = 1;
  const unkeyed = await call("POST", `${S}/messages`, { content: "x" });
  expect(unkeyed.status).toBe(503);
  expect(unkeyed.headers.get("Retry-After")).toBe("1");
  faults = 2;
  expect((await call("GET", S)).status).toBe(503);
  faults = 1;
  const busy = await session(anId(), perform({ retryable: true, overloaded: true }));
  const overloaded = await call("GET", S);
  expect(await problemOf(overloaded)).toMatchObject({ code: "overloaded", status: 503 });
  expect(busy.calls).toHaveLength(1);
});

test("AP-4: HEAD answers as GET without a body", async () => {
  const { call, session } = setUp();
  const { calls } = await session(anId(), () => accepted({}, { seq: 2 }));
  const response = await call("HEAD", S);
  expect([response.status, response.headers.get("ETag"), await response.text()]).toEqual([200, '"2"', ""]);
  const stream = await call("HEAD", `${S}/events?live=sse`, undefined, { Accept: "text/event-stream" });
  expect([stream.status, stream.headers.get("Content-Type")]).toEqual([
    200,
    "text/event-stream; charset=utf-8",
  ]);
  expect(calls.map(({ op }) => op)).toEqual(["get", "events"]);
});

test("AP-15: CORS names configured origins only", async () => {
  const { fetch } = setUp({ access: { origins: ["https://app.example.com"] } });
  const allowed = await fetch("/healthz", { headers: { Origin: "https://app.example.com" } });
  expect(allowed.headers.get("Access-Control-Allow-Origin")).toBe("https://app.example.com");
  expect(allowed.headers.get("Access-Control-Allow-Credentials")).toBeNull();
  expect(allowed.headers.get("Vary")).toBe("Origin");
  const own = await fetch("/healthz", { headers: { Origin: "https://limpet.example" } });
  expect([own.status, own.headers.get("Access-Control-Allow-Origin")]).toEqual([200, null]);
  const preflight = await fetch(`${S}/messages`, {
    method: "OPTIONS",
    headers: { Origin: "https://app.example.com", "Access-Control-Request-Method": "POST" },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("Access-Control-Allow-Methods")).toContain("POST");
  expect(preflight.headers.get("Access-Control-Allow-Headers")).toContain("Authorization");
  const foreign = await fetch(`${S}/messages`, {
    method: "OPTIONS",
    headers: { Origin: "https://evil.example" },
  });
  expect(foreign.status).toBe(403);
});

test("AP-15 AP-9: a key over its rate is 429 until the window ends, other keys are not", async () => {
  let now = 1_800_000_000_000;
  const { fetch, key } = setUp({ now: () => now, access: { rate_limit: { rpm: 3 } } });
  const [one, two] = [await key({ scopes: ["sessions:read"] }), await key({ scopes: ["sessions:read"] })];
  const ask = (credential: string) =>
    fetch("/v1/capabilities", { headers: { Authorization: `Bearer ${credential}` } });
  const statuses = [];
  for (let at = 0; at < 4; at += 1) statuses.push((await ask(one)).status);
  expect(statuses).toEqual([200, 200, 200, 429]);
  const refused = await ask(one);
  expect(refused.headers.get("RateLimit")).toMatch(/^"key";r=0;t=\d+$/);
  expect(refused.headers.get("RateLimit-Policy")).toBe('"key";q=3;w=60');
  const wait = Number(refused.headers.get("Retry-After"));
  expect(wait).toBeGreaterThan(0);
  expect((await ask(two)).headers.get("RateLimit")).toMatch(/^"key";r=2;/);
  now += wait * 1000;
  expect((await ask(one)).status).toBe(200);
});

test("RE-12 RE-14: one line per request, with the tenant hashed and nothing that anybody wrote", async () => {
  const { call, session, lines, fetch } = setUp();
  await session(anId());
  await call("POST", `${S}/messages`, { content: "canary-prompt", id: "canary-id" });
  await call("GET", `${S}/messages?thread=canary-thread`);
  await fetch("/canary-path?q=canary-query", { headers: { Authorization: "Bearer canary-token" } });
  expect(lines).toHaveLength(3);
  expect(lines[0]).toMatchObject({
    level: "info",
    msg: "request",
    method: "POST",
    route: "POST /v1/sessions/:session/messages",
    session: anId(),
    status: 200,
    code: null,
    duration_ms: expect.any(Number),
    request_id: expect.stringMatching(/^req_/),
    trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    tenant: expect.stringMatching(/^[0-9a-f]{16}$/),
  });
  expect(lines[2]).toMatchObject({
    route: null,
    tenant: null,
    session: null,
    status: 404,
    code: "not_found",
  });
  expect(JSON.stringify(lines)).not.toMatch(/canary|default/);
});

test("RE-16 AP-11: /healthz says that the worker runs; /readyz names missing secrets to administrators only", async () => {
  const bare = setUp();
  const health = await bare.fetch("/healthz");
  expect([health.status, await health.json()]).toEqual([200, { ok: true }]);
  const closed = await bare.fetch("/readyz");
  expect([closed.status, await closed.json()]).toEqual([503, { ready: false }]);
  const known = await bare.call("GET", "/readyz");
  expect(await known.json()).toEqual({ ready: false, missing_secrets: ["MODEL_KEY"], sandbox: "none" });
  expect((await bare.fetch("/readyz", { headers: { Authorization: "Bearer nope" } })).status).toBe(401);
  const customer = await bare.key({ scopes: ["sessions:read", "sessions:write"], tenant: "acme" });
  const seen = await bare.fetch("/readyz", { headers: { Authorization: `Bearer ${customer}` } });
  expect([seen.status, await seen.json()]).toEqual([503, { ready: false }]);
  const set = setUp({ env: { LIMPET_ADMIN_KEY: "an-admin-key-of-thirty-two-chars", MODEL_KEY: "x" } });
  expect((await set.fetch("/readyz")).status).toBe(200);
  const noText = setUp({ env: { LIMPET_ADMIN_KEY: "an-admin-key-of-thirty-two-chars", MODEL_KEY: {} } });
  expect((await noText.fetch("/readyz")).status).toBe(503);
  const unset = await setUp({ env: { MODEL_KEY: "x" } }).fetch("/readyz");
  expect(unset.status).toBe(503);
  expect(unset.headers.get("Retry-After")).toMatch(/^\d+$/);
  for (const [status, sandbox] of [
    [200, "connected"],
    [502, "unreachable"],
  ] as const) {
    const SANDBOX = { fetch: async () => new Response(null, { status }) };
    const env = { LIMPET_ADMIN_KEY: "an-admin-key-of-thirty-two-chars", MODEL_KEY: "x", SANDBOX };
    const answer = await setUp({ env }).call("GET", "/readyz");
    expect([answer.status, await answer.json()]).toMatchObject([status === 200 ? 200 : 503, { sandbox }]);
  }
});

test("AG-1, CF-26: agents are listed by name, with their effective tools, models with their windows", async () => {
  const { call } = setUp();
  const listed = await (await call("GET", "/v1/agents")).json<{ data: { name: string }[] }>();
  expect(listed.data.map(({ name }) => name)).toEqual(["guide", "scout"]);
  const agent = await (await call("GET", "/v1/agents/guide")).json();
  expect(agent).toEqual({
    name: "guide",
    description: "The guide.",
    prefix: "🤖",
    provider: "scripted",
    model: "scripted-1",
    context_window: 16_000,
    tools: [{ name: "read_file", toolbox: "filesystem", description: "Reads.", safety: "read" }],
    calls: [{ agent: "helper", inherit: "own", tools: ["read_file"] }],
    skills: ["writing"],
    effects: ["compact"],
    shrinks_at: null,
    revision: "r_0123456789abcdef0123",
  });
  const unknown = await call("GET", "/v1/agents/nobody");
  expect(unknown.status).toBe(404);
  expect(await problemOf(unknown)).toMatchObject({
    code: "unknown_agent",
    meta: { agents: ["scout", "guide"] },
  });
  expect(await (await call("GET", "/v1/models")).json()).toMatchObject({
    data: [
      { provider: "backup", model: "gpt-6.1-sol", window: 16_000 },
      { provider: "scripted", model: "scripted-1", window: 16_000 },
    ],
  });
  expect(await (await call("GET", "/v1/capabilities")).json()).toMatchObject({
    version: "v1",
    entry_agent: "guide",
    limits: { json_depth: 64 },
  });
});

test("MO-28: models are listed with the health that their provider's gate knows", async () => {
  const { call, health } = setUp();
  const cooling = { reason: "overloaded", until: 1_000_000 } as const;
  health.set("backup", [{ provider: "backup", model: "gpt-6.1-sol", available: false, ...cooling }]);
  const { data } = await (await call("GET", "/v1/models")).json<{ data: unknown[] }>();
  expect(data).toEqual([
    { provider: "backup", model: "gpt-6.1-sol", window: 16_000, available: false, ...cooling },
    { provider: "scripted", model: "scripted-1", window: 16_000, available: true, reason: null, until: null },
  ]);
});

test("AP-2: lists and descriptions of the team refuse a parameter that they do not have", async () => {
  const { call } = setUp();
  for (const path of ["capabilities", "agents", "agents/guide", "models", "keys", "sessions"]) {
    const refused = await call("GET", `/v1/${path}?surprise=1`);
    expect({ path, status: refused.status }).toEqual({ path, status: 400 });
    expect(await problemOf(refused)).toMatchObject({ errors: [{ pointer: "/surprise" }] });
  }
});

test("AP-7: agents and models are paged like every list, cursors belong to their list", async () => {
  const { call } = setUp();
  for (const path of ["/v1/agents", "/v1/models"]) {
    const page = async (query: string) =>
      (await call("GET", `${path}?limit=1${query}`)).json<{
        data: unknown[];
        next_cursor: string | null;
        prev_cursor: string | null;
      }>();
    const whole = await (await call("GET", path)).json<{ data: unknown[] }>();
    const first = await page("");
    const second = await page(`&cursor=${first.next_cursor}`);
    expect([...first.data, ...second.data]).toEqual(whole.data);
    expect([first.prev_cursor, second.next_cursor]).toEqual([null, null]);
    expect((await page(`&cursor=${second.prev_cursor}`)).data).toEqual(first.data);
    const other = path === "/v1/agents" ? "/v1/models" : "/v1/agents";
    expect((await call("GET", `${other}?cursor=${first.next_cursor}`)).status).toBe(400);
    expect((await call("GET", `${path}?limit=201`)).status).toBe(400);
  }
});

test("AP-7: sessions are listed from their tenant's index with typed filters", async () => {
  const { call, tenant } = setUp();
  const summary = (id: string, more: object = {}) => ({
    id,
    ref: null,
    agent: "guide",
    title: null,
    metadata: { team: "x" },
    status: "idle" as const,
    revision: "r_1",
    head_seq: 1,
    created_at: 1000,
    updated_at: 1000,
    usage: {},
    ledger: { since: 0, rows: [] },
    ...more,
  });
  await tenant().directory.index(summary(anId("a")));
  await tenant().directory.index(summary(anId("b"), { created_at: 2000, status: "waiting" }));
  await tenant("other").directory.index(summary(anId("c")));
  const ids = async (query: string) =>
    (await (await call("GET", `/v1/sessions?${query}`)).json<{ data: { id: string }[] }>()).data.map(
      ({ id }) => id,
    );
  expect(await ids("")).toEqual([anId("b"), anId("a")]);
  expect(await ids("status=waiting,running")).toEqual([anId("b")]);
  expect(await ids("metadata[team]=x&created_after=1000")).toEqual([anId("b")]);
  expect(await ids("metadata%5Bteam%5D=y")).toEqual([]);
  expect(await ids("created_after=1970-01-01T00:00:01.5Z&limit=1&order=created_at")).toEqual([anId("b")]);
  for (const [query, said] of [
    ["limit=0", "/limit: the value must be at least 1"],
    ["created_after=2026-11-30T09:00:00+01:00", 'such as 2026-11-30T09:00:00Z, found "2026-11-30T09:00:00 '],
  ] as const)
    expect((await problemOf(await call("GET", `/v1/sessions?${query}`)))["detail"]).toContain(said);
  expect((await call("GET", "/v1/sessions?cursor=nonsense")).status).toBe(400);
});

test("AP-12 AP-13: keys and browser tokens are made over HTTP, for sessions that are there", async () => {
  const { call, fetch, session } = setUp();
  await session(anId(), ({ op }) => accepted({ op, created_at: 7 }));
  const made = await call("POST", "/v1/keys", { scopes: [...allScopes], name: "ci" });
  expect(made.status).toBe(201);
  const { key } = await made.json<{ key: string }>();
  const minted = await fetch(`${S}/tokens`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ scopes: ["sessions:read"] }),
  });
  expect(minted.status).toBe(201);
  const { token, expires_at } = await minted.json<{ token: string; expires_at: number }>();
  expect(expires_at - Date.now()).toBeGreaterThan(14 * 60_000);
  expect(expires_at - Date.now()).toBeLessThanOrEqual(15 * 60_000);
  const read = (path: string, method = "GET") =>
    fetch(path, { method, headers: { Authorization: `Bearer ${token}` } });
  expect((await read(S)).status).toBe(200);
  expect((await read(S, "DELETE")).status).toBe(403);
  expect((await call("POST", `/v1/sessions/${anId("z")}/tokens`, {})).status).toBe(404);
});

test("AP-6: keys and tokens are made, changed and revoked once under an Idempotency-Key", async () => {
  const { call, session } = setUp();
  await session(anId());
  const twice = async (method: string, path: string, body: unknown, changed: unknown) => {
    const send = (sent: unknown) => call(method, path, sent, { "Idempotency-Key": "again" });
    const [first, second] = [await send(body), await send(body)];
    expect([first.headers.get("Idempotent-Replayed"), second.headers.get("Idempotent-Replayed")]).toEqual([
      null,
      "true",
    ]);
    expect(second.status).toBe(first.status);
    if (changed !== undefined) expect((await send(changed)).status).toBe(422);
    return [await first.text(), await second.text()];
  };
  const [token, sameToken] = await twice("POST", `${S}/tokens`, {}, { scopes: ["sessions:read"] });
  expect(sameToken).toBe(token);
  const [key = ""] = await twice("POST", "/v1/keys", { scopes: ["admin"] }, { scopes: ["usage:read"] });
  const { id } = JSON.parse(key) as { id: string };
  const [edited, sameEdit] = await twice("PATCH", `/v1/keys/${id}`, { name: "a" }, { name: "b" });
  expect(sameEdit).toBe(edited);
  await twice("DELETE", `/v1/keys/${id}`, undefined, undefined);
});

test("RE-T33: paths are decoded once and ids taken by pattern, whatever is encoded into them", async () => {
  const { call, session } = setUp();
  const { calls } = await session(anId());
  const encoded = [
    `/v1/sessions/${anId()}%2Fmessages`,
    `/v1/sessions/${anId()}/..%2f..%2fkeys`,
    `/v1/sessions/..%2Fkeys`,
    `/v1/sessions/${anId()}%2500`,
    `/v1/sessions/${anId()};a=b`,
    `/v1/sessions/${anId()}.json`,
    `/v1/sessions/${anId()}/`,
  ];
  for (const path of encoded) expect((await call("GET", path)).status, path).toBe(404);
  expect(calls).toEqual([]);
  expect((await call("GET", `/v1/sessions/${anId()}/runs/%2e%2e%2fx`)).status).toBe(200);
  expect(calls[0]?.params).toEqual({ run: "../x" });
});
