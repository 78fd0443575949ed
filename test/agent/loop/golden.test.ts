import { expect, test } from "vitest";
import { crew, delegate } from "../../support/crew.ts";
import { playVerify, write } from "../turn/verify-play.ts";
import { dataOf, headOf, onlyAsk, play, typesAfter } from "./play.ts";
import { replies, said } from "../../support/scripts.ts";

/** SE-46, row by row and in full. */

const opening = ["input_accepted", "run_start", "agent_start", "input_applied", "message_added"];

const request = ["llm_request_preparing", "llm_request_start"];

const closing = ["turn_metrics", "turn_end"];

/** The end of a call that ran. */
const callEnd = ["tool_call_end", "episode_recorded"];

const ending = ["agent_end", "run_end"];

const answer = [...request, "llm_text", "llm_finish", "message_added", ...closing, ...ending];

test("SE-46 text: with reasoning", async () => {
  const { bench } = await play("replies: [{ reply: [{ reasoning: Hm. }, { text: Hello. }] }]");
  bench.send("Hi");
  await bench.idle();
  expect(typesAfter(bench, 1)).toEqual([
    ...opening,
    "turn_start",
    ...request,
    "llm_reasoning",
    "llm_text",
    "llm_finish",
    "message_added",
    ...closing,
    ...ending,
  ]);
});

test("SE-46 text SE-36: a window that is nearly full is warned of between the message and the turn's end", async () => {
  const { bench } = await play(
    "replies: [{ reply: [{ text: Hello. }], usage: { input: 120000, output: 5 } }]",
  );
  bench.send("Hi");
  await bench.idle();
  expect(typesAfter(bench, 1)).toEqual([
    ...opening,
    "turn_start",
    ...request,
    "llm_text",
    "llm_finish",
    "message_added",
    "context_window_warning",
    ...closing,
    ...ending,
  ]);
});

test("SE-46 tools: file changes follow the end of the call that made them", async () => {
  const { bench, probe } = await play(
    "replies: [{ reply: [{ call: put, args: { name: a } }, { call: look, args: { name: b } }] }, { reply: [{ text: Done. }] }]",
    { instant: false },
  );
  bench.send("Go");
  await bench.steps();
  probe.instant = true;
  probe.calls[0]?.finish({ content: "ok", changes: [{ path: "a.txt", op: "create" }] });
  await bench.idle();
  expect(typesAfter(bench, 7)).toEqual([
    ...request,
    "llm_tool_prepare",
    "llm_tool_prepare",
    "llm_finish",
    "message_added",
    "tool_call_start",
    ...callEnd,
    "file_change",
    "tool_call_start",
    ...callEnd,
    "message_added",
    "message_added",
    ...closing,
    "turn_start",
    ...answer,
  ]);
});

test("SE-46 tools SE-41: the note about failed calls follows the results", async () => {
  const { bench } = await play(replies(said(["look", { fail: true }]), said("Done.")));
  bench.send("Go");
  await bench.idle();
  expect(typesAfter(bench, 12)).toEqual([
    "tool_call_start",
    ...callEnd,
    "message_added",
    "message_added",
    ...closing,
    "turn_start",
    ...answer,
  ]);
});

test("SE-46 steer", async () => {
  const { bench, probe } = await play(
    "replies: [{ reply: [{ call: put, args: { name: a } }, { call: put, args: { name: b } }] }, { reply: [{ text: Ok. }] }]",
    { instant: false },
  );
  bench.send("Go");
  await bench.steps();
  const before = headOf(bench);
  bench.send("No", { on_busy: "steer" });
  probe.calls[0]?.finish();
  await bench.idle();
  expect(typesAfter(bench, before)).toEqual([
    "input_accepted",
    "tool_call_end",
    ...callEnd,
    "message_added",
    "message_added",
    ...closing,
    "input_applied",
    "steering_injected",
    "message_added",
    "turn_start",
    ...answer,
  ]);
});

const planned = [...request, "llm_text", "llm_finish", "message_added", "plan_created"];

test("SE-46 plan", async () => {
  const { bench } = await play(replies(said("The plan."), said("Done.")), {
    agent: "options: { plan_before_execute: true }",
  });
  bench.send("Go");
  await bench.idle();
  expect(typesAfter(bench, 1)).toEqual([...opening, ...planned, "message_added", "turn_start", ...answer]);
});

test("SE-46 plan: with an approval, after one that was denied", async () => {
  const { bench } = await play(replies(said("The plan."), said("Another."), said("Done.")), {
    agent: "options: { plan_before_execute: approve }",
  });
  bench.send("Go");
  await bench.idle();
  bench.ok("answer", { ask: onlyAsk(bench), decision: "deny", message: "No" });
  await bench.idle();
  bench.ok("answer", { ask: onlyAsk(bench), decision: "approve" });
  await bench.idle();
  const asked = [...planned, "ask_user", "run_waiting", "ask_resolved", "run_resumed", "message_added"];
  expect(typesAfter(bench, 1)).toEqual([...opening, ...asked, ...asked, "turn_start", ...answer]);
});

test("SE-46 plan: not approved", async () => {
  const { bench } = await play(replies(said("The plan.")), {
    agent: "options: { plan_before_execute: approve }",
  });
  bench.send("Go");
  await bench.idle();
  bench.ok("answer", { ask: onlyAsk(bench), decision: "deny" });
  await bench.idle();
  const asked = [...planned, "ask_user", "run_waiting", "ask_resolved"];
  expect(typesAfter(bench, 1)).toEqual([...opening, ...asked, ...ending]);
});

const asking = "permissions: { rules: [{ tool: fire, action: ask }] }";

test("SE-46 approval", async () => {
  const { bench } = await play("replies: [{ reply: [{ call: fire }] }, { reply: [{ text: Ok. }] }]", {
    team: asking,
  });
  bench.send("Go");
  await bench.idle();
  bench.ok("answer", { ask: onlyAsk(bench), decision: "approve" });
  await bench.idle();
  expect(typesAfter(bench, 11)).toEqual([
    "message_added",
    "ask_user",
    "tool_call_parked",
    "run_waiting",
    "ask_resolved",
    "run_resumed",
    "tool_call_start",
    ...callEnd,
    "message_added",
    ...closing,
    "turn_start",
    ...answer,
  ]);
});

test("SE-46 question", async () => {
  const { bench } = await play(
    "replies: [{ reply: [{ call: ask_user, args: { question: Which? } }] }, { reply: [{ text: Ok. }] }]",
  );
  bench.send("Go");
  await bench.idle();
  bench.ok("answer", { ask: onlyAsk(bench), decision: "answer", text: "This" });
  await bench.idle();
  expect(typesAfter(bench, 11)).toEqual([
    "message_added",
    "tool_call_start",
    "ask_user",
    "tool_call_parked",
    "run_waiting",
    "ask_resolved",
    ...callEnd,
    "run_resumed",
    "message_added",
    ...closing,
    "turn_start",
    ...answer,
  ]);
});

test("SE-46 child", async () => {
  const { bench } = await crew([
    { name: "lead", script: replies(said(delegate("coder")), said("Done.")) },
    { name: "coder", script: replies(said("Coded.")) },
  ]);
  bench.send("Go");
  await bench.idle();
  const types = bench
    .events()
    .slice(1)
    .map(({ type, thread }) => (thread === "main" ? type : `child ${type}`));
  expect(types).toEqual([
    ...opening,
    "turn_start",
    ...request,
    "llm_tool_prepare",
    "llm_finish",
    "message_added",
    "tool_call_start",
    "tool_call_parked",
    ...["run_start", "agent_start", "input_applied", "message_added"].map((type) => `child ${type}`),
    "run_waiting",
    ...["turn_start", ...answer].map((type) => `child ${type}`),
    ...callEnd,
    "run_resumed",
    "message_added",
    ...closing,
    "turn_start",
    ...answer,
  ]);
});

test("SE-46 retry: the wait is said, and the second attempt has its number", async () => {
  const { bench } = await play("replies: [{ fail: [{ status: 529 }], reply: [{ text: Ok. }] }]");
  bench.send("Go");
  await bench.idle();
  await bench.pass(120_000);
  expect(typesAfter(bench, 7)).toEqual([
    ...request,
    "attempt_aborted",
    "run_waiting",
    "run_resumed",
    ...answer,
  ]);
  const second = bench.events().filter(({ type }) => type === "llm_request_preparing")[1];
  expect(second?.attempt).toBe(2);
});

test("SE-46 crash, unsafe", async () => {
  const { bench } = await play("replies: [{ reply: [{ call: fire }] }, { reply: [{ text: Ok. }] }]", {
    instant: false,
  });
  bench.send("Go");
  await bench.steps();
  bench.crash();
  await bench.idle();
  expect(typesAfter(bench, 12)).toEqual([
    "tool_call_start",
    ...callEnd,
    "message_added",
    ...closing,
    "turn_start",
    ...answer,
  ]);
});

test("SE-46 cancel: during a model call, with its text kept", async () => {
  const { bench } = await play("replies: [{ reply: [{ text: Once upon a time }] }]");
  bench.hold = true;
  bench.send("Go");
  await bench.steps();
  await bench.pass(30);
  bench.ok("cancel");
  await bench.steps();
  expect(typesAfter(bench, 7)).toEqual([
    ...request,
    "llm_text",
    "attempt_aborted",
    "message_added",
    "turn_end",
    ...ending,
  ]);
});

test("SE-46 cancel: during tools, with inputs that go back", async () => {
  const { bench, probe } = await play(
    "replies: [{ reply: [{ call: put, args: { name: a } }, { call: put }] }]",
    {
      instant: false,
    },
  );
  bench.send("Go");
  await bench.steps();
  bench.send("Later", { on_busy: "queue" });
  const before = headOf(bench);
  bench.ok("cancel");
  probe.calls[0]?.fail("aborted");
  await bench.idle();
  expect(typesAfter(bench, before)).toEqual([
    "tool_call_end",
    ...callEnd,
    "message_added",
    "message_added",
    "turn_end",
    "input_returned",
    ...ending,
  ]);
});

test("SE-46 cancel: of a run that waits for an answer", async () => {
  const { bench } = await play("replies: [{ reply: [{ call: ask_user, args: { question: Which? } }] }]");
  bench.send("Go");
  await bench.idle();
  const before = headOf(bench);
  bench.ok("cancel");
  await bench.idle();
  expect(typesAfter(bench, before)).toEqual([
    "ask_cancelled",
    "tool_call_end",
    "message_added",
    "turn_end",
    ...ending,
  ]);
});

test("SE-46 repair: a check that fails has a note and a repair turn without turn events", async () => {
  const { bench } = await playVerify([write("bad"), write("good"), said("Done.")]);
  const call = ["tool_call_start", ...callEnd, "file_change", "message_added"];
  const calling = [...request, "llm_tool_prepare", "llm_finish", "message_added", ...call];
  expect(typesAfter(bench, 7)).toEqual([
    ...calling,
    ...closing,
    "verify",
    "verify",
    "message_added",
    ...calling,
    "verify",
    "verify",
    "turn_start",
    ...answer,
  ]);
  expect(dataOf(bench, "verify").map(({ state }) => state)).toEqual([
    "started",
    "failed",
    "started",
    "passed",
  ]);
  expect(dataOf(bench, "llm_request_preparing").map(({ purpose }) => purpose)).toEqual([
    "turn",
    "repair",
    "turn",
  ]);
});

test("SE-46 failure", async () => {
  const { bench } = await play("replies: [{ fail: [{ status: 401 }], reply: [] }]");
  bench.send("Go");
  await bench.idle();
  expect(typesAfter(bench, 7)).toEqual([...request, "attempt_aborted", "error", "turn_end", ...ending]);
});

test("SE-46 failure: a refusal is stored before the run fails", async () => {
  const { bench } = await play("replies: [{ reply: [{ refusal: No. }] }]");
  bench.send("Go");
  await bench.idle();
  expect(typesAfter(bench, 7)).toEqual([
    ...request,
    "llm_text",
    "llm_finish",
    "message_added",
    "error",
    "turn_end",
    ...ending,
  ]);
});
