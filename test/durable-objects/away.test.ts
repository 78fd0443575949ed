import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { Json } from "../../src/chat/message.ts";
import { revisionOf } from "../../src/config/revision.ts";
import { replaceMethod, teamStub, tenantStub } from "../support/worker/directories.ts";
import { api, create, request } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

/** What a session answers while another object, which it asks for something, does not. */

/** Has the team's object answer for definitions in another way until the answer is called. */
const answerDefinitions = (otherwise: () => Promise<string>): Promise<() => void> =>
  runInDurableObject(teamStub(), (instance) => {
    const object = Object.getPrototypeOf(instance) as Record<"definition", unknown>;
    const there = object.definition;
    object.definition = otherwise;
    return () => {
      object.definition = there;
    };
  });

const isAway = (): Promise<string> => Promise.reject(new Error("the team is away"));

const neverAnswers = (): Promise<string> => new Promise(() => undefined);

let revisions = 0;

/** Takes a session to a revision whose definition no isolate knows yet, and out of memory. */
const pinUnknownRevision = async (session: Session): Promise<void> => {
  const { revision } = (await session.call("GET")).body;
  const text = `Played text ${(revisions += 1)}.`;
  const older = (await teamStub().definition(String(revision)))?.replace("Plays text.", text) ?? "";
  const pinned = revisionOf(JSON.parse(older) as Json);
  await tenantStub().keepDefinition(pinned, older);
  await session.evict();
  await session.sql(`UPDATE threads SET state = json_set(state, '$.session.revision', '${pinned}')`);
};

test.each([
  ["is away", isAway],
  ["never answers", neverAnswers],
])(
  "★ RE-2 CF-33 AP-10: whoever asks a session whose definition cannot be read is told to try again, by any way in: the team %s",
  async (_what, otherwise) => {
    const session = await create("ask", "Go");
    await session.settled();
    await pinUnknownRevision(session);
    const back = await answerDefinitions(otherwise);
    const upgrade = { headers: { Upgrade: "websocket" } };
    const explained = { agent: "ask", tool: "fire", input: {}, session: session.id };
    const answers = await Promise.all([
      session.call("GET"),
      session.call("POST", "/fork", { body: { at: 1 } }),
      request("GET", `/sessions/${session.id}/ws`, upgrade),
      request("GET", `/sessions/${session.id}/events?live=sse`),
      api("POST", "/permissions/explain", { body: explained }),
    ]);
    back();
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
  },
);

test.each([
  ["is away", isAway],
  ["never answers", neverAnswers],
])("★ RE-2 AP-10: whoever forks a session is told to try again: the source %s", async (_what, otherwise) => {
  const source = await create("text", "Go");
  await source.quiet();
  const answers = [otherwise];
  await replaceMethod(
    source.stub(),
    "forkSource",
    (there) =>
      (...args) =>
        answers.pop()?.() ?? there(...args),
  );
  const refused = await source.call("POST", "/fork", { body: { at: 1 } });
  expect(refused).toMatchObject({ status: 503, body: { code: "overloaded" } });
  expect((await source.call("POST", "/fork", { body: { at: 1 } })).status).toBe(201);
});

test("★ AP-22 RE-V8: an answer that an open socket brings while the definition cannot be read ends the socket; sent again it counts once", async () => {
  const session = await create("ask", "Go");
  await session.settled();
  const watch = await session.watch();
  await watch.until(({ type }) => type === "live");
  const [ask] = (await session.call("GET")).body["open_asks"] ?? [];
  await pinUnknownRevision(session);
  const back = await answerDefinitions(isAway);
  const answer = { decision: "answer", text: "red" };
  const frame = { type: "answer", id: "a1", ask: String(ask), answer };
  watch.send(frame);
  expect(await watch.closed()).toBe(1013);
  expect(watch.frames.at(-1)).toMatchObject({ type: "bye", code: 1013, resume_after: watch.events.length });
  back();
  const again = await session.watch({ after: watch.events.length });
  again.send(frame);
  expect(await again.until(({ id }) => id === "a1")).toMatchObject({ type: "result", replayed: false });
  again.send(frame);
  await again.event("run_end");
  await session.settled();
  expect([...watch.events, ...again.events]).toEqual(await session.events());
  again.close();
});

test.each([
  ["is away", () => Promise.reject(new Error("the tenant is away"))],
  ["never answers", neverAnswers],
])(
  "★ RE-2 AP-10: a session whose definition cannot be kept is not created, and its caller is told to try again: the tenant %s",
  async (what, otherwise) => {
    const tenant = what.replace(" ", "-");
    const scopes = ["sessions:read", "sessions:write"];
    const { body } = await api("POST", "/keys", { body: { tenant, scopes } });
    const key = String(body["key"]);
    await replaceMethod(tenantStub(tenant), "keepDefinition", () => otherwise);
    const refused = await api("POST", "/sessions", { body: { agent: "text", ref: "kept" }, key });
    expect(refused).toMatchObject({ status: 503, body: { code: "overloaded" } });
  },
);

test("★ RE-C37 RE-2: a session that was dropped after a failure while a call waited for another object is not missing to that call", async () => {
  const session = await create("slow", "Go");
  while ((await session.peek()).alarm !== null) await scheduler.wait(5);
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  await replaceMethod(tenantStub(), "wasDeleted", () => async () => {
    asked.resolve();
    await answered.promise;
    return false;
  });
  const deleting = session.call("DELETE", "", { headers: { "Idempotency-Key": "gone" } });
  await asked.promise;
  const broken = "BEFORE INSERT ON turns BEGIN SELECT RAISE(ABORT, 'disk broken'); END";
  await session.sql(`CREATE TRIGGER broken ${broken}`);
  // The alarm is back once the drive has failed to store the answer.
  while ((await session.peek()).alarm === null) await scheduler.wait(5);
  answered.resolve();
  expect(await deleting).toMatchObject({ status: 503, body: { code: "overloaded" } });
  await session.sql("DROP TRIGGER broken");
  await session.settled();
  expect((await session.call("GET")).status).toBe(200);
});

test("RE-C37 AP-13: a socket whose frames wait for the team while the session is dropped after a failure stays, and each is answered", async () => {
  const session = await create("slow", "Go");
  const { body } = await session.call("POST", "/tokens", { body: {} });
  while ((await session.peek()).alarm !== null) await scheduler.wait(5);
  const watch = await session.watch();
  await watch.until(({ type }) => type === "live");
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  await replaceMethod(teamStub(), "authenticate", (there) => async (token) => {
    asked.resolve();
    await answered.promise;
    return there(token);
  });
  watch.send(
    { type: "auth", token: body["token"] },
    { type: "send", id: "c1", input: { content: "Later", on_busy: "queue" } },
  );
  await asked.promise;
  await session.sql(
    "CREATE TRIGGER broken BEFORE INSERT ON turns BEGIN SELECT RAISE(ABORT, 'disk broken'); END",
  );
  // The alarm is back once the drive has failed to store the answer.
  while ((await session.peek()).alarm === null) await scheduler.wait(5);
  await session.sql("DROP TRIGGER broken");
  answered.resolve();
  await watch.until((frame) => frame.type === "result" && frame["id"] === "c1");
  expect(watch.ended).toBeNull();
  watch.close();
});
