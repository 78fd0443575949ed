import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { ProviderGate } from "../../durable-objects/provider-gate.ts";
import { create } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

/** A session at rest costs nothing: the platform can take its object out of memory, since no timer runs and no request is open. */

/** Less than any timer of the runtime that could be left, and far more than an eviction takes. */
const atOnceMs = 4_000;

const expectSleep = async (session: Session): Promise<void> => {
  const before = Date.now();
  await session.evict();
  expect(Date.now() - before, "something keeps the object in memory").toBeLessThan(atOnceMs);
};

const endOf = async (session: Session): Promise<unknown> =>
  (await session.events()).findLast(({ type }) => type === "run_end")?.data;

/** Has sessions of these agents complete a run, and then leave memory. */
const expectSleepAfterRuns = async (agents: readonly string[]): Promise<void> => {
  const sessions = await Promise.all(agents.map((agent) => create(agent, "Go on")));
  for (const session of sessions) {
    await session.quiet();
    await expectSleep(session);
    expect(await endOf(session)).toMatchObject({ state: "completed" });
  }
};

test("SE-34: a session leaves memory when it has used its workspace: files, commands, the check of an edit", () =>
  expectSleepAfterRuns(["worker", "checker"]));

test("SE-34: a session whose command was cut off by a cancel leaves memory", async () => {
  const session = await create("sleeper");
  const watch = await session.watch();
  await session.send("i1", "Go on");
  await watch.event("tool_call_start");
  await session.call("POST", "/cancel", { body: {} });
  await session.quiet();
  await expectSleep(session);
  expect(await endOf(session)).toMatchObject({ state: "cancelled" });
  watch.close();
});

test("SE-34 MO-28: a session that rests while a model cools down leaves memory", async () => {
  const { ProviderGate: gates } = exports as unknown as {
    readonly ProviderGate: DurableObjectNamespace<ProviderGate>;
  };
  const gate = gates.getByName("retry-script");
  await gate.report("retry-model", "overloaded", true);
  const session = await create("retry", "Go on");
  await session.quiet();
  await expectSleep(session);
  await gate.resetHealth();
});

test("SE-34: a session leaves memory after answers that do not end: of a site, an MCP server and a model", () =>
  expectSleepAfterRuns(["reader", "borrower", "speaker"]));

test("SE-34: a session leaves memory when a cancel has cut off a model's reply", async () => {
  const session = await create("speaker");
  const watch = await session.watch();
  await session.send("i1", "Say half of it");
  await watch.until(({ type }) => type === "delta");
  await session.call("POST", "/cancel", { body: {} });
  await session.quiet();
  await expectSleep(session);
  expect(await endOf(session)).toMatchObject({ state: "cancelled" });
  watch.close();
});
