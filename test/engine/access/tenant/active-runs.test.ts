import { expect, test } from "vitest";
import { createActiveRuns } from "../../../../src/engine/access/tenant/active-runs.ts";
import type { ActiveRuns } from "../../../../src/engine/access/tenant/active-runs.ts";
import type { Tables } from "../../../../src/engine/access/database.ts";
import { drawLease } from "../../../../src/engine/access/tenant/days.ts";
import { indexSession } from "../../../../src/engine/access/tenant/session-index.ts";
import type { SessionSummary } from "../../../../src/engine/access/rpc.ts";
import { memoryTables } from "../tables.ts";

const now = 1_800_000_000_000;

const summary = (id: string, more: Partial<SessionSummary> = {}): SessionSummary => ({
  id,
  ref: null,
  agent: "guide",
  title: null,
  metadata: {},
  status: "running",
  revision: "r_1",
  head_seq: 1,
  created_at: 1000,
  updated_at: now,
  usage: {},
  ledger: { since: 0, rows: [] },
  ...more,
});

/** A tenant that may have two runs at once. */
const desk = (tables: Tables = memoryTables().tables) => {
  const runs: ActiveRuns = createActiveRuns(tables);
  return {
    admit: (session: string, at = now) => runs.admit({ session, limit: 2 }, at) !== null,
    runs,
    reports: (id: string, more?: Partial<SessionSummary>) => {
      indexSession(tables, summary(id, more));
      runs.report(summary(id, more));
    },
  };
};

test("RE-3: a tenant has no more runs than its limit; a session that has a place keeps it", () => {
  const { admit } = desk();
  expect([admit("a"), admit("b"), admit("c"), admit("a")]).toEqual([true, true, false, true]);
});

test.each(["idle", "deleted"] as const)(
  "RE-3: a run that is over leaves its place: the session is %s",
  (status) => {
    const { admit, reports } = desk();
    admit("a");
    reports("a");
    admit("b");
    reports("a", { status, updated_at: now + 5 });
    expect([admit("c"), admit("d")]).toEqual([true, false]);
  },
);

test("RE-3: a run so short that it was never told of leaves its place too", () => {
  const { admit, reports } = desk();
  admit("a");
  admit("b");
  reports("a", { status: "idle", updated_at: now });
  expect(admit("c")).toBe(true);
});

test("RE-3: what a session said before it was admitted takes no place away", () => {
  const { admit, reports } = desk();
  admit("a");
  admit("b");
  reports("a", { status: "idle", updated_at: now - 1 });
  expect(admit("c")).toBe(false);
});

test("RE-3: a session that never says that its run began loses its place after 30 s, one that waits for a person does not", () => {
  const { admit, reports } = desk();
  admit("a");
  admit("b");
  reports("b", { status: "waiting" });
  expect(admit("c", now + 29_999)).toBe(false);
  expect([admit("c", now + 30_000), admit("d", now + 30_000)]).toEqual([true, false]);
});

test("RE-3: an object that starts anew counts what the index knows, also of sessions that began a run by themselves", () => {
  const { tables } = memoryTables();
  const before = desk(tables);
  before.reports("a");
  before.reports("b", { status: "waiting" });
  before.reports("idle", { status: "idle" });
  const { admit, reports } = desk(tables);
  expect([admit("c"), admit("a")]).toEqual([false, true]);
  reports("b", { status: "idle", updated_at: now });
  expect(admit("c")).toBe(true);
});

test("RE-3 AP-4: asking creates no tables", () => {
  const { tables, database } = memoryTables();
  expect(desk(tables).admit("a")).toBe(true);
  expect(database.all("SELECT name FROM sqlite_master")).toEqual([]);
});

test("RE-3 RE-4: an object that starts anew counts the runs that hold a lease and have not reported yet, for 30 s", () => {
  const { tables } = memoryTables();
  for (const session of ["a", "b"]) {
    const lease = { session, id: "1", limits: { cost: 640 }, need: {}, least: {}, settles: null };
    drawLease(tables, lease, now);
  }
  expect(desk(tables).admit("c")).toBe(false);
  expect(desk(tables).admit("a")).toBe(true);
  expect(desk(tables).admit("c", now + 30_000)).toBe(true);
});

test("RE-3: a run that did not begin leaves its place at once, one that was reported keeps it", () => {
  const { admit, reports, runs } = desk();
  const [a = "", b = ""] = ["a", "b"].map((session) => runs.admit({ session, limit: 2 }, now) ?? "");
  reports("b");
  runs.abandon("a", a);
  runs.abandon("b", b);
  runs.abandon("nobody", a);
  expect([admit("c"), admit("d")]).toEqual([true, false]);
});

test.each(["idle", "deleted"] as const)(
  "RE-3: ★ a report that comes late takes no place for a session that is %s",
  (status) => {
    const { admit, reports } = desk();
    admit("a");
    reports("a", { status, head_seq: 9, updated_at: now + 500 });
    reports("a", { head_seq: 3, updated_at: now + 100 });
    expect([admit("b"), admit("c")]).toEqual([true, true]);
  },
);
