import { expect, test } from "vitest";
import { createIndexReport } from "../../durable-objects/rows/index-report.ts";
import type { Session } from "../../src/agent/state/session.ts";
import type { Engine } from "../../src/engine/engine.ts";

/** What a report reads of a session. */
const session = (title: string | null = null): Session =>
  ({
    id: "s_1",
    title,
    revision: "r_1",
    threads: {},
    funds: { tenant: { lease: null } },
  }) as unknown as Session;

/** A report over a clock that stands still unless it is moved, and a team that fails as long as it is told to. */
const desk = () => {
  const told: (string | null)[] = [];
  const world = { now: 0, wake: null as number | null, failing: false };
  const team = {
    index: async ({ title }: { readonly title: string | null }): Promise<void> => {
      if (world.failing) throw new Error("the team is away");
      told.push(title);
    },
  };
  const clock = { alsoWakeAt: (at: number | null) => void (world.wake = at) };
  const engine = { revision: "r_1", definition: "{}", logLine: () => "the index report failed" };
  const report = createIndexReport(
    () => team,
    () => engine as unknown as Engine,
    clock as never,
    () => world.now,
  );
  return { report, world, told };
};

test("AP-5: news wait two seconds, unless the session comes to rest: then no alarm is left", async () => {
  const { report, world, told } = desk();
  report.touch();
  await report.flush(session("a"));
  expect([told, world.wake]).toEqual([[], 2_000]);
  await report.flush(session("a"), true);
  expect([told, world.wake]).toEqual([["a"], null]);
  report.touch();
  await report.flush(session("a"), true);
  expect([told, world.wake]).toEqual([["a"], null]);
  world.now = 10_000;
  report.touch();
  await report.flush(session("b"));
  world.now = 12_000;
  await report.flush(session("b"));
  expect(told).toEqual(["a", "b"]);
});

test("AP-5: a report that failed is not repeated before its time, even by a session that rests", async () => {
  const { report, world, told } = desk();
  world.failing = true;
  report.touch();
  await report.flush(session("a"), true);
  expect([told, world.wake]).toEqual([[], 4_000]);
  world.failing = false;
  await report.flush(session("a"), true);
  expect(told).toEqual([]);
  world.now = 4_000;
  await report.flush(session("a"), true);
  expect([told, world.wake]).toEqual([["a"], null]);
});
