import { expect, test } from "vitest";
import { indexSession } from "../../../../src/engine/access/tenant/session-index.ts";
import { performTenantCall } from "../../../../src/engine/access/tenant/calls.ts";
import { listUsage, listUsageSchema } from "../../../../src/engine/access/tenant/usage.ts";
import type { DailyUsage, SessionSummary } from "../../../../src/engine/access/rpc.ts";
import type { Tables } from "../../../../src/engine/access/database.ts";
import { ProblemError } from "../../../../src/session/problems.ts";
import { allScopes } from "../../../../src/session/rpc.ts";
import type { Principal } from "../../../../src/session/rpc.ts";
import { summary } from "../summary.ts";
import { memoryTables } from "../tables.ts";

const operator: Principal = { tenant: "acme", jurisdiction: null, by: "operator", scopes: allScopes };

/** What a tenant's sessions used, summed up from their reports (AP-40). */

const day = (date: string): number => Date.parse(date);
const now = day("2026-11-23") + 3_600_000;

const used = (more: Partial<DailyUsage> = {}, input = 10): DailyUsage => ({
  day: day("2026-11-23"),
  agent: "guide",
  provider: "p",
  model: "m",
  metadata: "{}",
  calls: 1,
  usage: { input, output: 1, cacheRead: 0, cacheWrite: 0, total: input + 1 },
  cost: input * 1_000,
  estimated: false,
  ...more,
});

/** Reports rows of a session; gives the event up to which its ledger is known then. */
const report = (
  tables: Tables,
  id: string,
  rows: readonly DailyUsage[],
  { since = 0, ...more }: Partial<SessionSummary> & { readonly since?: number } = {},
): number => indexSession(tables, summary(id, { ...more, ledger: { since, rows } }));

const list = (tables: Tables, query: unknown = {}) =>
  listUsage(tables, "acme", listUsageSchema.parse(query), now);

/** Input tokens by key. */
const inputs = (tables: Tables, query: unknown = {}) =>
  Object.fromEntries(list(tables, query).data.map(({ key, usage }) => [String(key), usage.input]));

test("★ AP-40: a report that comes twice or late counts once, and one with a gap is asked for again", () => {
  const { tables } = memoryTables();
  expect(report(tables, "a", [used()], { head_seq: 5 })).toBe(5);
  expect(report(tables, "a", [used()], { head_seq: 5 })).toBe(5);
  const twice = used({ calls: 2 }, 30);
  expect(report(tables, "a", [twice], { since: 5, head_seq: 9 })).toBe(9);
  expect(report(tables, "a", [used()], { head_seq: 5 })).toBe(9);
  expect(list(tables).data).toMatchObject([{ key: "2026-11-23", calls: 2, usage: { input: 30 } }]);
  const gap = [used({ model: "n" })];
  expect(report(tables, "a", gap, { since: 12, head_seq: 15 })).toBe(9);
  expect(report(tables, "new", gap, { since: 12, head_seq: 15 })).toBe(0);
  expect(list(tables).total).toMatchObject({ calls: 2, usage: { input: 30, total: 31 } });
});

test("★ AP-40: deleted sessions stay counted, also if the last report comes twice or another session takes the name", () => {
  const { tables } = memoryTables();
  report(tables, "a", [used()], { head_seq: 5 });
  const end = { status: "deleted", updated_at: 2000, head_seq: 7 } as const;
  expect(report(tables, "a", [used({ calls: 2 }, 30)], { ...end, since: 6 })).toBe(5);
  expect(report(tables, "a", [used({ calls: 2 }, 30)], { ...end, since: 5 })).toBe(7);
  expect(report(tables, "a", [used({ calls: 2 }, 30)], { ...end, since: 5 })).toBe(7);
  expect(inputs(tables, { group_by: "session" })).toEqual({ a: 30 });
  report(tables, "a", [used({}, 4)], { created_at: 3000, head_seq: 2 });
  expect(inputs(tables, { group_by: "session" })).toEqual({ a: 34 });
});

test("AP-40: sums by session, agent, model, day and metadata equal the ledger", () => {
  const { tables } = memoryTables();
  const rows = [
    used({ metadata: '{"team":"x"}' }, 1),
    used({ metadata: '{"team":"x"}', agent: "scout", model: "n" }, 2),
    used({ metadata: '{"team":""}', day: day("2026-11-22") }, 4),
    used({ metadata: '{"od\'d.$\\"":"y"}', provider: "q" }, 8),
  ];
  report(tables, "a", rows);
  report(tables, "b", [used({}, 16)]);
  const cases: readonly [string, Readonly<Record<string, number>>][] = [
    ["session", { a: 15, b: 16 }],
    ["agent", { guide: 29, scout: 2 }],
    ["model", { "p/m": 21, "p/n": 2, "q/m": 8 }],
    ["day", { "2026-11-22": 4, "2026-11-23": 27 }],
    ["metadata[team]", { x: 3, "": 4, null: 24 }],
    [`metadata[od'd.$"]`, { y: 8, null: 23 }],
  ];
  for (const [group_by, expected] of cases) {
    expect(inputs(tables, { group_by }), group_by).toEqual(expected);
    expect(list(tables, { group_by }).total, group_by).toMatchObject({ calls: 5, usage: { input: 31 } });
  }
  const [none, empty] = list(tables, { group_by: "metadata[team]" }).data;
  expect([none?.key, empty?.key]).toEqual([null, ""]);
});

test("AP-40: a cost that is unknown for a call is unknown in its sums; an estimated figure marks them", () => {
  const { tables } = memoryTables();
  report(tables, "a", [used(), used({ model: "n", cost: null, estimated: true })]);
  expect(list(tables, { group_by: "model" })).toEqual({
    data: [
      {
        key: "p/m",
        calls: 1,
        usage: {
          input: 10,
          output: 1,
          cacheRead: 0,
          cacheWrite: 0,
          total: 11,
          cost_usd: 0.00001,
          estimated: false,
        },
      },
      expect.objectContaining({
        usage: expect.objectContaining({ cost_usd: null, estimated: true }) as unknown,
      }),
    ],
    next_cursor: null,
    prev_cursor: null,
    total: {
      calls: 2,
      usage: {
        input: 20,
        output: 2,
        cacheRead: 0,
        cacheWrite: 0,
        total: 22,
        cost_usd: null,
        estimated: true,
      },
    },
  });
  expect(list(tables, { to: "2026-01-01" })).toMatchObject({
    data: [],
    total: { calls: 0, usage: { total: 0, cost_usd: 0, estimated: false } },
  });
  expect(list(memoryTables().tables).total).toMatchObject({ calls: 0, usage: { cost_usd: 0 } });
});

test("AP-40: the last 30 UTC days count unless others are asked for, at most 366, both ends included", () => {
  const { tables } = memoryTables();
  const dates = ["2025-11-23", "2026-10-24", "2026-10-25", "2026-11-23", "2026-11-24"];
  report(
    tables,
    "a",
    dates.map((date) => used({ day: day(date) }, 1)),
  );
  const days = (query: object) => list(tables, query).data.map(({ key }) => key);
  expect(days({})).toEqual(["2026-10-25", "2026-11-23"]);
  expect(days({ from: "2026-10-24", to: "2026-10-25" })).toEqual(["2026-10-24", "2026-10-25"]);
  expect(days({ to: "2026-10-24" })).toEqual(["2026-10-24"]);
  expect(days({ from: "2025-11-23" })).toHaveLength(4);
  const refused = (query: object): unknown => {
    try {
      return list(tables, query);
    } catch (error) {
      return error instanceof ProblemError ? error.problem.errors?.[0]?.pointer : error;
    }
  };
  expect(refused({ from: "2026-11-24" })).toBe("/from");
  expect(refused({ from: "2025-11-22" })).toBe("/from");
  for (const query of [
    { from: "yesterday" },
    { to: "2026-02-30" },
    { group_by: "colour" },
    { group_by: "metadata[]" },
  ])
    expect(listUsageSchema.safeParse(query).success, JSON.stringify(query)).toBe(false);
});

test("AP-7 AP-40: pages of groups go forth and back, and a cursor fits its own query", () => {
  const { tables } = memoryTables();
  const long = "ü".repeat(512);
  const values = [long, "b", "c", "d"];
  report(
    tables,
    "a",
    values.map((k) => used({ metadata: JSON.stringify({ k }) })),
  );
  const query = { group_by: "metadata[k]", limit: 1 };
  const keys: (string | null)[] = [];
  let page = list(tables, query);
  for (; page.next_cursor !== null; page = list(tables, { ...query, cursor: page.next_cursor }))
    keys.push(...page.data.map(({ key }) => key));
  expect([...keys, ...page.data.map(({ key }) => key)]).toEqual(["b", "c", "d", long]);
  expect(page.total.calls).toBe(4);
  const cursor = page.prev_cursor;
  expect(list(tables, { ...query, cursor }).data.map(({ key }) => key)).toEqual(["d"]);
  expect(() => list(tables, { limit: 1, cursor })).toThrow(ProblemError);
});

test("AP-40: sums are kept for the 366 days that one query spans at most", () => {
  const { tables } = memoryTables();
  for (const date of ["2025-11-21", "2025-11-23", "2026-11-23"])
    report(tables, date, [used({ day: day(date) })]);
  expect(inputs(tables, { group_by: "session", from: "2025-11-23" })).toEqual({
    "2025-11-23": 10,
    "2026-11-23": 10,
  });
  expect(tables.read("SELECT count(*) AS n FROM usage")).toEqual([{ n: 2 }]);
});

test("AG-41 AP-40: who is forgotten is named by no sum of a deleted session, and all sums stay", async () => {
  const { tables } = memoryTables();
  const of = (subject: string, plan: string) => ({ metadata: JSON.stringify({ subject, plan }) });
  report(tables, "gone", [used(of("ada", "a"), 1), used({ ...of("ada", "b"), cost: null }, 2)]);
  report(tables, "gone", [], { status: "deleted", updated_at: 2000, head_seq: 9 });
  report(tables, "open", [used(of("ada", "a"), 4)]);
  report(tables, "other", [used(of("bob", "a"), 8)]);
  const before = list(tables).total;
  const forget = () =>
    performTenantCall(tables, { principal: operator, op: "forget_subject", params: { subject: "ada" } }, now);
  for (const _ of ["once", "again"]) expect(await forget()).toMatchObject({ ok: true });
  expect(inputs(tables, { group_by: "metadata[subject]" })).toEqual({ null: 3, ada: 4, bob: 8 });
  expect(inputs(tables, { group_by: "metadata[plan]" })).toEqual({ null: 3, a: 12 });
  expect(list(tables).total).toEqual(before);
  report(tables, "open", [], { status: "deleted", updated_at: 2000, head_seq: 9 });
  await forget();
  expect(inputs(tables, { group_by: "metadata[subject]" })).toEqual({ null: 7, bob: 8 });
});
