import { expect, test } from "vitest";
import * as z from "zod";
import type { Effect } from "../../../src/agent/definition/effect.ts";
import { coder, delegate, eventsAs, lead, mission } from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { done, said } from "../../support/scripts.ts";
import type { Play } from "../loop/play.ts";
import { ends, lastResult, play, refused, roles, run, textsOf } from "../loop/play.ts";

/** Summaries of earlier attempts, from an input to the request (SE-42). */

const twice = "replies: [{ reply: [{ text: One. }] }, { reply: [{ text: Two. }] }]";

const told = async (given: unknown): Promise<Play> => {
  const played = await play(twice);
  played.bench.send("Go", { prior_episode_summaries: given });
  await played.bench.idle();
  return played;
};

const shown = ({ bench }: Play): readonly string[] => (bench.requests[0]?.messages ?? []).map(textsOf);

test("SE-42 AP-18: prior_episode_summaries are one numbered note before the input", async () => {
  const played = await told(["Tried A: red.", " ", "Tried B: red, too."]);
  const { bench } = played;
  expect(shown(played)).toEqual([
    '<note from="episodes">Results of earlier attempts:\n1. Tried A: red.\n2. Tried B: red, too.</note>',
    "Go",
  ]);
  expect(bench.ok("input", { input: "in_1" })).toMatchObject({
    content: [{ type: "text", text: "Go" }],
    prior_episode_summaries: ["Tried A: red.", "Tried B: red, too."],
  });
  bench.send("Again");
  await bench.idle();
  expect(roles(bench)).toEqual(["user", "user", "assistant", "user", "assistant"]);
  checkInvariants(bench, []);
});

test.each([
  ["a JSON array as text", JSON.stringify(["A.", "", "B."]), ["1. A.", "2. B."]],
  ["a text", "Tried A.\n", ["1. Tried A."]],
  ["text that only begins like JSON", "[draft] Tried A.", ["1. [draft] Tried A."]],
  ["a JSON array of other things", "[1]", ["1. [1]"]],
])("SE-42: %s is taken, too", async (_, given, lines) => {
  expect(shown(await told(given))[0]).toContain(`:\n${lines.join("\n")}</note>`);
});

test.each([[[]], [["", " \n"]], [""], ["[]"], ['[" "]']])(
  "SE-42 ★: nothing but blanks (%j) makes no note, and never a bare header",
  async (given) => {
    expect(shown(await told(given))).toEqual(["Go"]);
  },
);

test("SE-42: the newest 8 in at most 4 000 characters, the oldest dropped", async () => {
  const many = Array.from({ length: 12 }, (_, index) => `attempt ${index}`);
  const [note = ""] = shown(await told(many));
  expect(note).toContain("1. attempt 4\n");
  expect(note).toContain("8. attempt 11</note>");
  const inside = (text: string): string => text.replace(/<\/?note[^>]*>/g, "");
  const [long = ""] = shown(await told(["x".repeat(3_000), "y".repeat(3_000), "𝒵".repeat(900)]));
  expect(long).not.toContain("x");
  expect(long).toContain(`1. ${"y".repeat(3_000)}\n2. 𝒵`);
  const [huge = ""] = shown(await told(["z".repeat(9_000)]));
  expect([...inside(huge)].length).toBeLessThanOrEqual(4_000);
  expect(huge).toContain("1. zzz");
});

test("SE-42 AP-2: something else is refused with the field", async () => {
  const { bench } = await play(twice);
  expect(refused(bench, "send", { content: "Go", prior_episode_summaries: [1] })).toBe("invalid_request");
});

test("SE-42 AP-16: the input of a create has them, too", async () => {
  const played = await play(twice, {
    create: { input: { content: "Go", prior_episode_summaries: ["A."] } },
  });
  await played.bench.idle();
  expect(shown(played)[0]).toContain("1. A.");
});

const look = (name: string, fails = false): string =>
  `{ call: look, args: { name: ${name}, fail: ${fails} } }`;

const failing = (calls: string): string =>
  `replies: [{ reply: [${calls}] }, { fail: [{ status: 401 }], reply: [{ text: x }] }, { reply: [{ text: Two. }] }, { reply: [{ text: Three. }] }]`;

const summaryOf = ({ bench }: Play): string => lastResult(bench).episode_summary;

/** A run that failed, and what the next request shows of an input behind it. */
const retried = async (given: object): Promise<readonly string[]> => {
  const { bench } = await run(failing(`${look("a")}, ${look("b", true)}`));
  expect(ends(bench)).toEqual(["failed:provider_auth"]);
  bench.send("Again", given);
  await bench.idle();
  return (bench.requests.at(-1)?.messages ?? []).map(textsOf).slice(-2);
};

test("★ SE-42 AP-18: an input with prior_episode_summaries after a run that failed adds that run's own", async () => {
  const own =
    'look({"name":"b","fail":true}) failed: failed: the probe was told to fail\nlook({"name":"a","fail":false}) ok: look(a) done';
  const note = (lines: string): string =>
    `<note from="episodes">Results of earlier attempts:\n${lines}</note>`;
  expect(await retried({ prior_episode_summaries: [] })).toEqual([note(`1. ${own}`), "Again"]);
  expect(await retried({ prior_episode_summaries: "Tried A." })).toEqual([
    note(`1. Tried A.\n2. ${own}`),
    "Again",
  ]);
  expect(await retried({ prior_episode_summaries: [own] })).toEqual([note(`1. ${own}`), "Again"]);
  expect((await retried({}))[0]).not.toContain("earlier attempts");
});

test("SE-42: a run that completed, or failed without a call, adds nothing, and never a bare header", async () => {
  const completed = await run(twice);
  completed.bench.send("Again", { prior_episode_summaries: [] });
  await completed.bench.idle();
  expect(completed.bench.requests.at(-1)?.messages.map(textsOf)).toEqual(["Go", "One.", "Again"]);
  const idle = await run(
    "replies: [{ fail: [{ status: 401 }], reply: [{ text: x }] }, { reply: [{ text: y }] }]",
  );
  expect(summaryOf(idle)).toBe("");
  idle.bench.send("Again", { prior_episode_summaries: "[]" });
  await idle.bench.idle();
  expect(idle.bench.requests.at(-1)?.messages.map(textsOf).join()).not.toContain("earlier attempts");
});

test("★ SE-42: a summary has the newest 24 calls in at most 2 000 characters, the oldest dropped", async () => {
  const many = Array.from({ length: 30 }, (_, index) => look(`n${index}`)).join(", ");
  const lines = summaryOf(await run(failing(many))).split("\n");
  expect(lines).toHaveLength(24);
  expect(lines[0]).toContain('"n6"');
  expect(lines.at(-1)).toContain('"n29"');
  const long = Array.from({ length: 12 }, (_, index) => look(`${index}${"x".repeat(900)}`)).join(", ");
  const text = summaryOf(await run(failing(long)));
  expect(text.length).toBeLessThanOrEqual(2_000);
  expect(text.split("\n").at(-1)).toMatch(/^look\(\{"name":"11x{150,}…?\) ok: look\(11x+$/);
  expect(text).not.toContain('"name":"0x');
});

test("SE-42 AP-27: each call that ran, or that the cache answered, is an episode right behind its end", async () => {
  const calls = [
    look("a"),
    look("b", true),
    "{ call: fire }",
    `{ call: put, args: { name: ${"x".repeat(300)} } }`,
  ].join(", ");
  const { bench } = await run(
    `replies: [{ reply: [${calls}] }, { reply: [${look("a")}] }, { reply: [{ text: Done. }] }]`,
    {
      agent: "options: { cache_tool_results: true }",
      team: "permissions: { rules: [{ tool: fire, action: deny }] }",
    },
  );
  const events = eventsAs({ bench }, "episode_recorded");
  expect(events.map(({ data: { tool, success } }) => `${tool} ${success}`)).toEqual([
    "look false",
    "look true",
    "put true",
    "look true",
  ]);
  for (const { seq, call } of events) {
    const before = bench.events().find((event) => event.seq === seq - 1);
    expect([before?.type, before?.call]).toEqual(["tool_call_end", call]);
  }
  expect(events[1]?.data).toEqual({
    tool: "look",
    args: '{"name":"a","fail":false}',
    success: true,
    summary: "look(a) done",
  });
  expect([events[2]?.data.args.length, events[2]?.data.summary.length]).toEqual([200, 160]);
});

test("SE-42: a run that completed has its summary, too, and an input with the field does not add it", async () => {
  const { bench } = await run(
    `replies: [{ reply: [${look("a")}] }, { reply: [{ text: Done. }] }, { reply: [{ text: Two. }] }]`,
  );
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(lastResult(bench).episode_summary).toBe('look({"name":"a","fail":false}) ok: look(a) done');
  bench.send("Again", { prior_episode_summaries: [] });
  await bench.idle();
  expect(bench.requests.at(-1)?.messages.map(textsOf).join()).not.toContain("earlier attempts");
  expect(lastResult(bench).episode_summary).toBe("");
});

/** Takes all but the newest messages out of the view before each request. */
const forgetful: Effect = {
  kind: "forgetful",
  description: "Forgets.",
  phase: "before_complete",
  order: "shrink",
  params: z.strictObject({}),
  run: ({ view }) =>
    view.length < 4
      ? {}
      : { edits: [{ retire: { from: view[0]?.id ?? "", to: view.at(-1)?.id ?? "", summary: "What was." } }] },
};

test("SE-42 EF-2: calls that left the view are in the summary all the same, also after a restart", async () => {
  const five = ["a", "b", "c", "d", "e"];
  const script = `replies: [${five.map((name) => `{ reply: [${look(name)}] }`).join(", ")}, { reply: [{ text: Done. }] }]`;
  const { bench } = await play(script, { effects: { effects: [forgetful] } });
  bench.hold = true;
  bench.send("Go");
  for (let step = 0; step < 5; step++) {
    await bench.steps();
    bench.release();
    bench.hold = true;
  }
  bench.crash();
  bench.release();
  await bench.idle();
  expect(
    bench.chat().flatMap(({ parts }) => parts.filter(({ type }) => type === "tool_call")).length,
  ).toBeLessThan(3);
  expect(
    lastResult(bench)
      .episode_summary.split("\n")
      .map((line) => line.slice(0, 16)),
  ).toEqual(five.map((name) => `look({"name":"${name}"`));
});

test("SE-42: the summary of a run has its own calls, not those of its children or of earlier runs", async () => {
  const { bench } = await mission([
    lead(
      [said(["look", { name: "own" }], delegate("coder")), done, said(["look", { name: "later" }]), done],
      "delegation: {}",
    ),
    coder([said(["look", { name: "child" }]), done]),
  ]);
  bench.send("Again");
  await bench.idle();
  const summaries = eventsAs({ bench }, "run_end").map(({ data }) =>
    data.result.episode_summary.split("\n").map((line) => /own|child|later|delegate/.exec(line)?.[0]),
  );
  expect(summaries).toEqual([["child"], ["own", "delegate"], ["later"]]);
});

test("SE-42, C24: whatever write the power is cut at, each call is one episode and one line of the summary", async () => {
  for (let write = 1, cut = true; cut; write++) {
    const { bench } = await play(
      `replies: [{ reply: [${look("a")}, ${look("b")}] }, { reply: [{ text: Done. }] }]`,
    );
    bench.send("Go");
    const before = bench.writes();
    bench.cutAt(write);
    await bench.idle();
    bench.cutAt(null);
    cut = bench.writes() >= before + write;
    expect(eventsAs({ bench }, "episode_recorded")).toHaveLength(2);
    expect(lastResult(bench).episode_summary.split("\n")).toHaveLength(2);
    checkInvariants(bench, []);
  }
});

test("SE-44 AP-28: tool_calls and tool_counts count the calls of children, too", async () => {
  const { bench } = await mission([
    lead([said(["look", { name: "own" }], delegate("coder")), done], "delegation: {}"),
    coder([said(["look", {}], ["put", {}]), done]),
  ]);
  const results = eventsAs({ bench }, "run_end").map(({ data }) => data.result);
  expect(results.map(({ tool_calls, tool_counts }) => [tool_calls, tool_counts])).toEqual([
    [2, { look: 1, put: 1 }],
    [4, { look: 2, delegate_to_agent: 1, put: 1 }],
  ]);
});
