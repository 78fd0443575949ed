import { expect, test } from "vitest";
import { executionsOf, letGo } from "../support/worker/probe.ts";
import { create } from "../support/worker/session.ts";

/** Requests that wait for a run, while the session's object does not last as long. */

test("AP-18: a request that waits for a run outlives crashes of the object, and answers with the run", async () => {
  const session = await create("held");
  const answer = session.call("POST", "/messages", { body: { content: "Go", wait: 60 } });
  while (executionsOf(session.id).length === 0) await scheduler.wait(2);
  await session.crash();
  await session.crash();
  session.rush();
  letGo(session.id);
  expect(await answer).toMatchObject({ status: 200, body: { state: "completed", turns: 2 } });
});
