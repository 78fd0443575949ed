import { describe, expect, test, vi } from "vitest";
import { allScopes } from "../../src/session/rpc.ts";
import type { Scope } from "../../src/session/rpc.ts";
import type { Route } from "../../src/api/route.ts";
import { routes } from "../../src/api/routes.ts";
import { mintToken } from "../../src/engine/access/browser-tokens.ts";
import { accepted, adminKey, anId, operator, origin, problemOf, setUp } from "./harness.ts";

/** Credentials against every route of the table (RE-T1, RE-T3, RE-T5). */

const closed = routes.filter((route) => route.scope !== "open");
const scopesOf = (route: Route): readonly string[] => [route.scope].flat();
const label = (route: Route) => `${route.method} ${route.path}`;
const addresses = (route: Route, session = anId()): string[] => {
  const path = route.path.replace(":session", session).replaceAll(/:\w+/g, "x1");
  return route.alias === undefined ? [path] : [path, path.replace("/v1", "")];
};
const init = (
  route: Route,
  credential: string | null,
  headers: Record<string, string> = {},
): RequestInit => ({
  method: route.method,
  headers: {
    ...(credential === null ? {} : { Authorization: `Bearer ${credential}` }),
    ...(route.method === "POST" || route.method === "PATCH" ? { "Content-Type": "application/json" } : {}),
    ...headers,
  },
  ...(route.method === "POST" || route.method === "PATCH" ? { body: "{}" } : {}),
});

test("AP-11: the open routes are the two probes, the documents, the console's files and those of OAuth, all others name a scope", () => {
  expect(routes.filter((route) => route.scope === "open").map(({ path }) => path)).toEqual([
    "/healthz",
    "/readyz",
    "/v1/openapi.json",
    "/v1/asyncapi.json",
    "/llms.txt",
    "/",
    "/console/",
    "/console",
    "/console/:file",
    "/v1/oauth/callback",
    "/client-metadata.json",
  ]);
  const known = ["any", ...allScopes];
  expect(closed.flatMap(scopesOf).filter((scope) => !known.includes(scope))).toEqual([]);
  expect(new Set(routes.map(label)).size).toBe(routes.length);
});

test("AP-10: a file that the console does not have is a problem like any other", async () => {
  const { fetch } = setUp({ env: { ASSETS: { fetch: async () => new Response(null, { status: 404 }) } } });
  const response = await fetch("/console/old-1a2b3c.js");
  expect(await problemOf(response)).toMatchObject({ status: 404, code: "not_found" });
});

test.each(["/", "/console/"])("AP-54: %s leads to the console", async (path) => {
  const response = await setUp().fetch(path, { redirect: "manual" });
  expect([response.status, response.headers.get("Location")]).toEqual([302, "/console"]);
});

test("AP-11: authorization servers read who this deployment is", async () => {
  const { fetch } = setUp({ access: { hosts: ["limpet.example"] } });
  const response = await fetch("/client-metadata.json");
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ client_id: "https://limpet.example/client-metadata.json" });
});

test("AP-1: the five routes of the engine seed answer without the prefix too", () => {
  expect(
    routes
      .filter((route) => route.alias)
      .map(label)
      .sort(),
  ).toEqual(
    [
      "POST /v1/sessions",
      "POST /v1/sessions/:session",
      "POST /v1/sessions/:session/respond",
      "GET /v1/sessions/:session/events",
      "DELETE /v1/sessions/:session",
    ].sort(),
  );
});

describe.each(closed.map((route) => [label(route), route] as const))("%s", (_, route) => {
  test("RE-T1: is 401 without a credential and with any wrong one", async () => {
    const { fetch, session } = setUp();
    const double = await session(anId());
    const wrong = [
      null,
      "lk_aaaaaaaaaaaaaaaa_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
      "lt_e30.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
      adminKey.slice(0, -1),
      `${adminKey}A`,
      "undefined",
    ];
    for (const path of addresses(route)) {
      for (const credential of wrong) {
        const response = await fetch(path, init(route, credential));
        expect(response.status, `${path} ${credential}`).toBe(401);
        expect(response.headers.get("WWW-Authenticate")).toBe("Bearer");
      }
      for (const header of [adminKey, `bearer ${adminKey}`, `Bearer  ${adminKey}`, `Basic ${adminKey}`]) {
        const response = await fetch(path, init(route, null, { Authorization: header }));
        expect(response.status, `${path} ${header}`).toBe(401);
      }
      const cookie = await fetch(path, init(route, null, { Cookie: `token=${adminKey}` }));
      expect(cookie.status).toBe(401);
    }
    expect(double.calls).toEqual([]);
  });

  test("RE-T1: is 403 for a key that has every scope but its own", async () => {
    const { fetch, session, key } = setUp();
    const double = await session(anId());
    const needed = scopesOf(route);
    if (needed.includes("any")) return;
    const lacking = await key({ scopes: allScopes.filter((scope) => !needed.includes(scope)) });
    for (const path of addresses(route)) {
      const response = await fetch(path, init(route, lacking));
      expect(response.status, path).toBe(403);
      expect(await problemOf(response)).toMatchObject({ code: "scope_missing", meta: { scopes: needed } });
    }
    expect(double.calls).toEqual([]);
  });

  test("RE-T5: another tenant's session is like an unknown one, byte for byte", async () => {
    if (route.on !== "session") return;
    const { fetch, session, key } = setUp();
    const double = await session(anId());
    const foreign = await key({ scopes: [...allScopes], tenant: "other" });
    const odd = [
      anId("b"),
      "s_short",
      anId().toUpperCase(),
      `${anId()}%00`,
      `${anId()}%20`,
      `%73_${"b".repeat(26)}`,
      encodeURIComponent(`${anId()}/../${anId()}`),
      "%252e%252e",
      "__proto__",
    ];
    const headers = route.path.endsWith("/ws") ? { Upgrade: "websocket" } : {};
    const body = route.path.endsWith("/respond")
      ? { body: JSON.stringify({ question_id: "a", response: "b" }) }
      : {};
    const query = route.method === "POST" && route.path.endsWith("/files") ? "?name=a.txt" : "";
    const replies: string[] = [];
    for (const id of [anId(), ...odd]) {
      for (const path of addresses(route, id)) {
        const response = await fetch(`${path}${query}`, { ...init(route, foreign, headers), ...body });
        expect(response.status, path).toBe(404);
        const kept = [...response.headers].filter(
          ([name]) => !/^(request-id|traceparent|ratelimit)/.test(name),
        );
        replies.push(JSON.stringify([await problemOf(response), kept]));
      }
    }
    expect(new Set(replies).size).toBe(1);
    expect(double.calls).toEqual([]);
  });

  test("RE-T3: a browser token opens its own session and nothing else", async () => {
    const { fetch, session, tables } = setUp();
    const own = await session(anId(), () => accepted({ id: anId() }));
    await session(anId("b"));
    const { token } = await mintToken(
      tables,
      operator,
      { session: anId(), made: 7, scopes: [...allScopes] as Scope[], ttl: 60 },
      Date.now(),
    );
    if (route.on === "session") {
      const other = await fetch(addresses(route, anId("b"))[0] ?? "", init(route, token));
      expect(other.status).toBe(401);
      return;
    }
    const response = await fetch(addresses(route)[0] ?? "", init(route, token));
    expect(response.status).toBe(
      "tokens" in route && route.tokens ? (route.path.includes(":agent") ? 404 : 200) : 403,
    );
    expect(own.calls).toEqual([]);
  });

  test("TB-18: is 403 for what an agent sent, whatever the credential", async () => {
    const { fetch, session } = setUp();
    const double = await session(anId());
    const headers = { "X-Limpet-Hop": "1", Upgrade: "websocket" };
    const response = await fetch(addresses(route)[0] ?? "", init(route, adminKey, headers));
    expect(response.status).toBe(403);
    expect(await problemOf(response)).toMatchObject({ code: "origin_not_allowed" });
    expect(double.calls).toEqual([]);
  });

  test("RE-T4: is 403 for a foreign Origin, whatever the credential", async () => {
    const { fetch, session } = setUp({ access: { origins: ["https://app.example.com"] } });
    const double = await session(anId());
    for (const foreign of [
      "https://evil.example",
      "null",
      "https://app.example.com.evil.example",
      "http://app.example.com",
    ]) {
      const response = await fetch(
        addresses(route)[0] ?? "",
        init(route, adminKey, { Origin: foreign, Upgrade: "websocket" }),
      );
      expect(response.status, foreign).toBe(403);
      expect(await problemOf(response)).toMatchObject({ code: "origin_not_allowed" });
      expect(response.headers.get("Access-Control-Allow-Origin")).toBeNull();
    }
    expect(double.calls).toEqual([]);
  });

  test("AP-13: is 400 for a credential in the URL", async () => {
    const { fetch, session } = setUp();
    const double = await session(anId());
    for (const query of [
      `token=${adminKey}`,
      "access_token=x",
      "api_key=x",
      "q=lk_abc",
      "after=lt_abc",
      "Authorization=x",
    ]) {
      const response = await fetch(`${addresses(route)[0]}?${query}`, init(route, adminKey));
      expect(response.status, query).toBe(400);
      const text = await response.text();
      expect(JSON.parse(text)).toMatchObject({ code: "token_in_url" });
      expect(text).not.toContain(adminKey);
    }
    expect(double.calls).toEqual([]);
  });

  test("AP-12: is 503 until LIMPET_ADMIN_KEY is set", async () => {
    for (const env of [{}, { LIMPET_ADMIN_KEY: "" }, { LIMPET_ADMIN_KEY: "short" }, { LIMPET_DEV: "true" }]) {
      const { fetch } = setUp({ env });
      const response = await fetch(addresses(route)[0] ?? "", init(route, "short"));
      expect(response.status).toBe(503);
      expect(await problemOf(response)).toMatchObject({ code: "not_configured", retryable: false });
    }
  });
});

test("AP-12 AP-71: the way out of a missing admin key is the command for this team's Worker", async () => {
  for (const [name, command] of [
    ["default", "npx wrangler secret put LIMPET_ADMIN_KEY"],
    ["acme", "npx wrangler secret put LIMPET_ADMIN_KEY --env acme"],
  ] as const) {
    const { detail } = await problemOf(await setUp({ env: {}, name }).fetch("/v1/agents"));
    expect(detail).toBe(`Set the secret LIMPET_ADMIN_KEY to at least 24 random characters: ${command}`);
  }
});

test.each([
  ["correct horse battery staple!!", "has a character that no Authorization header can carry"],
  ["a-key-of-thirty-characters-and\n", "has a character that no Authorization header can carry"],
  ["lt_a-key-of-thirty-characters-x", "begins with lt_, as browser tokens do"],
])(
  "AP-12: an admin key that no request could send counts as none, and the answer says why: %j",
  async (LIMPET_ADMIN_KEY, says) => {
    const { fetch } = setUp({ env: { LIMPET_ADMIN_KEY, MODEL_KEY: "x" } });
    expect(await (await fetch("/readyz")).json()).toEqual({ ready: false });
    const { detail, code } = await problemOf(await fetch("/v1/agents"));
    expect(code).toBe("not_configured");
    expect(detail).toMatch(new RegExp(`^LIMPET_ADMIN_KEY ${says}: .*npx wrangler secret put`));
    expect(detail).not.toContain(LIMPET_ADMIN_KEY);
  },
);

/** Statuses of keyless requests on a development machine. */
const keyless = async (env: Record<string, string> = {}) => {
  const { fetch, session } = setUp({
    env: { LIMPET_DEV: "1", ...env },
    access: { origins: ["https://app.example.com"] },
  });
  const double = await session(anId(), () => accepted({}), "dev");
  const ask = async (url: string, headers: Record<string, string> = {}) => {
    const sent = { "CF-Connecting-IP": "127.0.0.1", ...headers };
    return (await fetch(url + `/v1/sessions/${anId()}`, { headers: sent })).status;
  };
  return { ask, double, fetch };
};
const local = "http://localhost:8787";

test("AP-14: keyless requests act as tenant dev with LIMPET_DEV, a loopback Host and no foreign Origin together", async () => {
  const { ask, double } = await keyless();
  expect(await ask(local)).toBe(200);
  expect(await ask("http://127.0.0.1:8787")).toBe(200);
  expect(await ask("http://[::1]:8787")).toBe(200);
  expect(await ask(local, { Origin: local })).toBe(200);
  expect(double.calls.at(-1)?.principal).toEqual({
    tenant: "dev",
    jurisdiction: null,
    by: "dev",
    scopes: allScopes,
  });
  expect(await ask("http://limpet.example")).toBe(401);
  expect(await ask("http://localhost.evil.example:8787")).toBe(401);
  expect(await ask(local, { Host: "evil.example" })).toBe(401);
  expect(await ask(local, { Origin: "https://app.example.com" })).toBe(401);
  expect(await ask(local, { Origin: "http://localhost:3000" })).toBe(403);
  expect(await ask(local, { Authorization: `Bearer ${adminKey}` })).toBe(401);
});

test("AP-14: a keyless request comes from this machine, and its address is known", async () => {
  const { ask, fetch } = await keyless();
  for (const address of ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])
    expect(await ask(local, { "CF-Connecting-IP": address }), address).toBe(200);
  for (const address of [
    "192.0.2.2",
    "::ffff:192.0.2.2",
    "::2",
    "1270.0.0.1",
    "127.0.0.1.evil.example",
    "127.0.0.1, 192.0.2.2",
    "192.0.2.2, 127.0.0.1",
    "localhost",
    "",
  ])
    expect(await ask(local, { "CF-Connecting-IP": address }), address).toBe(401);
  expect((await fetch(`${local}/v1/sessions/${anId()}`)).status, "no address").toBe(401);
});

test("AP-14: a keyless request is no other site's, and its address was not given by itself", async () => {
  const { ask } = await keyless();
  for (const site of ["none", "same-origin", "same-site"])
    expect(await ask(local, { "Sec-Fetch-Site": site }), site).toBe(200);
  expect(await ask(local, { "Sec-Fetch-Site": "cross-site" })).toBe(401);
  expect(await ask(local, { "MF-Original-URL": `${local}/v1/keys` })).toBe(401);
});

test("AP-14: behind the front of npm start, only what it vouches for goes without a key", async () => {
  const { ask } = await keyless({ LIMPET_FRONT: "a-voucher-of-this-start" });
  expect(await ask(local, { "Limpet-Front": "a-voucher-of-this-start" })).toBe(200);
  expect(await ask(local)).toBe(401);
  expect(await ask(local, { "Limpet-Front": "a-voucher-of-another" })).toBe(401);
  expect(await ask(local, { "Limpet-Front": "" })).toBe(401);
  const empty = await keyless({ LIMPET_FRONT: "" });
  expect(await empty.ask(local, { "Limpet-Front": "" }), "an empty voucher vouches for nothing").toBe(401);
  expect(await empty.ask(local)).toBe(401);
});

test("AP-14 TB-18: a session learns of the host that its operator called, never of the one that a tenant did", async () => {
  const { fetch, session, key } = setUp();
  const scopes = [...allScopes];
  const keys = {
    operator: adminKey,
    admin: await key({ scopes }),
    user: await key({ scopes: scopes.filter((scope) => scope !== "admin") }),
    tenant: await key({ scopes, tenant: "acme" }),
  };
  const doubles = [await session(anId()), await session(anId(), undefined, "acme")];
  const learned = async (credential: string): Promise<unknown> => {
    const headers = { Authorization: `Bearer ${credential}` };
    await fetch(`https://victim.example/v1/sessions/${anId()}`, { headers });
    return doubles.flatMap(({ calls }) => calls.splice(0)).map(({ host }) => host);
  };
  expect([await learned(keys.operator), await learned(keys.admin)]).toEqual([
    ["victim.example"],
    ["victim.example"],
  ]);
  expect([await learned(keys.user), await learned(keys.tenant)]).toEqual([[undefined], [undefined]]);
  const minted = await fetch(`/v1/sessions/${anId()}/tokens`, {
    method: "POST",
    headers: { Authorization: `Bearer ${adminKey}`, "Content-Type": "application/json" },
    body: JSON.stringify({ scopes }),
  });
  doubles[0]?.calls.splice(0);
  const { token } = await minted.json<{ token: string }>();
  expect(await learned(token), "a token of the operator's is in a browser").toEqual([undefined]);
});

test("AP-12: a verified key is remembered for 30 s, so a revoked one ends within them", async () => {
  let now = 1_800_000_000_000;
  const { fetch, key, call, counts } = setUp({ now: () => now });
  const credential = await key({ scopes: ["sessions:read"] });
  const ask = async () =>
    (await fetch("/v1/capabilities", { headers: { Authorization: `Bearer ${credential}` } })).status;
  expect([await ask(), await ask()]).toEqual([200, 200]);
  expect(counts.authenticate).toBe(1);
  await call("DELETE", `/v1/keys/${credential.split("_")[1]}`);
  now += 29_999;
  expect(await ask()).toBe(200);
  now += 1;
  expect(await ask()).toBe(401);
});

const aKey = (at: number): string => `lk_${"a".repeat(16)}_${String(at).padStart(43, "A")}`;

test("AP-12: an unknown key is asked of the team once in 30 s, and what no team knows stays refused the same way", async () => {
  let now = 1_800_000_000_000;
  const { fetch, counts } = setUp({ now: () => now });
  const ask = async (credential: string) => {
    const response = await fetch("/v1/capabilities", { headers: { Authorization: `Bearer ${credential}` } });
    return [response.status, response.headers.get("WWW-Authenticate"), await problemOf(response)];
  };
  const first = await ask(aKey(1));
  expect(first[0]).toBe(401);
  for (let time = 0; time < 50; time += 1) expect(await ask(aKey(1))).toEqual(first);
  expect(await ask("lt_e30.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")).toEqual(first);
  expect(counts.authenticate).toBe(2);
  now += 29_999;
  await ask(aKey(1));
  expect(counts.authenticate).toBe(2);
  now += 1;
  await ask(aKey(1));
  expect(counts.authenticate).toBe(3);
});

test("AP-12: at most 1 000 unknown keys are remembered, and they push no known one out", async () => {
  const { fetch, counts, key } = setUp({ access: { rate_limit: { rpm: 10_000 } } });
  const credential = await key({ scopes: ["sessions:read"] });
  const ask = async (given: string) =>
    (await fetch("/v1/capabilities", { headers: { Authorization: `Bearer ${given}` } })).status;
  expect(await ask(credential)).toBe(200);
  for (let at = 0; at < 1001; at += 1) expect(await ask(aKey(at))).toBe(401);
  expect(counts.authenticate).toBe(1002);
  expect([await ask(credential), await ask(aKey(1000)), await ask(aKey(1))]).toEqual([200, 401, 401]);
  expect(counts.authenticate, "those that are remembered").toBe(1002);
  expect(await ask(aKey(0))).toBe(401);
  expect(counts.authenticate, "the oldest has left").toBe(1003);
});

test("AP-12: a key that was just made works at once, one that expired within 30 s of being given more time", async () => {
  let now = 1_800_000_000_000;
  const { fetch, call } = setUp({ now: () => now });
  const ask = async (credential: string) =>
    (await fetch("/v1/capabilities", { headers: { Authorization: `Bearer ${credential}` } })).status;
  expect(await ask(aKey(1))).toBe(401);
  const made = await call("POST", "/v1/keys", { scopes: ["sessions:read"], expires_at: now + 1000 });
  const { key, id } = await made.json<{ key: string; id: string }>();
  expect(await ask(key)).toBe(200);
  now += 1000;
  expect(await ask(key)).toBe(401);
  await call("PATCH", `/v1/keys/${id}`, { expires_at: null });
  now += 30_000;
  expect(await ask(key)).toBe(200);
});

test("AP-12: a remembered key still ends at its expiry", async () => {
  let now = 1_800_000_000_000;
  const { fetch, key } = setUp({ now: () => now });
  const credential = await key({ scopes: ["sessions:read"], expires_at: now + 1000 });
  const ask = () => fetch("/v1/capabilities", { headers: { Authorization: `Bearer ${credential}` } });
  expect((await ask()).status).toBe(200);
  now += 1000;
  const response = await ask();
  expect(response.status).toBe(401);
  expect(await problemOf(response)).toMatchObject({ code: "token_expired" });
});

test("RE-T6: a thousand interleaved keys each see their own tenant", async () => {
  const { fetch, key, sessions, session } = setUp({ access: { rate_limit: { rpm: 100_000 } } });
  const keys: string[] = [];
  for (let at = 0; at < 50; at += 1) {
    keys.push(await key({ scopes: ["sessions:read"], tenant: `t${at}` }));
    await session(anId(), () => accepted({ tenant: `t${at}` }), `t${at}`);
  }
  expect(sessions.size).toBe(50);
  const answers = await Promise.all(
    Array.from({ length: 1000 }, async (_, at) => {
      const response = await fetch(`/v1/sessions/${anId()}`, {
        headers: { Authorization: `Bearer ${keys[(at * 7) % 50]}` },
      });
      return (await response.json<{ tenant: string }>()).tenant === `t${(at * 7) % 50}`;
    }),
  );
  expect(answers.filter((right) => !right)).toEqual([]);
});

test("AP-13: a browser token changes, clears or deletes its session only if that was asked for", async () => {
  const { call, fetch, session } = setUp();
  await session(anId(), () => accepted({ id: anId(), created_at: 7 }));
  const S = `/v1/sessions/${anId()}`;
  const minted = async (body: object) => (await call("POST", `${S}/tokens`, body)).json<{ token: string }>();
  const statuses = async (token: string) => {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const cases = [
      ["PATCH", S],
      ["POST", `${S}/clear`],
      ["POST", `${S}/rewind`],
      ["DELETE", S],
      ["DELETE", S.replace("/v1", "")],
    ] as const;
    return Promise.all(
      cases.map(async ([method, path]) => (await fetch(path, { method, headers, body: "{}" })).status),
    );
  };
  expect(await statuses((await minted({})).token)).toEqual([403, 403, 403, 403, 403]);
  const asked = await minted({ scopes: ["sessions:manage"] });
  expect(await statuses(asked.token)).toEqual([200, 200, 200, 200, 200]);
});

test("AP-13: a token bound to an origin works there alone", async () => {
  const { fetch, tables, session } = setUp({
    access: { origins: ["https://app.example.com", "https://b.example"] },
  });
  await session(anId());
  const mint = (bound: string) =>
    mintToken(
      tables,
      operator,
      { session: anId(), made: 7, scopes: ["sessions:read"], ttl: 60, origin: bound },
      Date.now(),
    );
  const ask = async (token: string, from?: string) =>
    (
      await fetch(`/v1/sessions/${anId()}`, {
        headers: { Authorization: `Bearer ${token}`, ...(from === undefined ? {} : { Origin: from }) },
      })
    ).status;
  const { token } = await mint("https://app.example.com");
  expect(await ask(token, "https://app.example.com")).toBe(200);
  expect(await ask(token, "https://b.example")).toBe(403);
  expect(await ask(token)).toBe(403);
  expect(await ask((await mint(origin)).token)).toBe(200);
});

test("TB-11: a change of keys is answered although the tenant's object fails, and audited once when it is back", async () => {
  const { call, tenant, deliver } = setUp();
  const { directory } = tenant();
  const working = { ...directory };
  const lost = Object.assign(new Error("gone"), { retryable: true });
  directory.recordActions = () => Promise.reject(lost);
  const made = await call("POST", "/v1/keys", { scopes: ["sessions:read"] });
  const { id, key } = await made.json<{ id: string; key: string }>();
  expect({ status: made.status, key }).toEqual({ status: 201, key: expect.stringMatching(/^lk_/) });
  const revoke = () => call("DELETE", `/v1/keys/${id}`, undefined, { "Idempotency-Key": "k1" });
  for (const _ of ["first", "repeated"]) expect((await revoke()).status).toBe(204);
  directory.recordActions = async (actions) => {
    await working.recordActions(actions);
    throw lost;
  };
  await deliver();
  Object.assign(directory, working);
  for (const _ of ["delivered again", "nothing left"]) await deliver();
  const audited = await call("GET", "/v1/audit");
  const { data } = await audited.json<{ data: readonly object[] }>();
  expect(data).toMatchObject([
    { action: "revoke_key", subject: id, who: "operator" },
    { action: "create_key", subject: id, who: "operator" },
  ]);
});

test("RE-16: a sandbox that does not answer holds up no probe", async () => {
  const SANDBOX = { fetch: () => Promise.withResolvers<never>().promise };
  const { call } = setUp({ env: { MODEL_KEY: "x", LIMPET_ADMIN_KEY: adminKey, SANDBOX } });
  vi.useFakeTimers();
  const answer = call("GET", "/readyz");
  await vi.advanceTimersByTimeAsync(2_000);
  vi.useRealTimers();
  expect(await (await answer).json()).toMatchObject({ ready: false, sandbox: "unreachable" });
});
