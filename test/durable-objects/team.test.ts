import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { allScopes } from "../../src/session/rpc.ts";
import type { Principal } from "../../src/session/rpc.ts";
import { replaceMethod, teamStub, tenantStub } from "../support/worker/directories.ts";

/** TeamObject in workerd: what its tables do on the real storage, and that they survive it. */

const operator: Principal = { tenant: "default", jurisdiction: null, by: "operator", scopes: allScopes };

test("AP-12 AP-13: keys and tokens survive an eviction", async () => {
  const stub = teamStub("keys");
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

test("CF-33: a definition stays for as long as a tenant pins it, and survives an eviction", async () => {
  const stub = teamStub("definitions");
  const json = JSON.stringify({ text: "ü".repeat(600_000) });
  await stub.pinDefinition("one", "r_1", json);
  await stub.pinDefinition("two", "r_1", json);
  await evictDurableObject(stub);
  expect(await stub.definition("r_1")).toBe(json);
  for (const time of [1, 2]) {
    await stub.unpinDefinition("one", "r_1");
    expect(await stub.definition("r_1"), String(time)).toBe(json);
  }
  await stub.unpinDefinition("two", "r_1");
  expect(await stub.definition("r_1")).toBeNull();
});

test("AP-4: asking a team that knows nothing writes nothing", async () => {
  const stub = teamStub("empty");
  expect(
    await stub.authenticate("lk_aaaaaaaaaaaaaaaa_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
  ).toMatchObject({
    ok: false,
    problem: { code: "unauthenticated" },
  });
  expect(await stub.definition("r_1")).toBeNull();
  await stub.perform({ principal: operator, op: "list_keys", params: {} });
  await stub.perform({ principal: operator, op: "revoke_key", params: { key: "nobody" } });
  await runInDurableObject(stub, (_, state) => {
    const tables = state.storage.sql
      .exec("SELECT name FROM sqlite_master WHERE name NOT GLOB '_cf_*'")
      .toArray();
    expect(tables).toEqual([]);
  });
});

test("AP-6: a rollback leaves no trace of a refused key", async () => {
  const stub = teamStub("rollback");
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

test("TB-11: what is done with keys while the tenant's object fails reaches its audit by an alarm, after an eviction, once", async () => {
  const stub = teamStub("outbox");
  const tenant = tenantStub("outbox");
  const principal: Principal = { ...operator, tenant: "outbox" };
  let asked = 0;
  await replaceMethod(tenant, "recordActions", (there) => async (...actions) => {
    asked += 1;
    if (asked > 1) return there(...actions);
    throw new Error("gone");
  });
  const made = await stub.perform({ principal, op: "create_key", params: { scopes: ["admin"] } });
  expect(made).toMatchObject({ ok: true, status: 201 });
  const { id } = JSON.parse(made.ok ? made.json : "{}") as { id: string };
  await expect.poll(() => asked).toBe(1);
  await evictDurableObject(stub);
  expect(await runDurableObjectAlarm(stub)).toBe(true);
  expect(await runDurableObjectAlarm(stub)).toBe(false);
  const listed = await tenant.perform({ principal, op: "list_audit", params: {} });
  expect(JSON.parse(listed.ok ? listed.json : "{}")).toMatchObject({
    data: [{ action: "create_key", subject: id, who: "operator" }],
  });
});
