import { expect, test, vi } from "vitest";
import { createIndexReport } from "../../durable-objects/index-report.ts";
import { noSpending } from "../../src/agent/state/budget.ts";
import type { Session } from "../../src/agent/state/session.ts";
import { freshSession } from "../../src/agent/state/session.ts";
import type { SessionSummary } from "../../src/engine/access/rpc.ts";
import type { Decision } from "../../src/session/decisions.ts";
import type { Engine } from "../../src/engine/engine.ts";

/** What a report reads of a session. */
const session = (title: string | null = null): Session =>
  ({
    ...freshSession,
    id: "s_1",
    title,
    head: 7,
    revision: "r_1",
    threads: {},
    spent: noSpending,
    funds: { tenant: { lease: null } },
  }) as unknown as Session;

/**
 * A report over a clock that stands still unless it is moved, and a tenant that fails as long as it is told to and knows
 * the ledger up to an event.
 */
const desk = () => {
  const told: (string | null)[] = [];
  const asked: number[] = [];
  const read: number[] = [];
  const kept: number[] = [];
  const world = {
    now: 0,
    wake: null as number | null,
    failing: false,
    silent: false,
    known: 0,
    answer: null as Promise<never> | null,
  };
  const team = {
    index: async ({ title, head_seq, ledger }: SessionSummary): Promise<number> => {
      if (world.answer !== null) return world.answer;
      if (world.silent) return new Promise(() => undefined);
      if (world.failing) throw new Error("the team is away");
      asked.push(ledger.since);
      if (world.known < ledger.since) return world.known;
      told.push(title);
      kept.push(...(ledger.decisions ?? []).map(({ seq }) => seq));
      return (world.known = head_seq);
    },
  };
  const clock = { alsoWakeAt: (at: number | null) => void (world.wake = at) };
  const engine = {
    revision: "r_1",
    definition: "{}",
    logLine: () => "the index report failed",
    redactor: { holds: () => false },
  };
  const report = createIndexReport(
    () => team,
    () => engine as unknown as Engine,
    clock,
    () => world.now,
    {
      usage: () => [],
      decisions: (since) => {
        read.push(since);
        return [{ seq: since + 1 }] as unknown as readonly Decision[];
      },
    },
  );
  return { report, world, told, asked, read, kept };
};

test("AP-5: news wait two seconds, unless the session comes to rest: then no alarm is left", async () => {
  const { report, world, told } = desk();
  report.touch(0, 0);
  await report.flush(session("a"));
  expect([told, world.wake]).toEqual([[], 2_000]);
  await report.flush(session("a"), true);
  expect([told, world.wake]).toEqual([["a"], null]);
  report.touch(0, 0);
  await report.flush(session("a"), true);
  expect([told, world.wake]).toEqual([["a"], null]);
  world.now = 10_000;
  report.touch(0, 0);
  await report.flush(session("b"));
  world.now = 12_000;
  await report.flush(session("b"));
  expect(told).toEqual(["a", "b"]);
});

test("AP-5: a report that failed is not repeated before its time, even by a session that rests", async () => {
  const { report, world, told } = desk();
  world.failing = true;
  report.touch(0, 0);
  await report.flush(session("a"), true);
  expect([told, world.wake]).toEqual([[], 4_000]);
  world.failing = false;
  await report.flush(session("a"), true);
  expect(told).toEqual([]);
  world.now = 4_000;
  await report.flush(session("a"), true);
  expect([told, world.wake]).toEqual([["a"], null]);
});

test("AP-5: a report that gets no answer is repeated like one that failed", async () => {
  const { report, world, told } = desk();
  world.silent = true;
  report.touch(0, 0);
  vi.useFakeTimers();
  try {
    const flushed = report.flush(session("a"), true);
    await vi.advanceTimersByTimeAsync(20_000);
    await flushed;
  } finally {
    vi.useRealTimers();
  }
  expect([told, world.wake]).toEqual([[], 4_000]);
  world.silent = false;
  world.now = 4_000;
  await report.flush(session("a"), true);
  expect([told, world.wake]).toEqual([["a"], null]);
});

test("AP-40: usage alone waits four seconds, so that turns of a long run share a report; at rest it goes at once", async () => {
  const { report, world, told } = desk();
  report.touch(1, 0);
  await report.flush(session("a"), true);
  world.now = 10_000;
  report.touch(0, 7);
  report.touch(1, 7);
  world.now = 12_000;
  await report.flush(session("a"));
  expect([told, world.wake]).toEqual([["a"], 14_000]);
  world.now = 14_000;
  await report.flush(session("a"));
  expect([told, world.wake]).toEqual([["a", "a"], null]);
  report.touch(1, 7);
  await report.flush(session("a"), true);
  expect(told).toHaveLength(3);
  await report.flush(session("a"), true);
  expect(told).toHaveLength(3);
});

test("★ AP-40: usage whose report failed is reported again, although nothing else is new", async () => {
  const { report, world, told } = desk();
  await report.flush(session("a"), true);
  report.touch(1, 7);
  world.failing = true;
  await report.flush(session("a"), true);
  world.failing = false;
  world.now = 4_000;
  await report.flush(session("a"));
  expect(told).toEqual(["a", "a"]);
});

test("★ AP-40: an isolate takes older usage for reported, and reports it again if its tenant does not know it", async () => {
  const { report, world, told, asked } = desk();
  world.known = 3;
  report.touch(1, 5);
  await report.flush(session("a"), true);
  expect([told, asked]).toEqual([["a"], [5, 3]]);
  report.touch(1, 7);
  await report.flush(session("a"), true);
  expect([told, asked]).toEqual([
    ["a", "a"],
    [5, 3, 7],
  ]);
});

test("RE-P14: the last report of a session has the time of its removal, with or without a key", () => {
  const { report, world } = desk();
  world.now = 5_000;
  for (const key of [null, "k"])
    expect(report.takeFinalSummary(session("a"), key)).toMatchObject({
      status: "deleted",
      removal: { key, at: 5_000 },
    });
});

test("★ RE-P14: the last report of a session keeps no asks, whose texts would not fit the row in which it waits", () => {
  const { report } = desk();
  const ask = { id: "ask_1", question: { text: "x".repeat(60_000) } };
  const asks = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`ask_${n}`, ask]));
  const summary = report.takeFinalSummary({ ...session("a"), asks } as unknown as Session, null);
  expect(JSON.stringify(summary).length).toBeLessThan(10_000);
});

test("★ AP-40 TB-11: a report that failed is repeated from the last event that its tenant confirmed, decisions included", async () => {
  const { report, world, asked, read } = desk();
  report.touch(1, 0);
  await report.flush(session("a"), true);
  report.touch(1, 7, true);
  world.failing = true;
  await report.flush(session("a"), true);
  world.failing = false;
  world.now = 4_000;
  await report.flush(session("a"));
  expect(asked).toEqual([0, 7]);
  expect(read).toEqual([7, 7]);
});

test("★ TB-11: a report that fails while a later one is sent loses none of its decisions", async () => {
  const { report, world, kept } = desk();
  report.touch(1, 0);
  await report.flush(session("a"), true);
  const lost = Promise.withResolvers<never>();
  world.answer = lost.promise;
  report.touch(0, 7, true);
  const first = report.flush({ ...session("b"), head: 9 }, true);
  world.answer = null;
  report.touch(0, 9);
  const second = report.flush({ ...session("c"), head: 11 }, true);
  lost.reject(new Error("the tenant's object was reset"));
  await Promise.all([first, second]);
  world.now = 4_000;
  await report.flush({ ...session("c"), head: 11 }, true);
  expect(kept).toContain(8);
  expect(world.known).toBe(11);
});
