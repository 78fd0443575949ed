import { expect, test } from "vitest";
import type { NoteEntry, TranscriptEntry } from "../../src/client/transcript.ts";
import { describeNote, isToldLater } from "../../src/console/conversation/sentences.ts";

/** AP-54: notes stand in the log as long as they are news. */

const entryOf = (kind: TranscriptEntry["kind"], rest: object): TranscriptEntry =>
  ({ kind, id: "e", seq: 1, at: 0, run: "run_1", ...rest }) as unknown as TranscriptEntry;

const noteOf = (type: NoteEntry["event"]["type"], data: object, attempt = 1): NoteEntry =>
  entryOf("note", { event: { type, data, attempt }, ask: null }) as NoteEntry;

const aborted = (attempt: number, retryAt: number | null = 5): NoteEntry =>
  noteOf("attempt_aborted", { items: [], code: "network", retry_at: retryAt }, attempt);

test("AP-54: that a model call is tried again is said until its run goes on or ends", () => {
  const failed = aborted(2);
  expect(describeNote(failed.event)).toBe(
    "The model could not be reached (try 2). It is tried again by itself.",
  );
  const isTold = (...later: readonly TranscriptEntry[]): boolean => isToldLater(failed, later);
  const warning = noteOf("budget_warning", {});
  const reply = entryOf("message", { role: "assistant" });
  expect([isTold(), isTold(warning), isTold(entryOf("call", { run: "run_2" }))]).toEqual([
    false,
    false,
    false,
  ]);
  expect([isTold(aborted(3)), isTold(reply), isTold(warning, reply), isTold(noteOf("run_end", {}))]).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(isToldLater(aborted(4, null), [noteOf("run_end", {})])).toBe(false);
});

test("AP-54: of a tool server that cannot be used the reason is said, too", () => {
  const status = (data: object) => describeNote(noteOf("mcp_status", { server: "shop", ...data }).event);
  expect(status({ state: "failed", error: "the port is closed" })).toBe(
    "The tool server shop cannot be reached: the port is closed",
  );
  expect(status({ state: "auth_needed", error: "the server refused the credentials" })).toBe(
    "The tool server shop does not let the agent in: the server refused the credentials",
  );
  expect(status({ state: "failed" })).toBe("The tool server shop cannot be reached");
  expect(status({ state: "connected", tools: ["order_status"] })).toBeNull();
});
