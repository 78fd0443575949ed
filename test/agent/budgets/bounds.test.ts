import { expect, test } from "vitest";
import { checkInvariants } from "../../support/invariants.ts";
import { done } from "../../support/scripts.ts";
import { dataOf, ends, openAsks, play, refused, results, run } from "../loop/play.ts";

/** What a session may hold at most (RE-3). */

const asking = (count: number, call: string): string =>
  `{ reply: [${Array.from({ length: count }, (_, n) => call.replace("#", `${count}.${n}`)).join(", ")}] }`;

const question = "{ call: ask_user, args: { question: 'Q#' } }";

test.each([
  ["questions", question, ""],
  [
    "approvals",
    "{ call: fire, args: { name: 'n#' } }",
    "permissions: { rules: [{ tool: fire, action: ask }] }",
  ],
])("RE-3: of 60 %s 50 are open, each of the others is an error result", async (_, call, team) => {
  const { bench, probe } = await run(`replies: [${asking(60, call)}, ${done}]`, { team });
  expect(openAsks(bench)).toHaveLength(50);
  expect(dataOf(bench, "ask_user")).toHaveLength(50);
  const over = dataOf(bench, "tool_call_end");
  expect(over.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 10 }, () => "error"));
  expect(JSON.stringify(over[0]?.output)).toContain("limit: 50 asks of this session are open");
  expect(probe.calls).toEqual([]);
  for (const ask of openAsks(bench)) bench.ok("answer", { ask, decision: "cancel" });
  await bench.idle();
  expect(results(bench)).toHaveLength(60);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  checkInvariants(bench, []);
});

test("RE-3: a place that an answer left is free again", async () => {
  const { bench } = await run(`replies: [${asking(50, question)}, ${asking(1, question)}, ${done}]`);
  for (const ask of openAsks(bench)) bench.ok("answer", { ask, decision: "answer", text: "x" });
  await bench.idle();
  expect(openAsks(bench)).toHaveLength(1);
});

test("RE-3: a session of 1 GiB takes no input, whatever its mode; reads and answers work", async () => {
  const { bench } = await play(`replies: [${asking(1, question)}, ${done}]`);
  bench.stored = 2 ** 30 - 1;
  bench.send("Go");
  await bench.idle();
  bench.stored = 2 ** 30;
  for (const on_busy of ["queue", "steer", "interrupt"])
    expect(refused(bench, "send", { content: "More", on_busy })).toBe("storage_error");
  expect(bench.perform("send", { content: "More", on_busy: "queue" })).toMatchObject({
    problem: { detail: expect.stringMatching(/1 GiB.*begin a new one/) },
  });
  for (const op of ["get", "messages", "events", "snapshot", "inputs", "usage"] as const)
    expect(bench.perform(op).ok, op).toBe(true);
  bench.ok("answer", { ask: openAsks(bench)[0], decision: "answer", text: "x" });
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(refused(bench, "send", { content: "More" })).toBe("storage_error");
});
