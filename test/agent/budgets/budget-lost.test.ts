import { describe, expect, test } from "vitest";
import type { Bench } from "../../support/bench.ts";
import { scripted } from "../../support/scripts.ts";
import { dataOf, ends, lastResult, play } from "../loop/play.ts";

/** Model time of a call that was lost (EF-37): the time in which nobody was there to end it is not the model's. */

const hour = 3_600_000;

const words = `words ${"words ".repeat(1_500)}`;

const yamlOf = (limit: string, timeouts: string, effects: string): string =>
  scripted(
    `
scenes:
  - { name: sums, when: { purpose: compaction }, reply: [{ text: What was. }] }
  - { name: says, reply: [{ text: "${words}" }] }`,
    `guards: { budget: { max_duration: ${limit} } }`,
  )
    .replace("context_window: 128000", `context_window: 20000\n    ${timeouts}`)
    .replace("effects: []", `effects: ${effects}`);

/** Everything goes while a call is under way, and comes back an hour later; the model time that this took. */
const outage = async (bench: Bench): Promise<number> => {
  await bench.steps();
  const before = bench.state().spent.time;
  await bench.tick(hour);
  bench.crash();
  await bench.steps();
  const { time } = bench.state().spent;
  bench.hold = false;
  bench.release();
  await bench.idle();
  return time - before;
};

const lost = async (
  limit: string,
  timeouts = "timeouts: { total: 2m }",
): Promise<{ readonly bench: Bench; readonly time: number }> => {
  const { bench } = await play("", { yaml: yamlOf(limit, timeouts, "[]") });
  bench.hold = true;
  bench.send("Go");
  return { bench, time: await outage(bench) };
};

describe("EF-37: a lost call", () => {
  test("EF-37: an hour of outage in a turn's call counts as the whole of that call's time, and no more", async () => {
    const { bench, time } = await lost("10m");
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(bench.requests).toHaveLength(2);
    expect(time).toBe(120_000);
  });

  test("EF-37: the budget that this uses up is used up", async () => {
    const { bench } = await lost("2m");
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(lastResult(bench).error).toBe("max_duration: 120 of 120 s of model time are spent");
  });

  test("EF-37: without timeouts of its own a provider's call has 10 minutes", async () => {
    expect((await lost("11m", "")).time).toBe(600_000);
  });

  test("EF-37 EF-26: the same holds for a summary", async () => {
    const effects = "[{ kind: compact, params: { threshold: 0.2 } }]";
    const { bench } = await play("", { yaml: yamlOf("10m", "timeouts: { total: 2m }", effects) });
    for (const input of ["First", "Second"]) {
      bench.send(input);
      await bench.idle();
    }
    bench.hold = true;
    bench.send("Third");
    await bench.steps();
    expect(bench.requests.at(-1)?.context.purpose).toBe("compaction");
    expect(await outage(bench)).toBe(120_000);
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn", "completed:end_turn"]);
    expect(dataOf(bench, "compaction").map(({ stage }) => stage)).toContain("full");
  });
});
