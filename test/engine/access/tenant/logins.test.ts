import { expect, test } from "vitest";
import { forgetLogins, createTenantLogins, readState } from "../../../../src/engine/access/tenant/logins.ts";
import type { ServerAuthorization, TenantLogins } from "../../../../src/engine/access/tenant/logins.ts";
import { sealerOf } from "../../../../src/engine/secrets/seal.ts";
import type { ServerLogins } from "../../../../src/engine/tools/server-login.ts";
import type { LoginSettlement } from "../../../../src/session/rpc.ts";
import { memoryTables } from "../tables.ts";

/** A tenant's logins over its tables: who may end one, who hears of it, and how many there are. */

const address = { tenant: "acme", jurisdiction: null };
const sealer = sealerOf({ LIMPET_ADMIN_KEY: "canary-admin-key-0123456789" });
const stored = [{ issuer: "https://login.example", value: { tokens: "t" } }];

interface Harness {
  readonly tenant: TenantLogins;
  readonly tables: ReturnType<typeof memoryTables>["tables"];
  readonly waiting: Set<string>;
  readonly heard: (LoginSettlement & { readonly session: string })[];
  readonly states: string[];
  readonly exchanged: string[];
  /** Sessions that cannot be told now. */
  readonly away: Set<string>;
  broken: boolean;
  now: number;
}

const open = (servers: Partial<ServerLogins> = {}): Harness => {
  const { tables } = memoryTables();
  const harness: Harness = {
    tables,
    waiting: new Set(),
    heard: [],
    states: [],
    exchanged: [],
    away: new Set(),
    broken: false,
    now: 1_000,
    tenant: createTenantLogins({
      tables,
      sealer,
      now: () => harness.now,
      askMs: 86_400_000,
      redactor: { text: (text) => text },
      sessions: {
        awaitsLogin: async (_, session) => harness.waiting.has(session),
        settleLogin: async (_, session, settlement) => {
          if (harness.broken || harness.away.has(session))
            throw new Error("the session's object is being replaced");
          harness.heard.push({ session, ...settlement });
          harness.waiting.delete(session);
        },
      },
      logins: {
        authorize: async (_server, _stored, { state }) => {
          const made = await state();
          harness.states.push(made);
          return {
            outcome: { kind: "login", login: { url: "https://login.example/a", state: made, value: null } },
            stored: [],
          };
        },
        finish: async (_server, _stored, { query }) => {
          harness.exchanged.push(query);
          return query.includes("error=") ? null : stored;
        },
        ...servers,
      },
    }),
  };
  return harness;
};

const begin = async (
  harness: Harness,
  session: string | null,
  more: Partial<ServerAuthorization> = {},
): Promise<string> => {
  const request = { challenge: null, refused: null };
  await harness.tenant.authorize({ address, server: "sea", session, interactive: true, request, ...more });
  if (session !== null) harness.waiting.add(session);
  return harness.states.at(-1) ?? "";
};

const end = (harness: Harness, state: string, query = "code=c") =>
  harness.tenant.finish({ address, state, query });

const count = ({ tables }: Harness, table: string): number => tables.read(`SELECT 1 FROM ${table}`).length;

test("TB-27: an address whose ask was denied signs nobody in: no code is exchanged and nothing is stored", async () => {
  const harness = open();
  const state = await begin(harness, "s1");
  harness.waiting.delete("s1");
  expect(await end(harness, state)).toBe("unknown");
  expect(harness.exchanged).toEqual([]);
  expect(count(harness, "mcp_credentials")).toBe(0);
  const admin = await begin(harness, null);
  expect(await end(harness, admin)).toBe("signed_in");
});

test("TB-27: a login answers every session that waits for the server, also one whose own address is too old", async () => {
  const harness = open();
  await begin(harness, "old");
  harness.now += 3_600_000;
  await begin(harness, "other");
  await begin(harness, "lake", { server: "lake" });
  const state = await begin(harness, "own");
  expect(await end(harness, state)).toBe("signed_in");
  expect(
    harness.heard.map(({ session, server, granted }) => `${session} ${server} ${granted}`).toSorted(),
  ).toEqual(["old sea true", "other sea true", "own sea true"]);
  expect(harness.waiting).toEqual(new Set(["lake"]));
  expect(await end(harness, state)).toBe("unknown");
  expect(count(harness, "mcp_logins")).toBe(1);
});

test("TB-27: a login whose sessions could not be told is told by the next visit to its page, and exchanged once", async () => {
  const harness = open();
  const refused = await begin(harness, "no");
  const state = await begin(harness, "yes");
  harness.broken = true;
  await expect(end(harness, refused, "error=access_denied")).rejects.toThrow("replaced");
  await expect(end(harness, state)).rejects.toThrow("replaced");
  harness.broken = false;
  expect(await end(harness, refused, "error=access_denied")).toBe("refused");
  expect(await end(harness, state)).toBe("signed_in");
  expect(harness.exchanged).toHaveLength(2);
  expect(harness.heard).toEqual([
    { session: "no", server: "sea", granted: false },
    { session: "yes", server: "sea", granted: true },
  ]);
  expect(count(harness, "mcp_logins")).toBe(0);
});

test("TB-27: sessions that could not be told of the end of their login are told without another visit to its page", async () => {
  const harness = open();
  await begin(harness, "other");
  const refused = await begin(harness, "no");
  const state = await begin(harness, "yes");
  harness.broken = true;
  await expect(end(harness, refused, "error=access_denied")).rejects.toThrow("replaced");
  await expect(end(harness, state)).rejects.toThrow("replaced");
  expect(await harness.tenant.tellSessions()).toBe(true);
  harness.broken = false;
  harness.away.add("other");
  expect(await harness.tenant.tellSessions()).toBe(true);
  harness.away.clear();
  expect(await harness.tenant.tellSessions()).toBe(false);
  const heard = new Set(harness.heard.map(({ session, granted }) => `${session} ${granted}`));
  expect(heard).toEqual(new Set(["no false", "yes true", "other true"]));
  expect(harness.exchanged).toHaveLength(2);
  expect(count(harness, "mcp_logins")).toBe(0);
});

test("TB-27: a session that can never be told of a login is forgotten once it waits no more", async () => {
  const harness = open();
  const state = await begin(harness, "gone");
  harness.broken = true;
  await expect(end(harness, state)).rejects.toThrow("replaced");
  harness.now += 86_400_000 + 600_000;
  expect(await harness.tenant.tellSessions()).toBe(false);
  expect(count(harness, "mcp_logins")).toBe(0);
});

test("TB-27: one state in two requests at once is exchanged once; that of another tenant counts nothing here", async () => {
  const harness = open();
  const state = await begin(harness, "s1");
  const ends = await Promise.all([end(harness, state), end(harness, state)]);
  expect(harness.exchanged).toHaveLength(1);
  expect(ends).toContain("signed_in");
  const other = open();
  const foreign = await begin(other, "s1");
  expect(await end(harness, foreign)).toBe("unknown");
  expect(await readState(sealer, foreign)).toEqual(address);
});

test("★ TB-27: however many sessions wait for one login, each one's address works, and all hear of its end", async () => {
  const harness = open();
  const first = await begin(harness, "s0");
  for (let at = 1; at <= 150; at++) {
    harness.now += 1;
    await begin(harness, `s${at}`);
  }
  expect(await end(harness, first)).toBe("signed_in");
  expect(harness.heard).toHaveLength(151);
  expect(harness.waiting.size).toBe(0);
  expect(count(harness, "mcp_logins")).toBe(0);
});

test("TB-27: of the sessions that wait for a login, one that cannot be told is told later, and no other twice", async () => {
  const harness = open();
  const state = await begin(harness, "s0");
  for (const session of ["s1", "s2", "s3"]) await begin(harness, session);
  harness.away.add("s2");
  await expect(end(harness, state)).rejects.toThrow("replaced");
  harness.away.clear();
  expect(await end(harness, state)).toBe("signed_in");
  const told = harness.heard.map(({ session }) => session);
  expect(told.filter((session) => session !== "s0").toSorted()).toEqual(["s1", "s2", "s3"]);
  expect(count(harness, "mcp_logins")).toBe(0);
});

test("TB-27: of one session 100 logins are under way, none for longer than it waits; where nobody can be asked none begins", async () => {
  const harness = open();
  await begin(harness, "gone");
  const first = await begin(harness, "s0");
  for (let at = 1; at <= 100; at++) {
    harness.now += 1;
    await begin(harness, "s0");
  }
  expect(count(harness, "mcp_logins")).toBe(101);
  expect(await end(harness, first)).toBe("unknown");
  const request = { challenge: null, refused: null };
  const asked = { address, server: "sea", session: "alone", interactive: false, request };
  expect(await harness.tenant.authorize(asked)).toEqual({ kind: "login", url: null });
  expect(harness.tables.read("SELECT 1 FROM mcp_logins WHERE session = 'alone'")).toEqual([]);
  harness.now += 86_400_000;
  await begin(harness, "late");
  expect(count(harness, "mcp_logins")).toBe(1);
});

test("TB-27: a request for a server's tokens waits 20 s for others at most, however many, and a login that ends goes before them", async () => {
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  let isSlow = false;
  const harness = open();
  const state = await begin(harness, "s1");
  const busy = open({
    authorize: async () => {
      order.push("token");
      await gate.promise;
      busy.now += 15_000 * Number(isSlow);
      return { outcome: { kind: "token", token: "t" }, stored: [] };
    },
    finish: async () => {
      order.push("finish");
      return stored;
    },
  });
  busy.waiting.add("s1");
  const [row] = harness.tables.read("SELECT * FROM mcp_logins");
  busy.tables.write((all) =>
    all(
      "INSERT INTO mcp_logins (id, server, session, login, expires_at, address) VALUES (?, ?, ?, ?, ?, ?)",
      ...(["id", "server", "session", "login", "expires_at", "address"] as const).map(
        (name) => row?.[name] ?? null,
      ),
    ),
  );
  const request = { challenge: null, refused: null };
  const asked = { address, server: "sea", session: "s2", interactive: true, request };
  const askAll = () => Array.from({ length: 100 }, () => busy.tenant.authorize(asked));
  const all = askAll();
  const ended = end(busy, state);
  gate.resolve();
  expect(await ended).toBe("signed_in");
  expect((await Promise.all(all)).filter(({ kind }) => kind === "token")).toHaveLength(100);
  expect(order.slice(0, 3)).toEqual(["token", "finish", "token"]);
  isSlow = true;
  const answers = await Promise.all(askAll());
  expect(answers.filter(({ kind }) => kind === "token")).toHaveLength(2);
  expect(answers[2]).toMatchObject({
    kind: "failure",
    reason: expect.stringContaining("too long") as string,
  });
});

test("TB-27: what is forgotten of a server takes its logins with it, and leaves other servers alone", async () => {
  const harness = open();
  await end(harness, await begin(harness, "s1"));
  const state = await begin(harness, "s2");
  await begin(harness, "s3", { server: "lake" });
  harness.tables.write((all) => forgetLogins(all, "sea"));
  expect(count(harness, "mcp_credentials")).toBe(0);
  expect(await end(harness, state)).toBe("unknown");
  expect(count(harness, "mcp_logins")).toBe(1);
});

test("TB-27: what is forgotten while a token is renewed or a login ends is not stored again", async () => {
  let isForgotten = false;
  const forget = <T>(answer: T): T => {
    if (isForgotten) harness.tables.write((all) => forgetLogins(all, "sea"));
    return answer;
  };
  const harness = open({
    authorize: async (_server, given, { state }) => {
      if (given.length > 0) return forget({ outcome: { kind: "token", token: "t" }, stored: [...stored] });
      harness.states.push(await state());
      const login = { url: "https://login.example/a", state: harness.states.at(-1) ?? "", value: null };
      return { outcome: { kind: "login", login }, stored: given };
    },
    finish: async () => forget(stored),
  });
  expect(await end(harness, await begin(harness, "s1"))).toBe("signed_in");
  isForgotten = true;
  await begin(harness, null);
  expect(count(harness, "mcp_credentials")).toBe(0);
  expect(await end(harness, await begin(harness, "s2"))).toBe("failed");
  expect(count(harness, "mcp_credentials")).toBe(0);
});
