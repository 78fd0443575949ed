import { expect, test } from "vitest";
import { deletionDueAt } from "../../../src/agent/loop/next.ts";
import type { Bench } from "../../support/bench.ts";
import { dataOf, onlyAsk, play } from "../loop/play.ts";

/** When sessions at rest are deleted (`retention.session_days`, AP-16). */

const say = "{ reply: [{ text: Hi. }] }";

const asks = "{ reply: [{ call: ask_user, args: { question: Which? } }] }";

const threeDays = { team: "retention: { session_days: 3 }" };

/** Days from now until the session wakes by itself; null = never. */
const wakesIn = (bench: Bench): number | null => {
  const at = bench.alarm();
  return at === null ? null : (at - bench.now()) / 86_400_000;
};

const refusal = (bench: Bench, retention_days: unknown): unknown => {
  const reply = bench.perform("patch", { retention_days });
  return reply.ok ? null : reply.problem;
};

test("CF-14: a session wakes to its end so many days after its last use, and every use moves it", async () => {
  const { bench } = await play(`replies: [${say}, ${say}]`, threeDays);
  await bench.idle();
  expect(wakesIn(bench)).toBe(3);
  await bench.pass(86_400_000);
  expect(wakesIn(bench)).toBe(2);
  bench.send("Go");
  await bench.idle();
  expect(wakesIn(bench)).toBe(3);
  bench.crash();
  await bench.idle();
  expect(wakesIn(bench)).toBe(3);
});

test("CF-14: without days a session at rest never wakes", async () => {
  const { bench } = await play(`replies: [${say}]`);
  bench.send("Go");
  await bench.idle();
  expect(wakesIn(bench)).toBeNull();
  expect(bench.ok("get")).toMatchObject({ retention_days: null });
});

test("CF-14: a run under way, also one that waits for a person, has no end but its own", async () => {
  const { bench } = await play(`replies: [${asks}, ${say}]`, {
    ...threeDays,
  });
  bench.send("Go");
  await bench.idle();
  expect(wakesIn(bench)).toBe(1);
  expect(deletionDueAt(bench.state(), 3)).toBeNull();
  bench.ok("answer", { ask: onlyAsk(bench), decision: "answer", text: "This one." });
  await bench.idle();
  expect(wakesIn(bench)).toBe(3);
});

test("AP-16: a session's own days only shorten the team's, from its creation on or by a PATCH", async () => {
  const own = await play(`replies: [${say}]`, { create: { retention_days: 2 } });
  await own.bench.idle();
  expect([wakesIn(own.bench), own.bench.ok("get")["retention_days"]]).toEqual([2, 2]);

  const { bench } = await play(`replies: [${say}]`, { ...threeDays, create: { retention_days: 30 } });
  await bench.idle();
  expect(wakesIn(bench)).toBe(3);
  expect(bench.ok("patch", { retention_days: 1 })).toMatchObject({ retention_days: 1 });
  expect(wakesIn(bench)).toBe(1);
  bench.ok("patch", { title: "Kept as it was" });
  expect(wakesIn(bench)).toBe(1);
  bench.ok("patch", { retention_days: null });
  expect(wakesIn(bench)).toBe(3);
  expect(dataOf(bench, "session_updated")).toEqual([
    { retention_days: 1 },
    { title: "Kept as it was" },
    { retention_days: null },
  ]);
});

test("AP-10: days are whole, from one to ten years", async () => {
  const { bench } = await play(`replies: [${say}]`);
  for (const days of [0, 1.5, 3_651, "2"])
    expect(refusal(bench, days)).toMatchObject({
      code: "invalid_request",
      errors: [{ pointer: "/retention_days" }],
    });
});
