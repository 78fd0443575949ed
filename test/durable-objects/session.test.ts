import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { createSizeMeter } from "../../durable-objects/rows/archive.ts";
import { tenantStub } from "../support/worker/directories.ts";
import { brokenInvariants } from "../support/worker/invariants.ts";
import { executionsOf, letGo } from "../support/worker/probe.ts";
import { api, create, request, sessionOf } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";
import { createCrashCounter } from "../../durable-objects/alarms/crash-counter.ts";

/** What a session owes its callers and its platform: one effect per key, silence at rest, no loss over failing storage. */

const count = async (session: Session, type: string): Promise<number> =>
  (await session.events()).filter((event) => event.type === type).length;

/** The tenant's list of sessions, as text. */
const listed = async (): Promise<string> =>
  JSON.stringify((await api("GET", "/sessions?limit=200")).body["data"]);

test("AP-6: a post sent five times with one key has one effect and one answer, also over aborts", async () => {
  const session = await create("text");
  const answers = [];
  for (let time = 0; time < 5; time++) {
    const sent = { body: { content: "Go" }, headers: { "Idempotency-Key": "k1" } };
    answers.push(await session.call("POST", "/messages", sent));
    if (time % 2 === 1) await session.crash();
  }
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202]);
  expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  const replayed = answers.map(({ headers }) => headers.get("Idempotent-Replayed"));
  expect(replayed).toEqual([null, "true", "true", "true", "true"]);
  await session.settled();
  expect(await count(session, "input_accepted")).toBe(1);
  const other = await session.call("POST", "/messages", {
    body: { content: "Stop" },
    headers: { "Idempotency-Key": "k1" },
  });
  expect(other).toMatchObject({ status: 422, body: { code: "idempotency_key_reused" } });
  expect(await count(session, "input_accepted")).toBe(1);
});

test("AP-6: five posts of one key at the same time have one effect", async () => {
  const session = await create("text");
  const sent = { body: { content: "Go" }, headers: { "Idempotency-Key": "k1" } };
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => session.call("POST", "/messages", sent)));
  expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  await session.settled();
  expect(await count(session, "run_start")).toBe(1);
});

test("AP-3 AP-6: a session created five times by one key or one ref is one session", async () => {
  for (const [index, sent] of [
    { body: { agent: "text", input: "Go" }, headers: { "Idempotency-Key": "create-1" } },
    { body: { agent: "text", input: "Go", ref: "order-1" } },
  ].entries()) {
    const answers = [];
    for (let time = 0; time < 5; time++) answers.push(await api("POST", "/sessions", sent));
    const ids = new Set(answers.map(({ body }) => body["id"]));
    expect(ids.size).toBe(1);
    expect(answers[0]?.status).toBe(201);
    const session = await sessionOf(String([...ids][0]));
    await session.settled();
    expect(await count(session, "run_start"), String(index)).toBe(1);
  }
  const other = { body: { agent: "tools" }, headers: { "Idempotency-Key": "create-1" } };
  expect(await api("POST", "/sessions", other)).toMatchObject({
    status: 422,
    body: { code: "idempotency_key_reused" },
  });
});

test("RE-C1 RE-C2: an input whose answer was lost is stored once, whenever the abort struck", async () => {
  for (let turns = 0; turns < 12; turns++) {
    const session = await create("text");
    const sent = { body: { id: "i1", content: "Go" } };
    const first = session.call("POST", "/messages", sent).catch(() => null);
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    await session.crash();
    await first;
    const again = await session.call("POST", "/messages", sent);
    expect(again).toMatchObject({ status: 202, body: { input: "i1" } });
    await session.settled();
    expect(await brokenInvariants(session, ["i1"], [])).toEqual([]);
    expect(await count(session, "run_end")).toBe(1);
  }
});

test("RE-P2: after a crash of everything at once, all runs go on by themselves", async () => {
  const agents = ["text", "tools", "slow", "broken", "retry"];
  const sessions = await Promise.all([...agents, ...agents, ...agents].map((agent) => create(agent, "Go")));
  await abortAllDurableObjects();
  await scheduler.wait(20);
  await abortAllDurableObjects();
  for (const session of sessions) {
    await session.settled();
    expect(await brokenInvariants(session, ["i1"], [])).toEqual([]);
    expect(await count(session, "run_end")).toBe(1);
  }
});

test("RE-C31: a retry waits the rest of its Retry-After over an abort and an eviction, without any work", async () => {
  for (const fault of ["crash", "evict"] as const) {
    const session = await create("later", "Go");
    const watch = await session.watch();
    const aborted = await watch.event("attempt_aborted");
    const due = aborted.type === "attempt_aborted" ? (aborted.data.retry_at ?? 0) : 0;
    expect(due - aborted.at).toBeGreaterThanOrEqual(2_000);
    await scheduler.wait(60);
    await session[fault]();
    expect((await session.peek()).alarm, "the deadline stays what it was").toBeLessThanOrEqual(due);
    await session.settled();
    const next = (await session.events()).findLast(({ type }) => type === "llm_request_start");
    expect(next?.at).toBeGreaterThanOrEqual(due);
    expect(await count(session, "attempt_aborted")).toBe(1);
    watch.close();
  }
});

test("RE-P14 RE-C32: a deleted session is gone, its sockets closed 4410, no alarm left, also in the middle of a run", async () => {
  for (const agent of ["text", "slow", "held", "ask", "later"]) {
    const session = await create(agent, "Go");
    const watch = await session.watch();
    await watch.event(agent === "later" ? "attempt_aborted" : "llm_request_start");
    expect((await session.call("DELETE")).status).toBe(204);
    expect(await watch.closed()).toBe(4410);
    letGo(session.id);
    await scheduler.wait(60);
    expect(await session.peek(), agent).toEqual({ tables: 0, busy: false, alarm: null, head: 0, items: 0 });
    expect((await session.call("GET")).status).toBe(404);
    await session.crash();
    expect((await session.call("GET", "/events")).status).toBe(404);
    expect((await session.call("DELETE")).status).toBe(404);
    expect(await listed()).not.toContain(session.id);
    expect((await session.peek()).tables).toBe(0);
  }
});

test("RE-P14: a session of the same ref begins anew after a delete", async () => {
  const sent = { body: { agent: "text", ref: "again", input: "Go" } };
  const first = await api("POST", "/sessions", sent);
  const session = await sessionOf(String(first.body["id"]));
  await session.settled();
  await session.call("DELETE");
  const second = await api("POST", "/sessions", sent);
  expect(second).toMatchObject({ status: 201, body: { id: session.id } });
  await session.settled();
  expect(await brokenInvariants(session, [], [])).toEqual([]);
  await session.quiet();
  await expect.poll(listed).toContain(session.id);
});

test("AP-4 I10: asking for unknown sessions writes nothing and sets no alarm, whatever is asked", async () => {
  const session = await sessionOf(`s_${"b".repeat(26)}`);
  for (const [method, path, body] of [
    ["GET", ""],
    ["GET", "/events"],
    ["GET", "/messages"],
    ["GET", "/snapshot"],
    ["GET", "/usage"],
    ["GET", "/asks"],
    ["GET", "/runs/run_1"],
    ["DELETE", ""],
    ["PATCH", "", { title: "x" }],
    ["POST", "/messages", { content: "Go" }],
    ["POST", "/cancel", {}],
    ["POST", "/asks/ask_1", { decision: "answer", text: "x" }],
    ["POST", "/clear", {}],
    ["POST", "/rewind", { at: 0 }],
    ["POST", "/fork", { at: 0 }],
    ["POST", "/tokens", { scopes: ["sessions:read"] }],
  ] as const) {
    const { status, body: answer } = await session.call(method, path, body === undefined ? {} : { body });
    expect([status, answer["code"]], `${method} ${path}`).toEqual([404, "not_found"]);
  }
  const socket = await request("GET", `/sessions/${session.id}/ws`, { headers: { Upgrade: "websocket" } });
  expect(socket.status).toBe(404);
  expect(await session.peek()).toEqual({ tables: 0, busy: false, alarm: null, head: 0, items: 0 });
});

test("AP-16: a create that is refused leaves nothing behind", async () => {
  for (const body of [
    { agent: "nobody" },
    { agent: "text", input: { content: [] } },
    { agent: "text", nonsense: 1 },
  ]) {
    const refused = await api("POST", "/sessions", { body: { ...body, ref: "refused" } });
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.status).toBeLessThan(500);
  }
  const made = await api("POST", "/sessions", { body: { agent: "text", ref: "refused" } });
  expect(made.status).toBe(201);
  const session = await sessionOf(String(made.body["id"]));
  expect(await session.peek()).toMatchObject({ head: 1 });
});

/** Storage of a session that fails writes to a table, as a full or broken disk does. */
const breakWrites = (session: Session, table: string): Promise<unknown> =>
  session.sql(
    `CREATE TRIGGER broken BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'disk broken'); END`,
  );
const mend = (session: Session): Promise<unknown> => session.sql("DROP TRIGGER broken");

test("RE-C37: an input that cannot be stored is not acknowledged and leaves no event; repeated, it is stored once", async () => {
  const session = await create("text");
  const watch = await session.watch();
  await watch.until(({ type }) => type === "live");
  await breakWrites(session, "turns");
  const sent = { body: { id: "i1", content: "Go" } };
  for (let time = 0; time < 3; time++) {
    const refused = await session.call("POST", "/messages", sent);
    expect(refused).toMatchObject({ status: 503, body: { code: "storage_error" } });
  }
  expect((await session.call("GET")).status, "reads go on").toBe(200);
  await mend(session);
  expect((await session.call("POST", "/messages", sent)).status).toBe(202);
  await watch.event("run_end");
  await session.settled();
  expect(await brokenInvariants(session, ["i1"], [watch])).toEqual([]);
  watch.close();
});

test("RE-C37: a run whose commits fail for a while goes on where the rows stand", async () => {
  const session = await create("slow", "Go");
  const watch = await session.watch();
  await watch.until(({ type }) => type === "delta");
  // The drive lives in the alarm, which is none meanwhile.
  while ((await session.peek()).alarm !== null) await scheduler.wait(5);
  await breakWrites(session, "turns");
  // The alarm is back once its drive has failed to store the answer.
  while ((await session.peek()).alarm === null) await scheduler.wait(5);
  expect((await session.peek()).busy).toBe(true);
  expect((await session.call("GET")).status, "reads go on").toBe(200);
  await mend(session);
  await session.settled();
  await watch.event("run_end");
  expect(await brokenInvariants(session, ["i1"], [watch])).toEqual([]);
  expect(await count(session, "attempt_aborted")).toBe(1);
  expect(watch.faults).toEqual([]);
  watch.close();
});

test("★ RE-P2 RE-C37: a run goes on by itself after its storage failed for longer than the platform repeats an alarm", async () => {
  const session = await create("slow", "Go");
  await session.crash();
  const broken = "BEFORE INSERT ON meta BEGIN SELECT RAISE(ABORT, 'disk broken'); END";
  await session.sql(`CREATE TRIGGER broken ${broken}`);
  for (let time = 0; time < 7; time++) await runDurableObjectAlarm(session.stub()).catch(() => undefined);
  expect((await session.peek()).alarm).toBeLessThanOrEqual(Date.now() + 30_000);
  await session.sql("DROP TRIGGER broken");
  expect(await runDurableObjectAlarm(session.stub())).toBe(true);
  await session.settled();
  const ends = (await session.events()).filter(({ type }) => type === "run_end");
  expect(ends).toMatchObject([{ data: { state: "completed" } }]);
});

test("RE-C36 SE-33: a run whose drives die before any commit ends poisoned; the session stays readable and usable", async () => {
  const session = await create("slow", "Go");
  await session.crash();
  for (let death = 0; death < 4; death++) {
    // The drive begins and dies before its first commit.
    await runInDurableObject(session.stub(), (_, state) => {
      const row = state.storage.sql
        .exec<{ value: string }>("SELECT value FROM meta WHERE key = 'drives'")
        .toArray()[0];
      const drives = String(Number(row?.value ?? 0) + 1);
      state.storage.sql.exec("INSERT OR REPLACE INTO meta VALUES ('drives', ?)", drives);
    });
    await session.crash();
  }
  await session.settled();
  const end = (await session.events()).find(({ type }) => type === "run_end");
  expect(end).toMatchObject({ data: { state: "failed", reason: "poisoned" } });
  expect((await session.call("GET")).body).toMatchObject({ status: "idle" });
  await session.send("i2", "Again");
  await session.settled();
  expect(await count(session, "run_end")).toBe(2);
  expect(await brokenInvariants(session, ["i1", "i2"], [])).toEqual([]);
});

test("SE-33: the first drive of an isolate counts though a request loaded the session before, and a commit clears the count", async () => {
  const session = await create("slow", "Go");
  await runInDurableObject(session.stub(), (_, { storage }) => {
    const open = () => createCrashCounter(storage, () => undefined);
    expect([open().begin(false), open().begin(false)]).toEqual([1, 2]);
    const later = open();
    later.clear();
    expect(later.begin(false)).toBe(0);
    expect(storage.sql.exec("SELECT 1 FROM meta WHERE key = 'drives'").toArray()).toEqual([]);
  });
  await session.settled();
});

test("SE-33 RE-P12: drives that end with nothing to do are no dead ones: a run that waits is not poisoned by its wakes", async () => {
  const session = await create("ask", "Go");
  await session.settled();
  for (let wake = 0; wake < 5; wake++) {
    await session.evict();
    await runInDurableObject(session.stub(), (instance) => instance.alarm?.());
  }
  expect((await session.call("GET")).body).toMatchObject({ status: "waiting" });
  expect(await count(session, "run_end")).toBe(0);
});

test("RE-3: what a session holds is measured, at most once a second", async () => {
  const session = await create("text");
  await runInDurableObject(session.stub(), (_, { storage }) => {
    let now = 1_000;
    const stored = createSizeMeter(storage.sql, () => now);
    const before = stored();
    expect(before).toBe(storage.sql.databaseSize);
    storage.sql.exec("INSERT INTO blobs VALUES ('big', 0, ?)", "x".repeat(100_000));
    expect(stored()).toBe(before);
    now += 1_000;
    expect(stored()).toBeGreaterThanOrEqual(before + 100_000);
  });
});

test("AP-5: a tenant's object that cannot be told disturbs no run, and is told later", async () => {
  const query = (text: string) =>
    runInDurableObject(tenantStub(), (_, state) => void state.storage.sql.exec(text));
  expect((await api("POST", "/keys", { body: { scopes: ["sessions:read"] } })).status).toBe(201);
  const session = await create("slow", "Go");
  await query("CREATE TRIGGER broken BEFORE INSERT ON sessions BEGIN SELECT RAISE(ABORT, 'broken'); END");
  const watch = await session.watch();
  await watch.event("run_end");
  while (((await session.peek()).alarm ?? 0) < Date.now() + 2_500) await scheduler.wait(20);
  expect(await count(session, "attempt_aborted")).toBe(0);
  await query("DROP TRIGGER broken");
  await session.quiet();
  await expect.poll(listed).toContain(session.id);
  watch.close();
});

test("SE-34 I10: a session at rest has no alarm; one that waits for people has only the ask's", async () => {
  const resting = await create("text", "Go");
  await resting.quiet();
  expect(await resting.peek()).toMatchObject({ alarm: null, busy: false });
  const asking = await create("ask", "Go");
  await asking.settled();
  while (((await asking.peek()).alarm ?? 0) < Date.now() + 10_000) await scheduler.wait(20);
  const { body } = await asking.call("GET", "/asks?status=open");
  const [ask] = body["data"] as unknown as { expires_at: number }[];
  expect((await asking.peek()).alarm).toBe(ask?.expires_at);
  expect((await asking.call("GET")).body).toMatchObject({ status: "waiting" });
});

test("RE-C40: twenty crashes in a run of thirty turns lose and double nothing", async () => {
  const session = await create("loop");
  const watches = [await session.watch()];
  await session.send("i1", "Go");
  for (let crash = 0; crash < 20; crash++) {
    session.rush();
    for (let turn = 0; turn < (crash * 7) % 11; turn++) await scheduler.wait(0);
    await session.crash();
  }
  await session.settled();
  const last = await session.watch();
  await last.until(({ type }) => type === "live");
  watches.push(last);
  expect(await brokenInvariants(session, ["i1"], watches)).toEqual([]);
  const log = await session.events();
  expect(log.findLast(({ type }) => type === "run_end")).toMatchObject({ data: { state: "completed" } });
  expect(log.filter(({ type }) => type === "tool_call_end")).toHaveLength(30);
  expect(new Set(executionsOf(session.id).map(({ key }) => key)).size).toBe(30);
  for (const watch of watches) watch.close();
});

test("a session of each agent can be created with its first input", async () => {
  const { body } = await api("GET", "/agents");
  const agents = body["data"] as unknown as readonly { readonly name: string }[];
  expect(agents.length).toBeGreaterThan(30);
  const sessions = await Promise.all(agents.map(({ name }) => create(name, "Go on")));
  await Promise.all(sessions.map((session) => session.call("POST", "/cancel", { body: {} })));
  for (const session of sessions) {
    expect((await session.events())[1]).toMatchObject({ type: "input_accepted" });
    await session.settled();
  }
});
