import { expect, test } from "vitest";
import { openTables } from "../../../../src/engine/access/database.ts";
import type { TableDatabase } from "../../../../src/engine/access/database.ts";
import { keepDelete } from "../../../../src/engine/access/once.ts";
import { recordAction } from "../../../../src/engine/access/tenant/audit.ts";
import { tenantMigrations } from "../../../../src/engine/access/tenant/tables.ts";
import { indexSession } from "../../../../src/engine/access/tenant/session-index.ts";
import { memoryTables } from "../tables.ts";

test("AP-6 RE-P12: keys and tombstones that are over are found by their time: no call of the tenant reads all that are kept", () => {
  const { database } = memoryTables();
  const asked: string[] = [];
  const all: TableDatabase["all"] = (query, ...values) => {
    asked.push(query);
    return database.all(query, ...values);
  };
  const tables = openTables({ ...database, all }, tenantMigrations);
  indexSession(tables, {
    id: "a",
    ref: null,
    agent: "guide",
    title: null,
    metadata: {},
    status: "deleted",
    revision: "r_1",
    head_seq: 1,
    created_at: 1000,
    updated_at: 1000,
    usage: {},
    ledger: { since: 0, rows: [] },
  });
  tables.write((all) => keepDelete(all, "a", { key: "k", at: 1000 }));
  const pruning = asked.filter((query) => /^DELETE FROM \w+ WHERE at </.test(query));
  expect(pruning).toHaveLength(2);
  for (const query of pruning)
    expect(database.all(`EXPLAIN QUERY PLAN ${query}`, 0)).toMatchObject([
      { detail: expect.stringMatching(/^SEARCH \w+ USING .*INDEX/) },
    ]);
});

test("TB-11: what was done outside sessions leaves the audit after its 90 days, though no session reports", () => {
  const { database } = memoryTables();
  const tables = openTables(database, tenantMigrations);
  const day = 24 * 3_600_000;
  for (let at = 0; at < 200 * day; at += day)
    tables.write((all) => recordAction(all, { who: "key", action: "mint_token", subject: "s" }, at));
  expect(tables.read("SELECT count(*) AS rows FROM audit")).toEqual([{ rows: 91 }]);
});
