import * as z from "zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Effect } from "../../src/agent/definition/effect.ts";
import { effectKinds } from "../../src/effects/schema.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { Toolbox } from "../../src/tools/define-tool.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { checkInvariants } from "../support/invariants.ts";
import { dataOf, ends, lastResult, results, textsOf } from "../agent/loop/play.ts";
import { many } from "./context.ts";
import { done, ranOn, use, wired } from "./wire.ts";
import type { Turn, WireOptions, Wired } from "./wire.ts";

/** EF acceptance: each kind from YAML, seen in the requests that reach the provider. */

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const run = (options: WireOptions): Promise<Wired> => ranOn(fake, options);
const read = (name: string): Turn => [use("long", { name })];
const words = (name: string): string => `${name} ${"word ".repeat(200)}end`;

const resultsIn = (lines: readonly string[] = []): readonly string[] =>
  lines.filter((line) => line.startsWith("result: ")).map((line) => line.slice("result: ".length));
/** Notes of an effect in a request, in order. */
const notesIn = (lines: readonly string[] = [], kind: string): readonly string[] =>
  lines.filter((line) => line.startsWith(`user: <note from="${kind}">`));
/** For each request, how many notes of an effect it shows. */
const noteCounts = ({ requests }: Wired, kind: string): readonly number[] =>
  requests().map((lines) => notesIn(lines, kind).length);

describe("shrinking", () => {
  test("EF-12: trim_tool_results", async () => {
    const { bench, requests } = await run({
      effects: "- { kind: trim_tool_results, params: { max_result_length: 10, preserve_recent: 1 } }",
      turns: [read("a"), read("b"), [use("fail", { name: "c" })], read("d"), done],
    });
    expect(resultsIn(requests()[2])).toEqual([words("a"), words("b")]);
    expect(resultsIn(requests()[4])).toEqual([
      `${words("a").slice(0, 10)}… [trimmed]`,
      `${words("b").slice(0, 10)}… [trimmed]`,
      "failed: no c",
      words("d"),
    ]);
    expect(results(bench)[0]).toBe(`ok: ${words("a")}`);
    expect(dataOf(bench, "effect_applied")[0]).toMatchObject({
      kind: "trim_tool_results",
      phase: "after_complete",
      overlaid: 1,
    });
    checkInvariants(bench, []);
  });

  test("EF-12 ★: preserve_recent: 0 arrives as 0", async () => {
    const { requests } = await run({
      effects: "- { kind: trim_tool_results, params: { max_result_length: 10, preserve_recent: 0 } }",
      turns: [read("a"), read("b"), done],
    });
    expect(resultsIn(requests()[2])).toEqual([`${words("a").slice(0, 10)}… [trimmed]`, words("b")]);
  });

  test("EF-12 EF-17: a command's own exit code is trimmed like a success, and counted as a failure", async () => {
    const { bench, requests } = await run({
      effects: [
        "- { kind: trim_tool_results, params: { max_result_length: 10, preserve_recent: 1 } }",
        "- { kind: reflection, params: { failure_threshold: 2 } }",
      ].join("\n"),
      turns: [[use("redden", { name: "a" })], [use("redden", { name: "b" })], read("c"), done],
    });
    expect(resultsIn(requests()[3])).toEqual([
      `${words("a").slice(0, 10)}… [trimmed]`,
      words("b"),
      words("c"),
    ]);
    expect(notesIn(requests()[2], "reflection")).toHaveLength(1);
    expect(results(bench)[0]).toBe(`error: ${words("a")}`);
  });

  test("EF-13: observation_mask", async () => {
    const { bench, requests } = await run({
      effects: "- { kind: observation_mask, params: { threshold: 0.3, recent_window: 2 } }",
      window: 4_000,
      turns: [read("a"), [use("fail", { name: "b" })], read("c"), read("d"), read("e"), done],
    });
    const last = resultsIn(requests().at(-1));
    expect(last[0]).toMatch(/^\[tool result for long: a word .{0,80}\]$/);
    expect(last[1]).toBe("failed: no b");
    expect(last.at(-1)).toBe(words("e"));
    expect(
      requests()
        .at(-1)
        ?.filter((line) => line.startsWith("call: ")),
    ).toHaveLength(5);
    expect(dataOf(bench, "compaction")[0]).toMatchObject({
      effect: "observation_mask",
      stage: "mask",
      retired: null,
    });
    expect(lastResult(bench).compactions_applied).toBeGreaterThan(0);
    checkInvariants(bench, []);
  });

  test("EF-13 CF-14: context_compaction: auto masks as digests, and leaves five turns whole", async () => {
    const { requests } = await run({
      effects: "[]",
      agent: "options: { context_compaction: auto, compaction_threshold: 0.2 }",
      window: 8_000,
      turns: [...many(8, (index) => read(`f${index}`)), done],
    });
    const last = resultsIn(requests().at(-1));
    expect(last.slice(0, 3)).toEqual(
      many(3, (index) => `[long f${index}: ${words("f0").length} characters]`),
    );
    expect(last.slice(3)).toEqual(many(5, (index) => words(`f${index + 3}`)));
  });

  test("EF-14: sliding_window", async () => {
    const { bench, requests } = await run({
      effects:
        "- { kind: sliding_window, params: { threshold: 0.4, recent_zone: 2, medium_zone: 2, trim_length: 20 } }",
      window: 12_000,
      turns: [...many(20, () => [{ text: "It is known. ".repeat(60) }, use("long", { name: "a" })]), done],
    });
    const summed = requests().filter((lines) =>
      lines.some((line) => line.startsWith("user: [Context summary")),
    );
    expect(summed.length).toBeGreaterThan(0);
    expect(
      dataOf(bench, "compaction").some(
        ({ effect, stage }) => effect === "sliding_window" && stage === "window",
      ),
    ).toBe(true);
    checkInvariants(bench, []);
  });

  test("EF-14: the running summary has room for what was told before, however little each update adds", async () => {
    const { bench } = await wired(fake, {
      effects: "- { kind: sliding_window, params: { threshold: 0.6 } }",
      window: 12_000,
      turns: [],
    });
    const asked: number[] = [];
    const turn = [{ text: "It is known. ".repeat(160) }, use("long", { name: "a" })];
    fake.play(({ body }) => {
      if ("tools" in body) return { speech: { pieces: asked.length < 20 ? turn : done } };
      const most = Number(/Write at most (\d+) words/.exec(JSON.stringify(body))?.[1]);
      asked.push(most);
      return { speech: { pieces: [{ text: "fact ".repeat(most) }] } };
    });
    bench.send("Go");
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(dataOf(bench, "compaction").filter(({ stage }) => stage === "failed")).toEqual([]);
    expect(asked.at(-1)).toBeGreaterThan(5 * (asked[0] ?? 0));
  });

  test("EF-15: compact", async () => {
    const { bench, requests } = await run({
      effects: "- { kind: compact, params: { threshold: 0.6, target: 0.1 } }",
      window: 12_000,
      turns: [...many(20, () => [{ text: "It is known. ".repeat(60) }, use("long", { name: "a" })]), done],
    });
    expect(
      requests().some((lines) => lines.some((line) => line.startsWith("user: [Conversation compacted"))),
    ).toBe(true);
    expect(new Set(dataOf(bench, "compaction").map(({ effect }) => effect))).toEqual(new Set(["compact"]));
    checkInvariants(bench, []);
  });

  test("EF-15 EF-26: the model that summarises reasons as little as it can, and has room for that beside the summary", async () => {
    const before = fake.requests.length;
    await run({
      effects: "- { kind: compact, params: { threshold: 0.6, target: 0.1 } }",
      window: 40_000,
      output: "max_tokens: 16000\nreasoning: { effort: high }",
      turns: [...many(40, () => [{ text: "It is known. ".repeat(200) }, use("long", { name: "a" })]), done],
    });
    const bodies = fake.requests.slice(before).map(({ body }) => body);
    const turn = bodies.find((body) => "tools" in body);
    const summary = bodies.find((body) => !("tools" in body));
    expect(turn).toMatchObject({ output_config: { effort: "high" } });
    expect(summary).toMatchObject({
      max_tokens: 8_192,
      thinking: { type: "adaptive", display: "omitted" },
      output_config: { effort: "low" },
    });
  });

  test("EF-40: offload, and recall reads what was moved, in a later run after a restart too ★", async () => {
    const { bench, requests } = await wired(fake, {
      effects: "- { kind: offload, params: { threshold: 0.1, min_result_len: 500, recent_window: 1 } }",
      window: 4_000,
      turns: [read("a"), read("b"), read("c"), done, [use("recall", { id: "b1" })], done],
    });
    bench.send("Go");
    await bench.idle();
    const [first] = resultsIn(requests().at(-1));
    expect(first).toMatch(/^\[offloaded b1: a word .{0,200}; recall\("b1"\)\]$/);
    bench.crash();
    bench.send("Once more");
    await bench.idle();
    expect(resultsIn(requests().at(-1))[0]).toBe(first);
    expect(results(bench).at(-1)).toContain(words("a"));
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
    checkInvariants(bench, []);
  });
});

test("EF-40: what was offloaded stays readable: no effect takes the id of its line", async () => {
  const offload = "- { kind: offload, params: { threshold: 0.1, min_result_len: 500, recent_window: 1 } }";
  for (const other of [
    "{ kind: observation_mask, params: { threshold: 0.1, recent_window: 3 } }",
    "{ kind: trim_tool_results, params: { max_result_length: 10, preserve_recent: 1 } }",
    "{ kind: sliding_window, params: { threshold: 0.1, recent_zone: 3, medium_zone: 20, trim_length: 10 } }",
  ]) {
    const { requests } = await run({
      effects: `${offload}\n- ${other}`,
      window: 4_000,
      turns: [...many(7, (index) => read(`${index}`)), done],
    });
    const [first] = resultsIn(requests().at(-1));
    expect(first, other).toMatch(/^\[offloaded b1: .*recall\("b1"\)\]$/);
  }
});

describe("notes", () => {
  test("EF-16: loop_detect", async () => {
    const ran = await run({
      effects: "- { kind: loop_detect, params: { threshold: 3 } }",
      turns: [
        [use("long", { name: "a", line: 1 })],
        [use("long", { line: 1, name: "a" })],
        ...many(2, () => [use("long", { name: "a", line: 1 })]),
        done,
      ],
    });
    expect(noteCounts(ran, "loop_detect")).toEqual([0, 0, 0, 1, 2]);
    expect(ran.requests()[3]?.at(-1)).toMatch(/You have called long 3 times in a row/);
    expect(ends(ran.bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-17: reflection", async () => {
    const ran = await run({
      effects: "- { kind: reflection, params: { failure_threshold: 2 } }",
      turns: [...many(3, (index) => [use("fail", { name: `${index}` })]), read("a"), [use("fail")], done],
    });
    expect(noteCounts(ran, "reflection")).toEqual([0, 0, 1, 2, 2, 2]);
    expect(ran.requests()[2]?.at(-1)).toContain("2 replies in a row");
  });

  test("EF-18 CF-25 ★: progress fires from YAML with the notes toolbox, and is inert without", async () => {
    const effects = "- { kind: progress, params: { interval: 2 } }";
    const turns = [...many(5, (index) => read(`${index}`)), done];
    const ran = await run({ effects, turns, boxes: "kit, notes" });
    expect(noteCounts(ran, "progress")).toEqual([0, 0, 1, 1, 2, 2]);
    expect(ran.requests()[2]?.at(-1)).toContain("write_note");
    expect(noteCounts(await run({ effects, turns }), "progress")).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test("EF-41 ★: stall_detect nudges, then ends the run; edits of many files never stall", async () => {
    const effects = "- { kind: stall_detect, params: { window: 4, similarity_threshold: 0.7 } }";
    const circle = await run({
      effects,
      turns: many(20, (index) => [use("fail", { name: `${index % 2}` })]),
    });
    expect(noteCounts(circle, "stall_detect")).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
    expect(ends(circle.bench)).toEqual(["failed:no_progress"]);
    expect(lastResult(circle.bench).no_progress_detected).toBe(true);
    const edits = await run({
      effects,
      turns: [...many(12, (index) => [use("edit", { name: `${index}.ts` })]), done],
    });
    expect(noteCounts(edits, "stall_detect")).toEqual(many(13, () => 0));
    expect(ends(edits.bench)).toEqual(["completed:end_turn"]);
  });
});

test("EF-40 EF-7: tool_scope takes tools out of the request, and refuses their calls", async () => {
  const ran = await run({
    effects: "- { kind: tool_scope, params: { exclude: [dang*] } }",
    turns: [[use("danger")], done],
  });
  expect(ran.tools()).toContain("long");
  expect(ran.tools()).not.toContain("danger");
  expect(results(ran.bench)).toEqual(["denied: not_permitted: danger is not available in this turn"]);
});

const hidden = (name: string): boolean => name.startsWith("much_") || name === "write_note";

const ownScope: Effect = {
  kind: "own_scope",
  phase: "before_complete",
  order: "scope",
  params: z.strictObject({}),
  run: ({ tools }) => ({ tools: { hide: tools.filter(hidden) } }),
};

test.each(["- { kind: tool_scope, params: { exclude: ['much_*', write_note] } }", "- { kind: own_scope }"])(
  "★ EF-5 EF-7 EF-8: tools hidden by %s count for nothing, wherever it stands: nothing is compacted for them, and no effect asks for one",
  async (scope) => {
    const much: Toolbox = {
      name: "much",
      description: "Many tools, hidden by a test.",
      tools: many(40, (index) =>
        defineTool({
          name: `much_${index}`,
          description: "much ".repeat(200),
          params: z.strictObject({}),
          safety: "read",
          run: () => ({ content: "it ran" }),
        }),
      ),
    };
    const ran = await run({
      effects: [
        "- { kind: progress, params: { interval: 2 } }",
        "- { kind: compact, params: { threshold: 0.5 } }",
        scope,
      ].join("\n"),
      own: [ownScope],
      window: 20_000,
      boxes: "kit, notes, much",
      toolboxes: [much],
      turns: [...many(8, (index) => read(`${index}`)), done],
    });
    expect(dataOf(ran.bench, "compaction")).toEqual([]);
    expect(noteCounts(ran, "progress")).toEqual(many(9, () => 0));
    expect(dataOf(ran.bench, "llm_request_start").at(-1)?.estimated_tokens).toBeLessThan(5_000);
  },
);

test("CF-24: generated effects trim old results and compact; [] does neither", async () => {
  const turns = [...many(8, (index) => read(`${index}`)), done];
  const generated = await run({ effects: null, turns });
  expect(resultsIn(generated.requests().at(-1)).map((text) => text.endsWith("… [trimmed]"))).toEqual([
    ...many(3, () => true),
    ...many(5, () => false),
  ]);
  const none = await run({ effects: "[]", turns });
  expect(resultsIn(none.requests().at(-1))).toEqual(many(8, (index) => words(`${index}`)));
  const unknown = await run({ effects: null, turns, window: 0 });
  expect(resultsIn(unknown.requests().at(-1))).toEqual(many(8, (index) => words(`${index}`)));
});

test("EF-5: observation_mask comes before reflection whatever the YAML says, and both are in this turn's request", async () => {
  const { bench, requests } = await run({
    effects:
      "- { kind: reflection, params: { failure_threshold: 1 } }\n- { kind: observation_mask, params: { threshold: 0.1, recent_window: 0 } }",
    window: 4_000,
    turns: [read("a"), [use("fail")], done],
  });
  const last = requests().at(-1) ?? [];
  expect(resultsIn(last)[0]).toMatch(/^\[tool result for long/);
  expect(last.at(-1)).toContain("root cause");
  expect(dataOf(bench, "effect_applied").map(({ kind }) => kind)).toEqual(["observation_mask", "reflection"]);
});

test("EF-8 ★: the mask brings the size under compact's threshold: compact does not run, though the last call was above", async () => {
  const { bench } = await run({
    effects:
      "- { kind: compact, params: { threshold: 0.5 } }\n- { kind: observation_mask, params: { threshold: 0.4, recent_window: 1 } }",
    window: 4_000,
    turns: [...many(6, (index) => read(`${index}`)), done],
  });
  expect(new Set(dataOf(bench, "compaction").map(({ effect }) => effect))).toEqual(
    new Set(["observation_mask"]),
  );
  expect(textsOf(bench.chat()[0] ?? { parts: [] })).toBe("Go");
});

test("EF-3: two effects of one kind remember apart", async () => {
  const ran = await run({
    effects: "- { kind: progress, params: { interval: 2 } }\n- { kind: progress, params: { interval: 3 } }",
    boxes: "kit, notes",
    turns: [...many(6, (index) => read(`${index}`)), done],
  });
  expect(noteCounts(ran, "progress")).toEqual([0, 0, 1, 2, 3, 3, 5]);
  expect(ran.bench.state().threads["main"]?.effects).toEqual({
    progress: { asked: 6 },
    "progress#2": { asked: 6 },
  });
});

test("EF-10: every kind is tried here or with its budget", () => {
  const tried = [
    "trim_tool_results",
    "observation_mask",
    "sliding_window",
    "compact",
    "offload",
    "loop_detect",
    "reflection",
    "progress",
    "stall_detect",
    "tool_scope",
  ];
  expect(effectKinds.filter((kind) => !tried.includes(kind))).toEqual(["token_budget", "time_budget"]);
});
