import * as z from "zod";
import { describe, expect, test } from "vitest";
import { defineTool } from "../../../src/tools/define-tool.ts";
import type { Bench } from "../../support/bench.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { indent, scripted } from "../../support/scripts.ts";
import { insist, settle } from "../../support/power-cut.ts";
import { dataOf, ends, lastResult, onlyAsk, play, textsOf } from "../../agent/loop/play.ts";
import type { Play } from "../../agent/loop/play.ts";

/** Compaction of whole sessions, from YAML to the requests that leave. */

const window = 20_000;
const big = defineTool({
  name: "big",
  description: "Says much.",
  params: z.strictObject({ tokens: z.number().describe("How much.") }),
  safety: "read",
  run: ({ tokens }) => ({ content: `begin ${"x".repeat(4 * tokens)} end` }),
});

/** A run of turns that each call `big`, then an answer. `compactions` are scenes of the summariser. */
const working = (turns: number, tokens: number, ...compactions: readonly string[]): string => {
  const turn = (n: number): string =>
    `- { name: t${n}, when: { purpose: turn, turn: ${n} }, reply: [{ text: "Turn ${n}." }, { call: big, args: { tokens: ${tokens} } }] }`;
  const all = [
    ...compactions,
    ...Array.from({ length: turns }, (_, n) => turn(n + 1)),
    "- { name: done, reply: [{ text: Done. }] }",
  ];
  return `scenes:\n${indent(all.join("\n"), 2)}`;
};
/** The same with 2 500 tokens of text in each turn. */
const talkative = (script: string): string =>
  script.replaceAll(/text: "Turn (\d+)\."/g, 'text: { repeat: "Turn $1. ", times: 1250 }');
const tells = (text: string): string =>
  `- { name: tells, when: { purpose: compaction }, reply: [{ text: "${text}" }] }`;
const down = "- { name: down, when: { purpose: compaction }, fail: [{ status: 529, times: 99 }] }";
const empty = '- { name: empty, when: { purpose: compaction }, reply: [{ text: " " }] }';

const playing = (script: string, effects: string, agent = ""): Promise<Play> =>
  play("", {
    tools: [big],
    yaml: scripted(script, `guards: { tool_loops: false }\n${agent}`)
      .replace("context_window: 128000", `context_window: ${window}`)
      .replace("effects: []", `effects: ${effects}`),
  });

const ran = async (script: string, effects: string, agent = ""): Promise<Bench> => {
  const { bench } = await playing(script, effects, agent);
  bench.send("Do it in src/a.ts.");
  await settle(bench);
  return bench;
};

const stages = (bench: Bench): readonly string[] => dataOf(bench, "compaction").map(({ stage }) => stage);
const purposed = (bench: Bench, purpose: string) =>
  bench.requests.filter(({ context }) => context.purpose === purpose);
const prompts = (bench: Bench): readonly string[] =>
  purposed(bench, "compaction").map(({ messages }) => textsOf(messages[0] ?? { parts: [] }));
const lastShown = (bench: Bench): readonly string[] =>
  purposed(bench, "turn").at(-1)?.messages.map(textsOf) ?? [];

describe("EF-15: compact from YAML", () => {
  const compact = "[{ kind: compact, params: { threshold: 0.8 } }]";

  test("over the threshold old results show one line, without a model; originals stay readable", async () => {
    const bench = await ran(working(12, 1_500), compact);
    expect(stages(bench)[0]).toBe("mask");
    expect(prompts(bench)).toEqual([]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    const masked = lastShown(bench).filter((text) => text.startsWith("[tool result for big: begin xxx"));
    expect(masked.length).toBeGreaterThan(3);
    for (const { parts } of bench.chat().filter(({ role }) => role === "tool"))
      expect(textsOf({ parts }).length).toBeGreaterThan(6_000);
    checkInvariants(bench, []);
  });

  const full = "[{ kind: compact, params: { threshold: 0.6, target: 0.1 } }]";

  test("SE-46 compaction EF-22 EF-28: the range becomes one summary, in the request of this very turn, and is told by events", async () => {
    const bench = await ran(working(7, 2_000, tells("## Goal\\nDo it.")), full);
    expect(stages(bench)).toEqual(["mask", "trim", "full"]);
    const at = bench.types().indexOf("compaction");
    const types = bench.types();
    const begins = types.lastIndexOf("turn_start", at);
    expect(types.slice(begins, types.indexOf("llm_request_start", at))).toEqual([
      "turn_start",
      "llm_request_preparing",
      "llm_request_start",
      "llm_finish",
      "message_added",
      "effect_applied",
      "compaction",
      "compaction",
      "compaction",
      "llm_request_preparing",
    ]);
    const said = dataOf(bench, "compaction").at(-1);
    expect(said).toMatchObject({ effect: "compact", attempts: 1, message: null });
    expect(said?.retired?.count).toBeGreaterThan(4);
    const after = purposed(bench, "turn").find(({ messages }) =>
      textsOf(messages[0] ?? { parts: [] }).startsWith("[Conversation compacted: turns run_1/1–run_1/"),
    );
    expect(after?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(textsOf(after?.messages[0] ?? { parts: [] })).toContain(
      "<request>\nDo it in src/a.ts.\n</request>",
    );
    expect(lastResult(bench).compactions_applied).toBe(3);
    const usage = bench.ledger().map(({ purpose }) => purpose);
    expect(usage).toContain("compaction");
    checkInvariants(bench, []);
  });

  test("EF-19: results that the model has not read are whole in the next request", async () => {
    const bench = await ran(working(7, 2_000, tells("Told.")), full);
    for (const { messages } of purposed(bench, "turn").slice(1)) {
      const newest = messages.at(-1);
      expect(newest?.role).toBe("tool");
      expect(textsOf(newest ?? { parts: [] }).length).toBe("begin  end".length + 8_000);
    }
  });

  test("SE-13 EF-2: an answer that comes in pieces is whole, though a compaction comes between them", async () => {
    const piece = (word: string): string =>
      `{ reply: [{ text: { repeat: "${word} ", times: 2500 } }], finish: length }`;
    const script = `replies: [${piece("first")}, ${piece("second")}, { reply: [{ text: Told. }] }, { reply: [{ text: End. }] }]`;
    const bench = await ran(script, "[{ kind: compact, params: { threshold: 0.3, target: 0.1 } }]");
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    const { text } = lastResult(bench);
    expect([text.split("first").length, text.split("second").length]).toEqual([2_501, 2_501]);
    checkInvariants(bench, []);
  });

  test("★ EF-22: a second compaction takes up the first: one summary in the view", async () => {
    const bench = await ran(working(14, 2_000, tells("Told.")), full);
    expect(stages(bench).filter((stage) => stage === "full").length).toBeGreaterThan(1);
    expect(bench.chat().filter(({ summary }) => summary !== undefined)).toHaveLength(1);
    expect(prompts(bench)[1]).toMatch(/^Update the summary/);
    expect(lastShown(bench)[0]).toContain("<request>\nDo it in src/a.ts.\n</request>");
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, []);
  });

  for (const [name, summariser] of [
    ["a summariser that always fails", down],
    ["an empty summary", empty],
  ] as const) {
    test(`★ EF-23 EF-24: ${name}: nothing is retired, nobody is asked, the run goes on`, async () => {
      const bench = await ran(working(9, 2_000, summariser), full, "max_tokens: 1000");
      const failed = bench
        .events()
        .filter(({ type, data }) => type === "compaction" && "stage" in data && data.stage === "failed");
      const first = failed[0]?.turn ?? 0;
      expect(failed.map(({ turn }) => turn)).toEqual([first, first, first + 3, first + 3]);
      expect(dataOf(bench, "ask_user")).toEqual([]);
      expect(bench.chat().every(({ summary }) => summary === undefined)).toBe(true);
      expect(ends(bench)).toEqual(["completed:end_turn"]);
      checkInvariants(bench, []);
    });
  }

  test("EF-24: on_failure ask asks at any failure; if nobody answers, what fits stays", async () => {
    const asking = full.replace("} }]", ", on_failure: ask } }]");
    const bench = await ran(working(9, 2_000, down), asking, "max_tokens: 1000");
    const turns = bench.events().flatMap(({ type, turn }) => (type === "ask_user" ? [turn ?? 0] : []));
    expect(turns).toHaveLength(2);
    expect((turns[1] ?? 0) - (turns[0] ?? 0)).toBe(3);
    expect(new Set(stages(bench))).toEqual(new Set(["mask", "trim", "failed"]));
    expect(bench.chat().every(({ summary }) => summary === undefined)).toBe(true);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, []);
  });

  test("EF-24: a request does not fit where the whole max output is not left beside it", async () => {
    const prose = talkative(working(6, 10, down));
    const roomy = await ran(prose, full, "max_tokens: 1000");
    expect(new Set(stages(roomy))).toEqual(new Set(["failed"]));
    const bench = await ran(prose, full, "max_tokens: 9000");
    expect(stages(bench).slice(0, 3)).toEqual(["failed", "failed", "note"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, []);
  });

  test("★ EF-24: what does not fit and cannot be summarised is noted, then cleared, and the run goes on", async () => {
    const bench = await ran(working(3, 9_000, down), full);
    expect(stages(bench)).toContain("note");
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(lastShown(bench)[0]).toContain("This note is from the runtime");
    checkInvariants(bench, []);
  });

  test("EF-24: on_failure ask puts what does not fit to a person, and a retry may succeed", async () => {
    const again =
      '- { name: again, when: { purpose: compaction, last: { text: { contains: "try 2" } } }, reply: [{ text: Told. }] }';
    const ask = "[{ kind: compact, params: { threshold: 0.6, target: 0.1, on_failure: ask } }]";
    const { bench } = await playing(talkative(working(6, 10, again, down)), ask, "max_tokens: 9000");
    bench.send("Do it.");
    await bench.idle();
    for (
      let at = bench.alarm();
      at !== null && Object.keys(bench.state().asks).length === 0;
      at = bench.alarm()
    )
      await bench.pass(Math.max(1, at - bench.now()));
    expect(dataOf(bench, "ask_user")[0]?.ask.question?.options).toEqual(["continue", "retry"]);
    bench.ok("answer", { ask: onlyAsk(bench), decision: "answer", selections: ["retry"] });
    await settle(bench);
    expect(stages(bench).slice(-1)).toEqual(["full"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, []);
  });

  test("★ EF-20: killed at any moment, a chunk that was told is not asked again", async () => {
    const prose = talkative(working(7, 10, tells("Told.")));
    const late = "[{ kind: compact, params: { threshold: 0.85 } }]";
    const whole = await ran(prose, late);
    const asked = prompts(whole);
    expect(asked.length).toBeGreaterThan(3);
    expect(asked.some((prompt) => prompt.startsWith("Merge"))).toBe(true);
    for (let kill = 1; kill < asked.length; kill++) {
      const { bench } = await playing(prose, late);
      bench.hold = true;
      bench.send("Do it in src/a.ts.");
      await bench.steps();
      while (prompts(bench).length <= kill) {
        bench.release();
        bench.hold = true;
        await bench.steps();
      }
      bench.hold = false;
      bench.crash();
      await settle(bench);
      const twice = prompts(bench).filter((prompt, index, all) => all.indexOf(prompt) !== index);
      expect(twice, `killed in call ${kill}`).toEqual([asked[kill]]);
      expect(ends(bench)).toEqual(["completed:end_turn"]);
      checkInvariants(bench, []);
    }
  });
});

test("EF-3 C22 C23 ★: a power cut at any write of a compaction: it has happened once or not at all", async () => {
  const effects = "[{ kind: compact, params: { threshold: 0.4, target: 0.1 } }]";
  const script = working(3, 3_500, tells("Told."));
  const whole = await ran(script, effects);
  expect(stages(whole)).toContain("full");
  for (let write = 1; write <= whole.writes(); write++) {
    const { bench } = await playing(script, effects);
    bench.cutAt(write);
    insist(bench, "send", { id: "i1", content: "Do it in src/a.ts." }, "k1");
    await settle(bench);
    expect(stages(bench), `cut at ${write}`).toEqual(stages(whole));
    expect(bench.chat().map(textsOf), `cut at ${write}`).toEqual(whole.chat().map(textsOf));
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, ["i1"]);
  }
});

test("EF-9: an agent without effects of its own compacts all the same, since its window is known", async () => {
  const { bench } = await play("", {
    tools: [big],
    yaml: scripted(talkative(working(9, 10, tells("Told."))))
      .replace("context_window: 128000", `context_window: ${window}`)
      .replace("    effects: []\n", ""),
  });
  bench.send("Do it.");
  await settle(bench);
  expect(stages(bench).length).toBeGreaterThan(0);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("EF-26: summaries are written by summary_provider, and paid for as compaction", async () => {
  const second = `
  - name: cheap
    kind: scripted
    model: small
    context_window: 32000
    script: { script: 1, replies: [], scenes: [{ name: all, reply: [{ text: "Told cheaply." }] }] }
agents:`;
  const effects = "[{ kind: compact, params: { threshold: 0.6, target: 0.1, summary_provider: cheap } }]";
  const { bench } = await play("", {
    tools: [big],
    yaml: scripted(working(7, 2_000))
      .replace("context_window: 128000", `context_window: ${window}`)
      .replace("effects: []", `effects: ${effects}`)
      .replace("\nagents:", second),
  });
  bench.send("Do it.");
  await settle(bench);
  expect(bench.chat().map(textsOf)[0]).toContain("Told cheaply.");
  const rows = bench.ledger();
  expect(rows.filter(({ purpose }) => purpose === "compaction").map(({ provider }) => provider)).toEqual([
    "cheap",
  ]);
  checkInvariants(bench, []);
});

describe("EF-26: one ladder per turn", () => {
  const told = (bench: Bench): readonly string[] =>
    bench
      .events()
      .flatMap((event) =>
        event.type === "compaction" && "stage" in event.data
          ? [`${event.turn} ${event.data["effect"]} ${event.data.stage}`]
          : [],
      );
  const once = "{ kind: compact, params: { threshold: 0.6 } }";

  test("of two compact entries that are both over their thresholds, the first climbs", async () => {
    const bench = await ran(working(3, 4_500, down), `[${once}, ${once}]`, "max_tokens: 1000");
    expect(told(bench)).toEqual(["4 compact failed", "4 compact failed"]);
    expect(prompts(bench)).toHaveLength(3);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, []);
  });

  test("a model with a smaller window is sent what fits it, though the last ladder waits for growth", async () => {
    const script = `scenes: [{ name: big, when: { turn: 1 }, reply: [{ call: big, args: { tokens: 7000 } }, { call: big, args: { tokens: 7001 } }] }, { name: end, reply: [{ text: Done. }] }]`;
    const yaml = scripted(script)
      .replace(
        "effects: []",
        "effects: [{ kind: compact, params: { threshold: 0.4 } }]\n    guards: { context_window: false }",
      )
      .replace(
        "agents:",
        `  - { name: small, kind: scripted, model: play, context_window: 12000, script: { scenes: [{ name: end, reply: [{ text: Done. }] }] } }\nagents:`,
      )
      .replace("context_window: 128000", "context_window: 34000");
    const { bench } = await play("", { tools: [big], yaml });
    bench.send("Go");
    await bench.idle();
    bench.ok("patch", { model: "small/play" });
    bench.send("Go on.");
    await bench.idle();
    const sent = dataOf(bench, "llm_request_start").filter(({ provider }) => provider === "small");
    expect(sent.map(({ purpose }) => purpose)).toEqual(["compaction", "turn"]);
    expect(sent[1]?.estimated_tokens).toBeLessThan(12_000);
  });

  test("one that the API asked for is the ladder of its turn; the next turn has its own", async () => {
    const { bench } = await playing(working(4, 4_500, down), `[${once}]`, "max_tokens: 1000");
    bench.hold = true;
    bench.send("Do it.");
    await bench.steps();
    while (purposed(bench, "turn").length < 3) {
      bench.release();
      bench.hold = true;
      await bench.steps();
    }
    bench.ok("compact");
    bench.hold = false;
    bench.release();
    await settle(bench);
    expect(told(bench).slice(0, 3)).toEqual(["4 api failed", "5 compact failed", "5 compact failed"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, []);
  });
});

describe("EF-25: overflows without any configured effect", () => {
  /** Turn 6 overflows so often before it is answered. */
  const over = (times: number): string =>
    `- { name: over, when: { purpose: turn, turn: 6 }, reply: [{ text: Done. }], fail: [{ status: 413, times: ${times} }] }`;

  test("the ladder runs, and the same turn is asked again", async () => {
    const bench = await ran(working(6, 1_000, over(1), tells("Told.")), "[]");
    expect(dataOf(bench, "compaction").map(({ effect }) => effect)).toContain("overflow");
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(dataOf(bench, "turn_start")).toHaveLength(6);
    checkInvariants(bench, []);
  });

  test("★ the 4th overflow of a turn: hard clear; the 5th: the run fails", async () => {
    const bench = await ran(working(6, 2_500, over(4), tells("Told.")), "[]");
    expect(stages(bench).at(-1)).toBe("hard_clear");
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    const failed = await ran(working(6, 2_500, over(5), tells("Told.")), "[]");
    expect(ends(failed)).toEqual(["failed:context_length_exceeded"]);
    checkInvariants(failed, []);
  });

  test("EF-24: on_failure keep stops after rung 4; an overflow that it leaves unmet is met with rung 6", async () => {
    const keep = "[{ kind: compact, params: { threshold: 1, on_failure: keep } }]";
    const bench = await ran(talkative(working(6, 10, over(1), down)), keep);
    expect(stages(bench)).toEqual(["failed", "failed", "hard_clear"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(dataOf(bench, "turn_start")).toHaveLength(6);
    checkInvariants(bench, []);
    const failed = await ran(talkative(working(6, 10, over(2), down)), keep);
    expect(ends(failed)).toEqual(["failed:context_length_exceeded"]);
  });

  test("an input larger than the window is cut to fit, before anything is sent", async () => {
    const { bench } = await playing(working(0, 0, tells("Told.")), "[]");
    bench.send(`BEGIN ${"x ".repeat(50_000)} END`);
    await settle(bench);
    expect(stages(bench)).toEqual(["hard_clear"]);
    expect(lastShown(bench)[0]).toMatch(/^BEGIN .*characters left out.* END/s);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, []);
  });
});

test("EF-27: POST compact summarises with the person's words, and an empty chat is left alone", async () => {
  const bench = await ran(working(2, 1_000, tells("Told.")), "[]");
  bench.ok("compact", { instructions: "Keep the names." });
  await settle(bench);
  expect(dataOf(bench, "compaction")).toMatchObject([{ effect: "api", stage: "full" }]);
  expect(prompts(bench)[0]).toContain("Keep the names.");
  const asked = prompts(bench).length;
  bench.ok("compact");
  await settle(bench);
  expect(prompts(bench)).toHaveLength(asked);
  checkInvariants(bench, []);
});

test("EF-14: sliding_window from YAML: over three runs one summary, the goal in view, and no orphan", async () => {
  const effects =
    "[{ kind: sliding_window, params: { threshold: 0.3, recent_zone: 3, medium_zone: 3, trim_length: 20 } }]";
  const { bench } = await playing(working(8, 1_500, tells("Told.")), effects);
  for (const goal of ["The first goal.", "The second goal.", "The third goal."]) {
    bench.send(goal);
    await settle(bench);
    const summaries = bench.chat().filter(({ summary }) => summary !== undefined);
    expect(summaries.map(textsOf).join()).toMatch(/^\[Context summary/);
    expect(summaries).toHaveLength(1);
    expect(lastShown(bench).join("\n")).toContain(goal);
  }
  expect(stages(bench).filter((stage) => stage === "window").length).toBeGreaterThan(2);
  expect(prompts(bench).length).toBeGreaterThan(2);
  expect(new Set(ends(bench))).toEqual(new Set(["completed:end_turn"]));
  checkInvariants(bench, []);
});
