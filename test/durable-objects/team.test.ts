import { exports } from "cloudflare:workers";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { allScopes } from "../../src/session/rpc.ts";
import type { Principal, SessionSummary } from "../../src/session/rpc.ts";
import type { TeamDirectory } from "../../src/engine/access/rpc.ts";

/** TeamObject in workerd: what its tables do on the real storage, and that they survive it. */

/** What the tests call, apart from the types of RPC, which unfold without end over \`unknown\`. */
type Stub = TeamDirectory & DurableObjectStub;
const { TeamObject: TEAM } = exports as unknown as {
  readonly TeamObject: { getByName(name: string): Stub };
};
const operator: Principal = { tenant: "default", by: "operator", scopes: allScopes };

const summary = (id: string, more: Partial<SessionSummary> = {}): SessionSummary => ({
  id,
  tenant: "default",
  ref: null,
  agent: "guide",
  title: null,
  metadata: { team: "x" },
  status: "idle",
  revision: "r_1",
  head_seq: 1,
  created_at: 1000,
  updated_at: 1000,
  ...more,
});

test("AP-12 AP-13: keys and tokens survive an eviction", async () => {
  const stub = TEAM.getByName("keys");
  const made = await stub.perform({
    principal: operator,
    op: "create_key",
    params: { scopes: ["sessions:read", "tokens:mint"], tenant: "acme" },
  });
  const { key } = JSON.parse(made.ok ? made.json : "{}") as { key: string };
  const verified = await stub.authenticate(key);
  expect(verified).toMatchObject({ ok: true, principal: { tenant: "acme" } });
  const minted = await stub.perform({
    principal: { ...operator, tenant: "acme" },
    op: "mint_token",
    params: { session: "s_1", made: 7, ttl: 60, scopes: ["sessions:read"] },
  });
  const { token } = JSON.parse(minted.ok ? minted.json : "{}") as { token: string };
  await evictDurableObject(stub);
  expect(await stub.authenticate(key)).toEqual(verified);
  expect(await stub.authenticate(token)).toMatchObject({ ok: true, principal: { session: "s_1" } });
  const forged = `${token.slice(0, -1)}${token.endsWith("A") ? "E" : "A"}`;
  expect(await stub.authenticate(forged)).toMatchObject({ ok: false });
});

test("AP-5 AP-7 CF-33: index and definitions survive an eviction, filters run on the platform's SQLite", async () => {
  const stub = TEAM.getByName("index");
  const json = JSON.stringify({ text: "ü".repeat(600_000) });
  await stub.keepDefinition("r_1", json);
  await stub.index(summary("a", { title: "Fix the Bug" }));
  await stub.index(summary("b", { created_at: 2000, status: "waiting", revision: "r_2" }));
  await evictDurableObject(stub);
  expect(await stub.definition("r_1")).toBe(json);
  const ids = async (params: unknown) => {
    const reply = await stub.perform({ principal: operator, op: "list_sessions", params });
    return (JSON.parse(reply.ok ? reply.json : "{}") as { data: SessionSummary[] }).data.map(({ id }) => id);
  };
  expect(await ids({})).toEqual(["b", "a"]);
  expect(await ids({ q: "fix", metadata: { team: "x" }, status: ["idle"] })).toEqual(["a"]);
  expect(await ids({ order: "updated_at", limit: 1 })).toEqual(["a"]);
  await stub.index(summary("a", { status: "deleted", head_seq: 2, updated_at: 3000 }));
  expect(await ids({})).toEqual(["b"]);
});

test("AP-4: asking a team that knows nothing writes nothing", async () => {
  const stub = TEAM.getByName("empty");
  expect(
    await stub.authenticate("lk_aaaaaaaaaaaaaaaa_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
  ).toMatchObject({
    ok: false,
    problem: { code: "unauthenticated" },
  });
  expect(await stub.definition("r_1")).toBeNull();
  await stub.perform({ principal: operator, op: "list_sessions", params: {} });
  await stub.perform({ principal: operator, op: "revoke_key", params: { key: "nobody" } });
  await runInDurableObject(stub, (_, state) => {
    const tables = state.storage.sql
      .exec("SELECT name FROM sqlite_master WHERE name NOT GLOB '_cf_*'")
      .toArray();
    expect(tables).toEqual([]);
  });
});

test("AP-6: a rollback leaves no trace of a refused key", async () => {
  const stub = TEAM.getByName("rollback");
  const create = (params: unknown) =>
    stub.perform({ principal: operator, op: "create_key", params, key: "k" });
  expect(await create({ scopes: ["admin"] })).toMatchObject({ ok: true, replayed: false });
  expect(await create({ scopes: ["usage:read"] })).toMatchObject({
    problem: { code: "idempotency_key_reused" },
  });
  expect(await create({ scopes: ["admin"] })).toMatchObject({ ok: true, replayed: true });
  await runInDurableObject(stub, (_, state) => {
    expect(state.storage.sql.exec("SELECT count(*) AS n FROM keys").one()).toEqual({ n: 1 });
  });
});

test("AP-5: reports that come together are stored together; one that fails takes none along, and none brings a deleted session back", async () => {
  const stub = TEAM.getByName("together");
  const listed = async (): Promise<readonly string[]> => {
    const reply = await stub.perform({ principal: operator, op: "list_sessions", params: {} });
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
