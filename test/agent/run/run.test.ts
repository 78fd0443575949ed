import { expect, test } from "vitest";
import { openBench } from "../../support/bench.ts";
import { createProbe } from "../../support/probe.ts";
import { scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";

test("SE-46 text: an answer in one turn has the golden order of events", async () => {
  const bench = openBench({
    engine: await engineOf(scripted("replies: [{ reply: [{ text: Hello there. }] }]"), {
      toolboxes: [createProbe().toolbox],
    }),
  });
  bench.ok("create");
  bench.send("Hi");
  await bench.idle();
  expect(bench.types()).toEqual([
    "session_created",
    "input_accepted",
    "run_start",
    "agent_start",
    "input_applied",
    "message_added",
    "turn_start",
    "llm_request_preparing",
    "llm_request_start",
    "llm_text",
    "llm_finish",
    "message_added",
    "turn_metrics",
    "turn_end",
    "agent_end",
    "run_end",
  ]);
});

test("SE-46 tools: three parallel calls run, and their results stand in call order", async () => {
  const probe = createProbe();
  const replies = `
replies:
  - reply:
      - text: Looking.
      - { call: look, args: { name: a } }
      - { call: look, args: { name: b } }
      - { call: look, args: { name: c } }
  - reply: [{ text: Done. }]`;
  const bench = openBench({ engine: await engineOf(scripted(replies), { toolboxes: [probe.toolbox] }) });
  bench.ok("create");
  bench.send("Go");
  await bench.idle();
  expect(probe.names()).toEqual(["look(a)", "look(b)", "look(c)"]);
  expect(bench.chat().map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "tool",
    "tool",
    "tool",
    "assistant",
  ]);
  expect(bench.types().slice(9)).toEqual([
    "llm_text",
    "llm_tool_prepare",
    "llm_tool_prepare",
    "llm_tool_prepare",
    "llm_finish",
    "message_added",
    "tool_call_start",
    "tool_call_start",
    "tool_call_start",
    "tool_call_end",
    "episode_recorded",
    "tool_call_end",
    "episode_recorded",
    "tool_call_end",
    "episode_recorded",
    "message_added",
    "message_added",
    "message_added",
    "turn_metrics",
    "turn_end",
    "turn_start",
    "llm_request_preparing",
    "llm_request_start",
    "llm_text",
    "llm_finish",
    "message_added",
    "turn_metrics",
    "turn_end",
    "agent_end",
    "run_end",
  ]);
});

test("SE-34: a drive lasts from the first turn to the last, so that a run sets one alarm and not one a turn", async () => {
  const replies = `
replies:
  - reply: [{ call: look, args: { name: a } }]
  - reply: [{ call: look, args: { name: b } }]
  - reply: [{ text: Done. }]`;
  const bench = openBench({
    engine: await engineOf(scripted(replies), { toolboxes: [createProbe().toolbox] }),
  });
  bench.ok("create");
  bench.send("Go");
  await bench.drive();
  expect(bench.types().at(-1)).toBe("run_end");
});
