import { expect, test } from "vitest";
import { line, untilRunning } from "../support/worker/sandbox.ts";
import { create } from "../support/worker/session.ts";

test("★ SE-39 RE-C30: an object that dies while it checks an edit finds the command again, which runs once", async () => {
  const session = await create("checker", "Go");
  for (let check = 0; check < 2; check++) {
    await untilRunning(session, 1);
    await session.crash();
    await untilRunning(session, 0);
  }
  await session.settled();
  const events = await session.events();
  const of = (type: string) => events.filter((event) => event.type === type).map(({ data }) => data);
  const states = ["started", "failed", "started", "passed"];
  expect(of("verify")).toMatchObject(states.map((state) => ({ state })));
  expect(of("tool_call_end").at(-1)).toMatchObject({ tool: "fs_read", output: "run\nrun\n" });
  expect(of("run_end")).toMatchObject([{ state: "completed" }]);
  await session.quiet();
});

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
