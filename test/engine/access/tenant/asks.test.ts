import { expect, test } from "vitest";
import { openTables } from "../../../../src/engine/access/database.ts";
import type { TableDatabase } from "../../../../src/engine/access/database.ts";
import { tenantMigrations } from "../../../../src/engine/access/tenant/tables.ts";
import { listAsks, listAsksSchema } from "../../../../src/engine/access/tenant/asks.ts";
import { indexSession } from "../../../../src/engine/access/tenant/session-index.ts";
import type { SessionSummary } from "../../../../src/engine/access/rpc.ts";
import { allScopes } from "../../../../src/session/rpc.ts";
import type { Principal, Scope } from "../../../../src/session/rpc.ts";
import type { Ask } from "../../../../src/agent/state/ask.ts";
import { memoryTables } from "../tables.ts";

const now = 1_800_000_000_000;

const ask = (id: string, expires_at = now + 1_000, kind: Ask["kind"] = "question"): Ask => ({
  id,
  kind,
  thread: "main",
  run: "run_1",
  call: "call_1",
  status: "open",
  opened_at: now - 1_000,
  seq: 5,
  expires_at,
});

const callerWith = (...scopes: readonly Scope[]): Principal => ({
  tenant: "acme",
  jurisdiction: null,
  by: "k_1",
  scopes,
});

const summary = (more: Partial<SessionSummary>): SessionSummary => ({
  id: "s_1",
  ref: null,
  agent: "guide",
  title: null,
  metadata: {},
  status: "waiting",
  revision: "r_1",
  head_seq: 5,
  created_at: now - 2_000,
  updated_at: now,
  usage: {},
  ledger: { since: 0, rows: [] },
  ...more,
});

test("AP-5: an ask that has expired is not listed, and an older report brings back none", () => {
  const { tables } = memoryTables();
  const ids = (at = now): readonly string[] =>
    listAsks(tables, callerWith(...allScopes), listAsksSchema.parse({}), at).data.map(({ id }) => id);
  expect(ids()).toEqual([]);
  indexSession(tables, summary({ asks: [ask("ask_a"), ask("ask_b", now + 9_000)] }));
  expect(ids()).toEqual(["ask_a", "ask_b"]);
  expect(ids(now + 1_000)).toEqual(["ask_b"]);
  indexSession(tables, summary({ head_seq: 7, asks: [ask("ask_b", now + 9_000)] }));
  indexSession(tables, summary({ head_seq: 6, asks: [ask("ask_a"), ask("ask_b")] }));
  expect(ids()).toEqual(["ask_b"]);
  indexSession(tables, summary({ head_seq: 8, status: "deleted" }));
  expect(ids()).toEqual([]);
});

test("AP-13: a key lists the asks that it may answer: approvals, authorisations and raises are for approvals:decide", () => {
  const { tables } = memoryTables();
  const kinds = ["question", "approval", "client_tool", "authorization", "budget"] as const;
  indexSession(tables, summary({ asks: kinds.map((kind) => ask(`ask_${kind}`, now + 1_000, kind)) }));
  const listed = (query: object, ...scopes: readonly Scope[]) =>
    listAsks(tables, callerWith(...scopes), listAsksSchema.parse(query), now).data.map(({ kind }) => kind);
  expect(listed({}, "asks:answer").toSorted()).toEqual(["client_tool", "question"]);
  expect(listed({}, "approvals:decide").toSorted()).toEqual(["approval", "authorization", "budget"]);
  expect(listed({}, "asks:answer", "approvals:decide").toSorted()).toEqual(kinds.toSorted());
  expect(listed({ kind: "approval" }, "approvals:decide")).toEqual(["approval"]);
  expect(() => listed({ kind: "approval" }, "asks:answer")).toThrow("approvals:decide");
});

test("AP-5 AP-13: a caller who may read sessions learns the title of an ask's session, which is found by its id", () => {
  const { database } = memoryTables();
  const plans: unknown[] = [];
  const all: TableDatabase["all"] = (query, ...values) => {
    if (query.includes("FROM open_asks"))
      plans.push(...database.all(`EXPLAIN QUERY PLAN ${query}`, ...values).map(({ detail }) => detail));
    return database.all(query, ...values);
  };
  const tables = openTables({ ...database, all }, tenantMigrations);
  indexSession(tables, summary({ title: "My salary", asks: [ask("ask_a")] }));
  const titles = (...scopes: readonly Scope[]) =>
    listAsks(tables, callerWith(...scopes), listAsksSchema.parse({}), now).data.map(
      ({ session_title }) => session_title,
    );
  expect(titles("asks:answer", "sessions:read")).toEqual(["My salary"]);
  expect(titles("asks:answer")).toEqual([null]);
  const bySession = plans.filter((step) => String(step).includes(" sessions "));
  expect(bySession).toHaveLength(2);
  for (const step of bySession) expect(step).toMatch(/^SEARCH sessions USING INDEX/);
});
