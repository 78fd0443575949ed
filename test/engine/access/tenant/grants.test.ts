import { expect, test } from "vitest";
import { allScopes } from "../../../../src/session/rpc.ts";
import { grantLifeMs } from "../../../../src/agent/calls/grants.ts";
import type { Grant } from "../../../../src/agent/state/session.ts";
import type { Tables } from "../../../../src/engine/access/database.ts";
import { listGrants, exchangeGrants } from "../../../../src/engine/access/tenant/grants.ts";
import { indexSession } from "../../../../src/engine/access/tenant/session-index.ts";
import { performTenantCall } from "../../../../src/engine/access/tenant/calls.ts";
import type { TenantOperation } from "../../../../src/engine/access/rpc.ts";
import { addMemories } from "../../../../src/engine/access/tenant/memories.ts";
import { subjectOwner } from "../../../../src/agent/memory/memories.ts";
import { summary } from "../summary.ts";
import { memoryTables } from "../tables.ts";

const now = 1_800_000_000_000;

const grant = (id: string, more: Partial<Grant> = {}): Grant => ({
  id,
  scope: "agent",
  agent: "coder",
  tool: "exec_run",
  pattern: "git push *",
  by: "key1",
  at: now,
  ...more,
});

const tell = (
  tables: Tables,
  grants: readonly Grant[],
  more: { readonly session?: string; readonly createdAt?: number; readonly at?: number } = {},
) => {
  const { session = "s_1", createdAt = 1, at = now } = more;
  return exchangeGrants(tables, { session, createdAt, grants }, at);
};

const call = async (tables: Tables, op: TenantOperation, params: unknown, key?: string) => {
  const principal = { tenant: "acme", jurisdiction: null, by: "key1", scopes: allScopes };
  const reply = await performTenantCall(
    tables,
    { principal, op, params, ...(key === undefined ? {} : { key }) },
    now,
  );
  return reply.ok
    ? { status: reply.status, body: reply.json === "" ? null : JSON.parse(reply.json) }
    : reply.problem;
};

test("TB-8: a session's grants are taken once, and those of agents are told to all sessions of their tenant", () => {
  const { tables } = memoryTables();
  const own = [grant("g1"), grant("g2", { scope: "session" })];
  expect(tell(tables, own)).toEqual({ agents: [grant("g1")], revoked: [] });
  expect(tell(tables, own)).toEqual({ agents: [grant("g1")], revoked: [] });
  expect(tell(tables, [], { session: "s_2" })).toEqual({ agents: [grant("g1")], revoked: [] });
});

test("AP-4: telling of nothing, and listing nothing, writes nothing", async () => {
  const { tables, database } = memoryTables();
  expect(tell(tables, [])).toEqual({ agents: [], revoked: [] });
  expect(await call(tables, "list_grants", {})).toEqual({
    status: 200,
    body: { data: [], next_cursor: null, prev_cursor: null },
  });
  expect(database.all("SELECT name FROM sqlite_master")).toEqual([]);
});

test("TB-8: grants are listed newest first with their end, by session and agent, in pages", async () => {
  const { tables } = memoryTables();
  tell(tables, [grant("g1"), grant("g2", { at: now + 1, scope: "session", agent: "lead" })]);
  tell(tables, [grant("g3", { at: now + 2 })], { session: "s_2" });
  const listed = async (params: object): Promise<readonly string[]> => {
    const { body } = (await call(tables, "list_grants", params)) as {
      readonly body: { readonly data: { readonly id: string }[] };
    };
    return body.data.map(({ id }) => id);
  };
  expect(await listed({})).toEqual(["g3", "g2", "g1"]);
  expect(await listed({ session: "s_1" })).toEqual(["g2", "g1"]);
  expect(await listed({ agent: "lead" })).toEqual(["g2"]);
  expect(await listed({ limit: 2 })).toEqual(["g3", "g2"]);
  expect(listGrants(tables, "acme", { limit: 1, agent: "coder" }, now).data).toEqual([
    { ...grant("g3", { at: now + 2 }), session: "s_2", expires_at: now + 2 + grantLifeMs },
  ]);
  expect(listGrants(tables, "acme", { limit: 9 }, now + 1 + grantLifeMs).data.map(({ id }) => id)).toEqual([
    "g3",
    "g2",
  ]);
});

test("TB-8: a revoked grant is told as such and stays revoked", async () => {
  const { tables } = memoryTables();
  tell(tables, [grant("g1"), grant("g2", { scope: "session" })]);
  expect(await call(tables, "revoke_grant", { grant: "none" })).toMatchObject({ code: "not_found" });
  expect(await call(tables, "revoke_grant", { grant: "g1" }, "k1")).toEqual({
    status: 204,
    body: null,
  });
  expect(await call(tables, "revoke_grant", { grant: "g1" }, "k1")).toEqual({
    status: 204,
    body: null,
  });
  expect(await call(tables, "revoke_grant", { grant: "g1" })).toMatchObject({ code: "not_found" });
  expect(tell(tables, [grant("g1"), grant("g2", { scope: "session" })])).toEqual({
    agents: [],
    revoked: ["g1"],
  });
});

test("RE-P14: a deleted session takes its own grants with it; what it gave its agent stays", async () => {
  const { tables } = memoryTables();
  tell(tables, [grant("g1"), grant("g2", { scope: "session" })]);
  indexSession(tables, {
    id: "s_1",
    ref: null,
    agent: "coder",
    title: null,
    metadata: {},
    status: "deleted",
    revision: "r_1",
    head_seq: 1,
    created_at: 1,
    updated_at: 2,
    usage: {},
    ledger: { since: 0, rows: [] },
  });
  expect(listGrants(tables, "acme", { limit: 9 }, now).data.map(({ id }) => id)).toEqual(["g1"]);
});

test("TB-8: a report that comes after its session's deletion brings no grant of it back", () => {
  const { tables } = memoryTables();
  indexSession(tables, summary("s_1"));
  indexSession(
    tables,
    summary("s_1", { status: "deleted", head_seq: 9, removal: { key: null, at: now + 1 } }),
  );
  const { created_at: createdAt } = summary("s_1");
  tell(tables, [grant("g_1", { scope: "session" })], { createdAt });
  expect(listGrants(tables, "acme", { limit: 50 }, now + 2).data).toEqual([]);
});

test("★ TB-8 RE-C38: a session made anew after the clock stepped back keeps its own grants", () => {
  const { tables } = memoryTables();
  const removal = { key: null, at: now + 3_600_000 };
  indexSession(tables, summary("s_1", { created_at: now + 1, status: "deleted", removal }));
  tell(tables, [grant("g_1", { scope: "session" })], { createdAt: now });
  expect(listGrants(tables, "acme", { limit: 50 }, now).data.map(({ id }) => id)).toEqual(["g_1"]);
});

test("AP-6: a subject is forgotten once: what is remembered after that stays when the request is sent again", async () => {
  const { tables } = memoryTables();
  const remember = (id: string, at: number): void =>
    addMemories(tables, [
      {
        id,
        owner: subjectOwner("bob"),
        at,
        session: "s_1",
        createdAt: 1,
        run: "run_1",
        agent: "coder",
        text: "likes tea",
        tags: [],
        vector: null,
      },
    ]);
  remember("m_1", now - 1);
  const forget = () => call(tables, "forget_subject", { subject: "bob" }, "k");
  expect(await forget()).toMatchObject({ status: 204 });
  remember("m_2", now + 1);
  expect(await forget()).toMatchObject({ status: 204 });
  expect(tables.read("SELECT id FROM memories")).toEqual([{ id: "m_2" }]);
});
