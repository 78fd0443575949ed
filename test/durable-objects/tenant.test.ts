import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import { sessionObjectName } from "../../src/engine/access/names.ts";
import type { SessionSummary } from "../../src/engine/access/rpc.ts";
import type { TenantAddress } from "../../src/sandbox/jurisdiction.ts";
import { allScopes } from "../../src/session/rpc.ts";
import type { Principal, Scope } from "../../src/session/rpc.ts";
import { summary as restingSummary } from "../engine/access/summary.ts";
import { replaceMethod, teamStub, tenantStub } from "../support/worker/directories.ts";
import { api } from "../support/worker/session.ts";

/** TenantObject in workerd: one for each tenant, with tables of its own. */

const of = (tenant: string): Principal => ({ tenant, jurisdiction: null, by: "operator", scopes: allScopes });

const summary = (id: string, more: Partial<SessionSummary> = {}): SessionSummary =>
  restingSummary(id, { metadata: { team: "x" }, ...more });

const count = (stub: DurableObjectStub, table: string): Promise<number> =>
  runInDurableObject(stub, (_, { storage }) => {
    const known = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = ?", table).toArray();
    return known.length === 0 ? 0 : Number(storage.sql.exec(`SELECT count(*) AS n FROM ${table}`).one()["n"]);
  });

const keyOf = async (tenant: string, more: object = {}): Promise<string> => {
  const scopes: readonly Scope[] = ["sessions:read", "sessions:write", "sessions:manage", "tokens:mint"];
  const { status, body } = await api("POST", "/keys", { body: { tenant, scopes, ...more } });
  expect(status, JSON.stringify(body)).toBe(201);
  return String(body["key"]);
};

const listed = async (key: string): Promise<readonly string[]> => {
  const { body } = await api("GET", "/sessions", { key });
  return (body["data"] as unknown as { id: string }[]).map(({ id }) => id);
};

/** Waits until a tenant's index lists so many sessions. */
const indexed = async (key: string, many: number): Promise<readonly string[]> => {
  for (;;) {
    const ids = await listed(key);
    if (ids.length >= many) return ids;
    await scheduler.wait(5);
  }
};

test("★ RE-T5 AP-3: two tenants have two objects, neither sees the other's sessions, and the team's object has none of them", async () => {
  const [red, blue] = [await keyOf("red"), await keyOf("blue")];
  const created = async (key: string): Promise<string> => {
    const { status, body } = await api("POST", "/sessions", {
      key,
      body: { agent: "text", input: "Go", ref: "same" },
    });
    expect(status).toBe(201);
    return String(body["id"]);
  };
  const [own, other] = [await created(red), await created(blue)];
  expect(own).not.toBe(other);
  expect(await indexed(red, 1)).toEqual([own]);
  expect(await indexed(blue, 1)).toEqual([other]);
  const unknown = await api("GET", `/sessions/s_${"a".repeat(26)}`, { key: red });
  const foreign = await api("GET", `/sessions/${other}`, { key: red });
  expect([foreign.status, foreign.body["code"]]).toEqual([unknown.status, unknown.body["code"]]);
  expect(await count(tenantStub("red"), "sessions")).toBe(1);
  expect(await count(tenantStub("blue"), "sessions")).toBe(1);
  expect(await count(tenantStub("green"), "sessions")).toBe(0);
  expect(await count(teamStub(), "keys")).toBeGreaterThanOrEqual(2);
  for (const table of ["sessions", "leases", "days", "notes", "grants"])
    expect(await count(teamStub(), table), table).toBe(0);
  expect(await count(tenantStub("red"), "keys")).toBe(0);
});

test("★ RE-T5: a tenant's object answers no call for another tenant", async () => {
  const stub = tenantStub("mine");
  await stub.index(summary("a"));
  const call = { op: "list_sessions", params: {} } as const;
  const elsewhere = { ...of("mine"), jurisdiction: "eu" } as const;
  for (const principal of [of("yours"), elsewhere])
    expect(await stub.perform({ ...call, principal })).toMatchObject({ problem: { code: "not_found" } });
  expect(await stub.perform({ ...call, principal: of("mine") })).toMatchObject({ ok: true });
});

test("★ RE-3: what fills one tenant, or breaks its object, leaves another's alone", async () => {
  const limit = 2;
  const [full, free] = [tenantStub("crowd"), tenantStub("calm")];
  const admit = async (stub: typeof full, session: string): Promise<boolean> =>
    (await stub.begin({ session, limit, createdAt: 1, lease: null, grants: [] })).admitted;
  expect([await admit(full, "a"), await admit(full, "b"), await admit(full, "c")]).toEqual([
    true,
    true,
    false,
  ]);
  expect(await admit(free, "c")).toBe(true);
  const [loud, quiet] = [await keyOf("loud"), await keyOf("quiet")];
  const busy = (): Promise<never> => Promise.reject(new Error("too many requests"));
  await replaceMethod(tenantStub("loud"), "perform", () => busy);
  expect((await api("GET", "/sessions", { key: loud })).status).toBe(500);
  expect(await listed(quiet)).toEqual([]);
});

test("★ AP-3 AP-12 AP-13: a tenant of a jurisdiction has objects of that name, its browser tokens find them too", async () => {
  const key = await keyOf("berlin", { jurisdiction: "eu" });
  const { status, body } = await api("POST", "/sessions", { key, body: { agent: "text", input: "Go" } });
  expect(status).toBe(201);
  const id = String(body["id"]);
  expect(await indexed(key, 1)).toEqual([id]);
  expect(await count(tenantStub("berlin", "eu"), "sessions")).toBe(1);
  expect(await count(tenantStub("berlin"), "sessions")).toBe(0);
  const address: TenantAddress = { tenant: "berlin", jurisdiction: "eu" };
  const { SessionObject } = exports as unknown as { readonly SessionObject: DurableObjectNamespace };
  const rows = (at: TenantAddress): Promise<number> =>
    count(SessionObject.getByName(sessionObjectName(at, id)), "threads");
  expect([await rows(address), await rows({ ...address, jurisdiction: null })]).toEqual([1, 0]);
  const minted = await api("POST", `/sessions/${id}/tokens`, { key, body: {} });
  const read = await api("GET", `/sessions/${id}`, { key: String(minted.body["token"]) });
  expect(read).toMatchObject({ status: 200, body: { id } });
  const conflict = await api("POST", "/keys", {
    body: { tenant: "berlin", scopes: ["admin"], jurisdiction: "us" },
  });
  expect(conflict).toMatchObject({ status: 409, body: { code: "conflict" } });
  expect((await api("DELETE", `/sessions/${id}`, { key })).status).toBe(204);
  expect(await listed(key)).toEqual([]);
});

test("★ CF-33 TB-11: a tenant pins a revision with the team before its first session, and lets it go with its last", async () => {
  const stub = tenantStub("pinning");
  const holders = (): Promise<readonly unknown[]> =>
    runInDurableObject(teamStub(), (_, { storage }) =>
      storage.sql
        .exec("SELECT tenant FROM pins WHERE revision = 'r_old'")
        .toArray()
        .map(({ tenant }) => tenant),
    );
  /** Lets a day go by for what is pinned. */
  const age = (): Promise<unknown> =>
    runInDurableObject(stub, (_, { storage }) => void storage.sql.exec("UPDATE pins SET kept_at = 0"));
  await stub.keepDefinition("r_old", "{}");
  await stub.keepDefinition("r_old", "{}");
  expect(await holders()).toEqual([stub.id.toString()]);
  const reply = await stub.perform({
    principal: of("pinning"),
    op: "list_audit",
    params: { action: "use_revision" },
  });
  expect(JSON.parse(reply.ok ? reply.json : "{}")).toMatchObject({
    data: [{ who: "deployment", subject: "r_old" }],
  });
  await stub.index(summary("a", { revision: "r_old" }));
  await age();
  await stub.keepDefinition("r_new", "[]");
  await stub.index(summary("b", { status: "deleted", updated_at: 1_001 }));
  expect(await teamStub().definition("r_old")).toBe("{}");
  await stub.index(summary("a", { revision: "r_old", status: "deleted", head_seq: 2, updated_at: 1_002 }));
  await expect.poll(holders).toEqual([]);
  expect(await teamStub().definition("r_old")).toBeNull();
  await stub.keepDefinition("r_old", "{}");
  expect(await teamStub().definition("r_old")).toBe("{}");
});

test("AP-5 AP-7: the index survives an eviction, filters run on the platform's SQLite", async () => {
  const stub = tenantStub("index");
  await stub.index(summary("a", { title: "Fix the Bug" }));
  await stub.index(summary("b", { created_at: 2000, status: "waiting", revision: "r_2" }));
  await evictDurableObject(stub);
  const ids = async (params: unknown) => {
    const reply = await stub.perform({ principal: of("index"), op: "list_sessions", params });
    return (JSON.parse(reply.ok ? reply.json : "{}") as { data: SessionSummary[] }).data.map(({ id }) => id);
  };
  expect(await ids({})).toEqual(["b", "a"]);
  expect(await ids({ q: "fix", metadata: { team: "x" }, status: ["idle"] })).toEqual(["a"]);
  expect(await ids({ order: "updated_at", limit: 1 })).toEqual(["a"]);
  await stub.index(summary("a", { status: "deleted", head_seq: 2, updated_at: 3000 }));
  expect(await ids({})).toEqual(["b"]);
});

test("AP-5: reports that come together are stored together; one that fails takes none along, and none brings a deleted session back", async () => {
  const stub = tenantStub("together");
  const listed = async (): Promise<readonly string[]> => {
    const reply = await stub.perform({ principal: of("together"), op: "list_sessions", params: {} });
    const { data } = JSON.parse(reply.ok ? reply.json : "{}") as { data: { id: string; status: string }[] };
    return data.map(({ id, status }) => `${id} ${status}`).toSorted();
  };
  await stub.index(summary("old"));
  await runInDurableObject(
    stub,
    (_, { storage }) =>
      void storage.sql.exec(
        "CREATE TRIGGER broken BEFORE INSERT ON sessions WHEN new.id = 'bad' BEGIN SELECT RAISE(ABORT, 'broken'); END",
      ),
  );
  const settled = Promise.allSettled([
    stub.index(summary("a", { status: "running" })),
    stub.index(summary("bad")),
    stub.index(summary("old", { head_seq: 2, title: "newer" })),
    stub.index(summary("gone")),
    stub.index(summary("b")),
  ]);
  await stub.index(summary("gone", { status: "deleted", head_seq: 3, updated_at: 3_000 }));
  expect(await listed()).toEqual(["old idle"]);
  expect((await settled).map(({ status }) => status)).toEqual([
    "fulfilled",
    "rejected",
    "fulfilled",
    "fulfilled",
    "fulfilled",
  ]);
  expect(await listed()).toEqual(["a running", "b idle", "old idle"]);
});

test("TB-27: a session that could not be told of the end of its login is told by an alarm, after an eviction", async () => {
  const stub = tenantStub("logins");
  const address: TenantAddress = { tenant: "logins", jurisdiction: null };
  await stub.sawServer({
    server: "sea",
    tools: [],
    state: "connected",
    error: null,
    lock: null,
    allowNew: false,
  });
  expect(await stub.finishLogin({ address, state: "unknown", query: "" })).toBe("unknown");
  await runInDurableObject(stub, (_, { storage }) =>
    storage.sql.exec(
      "INSERT INTO mcp_logins (id, server, session, login, expires_at, address, outcome) VALUES (?, ?, ?, ?, ?, ?, ?)",
      "state",
      "sea",
      "s_aaaaaaaaaaaaaaaaaaaaaaaaaa",
      "",
      Date.now(),
      JSON.stringify(address),
      "signed_in",
    ),
  );
  await evictDurableObject(stub);
  expect(await runDurableObjectAlarm(stub)).toBe(true);
  expect(await count(stub, "mcp_logins")).toBe(0);
  expect(await runDurableObjectAlarm(stub)).toBe(false);
});
