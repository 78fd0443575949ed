import { expect, test } from "vitest";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import { eventLine } from "../../src/cli/client/event-line.ts";
import { emptyScreen, writeTranscript } from "../../src/cli/client/screen.ts";
import { play } from "../agent/loop/play.ts";
import { replies, said } from "../support/scripts.ts";
import { foldSince } from "../support/transcripts.ts";

/** What `limpet chat` and `tail` write of what did not work. */

test("AP-53: a failed call and a server that cannot be used are told with their reason", async () => {
  const { bench } = await play(replies(said(["look", { nam: "a" }]), said("Ok.")));
  bench.send("Go on");
  await bench.idle();
  const events = bench.events();
  const status: StoredEvent = {
    v: 1,
    id: "e_new",
    seq: events.length + 1,
    at: 0,
    type: "mcp_status",
    session: "s_1",
    run: "run_1",
    thread: "main",
    agent: { name: "lead", prefix: "" },
    data: { server: "kb", state: "failed", error: "kb.example.com does not answer" },
  };
  const { text } = writeTranscript(foldSince(null, [...events, status]), emptyScreen);
  expect(text).toMatch(/^· look .*error {2}invalid_arguments: /m);
  expect(text).toContain("(MCP server kb failed kb.example.com does not answer)");
  expect(eventLine(status, false)).toContain("mcp_status kb failed kb.example.com does not answer");
});
