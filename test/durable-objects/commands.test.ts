import { expect, test } from "vitest";
import { line, untilRunning } from "../support/worker/sandbox.ts";
import { create } from "../support/worker/session.ts";

test("RE-C26 RE-P8 TB-29: a command whose kill got lost with the object, after the cancel was acknowledged, is ended by the next one", async () => {
  const session = await create("sleeper", "Go");
  await untilRunning(session, 1);
  await line("down", session);
  expect((await session.call("POST", "/cancel", { body: {} })).status).toBe(200);
  await session.crash();
  await line("up", session);
  await session.settled();
  await untilRunning(session, 0);
  const ends = (await session.events()).filter(({ type }) => type === "run_end");
  expect(ends).toMatchObject([{ data: { state: "cancelled", reason: "cancelled" } }]);
  await session.quiet();
});
