import { expect, test } from "vitest";
import { create } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

/** Children in workerd: threads of the session's own object, through aborts and evictions, over the router. */

const typesOf = async (session: Session, type: string): Promise<number> =>
  (await session.events()).filter((event) => event.type === type).length;

const itemsOf = async (session: Session): Promise<unknown> => {
  const end = (await session.events()).find(
    ({ type, thread }) => type === "tool_call_end" && thread === "main",
  );
  return end?.type === "tool_call_end" ? JSON.parse(end.data.output as string) : null;
};

const check = async (session: Session): Promise<void> => {
  expect(await itemsOf(session)).toMatchObject([
    { agent: "hand", state: "completed", result: "It is dug." },
    { agent: "hand", state: "completed", result: "It is dug." },
    { agent: "hand", state: "completed", result: "It is dug." },
  ]);
  expect(await typesOf(session, "agent_start")).toBe(4);
  expect(await typesOf(session, "run_end")).toBe(4);
  expect(await session.sql("SELECT id FROM threads")).toEqual([{ id: "main" }]);
  expect(await session.sql("SELECT count(*) AS n FROM children")).toEqual([{ n: 3 }]);
};

test("AG-15 C18 C20: children end while their object is aborted again and again, and stay readable", async () => {
  for (const crashes of [0, 1, 2, 4]) {
    const session = await create("boss", "Go");
    for (let crash = 0; crash < crashes; crash++) {
      await scheduler.wait(6 * (crash + 1));
      await session.crash();
    }
    await session.settled();
    await check(session);
    await session.quiet();
  }
});

test("AP-3 RE-P2: threads and their messages are read over the API, also after an eviction", async () => {
  const session = await create("boss", "Go");
  await session.settled();
  await session.evict();
  const { body } = await session.call("GET", "/threads");
  const threads = body["data"] as unknown as readonly { id: string; status: string; label?: string }[];
  expect(threads.map(({ status }) => status)).toEqual(["idle", "ended", "ended", "ended"]);
  expect(new Set(threads.map(({ label }) => label))).toEqual(
    new Set(["hand-dig-1", "hand-fill-2", "hand-rake-3", undefined]),
  );
  const dig = threads.find(({ label }) => label === "hand-dig-1");
  const { body: chat } = await session.call("GET", `/messages?thread=${dig?.id}`);
  const messages = chat["data"] as unknown as readonly { role: string; origin: string }[];
  expect(messages.map(({ role, origin }) => `${role} ${origin}`).slice(0, 3)).toEqual([
    "user agent",
    "user agent",
    "assistant agent",
  ]);
  expect((await session.call("GET", "/messages?thread=t_none")).status).toBe(404);
  expect((await session.call("POST", "/cancel", { body: { thread: dig?.id } })).body).toMatchObject({
    run: null,
  });
});
