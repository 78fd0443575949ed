import { expect, test } from "vitest";
import { listAudit, listAuditSchema } from "../../../../src/engine/access/tenant/audit.ts";
import {
  indexSession,
  listSessions,
  listSessionsSchema,
} from "../../../../src/engine/access/tenant/session-index.ts";
import type { Tables } from "../../../../src/engine/access/database.ts";
import { wasDeleted } from "../../../../src/engine/access/once.ts";
import type { Decision } from "../../../../src/session/decisions.ts";
import { summary } from "../summary.ts";
import { memoryTables } from "../tables.ts";

const list = (tables: Tables, query: unknown = {}, tenant = "acme") =>
  listSessions(tables, tenant, listSessionsSchema.parse(query));
const ids = (tables: Tables, query: unknown = {}) => list(tables, query).data.map((session) => session.id);

test("AP-5: the newest summary of a session wins, in whatever order they come", () => {
  const { tables } = memoryTables();
  indexSession(tables, summary("a", { head_seq: 5, title: "new", status: "running" }));
  indexSession(tables, summary("a", { head_seq: 3, title: "old" }));
  indexSession(tables, summary("a", { head_seq: 5, title: "new", status: "running" }));
  expect(list(tables).data).toEqual([
    {
      id: "a",
      ref: null,
      agent: "guide",
      title: "new",
      metadata: {},
      status: "running",
      revision: "r_1",
      head_seq: 5,
      created_at: 1000,
      updated_at: 1000,
      usage: {},
      last_end: null,
    },
  ]);
});

test("AP-7: pages go forth and back over equal times without gap or repeat", () => {
  const { tables } = memoryTables();
  const names = Array.from({ length: 11 }, (_, at) => `s${String(at).padStart(2, "0")}`);
  for (const [at, id] of names.entries()) indexSession(tables, summary(id, { created_at: 1000 + (at >> 2) }));
  const forth: string[] = [];
  let page = list(tables, { limit: 3 });
  expect(page.prev_cursor).toBeNull();
  const pages = [page.data.map(({ id }) => id)];
  while (page.next_cursor !== null) {
    page = list(tables, { limit: 3, cursor: page.next_cursor });
    pages.push(page.data.map(({ id }) => id));
  }
  forth.push(...pages.flat());
  expect(forth).toEqual(names.toReversed());
  const back = [page.data.map(({ id }) => id)];
  while (page.prev_cursor !== null) {
    page = list(tables, { limit: 3, cursor: page.prev_cursor });
    back.unshift(page.data.map(({ id }) => id));
  }
  expect(back).toEqual(pages);
});

test("AP-7: a cursor is bound to filters, order and tenant", () => {
  const { tables } = memoryTables();
  for (const id of ["a", "b", "c"]) indexSession(tables, summary(id));
  const { next_cursor: cursor } = list(tables, { limit: 1 });
  expect(ids(tables, { limit: 2, cursor })).toEqual(["b", "a"]);
  const others = [
    { cursor, order: "created_at" },
    { cursor, agent: "guide" },
    { cursor: "AAAA" },
    { cursor: "%" },
    { cursor: btoa('["x","next",1,"a"]').replaceAll("=", "") },
    { cursor: `${cursor}A` },
  ];
  for (const query of others) {
    const errors = [expect.objectContaining({ pointer: "/cursor" })];
    const problem: unknown = expect.objectContaining({ code: "invalid_cursor", errors });
    expect(() => list(tables, query), JSON.stringify(query)).toThrow(expect.objectContaining({ problem }));
  }
  const problem: unknown = expect.objectContaining({ code: "invalid_cursor" });
  expect(() => list(tables, { cursor }, "other")).toThrow(expect.objectContaining({ problem }));
});

test("AP-7: every filter narrows the list", () => {
  const { tables } = memoryTables();
  indexSession(
    tables,
    summary("a", { status: "running", agent: "lead", metadata: { team: "x", "od'd.$": "1" } }),
  );
  indexSession(
    tables,
    summary("b", { title: "Fix the 100% BUG über A\u030Arhus", created_at: 2000, updated_at: 3000 }),
  );
  indexSession(
    tables,
    summary("c", { status: "waiting", ref: "ticket-7", created_at: 3000, updated_at: 4000 }),
  );
  const cases: readonly [unknown, readonly string[]][] = [
    [{}, ["c", "b", "a"]],
    [{ order: "updated_at" }, ["a", "b", "c"]],
    [{ status: "running" }, ["a"]],
    [{ status: ["running", "waiting"] }, ["c", "a"]],
    [{ agent: "lead" }, ["a"]],
    [{ metadata: { team: "x" } }, ["a"]],
    [{ metadata: { team: "x", "od'd.$": "1" } }, ["a"]],
    [{ metadata: { team: "y" } }, []],
    [{ q: "100% bug" }, ["b"]],
    [{ q: "ÜBER Århus" }, ["b"]],
    [{ q: "ticket-7" }, ["c"]],
    [{ q: "'; DROP TABLE sessions; --" }, []],
    [{ created_after: 1000 }, ["c", "b"]],
    [{ created_after: "1970-01-01T00:00:02Z" }, ["c"]],
    [{ updated_before: 4000 }, ["b", "a"]],
  ];
  for (const [query, expected] of cases) {
    expect(ids(tables, query), JSON.stringify(query)).toEqual(expected);
  }
});

test("RE-P14: a deleted session leaves the list with all it said, and a late summary brings nothing back", () => {
  const { tables, dump } = memoryTables();
  indexSession(tables, summary("a", { title: "secret plan", ref: "ref-of-a", head_seq: 4 }));
  indexSession(tables, summary("a", { status: "deleted", head_seq: 5, updated_at: 2000 }));
  indexSession(tables, summary("a", { title: "secret plan", head_seq: 4 }));
  expect(ids(tables)).toEqual([]);
  expect(dump()).not.toContain("secret plan");
  expect(dump()).not.toContain("ref-of-a");
  indexSession(tables, summary("a", { head_seq: 1, created_at: 2000, updated_at: 2000 }));
  expect(ids(tables)).toEqual(["a"]);
  indexSession(tables, summary("a", { title: "secret plan", head_seq: 9 }));
  expect(list(tables).data).toMatchObject([{ id: "a", title: null, created_at: 2000 }]);
});

test("★ RE-P14: a session that was deleted before any run ended stays away when a report of it comes late", () => {
  const { tables } = memoryTables();
  const week = 7 * 86_400_000;
  const removed = (id: string, at: number) =>
    indexSession(tables, summary(id, { status: "deleted", head_seq: 3, removal: { key: null, at } }));
  for (const [id, at] of [
    ["a", 5000],
    ["b", 1000],
  ] as const) {
    indexSession(tables, summary(id));
    removed(id, at);
    indexSession(tables, summary(id, { status: "running", head_seq: 2 }));
    expect(ids(tables), id).toEqual([]);
  }
  expect(tables.read("SELECT key FROM idempotency")).toEqual([]);
  removed("c", 5000 + week);
  expect(tables.read("SELECT id FROM tombstones ORDER BY id")).toEqual([{ id: "a" }, { id: "c" }]);
});

test("RE-P14: a session made anew is listed even if the clock was set back since its deletion", () => {
  const { tables } = memoryTables();
  indexSession(tables, summary("a", { title: "old", created_at: 9000 }));
  const removal = { key: null, at: 9500 };
  indexSession(tables, summary("a", { status: "deleted", created_at: 9000, head_seq: 5, removal }));
  indexSession(tables, summary("a", { title: "new", created_at: 4000 }));
  indexSession(tables, summary("a", { title: "old", created_at: 9000, head_seq: 9 }));
  expect(list(tables).data).toMatchObject([{ id: "a", title: "new" }]);
});

test("TB-11: the audit has a decision under its own time, however long ago its session's last run ended", () => {
  const { tables } = memoryTables();
  const day = 86_400_000;
  const decision = (seq: number, at: number) =>
    ({ seq, at, thread: "main", agent: "guide", verdict: "ask", answer: null }) as unknown as Decision;
  const decide = (id: string, seq: number, at: number) =>
    indexSession(
      tables,
      summary(id, { head_seq: seq, ledger: { since: 0, rows: [], decisions: [decision(seq, at)] } }),
    );
  decide("a", 2, 92 * day);
  decide("b", 2, 93 * day);
  decide("a", 4, 94 * day);
  const page = listAudit(tables, "acme", listAuditSchema.parse({}), 94 * day);
  expect(page.data.map(({ id }) => id)).toEqual(["a:4", "b:2", "a:2"]);
  decide("b", 4, 183 * day);
  expect(tables.read("SELECT at FROM audit ORDER BY at")).toEqual(
    [93, 94, 183].map((days) => ({ at: days * day })),
  );
});

test("AP-4: reading an empty index creates no table", () => {
  const { tables, database } = memoryTables();
  expect(list(tables)).toEqual({ data: [], next_cursor: null, prev_cursor: null });
  expect(database.all("SELECT name FROM sqlite_master")).toEqual([]);
});

test("AP-6: the key of a delete is known for 7 days, to its session alone, and then leaves no row", () => {
  const { tables } = memoryTables();
  const day = 86_400_000;
  const deleted = (id: string, key: string, at: number): number =>
    indexSession(tables, summary(id, { status: "deleted", removal: { key, at } }));
  const asked = { session: "a", key: "k1" };
  expect(wasDeleted(tables, asked, 0)).toBe(false);
  for (const id of ["a", "b"]) indexSession(tables, summary(id));
  deleted("a", "k1", 2000);
  expect(ids(tables)).toEqual(["b"]);
  indexSession(tables, summary("a", { created_at: 3000 }));
  expect(wasDeleted(tables, asked, 2000 + 7 * day)).toBe(true);
  expect(wasDeleted(tables, asked, 2001 + 7 * day)).toBe(false);
  const others = [{ session: "b" }, { key: "k2" }];
  for (const other of others) expect(wasDeleted(tables, { ...asked, ...other }, 2000)).toBe(false);
  deleted("b", "k2", 2001 + 7 * day);
  expect(tables.read("SELECT at FROM idempotency")).toEqual([{ at: 2001 + 7 * day }]);
});
