import { afterAll, beforeAll, expect, test } from "vitest";
import { brokenInvariants } from "../support/worker/invariants.ts";
import { executionsOf } from "../support/worker/probe.ts";
import { create } from "../support/worker/session.ts";

/** Runs longer than one alarm may live: here an alarm lives 15 ms instead of ten minutes. */

const real = globalThis.setTimeout;
const drive = 600_000;
let drives = 0;

beforeAll(() => {
  const shortened = (run: (...given: unknown[]) => void, ms?: number, ...given: unknown[]) => {
    if (ms === drive) drives += 1;
    return real(run, ms === drive ? 15 : ms, ...given);
  };
  globalThis.setTimeout = Object.assign(shortened, real);
});
afterAll(() => {
  globalThis.setTimeout = real;
});

test("RE-C41 SE-34: a stream that outlives many alarms is one attempt; each alarm rejoins it", async () => {
  const session = await create("slow");
  const watch = await session.watch();
  const before = drives;
  await session.send("i1", "Go");
  await watch.event("run_end");
  expect(drives - before).toBeGreaterThan(10);
  expect(watch.events.filter(({ type }) => type === "llm_request_start")).toHaveLength(1);
  expect(watch.events.filter(({ type }) => type === "attempt_aborted")).toEqual([]);
  await session.quiet();
  expect(await brokenInvariants(session, ["i1"], [watch])).toEqual([]);
  watch.close();
});

test("RE-C41: a run of thirty turns over many alarms loses and doubles no step", async () => {
  const session = await create("loop", "Go");
  await session.settled();
  expect(executionsOf(session.id)).toHaveLength(30);
  expect(await brokenInvariants(session, ["i1"], [])).toEqual([]);
});

test("RE-C41: a crash between two alarms of a run costs one attempt", async () => {
  const session = await create("slow");
  const watch = await session.watch();
  await session.send("i1", "Go");
  await watch.until(({ type }) => type === "delta");
  await scheduler.wait(60);
  await session.crash();
  await session.settled();
  const log = await session.events();
  expect(log.filter(({ type }) => type === "attempt_aborted")).toHaveLength(1);
  expect(await brokenInvariants(session, ["i1"], [watch])).toEqual([]);
});
