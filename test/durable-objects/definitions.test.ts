import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { Json } from "../../src/chat/message.ts";
import { revisionOf } from "../../src/config/revision.ts";
import { teamStub, tenantStub } from "../support/worker/directories.ts";
import { create } from "../support/worker/session.ts";

test("★ CF-33: once a session is acknowledged the team has the definition that it pins, so a deploy finds it", async () => {
  const sessions = await Promise.all(["text", "text", "text"].map((agent) => create(agent)));
  const revisions = await Promise.all(
    sessions.map(async (session) => String((await session.call("GET")).body["revision"])),
  );
  for (const revision of revisions) {
    const definition = await teamStub().definition(revision);
    expect(JSON.parse(definition ?? "null")).toMatchObject({ format: 1, entry_agent: "text" });
  }
  await evictDurableObject(teamStub());
  expect(await teamStub().definition(revisions[0] ?? "")).not.toBeNull();
});

/** Has the team's object refuse definitions until the answer is called. */
const away = (): Promise<() => void> =>
  runInDurableObject(teamStub(), (instance) => {
    const object = Object.getPrototypeOf(instance) as Record<"definition", unknown>;
    const there = object.definition;
    object.definition = () => Promise.reject(new Error("the team is away"));
    return () => {
      object.definition = there;
    };
  });

test("RE-2 SE-33 CF-33: a session of an older revision outlasts a team that does not answer: its alarm comes again, and its run is not poisoned", async () => {
  const session = await create("ask", "Go");
  await session.settled();
  const { revision } = (await session.call("GET")).body;
  const older = (await teamStub().definition(String(revision)))?.replace("Plays text.", "Played text.") ?? "";
  const pinned = revisionOf(JSON.parse(older) as Json);
  await tenantStub().keepDefinition(pinned, older);
  await session.evict();
  await session.sql(`UPDATE threads SET state = json_set(state, '$.session.revision', '${pinned}')`);
  const back = await away();
  for (let time = 0; time < 5; time++) {
    expect(await runDurableObjectAlarm(session.stub())).toBe(true);
    expect((await session.peek()).alarm).toBeLessThan(Date.now() + 5_000);
  }
  expect(await session.call("GET")).toMatchObject({ status: 503, body: { code: "overloaded" } });
  back();
  expect(await runDurableObjectAlarm(session.stub())).toBe(true);
  const [ask] = (await session.call("GET")).body["open_asks"] ?? [];
  await session.call("POST", `/asks/${ask}`, { body: { decision: "answer", text: "red" } });
  await session.settled();
  const ends = (await session.events()).filter(({ type }) => type === "run_end");
  expect(ends).toMatchObject([{ data: { state: "completed" } }]);
});
