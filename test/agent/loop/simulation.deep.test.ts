import { expect, test } from "vitest";
import { playSchedule, stageOf } from "../../session/schedule.ts";
import { seedsOf } from "../../support/random-size.ts";

test("RE-8 SE-3 SE-6 SE-31 SE-45 AP-24: 1 000 random schedules of 10 sequences keep every invariant and every chat valid", async () => {
  const seen = new Map<string, number>();
  for (const { stage, seeds } of seedsOf(25, 1_000)) {
    const set = await stageOf(stage);
    for (const seed of seeds) {
      for (const bench of await playSchedule(set, seed, 10))
        for (const type of bench.types()) seen.set(type, (seen.get(type) ?? 0) + 1);
    }
  }
  // A schedule that never gets anywhere proves nothing.
  for (const type of [
    "attempt_aborted",
    "steering_injected",
    "input_returned",
    "messages_retired",
    "ask_expired",
    "ask_cancelled",
    "ask_resolved",
    "run_waiting",
    "tool_cache_hit",
    "input_withdrawn",
    "plan_created",
  ])
    expect(seen.get(type) ?? 0, `${type} happened`).toBeGreaterThan(10);
  expect(seen.get("session_created"), "forks happened").toBeGreaterThan(1_300);
});
