import { test } from "vitest";
import { effectStageOf, playSchedule, stageOf } from "../session/schedule.ts";
import { checkTranscripts } from "../support/transcripts.ts";

test.each([1, 2, 3, 4, 5, 6, 7, 8])("AP-24 AP-51: seed %i", async (seed) => {
  for (const bench of await playSchedule(await stageOf(seed), seed, 12)) checkTranscripts(bench, []);
  for (const bench of await playSchedule(await effectStageOf(seed), seed, 12)) checkTranscripts(bench, []);
});
