import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { replaceMethod, tenantStub } from "../support/worker/directories.ts";
import { letGo } from "../support/worker/probe.ts";
import { api, create } from "../support/worker/session.ts";

/** Runs of a tenant, counted by its object (RE-3). */

const limit = 100;

/** Takes every place that the tenant has left; answers the sessions that hold them. */
const filled = async (): Promise<readonly string[]> => {
  const taken: string[] = [];
  for (let at = 0; at < limit; at++) {
    const session = `other-${at}`;
    const { admitted } = await tenantStub().begin({ session, limit, createdAt: 1, lease: null, grants: [] });
    if (admitted) taken.push(session);
  }
  return taken;
};

const idle = (id: string) =>
  tenantStub().index({
    id,
    ref: null,
    agent: "text",
    title: null,
    metadata: {},
    status: "idle",
    revision: "r_1",
    head_seq: 1,
    created_at: 1,
    updated_at: Date.now() + 60_000,
    usage: {},
    ledger: { since: 0, rows: [] },
  });

/** Waits until the tenant's object has heard that a session came to rest. */
const isReported = async (id: string): Promise<void> => {
  const listed = async (): Promise<readonly string[]> => {
    const { body } = await api("GET", "/sessions?status=idle&limit=200");
    return (body["data"] as unknown as { id: string }[]).map((each) => each.id);
  };
  await expect.poll(listed).toContain(id);
};

test("★ RE-3: a tenant with as many runs as it may have begins no other; a run that ends leaves its place", async () => {
  const session = await create("text", "Go");
  await session.quiet();
  await isReported(session.id);
  const places = await filled();
  expect(places.length).toBeGreaterThan(0);
  const refused = await session.call("POST", "/messages", { body: { content: "Go" } });
  expect(refused).toMatchObject({ status: 429, body: { code: "rate_limited", retry_after_ms: 5_000 } });
  expect(refused.headers.get("Retry-After")).toBe("5");
  const fresh = { body: { agent: "text", input: "Go", ref: "no-room" } };
  expect((await api("POST", "/sessions", fresh)).status).toBe(429);
  const other = await create("text", undefined, { ref: "no-room" });

  await idle(places[0] ?? "");
  const reader = await other.call("POST", "/tokens", { body: { scopes: ["sessions:read"] } });
  const watch = await other.watch(undefined, String(reader.body["token"]));
  watch.send({ type: "send", id: "not-mine", input: { content: "Go" } });
  await watch.until(({ type, id }) => type === "error" && id === "not-mine");
  watch.close();
  expect((await session.call("POST", "/messages", { body: { content: "Go" } })).status).toBe(202);
  await session.quiet();
  // The run that has just ended left its place at rest: the next session finds it.
  const next = { body: { agent: "text", input: "Go", ref: "room" } };
  await expect.poll(async () => (await api("POST", "/sessions", next)).status).toBe(201);
  for (const id of places) await idle(id);
});

test("RE-3 AP-22: commands of a socket are done in their order, also while the team is asked about one of them", async () => {
  const session = await create("held");
  const watch = await session.watch();
  watch.send({ type: "send", id: "first", input: { id: "i1", content: "Go" } });
  watch.send({ type: "send", id: "second", input: { id: "i2", content: "More", on_busy: "queue" } });
  watch.send({ type: "withdraw", id: "third", input: "i2" });
  await watch.until(({ id }) => id === "third");
  const answers = watch.frames.filter(({ type }) => type === "result" || type === "error");
  expect(answers.map(({ type, id }) => [type, id])).toEqual([
    ["result", "first"],
    ["result", "second"],
    ["result", "third"],
  ]);
  watch.close();
  letGo(session.id);
  await session.quiet();
});

type Method = "begin" | "abandon" | "index" | "lease" | "grants" | "keepDefinition";
const methods: readonly Method[] = ["begin", "abandon", "index", "lease", "grants", "keepDefinition"];

/** Counts what a tenant's object is asked while it stays in memory. */
const countCalls = async (tenant: string): Promise<() => Partial<Record<Method, number>>> => {
  const counted: Partial<Record<Method, number>> = {};
  for (const method of methods)
    await replaceMethod(tenantStub(tenant), method, (there) => (...args) => {
      counted[method] = (counted[method] ?? 0) + 1;
      return there(...args);
    });
  return () => counted;
};

/** Returns how many leases of a tenant are out. */
const outOf = (tenant: string): Promise<number> =>
  runInDurableObject(tenantStub(tenant), (_, { storage }) =>
    Number(storage.sql.exec("SELECT count(*) AS n FROM leases").one()["n"]),
  );

const keyOf = async (tenant: string): Promise<string> => {
  const scopes = ["sessions:read", "sessions:write"];
  return String((await api("POST", "/keys", { body: { tenant, scopes } })).body["key"]);
};

test("★ RE-4 RE-3: a run asks its tenant once before it begins, and reports once when it has ended", async () => {
  const key = await keyOf("asked");
  // The first session of a tenant has its revision pinned.
  await api("POST", "/sessions", { body: { agent: "priced" }, key });
  await scheduler.wait(50);
  const calls = await countCalls("asked");
  const made = await api("POST", "/sessions", { body: { agent: "priced", input: "Go" }, key });
  expect(made.status).toBe(201);
  const path = `/sessions/${made.body["id"]}`;
  const ended = async (): Promise<number> => {
    const { body } = await api("GET", `${path}/events?limit=1000`, { key });
    return (body["data"] as unknown as { type: string }[]).filter(({ type }) => type === "run_end").length;
  };
  await expect.poll(ended).toBe(1);
  await expect.poll(() => calls()).toEqual({ begin: 1, index: 1 });
  expect((await api("POST", `${path}/messages`, { body: { content: "More" }, key })).status).toBe(202);
  await expect.poll(ended).toBe(2);
  await expect.poll(() => calls()).toEqual({ begin: 2, index: 2 });
  await expect.poll(() => outOf("asked")).toBe(0);
});

test("★ RE-3 RE-4: a command that begins no run after all gives its place and its lease back", async () => {
  const key = await keyOf("refused");
  const made = await api("POST", "/sessions", { body: { agent: "priced" }, key });
  const path = `/sessions/${made.body["id"]}/messages`;
  const calls = await countCalls("refused");
  const bad = await api("POST", path, { body: { content: "Go", thread: "nobody" }, key });
  expect(bad.status).toBe(404);
  await expect.poll(() => calls()).toMatchObject({ begin: 1, abandon: 1 });
  await expect.poll(() => outOf("refused")).toBe(0);
  const one = { session: "another", limit: 1, createdAt: 1, lease: null, grants: [] };
  expect(await tenantStub("refused").begin(one)).toMatchObject({ admitted: true });
  expect(await tenantStub("refused").begin({ ...one, session: "third" })).toEqual({ admitted: false });
});

test("★ RE-4 AP-5: a new session with its first reply costs its tenant five rows: two of the day, one of usage, one of the list with its index", async () => {
  const key = await keyOf("frugal");
  const run = async (): Promise<void> => {
    const { status } = await api("POST", "/sessions", { body: { agent: "priced", input: "Go" }, key });
    expect(status).toBe(201);
  };
  const rested = async (sessions: number): Promise<void> => {
    const { body } = await api("GET", "/sessions?status=idle", { key });
    expect(body["data"]).toHaveLength(sessions);
  };
  await run();
  await expect
    .poll(() =>
      rested(1).then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  const count = { rows: 0 };
  await runInDurableObject(tenantStub("frugal"), (_, { storage: { sql } }) => {
    const shared = Object.getPrototypeOf(sql) as {
      exec: (...args: never[]) => { readonly rowsWritten: number };
    };
    const { exec } = shared;
    shared.exec = function counted(this: object, ...args: never[]) {
      const cursor = exec.apply(this, args);
      if (this === sql) count.rows += cursor.rowsWritten;
      return cursor;
    };
  });
  await run();
  await expect
    .poll(() =>
      rested(2).then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  expect(count.rows).toBe(5);
});

test("★ RE-4 RE-3: what a refused command gives back late does not end what the next run was given", async () => {
  const key = await keyOf("overtaken");
  const made = await api("POST", "/sessions", { body: { agent: "priced" }, key });
  const path = `/sessions/${made.body["id"]}`;
  const [late, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await replaceMethod(tenantStub("overtaken"), "abandon", (there) => async (...args) => {
    await late.promise;
    await there(...args);
    done.resolve();
  });
  const bad = { content: "Go", thread: "nobody" };
  expect((await api("POST", `${path}/messages`, { body: bad, key })).status).toBe(404);
  expect((await api("POST", `${path}/messages`, { body: { content: "Go" }, key })).status).toBe(202);
  late.resolve();
  await done.promise;
  const used = async (): Promise<unknown> => (await api("GET", path, { key })).body["usage"]?.["total"];
  const booked = (): Promise<unknown> =>
    runInDurableObject(
      tenantStub("overtaken"),
      (_, { storage }) => storage.sql.exec("SELECT sum(tokens) AS n FROM days").one()["n"],
    );
  await expect.poll(() => outOf("overtaken")).toBe(0);
  await expect.poll(used).toBe(2_000);
  await expect.poll(booked).toBe(2_000);
});

test("RE-3: a session is read at once while a message waits for its tenant's object", async () => {
  const key = await keyOf("slow-tenant");
  const made = await api("POST", "/sessions", { body: { agent: "text" }, key });
  const path = `/sessions/${made.body["id"]}`;
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await replaceMethod(tenantStub("slow-tenant"), "begin", (there) => async (...args) => {
    asked.resolve();
    await answer.promise;
    return there(...args);
  });
  const order: string[] = [];
  const sent = api("POST", `${path}/messages`, { body: { content: "Go" }, key }).then(() =>
    order.push("sent"),
  );
  await asked.promise;
  expect((await api("GET", path, { key })).status).toBe(200);
  order.push("read");
  answer.resolve();
  await sent;
  expect(order).toEqual(["read", "sent"]);
});
