import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { anthropicStreams } from "./anthropic-streams.ts";
import { chatStreams } from "./chat-streams.ts";
import { responsesStreams } from "./responses-streams.ts";
import { recordingsFolder, writeRecording } from "./recording.ts";
import type { Recording } from "./recording.ts";

/** Every recording by its file name. Run this file to write them anew. */
export const recordingFiles = (): ReadonlyMap<string, string> =>
  new Map(
    [...anthropicStreams, ...chatStreams, ...responsesStreams].map((recording: Recording) => [
      `${recording.name}.jsonl`,
      writeRecording(recording),
    ]),
  );

if (import.meta.main) {
  mkdirSync(recordingsFolder, { recursive: true });
  for (const [name, text] of recordingFiles()) writeFileSync(join(recordingsFolder, name), text);
}
