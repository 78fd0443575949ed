import { expect, test } from "vitest";
import { effectStageOf, playSchedule } from "../session/schedule.ts";
import { seedsOf } from "../support/random-size.ts";

test("EF-2 EF-3 RE-8: 500 random sessions over every combination of effects: each request is valid, no message is lost", async () => {
  const applied = new Map<string, number>();
  const staged = new Map<string, number>();
  for (const { stage, seeds } of seedsOf(50, 500)) {
    const set = await effectStageOf(stage);
    for (const seed of seeds) {
      const played = await playSchedule(set, seed, 14);
      for (const event of played.flatMap((bench) => bench.events())) {
        if (event.type === "effect_applied")
          applied.set(event.data.kind, (applied.get(event.data.kind) ?? 0) + 1);
        if (event.type === "compaction")
          staged.set(event.data.stage, (staged.get(event.data.stage) ?? 0) + 1);
      }
    }
  }
  // Effects that never act prove nothing.
  for (const kind of [
    "observation_mask",
    "sliding_window",
    "compact",
    "trim_tool_results",
    "offload",
    "loop_detect",
    "reflection",
  ])
    expect(applied.get(kind) ?? 0, `${kind} acted`).toBeGreaterThan(10);
  for (const stage of ["mask", "trim", "full", "note", "hard_clear", "failed", "window"])
    expect(staged.get(stage) ?? 0, `${stage} happened`).toBeGreaterThan(5);
});
