import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { createRemoval } from "../../durable-objects/removal.ts";
import { teamStub, tenantStub } from "../support/worker/directories.ts";
import { api, create, sessionOf } from "../support/worker/session.ts";
import type { Answer, Session } from "../support/worker/session.ts";
import { line } from "../support/worker/sandbox.ts";

/** What a session leaves in its sandbox goes with it. */

const open = async (ref: string): Promise<Session> => {
  const { status, body } = await api("POST", "/sessions", { body: { agent: "files", ref } });
  expect(status).toBe(201);
  return sessionOf(String(body["id"]));
};

/** Lets the agent write its diary; gives what changed. */
const written = async (session: Session): Promise<unknown> => {
  await session.send("i1", "the sea");
  await session.settled();
  return (await session.events()).find(({ type }) => type === "file_change")?.data;
};

const fresh = { op: "create", path: "diary" };
const gone = { tables: 0, busy: false, alarm: null, head: 0, items: 0 };

test("RE-P14: the files of a deleted session are gone, and so are its keys: the next one of its ref finds none of it", async () => {
  for (let time = 0; time < 2; time++) {
    const session = await open("diary");
    expect(await written(session)).toMatchObject(fresh);
    expect((await session.call("DELETE")).status).toBe(204);
    expect(await session.peek()).toEqual(gone);
  }
});

test("RE-P14 RE-C32: a sandbox that does not answer is removed later, also by the next isolate; until then nobody gets its session's place", async () => {
  const session = await open("far");
  await written(session);
  await line("down", session);
  expect((await session.call("DELETE")).status).toBe(204);
  expect((await session.call("GET")).status).toBe(404);
  expect((await session.call("GET", "/events")).status).toBe(404);
  // While the drive of the last run lives inside alarm(), that alarm is the one which would come again.
  await expect
    .poll(() => session.peek())
    .toMatchObject({ tables: 2, head: 0, alarm: expect.any(Number) as number });
  const create = { body: { agent: "files", ref: "far" } };
  expect(await api("POST", "/sessions", create)).toMatchObject({
    status: 503,
    body: { code: "overloaded" },
  });
  await session.crash();
  expect(await runDurableObjectAlarm(session.stub())).toBe(true);
  expect((await session.peek()).tables).toBe(2);
  await line("up", session);
  expect(await runDurableObjectAlarm(session.stub())).toBe(true);
  expect(await session.peek()).toEqual(gone);
  expect(await written(await open("far"))).toMatchObject(fresh);
});

test("RE-P14: whoever creates a session anew removes what is left of the old sandbox first", async () => {
  const session = await open("near");
  await written(session);
  await line("down", session);
  await session.call("DELETE");
  await line("up", session);
  expect(await written(await open("near"))).toMatchObject(fresh);
});

test("RE-P14: a session that never used its sandbox does not ask for it when it goes", async () => {
  const session = await open("dry");
  expect((await session.call("DELETE")).status).toBe(204);
  expect(await line("asked", session)).toBe(0);
  expect(await session.peek()).toEqual(gone);
});

type Method = "index" | "wasDeleted" | "definition";
type Work = (...args: unknown[]) => Promise<unknown>;

/** Has the object of the tenant, or the team's for definitions, do one of its methods otherwise, until the answer is called. */
const directoryWith = async (method: Method, otherwise: (there: Work) => Work): Promise<() => void> =>
  runInDurableObject(method === "definition" ? teamStub() : tenantStub(), (instance) => {
    const directory = Object.getPrototypeOf(instance) as Record<Method, Work>;
    const there = directory[method];
    directory[method] = otherwise(there);
    return () => {
      directory[method] = there;
    };
  });

/** Has it refuse reports, or what it is told to refuse. */
const directoryAway = (method: Method = "index"): Promise<() => void> =>
  directoryWith(method, () => () => Promise.reject(new Error("the tenant is away")));

/** Has it answer late, by so many milliseconds; each answer after the first by so many more. */
const directorySlow = (method: Method, ms: number, more = 0): Promise<() => void> =>
  directoryWith(method, (there) => {
    let late = ms;
    return async function (this: unknown, ...args) {
      const mine = late;
      late += more;
      await scheduler.wait(mine);
      return there.apply(this, args);
    };
  });

const isListed = async ({ id }: Session): Promise<boolean> =>
  JSON.stringify((await api("GET", "/sessions?limit=200")).body).includes(id);

test("RE-P14 RE-C32 AP-5: a deleted session leaves the list of sessions, be its tenant's object away just then and the object killed", async () => {
  const session = await create("text", "Go", { title: "the sea" });
  await session.quiet();
  await expect.poll(() => isListed(session)).toBe(true);
  const back = await directoryAway();
  expect((await session.call("DELETE")).status).toBe(204);
  await session.crash();
  back();
  expect((await session.call("GET")).status).toBe(404);
  await runDurableObjectAlarm(session.stub());
  expect(await isListed(session)).toBe(false);
  expect(await session.peek()).toEqual(gone);
});

test("★ RE-P14 RE-C32: a session whose removal hangs for longer than its alarm waits, and then fails, is removed later", async () => {
  const session = await create("text");
  // No alarm is under way in an object that has left memory.
  await session.evict();
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<never>();
  const back = await directoryWith(
    "index",
    (there) =>
      function (this: unknown, ...args) {
        if (!JSON.stringify(args).includes('"deleted"')) return there.apply(this, args);
        asked.resolve();
        return answer.promise;
      },
  );
  const alarms = await runInDurableObject(session.stub(), (object: DurableObject) =>
    vi.spyOn(object, "alarm"),
  );
  const deletion = session.call("DELETE");
  await asked.promise;
  const alarm = runDurableObjectAlarm(session.stub());
  await vi.waitUntil(() => alarms.mock.calls.length === 1);
  answer.reject(new Error("the tenant is away"));
  expect((await deletion).status).toBe(204);
  expect(await alarm).toBe(true);
  back();
  expect((await session.peek()).alarm).toEqual(expect.any(Number));
  expect(await runDurableObjectAlarm(session.stub())).toBe(true);
  expect(await session.peek()).toEqual(gone);
});

const removed = (session: Session, key: string): Promise<Answer> =>
  session.call("DELETE", "", { headers: { "Idempotency-Key": key } });

/** An answer to a delete: its status, and whether it was given before. */
const told = ({ status, headers }: Answer): readonly [number, boolean] => [
  status,
  headers.get("Idempotent-Replayed") === "true",
];

const isThere = async (session: Session): Promise<boolean> => (await session.call("GET")).status === 200;

test("AP-6: a repeated delete answers as the first did and leaves alone the session that has the same ref since", async () => {
  const first = await open("twin");
  const both = await Promise.all([removed(first, "k1"), removed(first, "k1")]);
  expect(new Set(both.map((each) => told(each).join(" ")))).toEqual(new Set(["204 false", "204 true"]));
  expect(told(await removed(first, "k1"))).toEqual([204, true]);
  expect(await first.peek()).toEqual(gone);
  const second = await open("twin");
  expect(second.id).toBe(first.id);
  expect(told(await removed(second, "k1"))).toEqual([204, true]);
  expect(await isThere(second)).toBe(true);
  expect(told(await removed(second, "k2"))).toEqual([204, false]);
  expect(await isThere(second)).toBe(false);
  const third = await open("twin");
  for (const key of ["k1", "k2"]) expect(told(await removed(third, key))).toEqual([204, true]);
  expect(await isThere(third)).toBe(true);
  expect((await removed(await open("other twin"), "k1")).headers.has("Idempotent-Replayed")).toBe(false);
});

test("AP-6 RE-C2 RE-C32: the key of a delete outlives a tenant's object that is away and the object's death", async () => {
  const first = await open("late");
  const back = await directoryAway();
  expect(told(await removed(first, "k1"))).toEqual([204, false]);
  await first.crash();
  expect(told(await removed(first, "k1"))).toEqual([204, true]);
  back();
  const second = await open("late");
  await second.crash();
  expect(told(await removed(second, "k1"))).toEqual([204, true]);
  expect(await isThere(second)).toBe(true);
});

test("AP-6: a delete with a key deletes nothing while the tenant's object, which knows the keys of earlier ones, does not answer", async () => {
  const session = await open("unsure");
  const back = await directoryAway("wasDeleted");
  const refused = await removed(session, "k1");
  expect(refused).toMatchObject({ status: 503, body: { code: "overloaded" } });
  expect(refused.headers.has("Retry-After")).toBe(true);
  back();
  expect(await isThere(session)).toBe(true);
  expect(told(await removed(session, "k1"))).toEqual([204, false]);
});

test("RE-P14: a session whose events were read page by page is deleted: what was left to read locked its rows", async () => {
  const session = await create("text", "Go");
  await session.quiet();
  expect((await session.call("GET", "/events?limit=1")).body["data"]).toHaveLength(1);
  expect((await session.call("DELETE")).status).toBe(204);
  expect(await session.peek()).toEqual(gone);
});

test("RE-P14 RE-C37: a delete that does not remove the rows is not acknowledged, and the session is still there", async () => {
  const session = await create("text", "Go");
  await session.quiet();
  const open: { toArray: () => unknown }[] = [];
  await runInDurableObject(session.stub(), (_, { storage }) => {
    const cursor = storage.sql.exec("SELECT * FROM messages");
    cursor.next();
    open.push(cursor);
  });
  expect(await session.call("DELETE")).toMatchObject({ status: 503, body: { code: "storage_error" } });
  expect((await session.call("GET")).status).toBe(200);
  await runInDurableObject(session.stub(), () => void open.pop()?.toArray());
  expect((await session.call("DELETE")).status).toBe(204);
  expect(await session.peek()).toEqual(gone);
});

test("★ AP-6 RE-P14: what was created or forked under a key and then deleted is not made again by a late repetition", async () => {
  const key = (name: string) => ({ headers: { "Idempotency-Key": name } });
  const create = (name: string, body: object = {}) =>
    api("POST", "/sessions", { body: { agent: "text", ...body }, ...key(name) });
  const made = await create("made", { input: "Go" });
  expect(made.status).toBe(201);
  const source = await create("source");
  const fork = () =>
    api("POST", `/sessions/${source.body["id"]}/fork`, { body: { at: 0 }, ...key("forked") });
  const forked = await fork();
  for (const { body } of [made, forked])
    expect((await api("DELETE", `/sessions/${body["id"]}`)).status).toBe(204);
  for (const again of [await create("made", { input: "Go" }), await fork()])
    expect(again).toMatchObject({
      status: 422,
      body: { code: "idempotency_key_reused", detail: expect.stringContaining("has been deleted") },
    });
  expect((await api("GET", `/sessions/${made.body["id"]}`)).status).toBe(404);
  expect((await create("another")).status).toBe(201);
  const named = await create("named", { ref: "again" });
  await api("DELETE", `/sessions/${named.body["id"]}`);
  expect((await create("named", { ref: "again" })).status).toBe(201);
});

test("RE-P14 RE-P1: a session that is created while the one of its ref is being deleted does not go with it", async () => {
  const first = await open("crossing");
  const backs = [await directorySlow("wasDeleted", 100), await directorySlow("index", 200)];
  const deleted = removed(first, "k1");
  await scheduler.wait(40);
  const crossing = await api("POST", "/sessions", { body: { agent: "files", ref: "crossing" } });
  expect(crossing).toMatchObject({ status: 503, body: { code: "overloaded" } });
  expect(told(await deleted)).toEqual([204, false]);
  for (const back of backs) back();
  const second = await open("crossing");
  await second.crash();
  expect(await isThere(second)).toBe(true);
});

test("RE-P14 CF-32: who looks at a session of an older revision while it is deleted finds nothing", async () => {
  const session = await open("cold");
  await session.quiet();
  await session.evict();
  await session.sql("UPDATE threads SET state = json_set(state, '$.session.revision', 'r_older')");
  const back = await directorySlow("definition", 50, 150);
  const deleted = session.call("DELETE");
  await scheduler.wait(20);
  const watch = session.watch().catch(() => null);
  expect((await deleted).status).toBe(204);
  await watch;
  back();
  expect((await session.call("GET")).status).toBe(404);
  expect((await open("cold")).id).toBe(session.id);
});

test("RE-P14 AP-24: what a model was saying when its session was deleted is not shown by the next one of its ref", async () => {
  const body = { agent: "aloud", ref: "echo", input: "Go" };
  const session = await sessionOf(String((await api("POST", "/sessions", { body })).body["id"]));
  const items = async (): Promise<unknown> => (await session.call("GET", "/snapshot")).body["items"];
  await expect.poll(items).toHaveLength(2);
  expect((await session.call("DELETE")).status).toBe(204);
  expect((await open("echo")).id).toBe(session.id);
  expect(await items()).toEqual([]);
});

test("RE-P14 TB-25: a session goes, whatever its MCP servers said of themselves; only what ends their sessions stays", async () => {
  const session = await create("text", "Go");
  await session.quiet();
  const long = { era: "modern", discover: "x".repeat(1_500_000) };
  const state = {
    tenant: "default",
    jurisdiction: "",
    id: "long",
    sandboxed: false,
    serverLinks: {
      sea: { connection: long, earlier: [] },
      land: { connection: null, earlier: ["s0"] },
      old: { connection: "s1", earlier: [long, "s0"] },
    },
    page: null,
  };
  const kept = await runInDurableObject(session.stub(), (_instance, { storage }) => {
    const engine = {
      logLine: () => undefined,
      servers: { sessionOf: (connection: unknown) => (connection === long ? null : connection) },
    };
    const outside = () => ({ engine, tenant: () => ({}) });
    const removal = createRemoval(storage, { reset: () => undefined } as never, outside as never);
    removal.begin({ state, ledger: [] } as never, {} as never);
    return storage.sql.exec("SELECT servers FROM removal").one()["servers"];
  });
  expect(kept).toBe('[["land","s0"],["old","s1"],["old","s0"]]');
});

test("★ TB-20 RE-P14: the browser of a session that is deleted in mid-run is closed, once, however often the rest is tried", async () => {
  const session = await create("text", "Go");
  await session.quiet();
  const closed: string[] = [];
  let heard = false;
  const state = {
    tenant: "default",
    jurisdiction: "",
    id: "open",
    sandboxed: false,
    serverLinks: {},
    page: { browser: "b1" },
  };
  const left = await runInDurableObject(session.stub(), async (_instance, { storage }) => {
    const engine = {
      logLine: () => "",
      servers: {},
      closeBrowser: async (id: string) => void closed.push(id),
    };
    const index = async () => (heard ? 1 : Promise.reject(new Error("the tenant is away")));
    const outside = () => ({ engine, tenant: () => ({ index }) });
    const removal = createRemoval(storage, { reset: () => undefined } as never, outside as never);
    removal.begin({ state, ledger: [] } as never, { ledger: { since: 1 } } as never);
    const tries = [await removal.finish()];
    heard = true;
    return [...tries, await removal.finish()];
  });
  expect([left, closed]).toEqual([[false, true], ["b1"]]);
});

test("AP-9: what changes or takes away a session or an input takes If-Match; elsewhere the header is refused", async () => {
  const session = await create("text", "Go");
  await session.quiet();
  const old = { headers: { "If-Match": '"1"' } };
  for (const [method, path, body] of [
    ["DELETE", "", undefined],
    ["POST", "/clear", {}],
    ["POST", "/rewind", { at: 0 }],
  ] as const)
    expect(
      await session.call(method, path, { ...old, ...(body && { body }) }),
      `${method} ${path}`,
    ).toMatchObject({ status: 412, body: { code: "precondition_failed" } });
  expect(await session.call("POST", "/compact", { ...old, body: {} })).toMatchObject({
    status: 400,
    body: { code: "invalid_request", detail: expect.stringContaining("does not accept If-Match") },
  });
  const listed = async (list: string) =>
    (await session.call("PATCH", "", { body: { title: "Tides" }, headers: { "If-Match": list } })).status;
  const head = (await session.call("GET")).headers.get("ETag") ?? "";
  expect(await listed(`"1", ${head.slice(1, -1)}9, W/"x"`)).toBe(412);
  expect(await listed(`"1" ,${head}`)).toBe(200);
  const next = (await session.call("GET")).headers.get("ETag") ?? "";
  expect((await session.call("DELETE", "", { headers: { "If-Match": next } })).status).toBe(204);
});
