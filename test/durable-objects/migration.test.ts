import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { Json } from "../../src/chat/message.ts";
import { revisionOf } from "../../src/config/revision.ts";
import { replaceMethod, teamStub, tenantStub } from "../support/worker/directories.ts";
import { create } from "../support/worker/session.ts";
import type { Answer, Session } from "../support/worker/session.ts";

/** Sessions that go over to another revision (CF-35). */

const deployedRevision = async (session: Session): Promise<string> =>
  String((await session.call("GET")).body["revision"]);

/** Makes a session one of an older revision, in which a text was another one. */
const olden = async (session: Session, now: string, then: string): Promise<string> => {
  const deployed = await deployedRevision(session);
  const older = (await teamStub().definition(deployed))?.replaceAll(now, then) ?? "";
  const pinned = revisionOf(JSON.parse(older) as Json);
  expect(pinned).not.toBe(deployed);
  await tenantStub().keepDefinition(pinned, older);
  await session.evict();
  await session.sql(`UPDATE threads SET state = json_set(state, '$.session.revision', '${pinned}')`);
  return pinned;
};

const migrate = (session: Session, body: object = {}): Promise<Answer> =>
  session.call("POST", "/migrate", { body });

const migrations = async (session: Session): Promise<readonly unknown[]> =>
  (await session.events()).flatMap(({ type, data }) => (type === "session_migrated" ? [data] : []));

test("CF-35: a session goes over to the deployed revision in one commit, with its chat and its usage, and runs on", async () => {
  const session = await create("text", "Go");
  await session.quiet();
  const to = await deployedRevision(session);
  const from = await olden(session, "Plays text.", "Played text.");
  const { usage } = (await session.call("GET")).body;
  const chat = (await session.call("GET", "/messages")).body;
  const head = (await session.events()).length;
  expect(await migrate(session, { dry_run: true })).toMatchObject({
    status: 200,
    body: { from, to, changes: [], dry_run: true },
  });
  expect((await session.events()).length).toBe(head);
  expect(await deployedRevision(session)).toBe(from);
  expect(await migrate(session)).toMatchObject({ status: 200, body: { from, to, seq: head + 1 } });
  await session.crash();
  expect((await session.call("GET")).body).toMatchObject({ revision: to, usage });
  expect((await session.call("GET", "/messages")).body).toEqual(chat);
  expect(await migrations(session)).toEqual([{ from, to, changes: [] }]);
  expect(await migrate(session)).toMatchObject({ status: 200, body: { from: to, to, changes: [] } });
  expect(await migrate(session, { to: from })).toMatchObject({ status: 200, body: { from: to, to: from } });
  expect(await migrations(session)).toHaveLength(2);
  await migrate(session, { to });
  await session.send("i2", "On");
  await session.settled();
  expect((await session.events()).filter(({ type }) => type === "run_start").at(-1)?.data).toMatchObject({
    revision: to,
  });
});

test("CF-35: an agent that the target lacks is a conflict until it has a name there, and a lost model is cleared", async () => {
  const session = await create("text", "Go");
  await session.quiet();
  const to = await deployedRevision(session);
  const from = await olden(session, '"name":"text"', '"name":"lines"');
  await session.evict();
  await session.sql(
    `UPDATE threads SET state = json_set(state, '$.agent', 'lines', '$.session.agent', 'lines', '$.session.model', 'gone/gone')`,
  );
  const head = (await session.events()).length;
  for (const body of [{}, { dry_run: true }, { agents: { lines: "nobody" } }])
    expect(await migrate(session, body)).toMatchObject({
      status: 409,
      body: { code: "revision_conflict", meta: { missing: [body.agents ? "nobody" : "lines"] } },
    });
  expect((await session.events()).length).toBe(head);
  const changes = [{ thread: "main", from: "lines", to: "text" }, { model: { from: "gone/gone", to: null } }];
  const answer = await migrate(session, { agents: { lines: "text" } });
  expect(answer).toMatchObject({ status: 200, body: { from, to, changes } });
  expect((await session.call("GET")).body).toMatchObject({ agent: "text", model: null, revision: to });
  expect((await session.events()).slice(head).map(({ type }) => type)).toEqual([
    "model_changed",
    "session_migrated",
  ]);
});

test("CF-35: during a run a session goes over before its next one, if that is asked for", async () => {
  const session = await create("ask", "Go");
  await session.settled();
  const to = await deployedRevision(session);
  const from = await olden(session, "Plays text.", "Played text.");
  expect(await migrate(session)).toMatchObject({ status: 409, body: { code: "session_busy" } });
  expect(await migrate(session, { when: "next_run" })).toMatchObject({
    status: 200,
    body: { from, to, when: "next_run" },
  });
  await session.crash();
  expect(await deployedRevision(session)).toBe(from);
  const [ask] = (await session.call("GET")).body["open_asks"] ?? [];
  await session.call("POST", `/asks/${ask}`, { body: { decision: "answer", text: "red" } });
  await session.settled();
  expect(await deployedRevision(session)).toBe(from);
  await session.send("i2", "On");
  await session.settled();
  const types = (await session.events()).map(({ type }) => type);
  expect(types.filter((type) => type === "session_migrated")).toHaveLength(1);
  expect(types.indexOf("session_migrated")).toBeLessThan(types.lastIndexOf("run_start"));
  expect(await deployedRevision(session)).toBe(to);
});

/** A session with a run, of an older revision. */
const oldenRunning = async (): Promise<{ session: Session; from: string; to: string }> => {
  const session = await create("ask", "Go");
  await session.settled();
  const to = await deployedRevision(session);
  return { session, from: await olden(session, "Plays text.", "Played text."), to };
};

const finish = async (session: Session): Promise<void> => {
  const [ask] = (await session.call("GET")).body["open_asks"] ?? [];
  await session.call("POST", `/asks/${ask}`, { body: { decision: "answer", text: "red" } });
  await session.settled();
  await session.quiet();
};

const revisionsOf = async (session: Session): Promise<readonly unknown[]> =>
  (await session.events()).flatMap(({ type, data }) => (type === "run_start" ? Object(data).revision : []));

test("CF-35: a queued input starts at the revision that was asked for the next run, however it starts", async () => {
  const { session, from, to } = await oldenRunning();
  await migrate(session, { when: "next_run" });
  await session.send("i2", "On", { on_busy: "queue" });
  await finish(session);
  const moves = ["run_start", "run_end", "session_migrated"];
  expect((await session.events()).flatMap(({ type }) => (moves.includes(type) ? type : []))).toEqual([
    "run_start",
    "run_end",
    "session_migrated",
    "run_start",
    "run_end",
  ]);
  expect(await migrations(session)).toEqual([{ from, to, changes: [] }]);
  expect((await revisionsOf(session)).at(-1)).toBe(to);
});

test("CF-33 CF-35: a revision that a session goes over to later counts as pinned", async () => {
  const { session, from, to } = await oldenRunning();
  await migrate(session, { when: "next_run" });
  const nextOf = (): Promise<unknown> =>
    runInDurableObject(tenantStub(), (_, { storage }) =>
      storage.sql.exec("SELECT revision, next_revision FROM sessions WHERE id = ?", session.id).toArray(),
    );
  await expect.poll(nextOf).toEqual([{ revision: from, next_revision: to }]);
  await finish(session);
  await session.send("i2", "On");
  await session.settled();
  await expect.poll(nextOf).toEqual([{ revision: to, next_revision: null }]);
});

test("CF-35: a next revision that cannot be read within 2 s holds up no run; one that is gone is asked for no more", async () => {
  const session = await create("text", "Go");
  await session.quiet();
  const from = await olden(session, "Plays text.", "Played text.");
  const other = await olden(session, "Played text.", "Will play text.");
  expect(await migrate(session, { to: from })).toMatchObject({ status: 200 });
  const elsewhere = { "$.session.migration": { to: other, agents: {} } };
  const [path, value] = Object.entries(elsewhere)[0] ?? [];
  await session.evict();
  await session.sql(
    `UPDATE threads SET state = json_set(state, '${path}', json('${JSON.stringify(value)}'))`,
  );
  await session.call("GET");
  let mode: "silent" | "gone" | null = "silent";
  await replaceMethod(teamStub(), "definition", (there) => (revision) => {
    if (revision !== other || mode === null) return there(revision);
    return mode === "gone" ? null : new Promise(() => undefined);
  });
  await session.send("i2", "On");
  await session.settled();
  mode = "gone";
  await session.send("i3", "On");
  await session.settled();
  await session.send("i4", "On");
  await session.settled();
  expect((await revisionsOf(session)).slice(1)).toEqual([from, from, from]);
  const errors = (await session.events()).flatMap(({ type, data }) => (type === "error" ? [data] : []));
  expect(errors).toMatchObject([
    { code: "overloaded", retryable: true },
    { code: "revision_conflict", retryable: false },
  ]);
});

test("CF-34 CF-35: a run whose revision this deployment cannot run goes on after a migration", async () => {
  const session = await create("text");
  const to = await deployedRevision(session);
  await olden(session, '"text-script"', '"gone-script"');
  await session.send("i1", "Go");
  await expect.poll(async () => (await session.call("GET")).body["status"]).toBe("waiting");
  expect(await migrate(session)).toMatchObject({ status: 200, body: { to } });
  await session.settled();
  expect((await session.events()).find(({ type }) => type === "run_end")?.data).toMatchObject({
    state: "completed",
  });
});

test("CF-35: an unknown revision and a wrong field are refused", async () => {
  const session = await create("text");
  expect(await migrate(session, { to: `r_${"0".repeat(20)}` })).toMatchObject({
    status: 404,
    body: { code: "not_found" },
  });
  expect(await migrate(session, { to: "latest" })).toMatchObject({ status: 400 });
});
