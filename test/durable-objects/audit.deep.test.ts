import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { openTables } from "../../src/engine/access/database.ts";
import type { DatabaseRow, TableDatabase, Tables } from "../../src/engine/access/database.ts";
import { listAudit, listAuditSchema } from "../../src/engine/access/tenant/audit.ts";
import { tenantMigrations } from "../../src/engine/access/tenant/tables.ts";
import { replaceMethod, tenantStub } from "../support/worker/directories.ts";
import { api, create } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";
import { digestJson } from "../../src/tools/canonical.ts";

/** What was decided in a tenant's sessions (`GET /audit`). */

interface Audited {
  readonly id: string;
  readonly seq: number;
  readonly session: string;
  readonly [field: string]: unknown;
}

const audit = async (query: string): Promise<readonly Audited[]> => {
  const { status, body } = await api("GET", `/audit?${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body["data"] as unknown as readonly Audited[];
};

/** Returns the decisions of a session in the order of their events. */
const decisionsOf = async ({ id }: Session): Promise<readonly Audited[]> =>
  (await audit(`session=${id}&limit=200`)).toReversed();

const shortOf = (rows: readonly Audited[]) => rows.map(({ verdict, answer }) => verdict ?? answer);

const askOf = async (session: Session): Promise<string | undefined> => {
  const { body } = await session.call("GET", "/asks?status=open");
  return (body["data"] as unknown as readonly { readonly id: string }[])[0]?.id;
};

test("★ TB-11: the audit has each verdict and answer with its rule, who gave it and the digest of the arguments, and keeps them over a delete", async () => {
  const session = await create("approve", "Go");
  await session.settled();
  const ask = await askOf(session);
  const edited = { name: "b", ms: 1 };
  const answer = { decision: "edit", input: edited };
  expect((await session.call("POST", `/asks/${ask}`, { body: answer })).status).toBe(200);
  await session.quiet();
  await expect.poll(() => decisionsOf(session)).toHaveLength(3);
  const rows = await decisionsOf(session);
  const place = { session: session.id, thread: "main", agent: "approve", run: "run_1", tool: "fire" };
  const asked = { ...place, rule: "rule ask fire", input_sha256: digestJson({ name: "a", ms: 3 }) };
  expect(rows).toMatchObject([
    { ...asked, verdict: "ask", ask, answer: null, who: null },
    { ...asked, verdict: null, ask, answer: "edit", who: "operator" },
    { ...place, verdict: "approved", ask: null, input_sha256: digestJson(edited) },
  ]);
  const events = await session.events();
  for (const { id, seq, at } of rows) expect(events[seq - 1]).toMatchObject({ id, at });

  expect((await session.call("DELETE")).status).toBe(204);
  expect(await decisionsOf(session)).toEqual(rows);
});

test("TB-11: the audit comes in pages, has the clock's answers, and nothing of a run that only its preset allowed", async () => {
  const free = await create("tools", "Go");
  await free.quiet();
  const session = await create("approve", "Go", { interactive: false });
  await session.quiet();
  await expect.poll(async () => shortOf(await decisionsOf(session))).toEqual(["ask", "deny"]);
  const rows = await decisionsOf(session);
  expect(rows[1]).toMatchObject({ who: "clock", tool: "fire", input_sha256: rows[0]?.["input_sha256"] });
  const first = await api("GET", `/audit?session=${session.id}&limit=1`);
  const next = `/audit?session=${session.id}&limit=1&cursor=${first.body["next_cursor"]}`;
  const pages = [first, await api("GET", next)];
  const paged = pages.flatMap(({ body }) => body["data"] as unknown as readonly Audited[]);
  expect(paged).toEqual(rows.toReversed());
  expect(await audit(`session=${session.id}&tool=fire&verdict=ask`)).toEqual([rows[0]]);
  expect(await decisionsOf(free)).toEqual([]);
});

/** Approves what a session asks, while its tenant's object is away, and waits for the end of its run. */
const approveUnheard = async (session: Session, tenant: { fault: string }): Promise<void> => {
  tenant.fault = "before";
  await session.call("POST", `/asks/${await askOf(session)}`, { body: { decision: "approve" } });
  await expect
    .poll(async () => (await session.events()).map(({ type }) => type), { interval: 20 })
    .toContain("run_end");
};

test("★ TB-11: a decision is audited once, whether its report was lost, came twice, or came from a session that died or was deleted", async () => {
  const tenant = { fault: "" };
  const [crashed, deleted] = [await create("approve", "Go"), await create("approve", "Go")];
  await Promise.all([crashed.settled(), deleted.settled()]);
  await replaceMethod(tenantStub(), "index", (there) => async (...args) => {
    if (tenant.fault === "before") throw new Error("the tenant is away");
    const known = await there(...args);
    if (tenant.fault === "after") throw new Error("the answer was lost");
    return known;
  });
  const all = ["ask", "approve", "approved"];
  await approveUnheard(crashed, tenant);
  await approveUnheard(deleted, tenant);
  await crashed.crash();
  expect(shortOf(await decisionsOf(crashed))).toEqual(["ask"]);
  tenant.fault = "after";
  await deleted.call("DELETE");
  await expect.poll(async () => shortOf(await decisionsOf(deleted))).toEqual(all);
  await expect.poll(async () => shortOf(await decisionsOf(crashed))).toEqual(all);
  tenant.fault = "";
  await crashed.quiet();
  await expect.poll(async () => (await deleted.peek()).tables).toBe(0);
  expect(shortOf(await decisionsOf(crashed))).toEqual(all);
  expect(shortOf(await decisionsOf(deleted))).toEqual(all);
});

/** Gives a tenant 5 000 reports of 50 sessions, and its tables with a count of the rows that are read. */
const withReports = <T>(
  tenant: string,
  look: (tables: Tables, now: number, rowsRead: () => number) => T,
): Promise<T> =>
  runInDurableObject(tenantStub(tenant), (_instance, { storage }) => {
    let read = 0;
    const all: TableDatabase["all"] = (text, ...values) => {
      const cursor = storage.sql.exec<DatabaseRow>(text, ...values);
      const rows = cursor.toArray();
      read += cursor.rowsRead;
      return rows;
    };
    const tables = openTables(
      { all, transaction: (work) => storage.transactionSync(work) },
      tenantMigrations,
    );
    const now = Date.now();
    tables.write((run) => {
      run(
        `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4999)
          INSERT OR IGNORE INTO audit SELECT ?1 - i, 's_' || (i % 50), i, json_array(
            json_object('seq', i, 'agent', iif(i % 1900 = 1899, 'rare', 'a')), json_object('seq', i + 5000, 'agent', 'b')) FROM n`,
        now,
      );
    });
    return look(tables, now, () => read);
  });

/** Reads the pages of a list from its beginning; returns the ids of each and the most rows that one cost. */
const pagesOf = (
  query: object,
): Promise<{ readonly pages: readonly (readonly string[])[]; readonly cost: number }> =>
  withReports(`audited ${JSON.stringify(query)}`, (tables, now, rowsRead) => {
    const pages: string[][] = [];
    let cost = 0;
    for (let cursor: string | null | undefined; cursor !== null;) {
      const before = rowsRead();
      const asked = listAuditSchema.parse({
        limit: 20,
        ...query,
        ...(cursor === undefined ? {} : { cursor }),
      });
      const { data, next_cursor } = listAudit(tables, "audited", asked, now);
      pages.push(data.map(({ id }) => id));
      cost = Math.max(cost, rowsRead() - before);
      cursor = next_cursor;
    }
    return { pages, cost };
  });

test.each([
  [{}, 10_000],
  [{ session: "s_7" }, 200],
  [{ session: "s_7", agent: "a" }, 100],
])("★ TB-11 AP-7: each page of the audit costs its rows, not those of 90 days: %j", async (query, count) => {
  const { pages, cost } = await pagesOf(query);
  expect(new Set(pages.flat()).size).toBe(count);
  expect(pages.flat()).toHaveLength(count);
  expect(cost).toBeLessThan(200);
});

test("★ TB-11 AP-7: a filter that matches little reads a bounded part of the audit, and its cursors lead on to all it matches", async () => {
  const { pages, cost } = await pagesOf({ agent: "rare" });
  expect(pages).toEqual([[], ["s_49:1899"], [], ["s_49:3799"], [], []]);
  expect(cost).toBeLessThan(1_100);
  const none = await pagesOf({ tool: "none", limit: 200 });
  expect(none.pages.flat()).toEqual([]);
  expect(none.cost).toBeLessThan(1_100);
});

test("TB-11 AP-7: from any page of a filtered audit the way back shows the same decisions, none twice", async () => {
  await withReports("audited backwards", (tables, now) => {
    const pageAt = (query: object) =>
      listAudit(tables, "audited", listAuditSchema.parse({ limit: 1, ...query }), now);
    for (const query of [{ agent: "rare" }, { agent: "b", session: "s_3" }, {}]) {
      const forward = [pageAt(query)];
      for (let page = forward[0]; page?.next_cursor && forward.length < 6;) {
        page = pageAt({ ...query, cursor: page.next_cursor });
        forward.push(page);
      }
      const start = forward.findLast((page) => page.prev_cursor !== null);
      const back = [];
      for (let cursor = start?.prev_cursor ?? null; cursor !== null;) {
        const page = pageAt({ ...query, cursor });
        back.unshift(...page.data);
        cursor = page.prev_cursor;
      }
      const before = forward
        .slice(0, start === undefined ? 0 : forward.indexOf(start))
        .flatMap(({ data }) => data);
      expect(back, JSON.stringify(query)).toEqual(before);
      expect(before.length).toBeGreaterThan(1);
    }
  });
});

test("TB-11 AP-7: GET /audit answers a filter that matches little with an empty page, whose cursor leads on to the match", async () => {
  await create("tools", "Go");
  await runInDurableObject(tenantStub(), (_instance, { storage }) => {
    storage.sql.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
        INSERT INTO audit SELECT ?1 - i, 's_' || printf('%026d', i), 1,
          json_array(json_object('seq', 1, 'at', ?1 - i, 'thread', 'main', 'run', null, 'call', null, 'agent', iif(i = 1500, 'seldom', 'often'))) FROM n`,
      Date.now() - 3_600_000,
    );
  });
  const first = await api("GET", "/audit?agent=seldom");
  expect(first).toMatchObject({ status: 200, body: { data: [], prev_cursor: null } });
  const second = await api("GET", `/audit?agent=seldom&cursor=${first.body["next_cursor"]}`);
  expect(second.body).toMatchObject({ data: [{ agent: "seldom", tool: null }], next_cursor: null });
  const other = await api("GET", `/audit?agent=often&cursor=${first.body["next_cursor"]}`);
  expect(other).toMatchObject({ status: 400, body: { code: "invalid_cursor" } });
});

test("TB-11: what is done to keys, tokens and grants is audited with who did it and to what, beside the decisions of sessions", async () => {
  const made = await api("POST", "/keys", { body: { scopes: ["sessions:read"], name: "audited" } });
  const key = String(made.body["id"]);
  await api("PATCH", `/keys/${key}`, { body: { name: "renamed" } });
  await api("DELETE", `/keys/${key}`);
  const session = await create("approve", "Go");
  await session.call("POST", "/tokens", { body: {} });
  const named = async (action: string) =>
    (await audit(`action=${action}&limit=200`)).map(({ who, subject }) => [who, subject]);
  for (const action of ["create_key", "edit_key", "revoke_key"])
    await expect.poll(() => named(action), { message: action }).toContainEqual(["operator", key]);
  await expect.poll(() => named("mint_token")).toContainEqual(["operator", session.id]);
  expect(JSON.stringify(await audit("action=create_key"))).not.toContain(String(made.body["key"]));
});

test("TB-11: permissions are explained as a session would judge, with the grants that were given in it", async () => {
  const session = await create("approve", "Go");
  await session.settled();
  const explain = (more: object) =>
    api("POST", "/permissions/explain", {
      body: { agent: "approve", tool: "fire", input: { name: "a" }, ...more },
    });
  expect((await explain({ session: session.id })).body).toMatchObject({ verdict: "ask" });
  const answer = { decision: "approve", remember: "session" };
  expect((await session.call("POST", `/asks/${await askOf(session)}`, { body: answer })).status).toBe(200);
  await session.quiet();
  expect((await explain({ session: session.id })).body).toMatchObject({ verdict: "allow" });
  expect((await explain({})).body).toMatchObject({ verdict: "ask" });
  expect((await explain({ session: `s_${"a".repeat(26)}` })).status).toBe(404);
  expect((await explain({ session: session.id, agent: "nobody" })).status).toBe(404);
});
