import { expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../../../src/tools/define-tool.ts";
import { coder, crew, delegate, endings, eventsAs, lead, leadEnds } from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { done, replies, said } from "../../support/scripts.ts";
import type { Play, PlayOptions } from "../loop/play.ts";
import { ends, lastResult, onlyAsk, play, run } from "../loop/play.ts";

/** A run ends after turns in a row without progress, from YAML to its end (SE-43). */

const edit = defineTool({
  name: "edit",
  description: "Changes a file.",
  safety: "idempotent",
  params: z.strictObject({ fail: z.boolean().default(false).describe("Fails.") }),
  run: ({ fail }) =>
    fail ? { content: "no", isError: true } : { content: "ok", changes: [{ path: "a.txt", op: "modify" }] },
});

const command = defineTool({
  name: "command",
  description: "Runs a command.",
  params: z.strictObject({}),
  does: ["exec"],
  acts: () => [],
  run: () => ({ content: "ran" }),
});

const read = said(["look", {}]);
const edits = said(["edit", {}]);
const status = said(["report_status", { status: "Thinking." }]);
const cut = "{ reply: [{ text: Well }], finish: length }";
const empty = "{ reply: [] }";

const agent = (turns: number, more = ""): string =>
  `guards: { tool_loops: false }\noptions: { no_progress_turns: ${turns}${more} }`;

/** How a run of these replies ends, and after how many turns. */
const endOf = async (
  turns: number,
  script: readonly string[],
  { more = "", ...options }: PlayOptions & { readonly more?: string } = {},
): Promise<string> => {
  const { bench } = await run(replies(...script, done), {
    agent: agent(turns, more),
    tools: [edit, command],
    ...options,
  });
  return `${ends(bench).join()} ${lastResult(bench).turns}`;
};

const stopped = (turns: number): string => `failed:no_progress ${turns}`;
const finished = (turns: number): string => `completed:end_turn ${turns}`;

test("SE-43 AP-28: with K = 2, an edit and then reads, the run ends on turn 3", async () => {
  const { bench } = await run(replies(edits, read, read, done), { agent: agent(2), tools: [edit] });
  expect(ends(bench)).toEqual(["failed:no_progress"]);
  expect(bench.requests).toHaveLength(3);
  expect(lastResult(bench)).toMatchObject({ no_progress_detected: true, turns: 3, reason: "no_progress" });
  expect(lastResult(bench).error).toContain("no_progress_turns: 2");
});

test.each<[string, number, readonly string[], string]>([
  ["before the first edit any executed call is progress", 2, [read, read, read, read], finished(5)],
  ["so is one that failed", 1, [said(["look", { fail: true }]), said(["edit", { fail: true }])], finished(3)],
  ["a denied call is none", 2, [said(["fire", {}]), said(["fire", {}])], stopped(2)],
  ["report_status is none", 2, [status, status], stopped(2)],
  ["recall is none", 1, [said(["recall", { id: "b1" }])], stopped(1)],
  ["text that was cut is none", 2, [cut, cut], stopped(2)],
  ["empty replies do not count either way", 1, [read, empty, empty, read], finished(5)],
  ["they do not break a row", 2, [cut, empty, cut], stopped(3)],
  ["later only an edit is progress", 2, [edits, read, edits, read, edits, read], finished(7)],
  [
    "a failed edit is none",
    2,
    [edits, said(["edit", { fail: true }]), said(["edit", { fail: true }])],
    stopped(3),
  ],
  [
    "a command is progress where nobody names what it changed",
    1,
    [edits, said(["command", {}])],
    finished(3),
  ],
  ["a run that ends by itself in that turn ends by itself", 1, [edits], finished(2)],
  ["0 switches it off", 0, [status, status, status], finished(4)],
])("SE-43: %s", async (_, turns, script, end) => {
  const team = "permissions: { rules: [{ tool: fire, action: deny }] }";
  expect(await endOf(turns, script, { team })).toBe(end);
});

test("SE-43: a result from the cache is no progress", async () => {
  expect(await endOf(2, [read, read, read], { more: ", cache_tool_results: true" })).toBe(stopped(3));
});

test("SE-43: an answered question is progress until the first edit", async () => {
  const { bench } = await play(replies(said(["ask_user", { question: "Which?" }]), read, done), {
    agent: agent(1),
  });
  bench.send("Go");
  await bench.idle();
  bench.ok("answer", { ask: onlyAsk(bench), decision: "answer", text: "This" });
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("SE-43: a child that edited is progress of its caller, and one that only read is none", async () => {
  const ended = async (work: string): Promise<readonly string[]> => {
    const made = await crew(
      [
        lead(
          [edits, said(delegate("coder")), done],
          `${agent(1)}\ndelegation: {}`.replace("guards: { tool_loops: false }\n", ""),
        ),
        coder([work, done]),
      ],
      { tools: [edit] },
    );
    made.bench.send("Go");
    await made.bench.idle();
    return leadEnds(made);
  };
  expect(await ended(edits)).toEqual(["completed:end_turn"]);
  expect(await ended(read)).toEqual(["failed:no_progress"]);
});

test("SE-43 AG-25: a child that makes no progress has failed, with its last words for its caller", async () => {
  const made = await crew([
    lead([said(delegate("coder")), done], "delegation: {}"),
    coder(
      [`{ reply: [{ text: On it. }, { call: report_status, args: { status: a } }] }`],
      "options: { no_progress_turns: 1 }",
    ),
  ]);
  made.bench.send("Go");
  await made.bench.idle();
  const [end] = eventsAs(made, "tool_call_end").filter(({ thread }) => thread === "main");
  expect(end?.data.outcome).toBe("error");
  expect(JSON.stringify(end?.data.output)).toContain("no_progress");
  expect(JSON.stringify(end?.data.output)).toContain("On it.");
  expect(leadEnds(made)).toEqual(["completed:end_turn"]);
});

test("SE-26 SE-43: a steered input joins the run that would end without progress, and the turn after it is judged", async () => {
  const { bench, probe } = await play(replies(said(["put", {}]), cut, cut, done), {
    agent: agent(1),
    instant: false,
  });
  bench.send("Go");
  await bench.steps();
  bench.hold = true;
  probe.calls[0]?.finish();
  await bench.steps();
  bench.send("More", { on_busy: "steer" });
  bench.release();
  await bench.idle();
  expect(ends(bench)).toEqual(["failed:no_progress"]);
  expect(lastResult(bench).turns).toBe(3);
});

test("SE-26 SE-43: a run that gives its answer while somebody steers goes on", async () => {
  const { bench } = await play(replies(read, said("All done."), done), { agent: agent(1) });
  bench.send("Go");
  bench.hold = true;
  while (bench.requests.length < 2) {
    bench.release();
    bench.hold = true;
    await bench.steps();
  }
  bench.send("More", { on_busy: "steer" });
  bench.release();
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("SE-43: an agent that waits for its background children gets what they report", async () => {
  const made = await crew([
    lead([said(delegate("coder")), done]),
    coder(
      [said(delegate("w", { async: true })), said("Waiting."), said("All done.")],
      "options: { no_progress_turns: 1 }\ndelegation: { async: true }",
    ),
    { name: "w", script: replies(said("W.")), yaml: "" },
  ]);
  made.bench.send("Go");
  await made.bench.idle();
  expect(endings(made)).toContain("coder completed:end_turn");
});

test("SE-43: repair turns do not count", async () => {
  const more = ", response_format: json_schema, response_schema: { type: object, required: [a] }";
  const made: Play = await run(replies(edits, said("no"), said("no"), said('{"a":1}')), {
    agent: agent(1, more),
    tools: [edit],
  });
  expect(ends(made.bench)).toEqual(["completed:end_turn"]);
});

test("SE-43, C24: whatever write the power is cut at, the run ends on the same turn", async () => {
  for (let write = 1, cutOff = true; cutOff; write++) {
    const { bench } = await play(replies(edits, read, status, done), { agent: agent(2), tools: [edit] });
    bench.send("Go");
    const before = bench.writes();
    bench.cutAt(write);
    await bench.idle();
    bench.cutAt(null);
    cutOff = bench.writes() >= before + write;
    expect(ends(bench)).toEqual(["failed:no_progress"]);
    expect(lastResult(bench).turns).toBe(3);
    checkInvariants(bench, []);
  }
});
