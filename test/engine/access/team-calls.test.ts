import { expect, test } from "vitest";
import { allScopes } from "../../../src/session/rpc.ts";
import type { Principal, Scope } from "../../../src/session/rpc.ts";
import type { Tables } from "../../../src/engine/access/database.ts";
import { teamOperationScopes, tenantOperationScopes } from "../../../src/engine/access/rpc.ts";
import type { DirectoryCall, TeamOperation, TenantOperation } from "../../../src/engine/access/rpc.ts";
import { performTeamCall } from "../../../src/engine/access/team-calls.ts";
import { teamMigrations } from "../../../src/engine/access/team-tables.ts";
import { performTenantCall } from "../../../src/engine/access/tenant/calls.ts";
import { memoryTables } from "./tables.ts";

const now = 1_800_000_000_000;
const operator: Principal = { tenant: "default", jurisdiction: null, by: "operator", scopes: allScopes };
const admin: Principal = { tenant: "acme", jurisdiction: null, by: "aaaaaaaaaaaaaaaa", scopes: ["admin"] };

/** The reply with its body parsed, or the problem's fields. */
const call = async (
  tables: Tables,
  op: TeamOperation,
  params: unknown,
  more: Partial<DirectoryCall<TeamOperation>> = {},
) => {
  const reply = await performTeamCall(tables, { principal: operator, op, params, ...more }, now);
  if (!reply.ok) return { body: null, ...reply.problem };
  const { status, replayed, json } = reply;
  return { status, replayed, body: json === "" ? null : JSON.parse(json) };
};

test("AP-12: keys are made, read, listed, changed and revoked, and shown once", async () => {
  const { tables } = memoryTables(teamMigrations);
  const made = await call(tables, "create_key", {
    name: "ci",
    tenant: "acme",
    scopes: ["sessions:read"],
    expires_at: now + 1,
  });
  expect(made).toMatchObject({
    status: 201,
    body: { name: "ci", tenant: "acme", key: expect.stringMatching(/^lk_/) },
  });
  const { key: _, ...info } = made.body;
  expect(await call(tables, "get_key", { key: info.id })).toMatchObject({ status: 200, body: info });
  expect(await call(tables, "list_keys", {})).toMatchObject({ body: { data: [info], next_cursor: null } });
  expect(await call(tables, "edit_key", { key: info.id, name: "cd", expires_at: null })).toMatchObject({
    body: { ...info, name: "cd", expires_at: null },
  });
  expect(await call(tables, "revoke_key", { key: info.id })).toMatchObject({ status: 204 });
  expect(await call(tables, "get_key", { key: info.id })).toMatchObject({ code: "not_found" });
  expect(await call(tables, "revoke_key", { key: info.id })).toMatchObject({ code: "not_found" });
});

test("RE-T5: an admin of one tenant sees and makes no key of another", async () => {
  const { tables } = memoryTables(teamMigrations);
  const foreign = await call(tables, "create_key", { tenant: "other", scopes: ["admin"] });
  const own = await call(tables, "create_key", { scopes: ["admin"] }, { principal: admin });
  expect(own.body).toMatchObject({ tenant: "acme", created_by: admin.by });
  for (const op of ["get_key", "edit_key", "revoke_key"] as const) {
    expect(await call(tables, op, { key: foreign.body.id }, { principal: admin })).toEqual(
      await call(tables, op, { key: "unknown" }, { principal: admin }),
    );
  }
  const listed = await call(tables, "list_keys", {}, { principal: admin });
  expect(listed.body.data).toHaveLength(1);
  expect(
    await call(tables, "create_key", { tenant: "other", scopes: ["admin"] }, { principal: admin }),
  ).toMatchObject({ code: "scope_missing", errors: [{ pointer: "/tenant" }] });
  expect((await call(tables, "list_keys", {})).body.data).toHaveLength(2);
});

test("AP-6: a key created five times under one Idempotency-Key is one key, its secret shown once", async () => {
  const { tables, dump } = memoryTables(teamMigrations);
  const body = { scopes: ["sessions:read"], name: "once" };
  const first = await call(tables, "create_key", body, { key: "k1" });
  const again = await Promise.all([1, 2, 3, 4].map(() => call(tables, "create_key", body, { key: "k1" })));
  for (const reply of again) {
    expect(reply).toEqual({ status: 201, replayed: true, body: { ...first.body, key: null } });
  }
  expect(tables.read("SELECT id FROM keys")).toHaveLength(1);
  expect(await call(tables, "create_key", { ...body, name: "two" }, { key: "k1" })).toMatchObject({
    code: "idempotency_key_reused",
  });
  expect(dump()).not.toContain(first.body.key);
});

test("AP-6: changing, revoking and minting under an Idempotency-Key happen once; another body is 422", async () => {
  const { tables, dump } = memoryTables(teamMigrations);
  const { id } = (await call(tables, "create_key", { scopes: ["sessions:read"] })).body;
  const cases: readonly [TeamOperation, Record<string, unknown>, Record<string, unknown>][] = [
    ["edit_key", { key: id, name: "one" }, { key: id, name: "two" }],
    ["mint_token", { session: "s_1", made: 7, ttl: 60 }, { session: "s_1", made: 8, ttl: 60 }],
    ["revoke_key", { key: id }, { key: "another" }],
  ];
  for (const [op, body, other] of cases) {
    const first = await call(tables, op, body, { key: "k" });
    expect(first, op).toMatchObject({ replayed: false });
    expect(await call(tables, op, body, { key: "k" }), op).toEqual({ ...first, replayed: true });
    expect(await call(tables, op, other, { key: "k" }), op).toMatchObject({ code: "idempotency_key_reused" });
    if (first.body?.token !== undefined) expect(dump()).not.toContain(first.body.token);
  }
});

test("AP-6 AP-13: a replayed token goes to a caller of the same rights only, and not beyond its life", async () => {
  const { tables } = memoryTables(teamMigrations);
  const body = { session: "s_1", made: 7, ttl: 60, scopes: ["sessions:read"] };
  const first = await call(tables, "mint_token", body, { key: "k" });
  const narrow = { ...operator, scopes: ["tokens:mint"] } satisfies Principal;
  expect(await call(tables, "mint_token", body, { key: "k", principal: narrow })).toMatchObject({
    code: "scope_missing",
  });
  const later = (at: number) =>
    performTeamCall(tables, { principal: operator, op: "mint_token", params: body, key: "k" }, at);
  expect(await later(now + 59_999)).toMatchObject({ ok: true, json: JSON.stringify(first.body) });
  expect(await later(now + 60_000)).toMatchObject({ problem: { code: "idempotency_key_reused" } });
});

test("AP-2: unknown and wrong fields are refused with a pointer", async () => {
  const { tables, database } = memoryTables(teamMigrations);
  const cases: readonly [TeamOperation, unknown, string][] = [
    ["create_key", { scopes: ["sessions:read"], rights: 1 }, "/rights"],
    ["create_key", { scopes: ["sessions:fly"] }, "/scopes/0"],
    ["create_key", { scopes: [] }, "/scopes"],
    ["create_key", { scopes: ["admin"], tenant: "a/b" }, "/tenant"],
    ["create_key", { scopes: ["admin"], expires_at: now }, "/expires_at"],
    ["create_key", null, ""],
    ["create_key", { scopes: ["admin"], jurisdiction: "moon" }, "/jurisdiction"],
    ["list_keys", { limit: 201 }, "/limit"],
    ["list_keys", { "a/b~c": 1 }, "/a~1b~0c"],
    ["mint_token", { session: "s", made: 7, ttl: 3601 }, "/ttl"],
    ["mint_token", { session: "s", made: 7, ttl: 60, origin: "https://a.example/path" }, "/origin"],
  ];
  for (const [op, params, pointer] of cases) {
    expect(await call(tables, op, params), JSON.stringify(params)).toMatchObject({
      code: "invalid_request",
      errors: [expect.objectContaining({ pointer })],
    });
  }
  expect(database.all("SELECT name FROM sqlite_master")).toEqual([]);
});

test("AP-13: each operation needs its scope, and a browser token none of them but minting", async () => {
  const { tables } = memoryTables(teamMigrations);
  for (const op of Object.keys(teamOperationScopes) as TeamOperation[]) {
    const others = allScopes.filter((scope) => scope !== teamOperationScopes[op]);
    const lacking = { principal: { ...operator, scopes: others } };
    expect(await call(tables, op, {}, lacking)).toMatchObject({ code: "scope_missing" });
    if (op === "mint_token") continue;
    const token = { principal: { ...operator, session: "s_1" } };
    expect(await call(tables, op, {}, token)).toMatchObject({ code: "scope_missing" });
  }
});

test("AP-13: each operation of a tenant needs its scope, and a browser token has none of them", async () => {
  const { tables, database } = memoryTables();
  for (const op of Object.keys(tenantOperationScopes) as TenantOperation[]) {
    const needed: readonly Scope[] = [tenantOperationScopes[op]].flat();
    const others = allScopes.filter((scope) => !needed.includes(scope));
    for (const principal of [
      { ...operator, scopes: others },
      { ...operator, session: "s_1" },
    ])
      expect(await performTenantCall(tables, { principal, op, params: {} }, now)).toMatchObject({
        problem: { code: "scope_missing" },
      });
  }
  const query = { principal: operator, op: "list_sessions", params: { order: "size" } } as const;
  expect(await performTenantCall(tables, query, now)).toMatchObject({
    problem: { code: "invalid_request", errors: [{ pointer: "/order" }] },
  });
  expect(database.all("SELECT name FROM sqlite_master")).toEqual([]);
});

test("AP-12: a tenant's first key says where its data is kept, for ever: another value later is a conflict", async () => {
  const { tables } = memoryTables(teamMigrations);
  const key = (params: object) => call(tables, "create_key", { scopes: ["admin"], ...params });
  const first = await key({ tenant: "acme", jurisdiction: "eu" });
  expect(first).toMatchObject({ status: 201, body: { tenant: "acme", jurisdiction: "eu" } });
  for (const same of [{}, { jurisdiction: "eu" }])
    expect((await key({ tenant: "acme", ...same })).body).toMatchObject({ jurisdiction: "eu" });
  const conflict = { code: "conflict", errors: [{ pointer: "/jurisdiction" }] };
  for (const other of ["us", null])
    expect(await key({ tenant: "acme", jurisdiction: other })).toMatchObject(conflict);
  expect(await call(tables, "get_key", { key: first.body.id })).toMatchObject({
    body: { jurisdiction: "eu" },
  });
  await call(tables, "revoke_key", { key: first.body.id });
  expect(await key({ tenant: "acme", jurisdiction: "us" })).toMatchObject(conflict);
  expect((await key({ tenant: "anywhere" })).body).toMatchObject({ jurisdiction: null });
  expect(await key({ tenant: "anywhere", jurisdiction: "us" })).toMatchObject(conflict);
  for (const tenant of ["default", "dev"])
    expect(await key({ tenant, jurisdiction: "eu" })).toMatchObject(conflict);
  expect((await key({ tenant: "default", jurisdiction: null })).status).toBe(201);
  expect(tables.read("SELECT count(*) AS n FROM keys")).toEqual([{ n: 4 }]);
});

test("AP-6: a key whose expiry has passed was created all the same, when its creation is sent again", async () => {
  const { tables } = memoryTables(teamMigrations);
  const body = { scopes: ["sessions:read"], expires_at: now + 1_000 };
  const at = (time: number) =>
    performTeamCall(tables, { principal: operator, op: "create_key", params: body, key: "k" }, time);
  expect(await at(now)).toMatchObject({ ok: true, replayed: false });
  expect(await at(now + 2_000)).toMatchObject({ ok: true, replayed: true });
});

test("AP-2: a key does not end because its expiry was given in seconds", async () => {
  const { tables } = memoryTables(teamMigrations);
  const { id } = (await call(tables, "create_key", { scopes: ["sessions:read"] })).body;
  expect(await call(tables, "edit_key", { key: id, expires_at: now / 1_000 })).toMatchObject({
    code: "invalid_request",
    errors: [{ pointer: "/expires_at", message: expect.stringContaining("seconds") }],
  });
});

test("AP-12: a key is listed for 90 days after its expiry; then the next new key deletes it", async () => {
  const { tables } = memoryTables(teamMigrations);
  const day = 24 * 3_600_000;
  const create = (at: number, more: object = {}) => {
    const params = { scopes: ["admin"], ...more };
    return performTeamCall(tables, { principal: operator, op: "create_key", params }, at);
  };
  await create(now, { name: "expired", expires_at: now + 1 });
  await create(now, { name: "for ever" });
  const names = async () =>
    (await call(tables, "list_keys", {})).body.data.map(({ name }: { name: string }) => name).toSorted();
  await create(now + 90 * day, { name: "later" });
  expect(await names()).toEqual(["expired", "for ever", "later"]);
  await create(now + 90 * day + 2, { name: "last" });
  expect(await names()).toEqual(["for ever", "last", "later"]);
});
