import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createEngine } from "../../../src/engine/create.ts";
import type { Tool, ToolOutput } from "../../../src/tools/define-tool.ts";
import { defineTool } from "../../../src/tools/define-tool.ts";
import { openBench } from "../../support/bench.ts";
import { createProbe } from "../../support/probe.ts";
import { done, scripted } from "../../support/scripts.ts";
import { engineOptions, teamOf } from "../../support/teams.ts";
import type { Play, PlayOptions } from "../loop/play.ts";
import { dataOf, ends, lastResult, play, results, resultText, run } from "../loop/play.ts";

const noParams = z.strictObject({});

/** A tool that gives back whatever it is told to, also what no tool may give. */
const odd = (name: string, give: () => unknown, more: Partial<Tool> = {}): Tool => ({
  ...defineTool({
    name,
    description: "Odd.",
    params: noParams,
    safety: "read",
    run: () => give() as ToolOutput,
  }),
  ...more,
});

const calls = (...names: string[]): string =>
  `{ reply: [${names.map((name) => `{ call: ${name} }`).join(", ")}] }`;

const named = (...pairs: [string, string][]): string =>
  `{ reply: [${pairs.map(([tool, name]) => `{ call: ${tool}, args: { name: ${name} } }`).join(", ")}] }`;

/** Plays one reply of calls, whose probes end when the test says so. */
const working = async (reply: string, options: PlayOptions = {}): Promise<Play> => {
  const played = await play(`replies: [${reply}, ${done}]`, { instant: false, ...options });
  played.bench.send("Go");
  await played.bench.steps();
  return played;
};

describe("SE-15 SE-16: each call for itself", () => {
  test("SE-16 ★: one throws, one runs over, one works: three results in call order, and the run goes on", async () => {
    const slow = odd("slow", () => new Promise(() => undefined), { timeout: () => 5_000 });
    const { bench, probe } = await working(
      "{ reply: [{ call: slow }, { call: look, args: { fail: true } }, { call: look, args: { name: c } }] }",
      { tools: [slow] },
    );
    probe.calls.find(({ name }) => name === "c")?.finish();
    await bench.steps();
    expect(bench.requests).toHaveLength(1);
    await bench.pass(5_000);
    expect(results(bench)).toEqual([
      "error: timeout: slow took longer than 5 s and was stopped",
      "error: failed: the probe was told to fail",
      "ok: look(c) done",
    ]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  test.each<[string, () => unknown]>([
    ["nothing", () => undefined],
    ["a number", () => 5],
    ["content that is no text", () => ({ content: 5 })],
    ["a cycle in its details", () => ({ content: "x", details: cycle })],
    ["a bigint", () => ({ content: "x", details: 5n })],
    ["details of more than 64 KiB", () => ({ content: "x", details: "y".repeat(70_000) })],
    [
      "an exception that is no error",
      () => {
        throw "boom";
      },
    ],
  ])(
    "SE-16 TB-1 ★: a tool that gives back %s ends as an error result, and its sibling is untouched",
    async (_, give) => {
      const { bench } = await run(`replies: [${calls("weird", "look")}, ${done}]`, {
        tools: [odd("weird", give)],
      });
      expect(results(bench)[0]).toMatch(/^error: failed: /);
      expect(results(bench)[1]).toBe("ok: look() done");
      expect(ends(bench)).toEqual(["completed:end_turn"]);
    },
  );

  test("SE-16: an error shows its first line only", async () => {
    const thrown = odd("thrown", () => {
      throw new Error("first\n    at secret (/home/x.ts:1)");
    });
    const { bench } = await run(`replies: [${calls("thrown")}, ${done}]`, { tools: [thrown] });
    expect(results(bench)).toEqual(["error: failed: first"]);
  });

  test("SE-16: a late outcome of a call that ran over changes nothing", async () => {
    const { bench, probe } = await working(named(["fire", "a"]));
    await bench.pass(60_000);
    const before = bench.events().length;
    probe.calls[0]?.finish("too late");
    probe.calls[0]?.context.show("noise");
    await bench.steps();
    expect(bench.events()).toHaveLength(before);
    expect(results(bench)[0]).toMatch(/^unknown: unknown: fire took longer than/);
    expect(bench.deltas.filter(({ kind }) => kind === "tool_output_delta")).toEqual([]);
  });

  test("SE-15: an unknown tool is named with the nearest name", async () => {
    const probe = createProbe();
    const gone = { name: "gone", description: "Gone.", tools: [odd("lok", () => ({ content: "x" }))] };
    const team = await teamOf(scripted(`replies: [${calls("lok")}, ${done}]`), {
      toolboxes: [probe.toolbox, gone],
    });
    const bench = openBench({
      engine: createEngine(engineOptions(team, { toolboxes: [probe.toolbox] })),
    });
    bench.ok("create");
    bench.send("Go");
    await bench.idle();
    expect(results(bench)[0]).toMatch(/^error: unknown_tool: .*lok.*look/);
    expect(dataOf(bench, "tool_call_start")).toEqual([]);
    expect(dataOf(bench, "tool_call_end")).toHaveLength(1);
  });

  test("SE-15 ★: a tool that exists but is hidden from the agent is denied and never runs", async () => {
    const { bench } = await run(`replies: [${calls("fs_write")}, ${done}]`);
    expect(results(bench)[0]).toMatch(/^denied: not_permitted: /);
    expect(dataOf(bench, "tool_call_end")[0]).toMatchObject({ outcome: "denied" });
  });

  test("SE-15 AP-16: the session's ceiling hides and denies", async () => {
    const { bench, probe } = await run(`replies: [${calls("fire", "look")}, ${done}]`, {
      create: { tools: ["lo*"] },
    });
    expect(bench.requests[0]?.tools.map(({ name }) => name)).toEqual(["look"]);
    expect(probe.names()).toEqual(["look()"]);
    expect(results(bench)[0]).toMatch(/^denied: not_permitted/);
  });

  test("SE-15 TB-6: a rule that forbids is told with its reason", async () => {
    const team = 'permissions: { rules: [{ tool: fire, action: deny, reason: "Owned by ops" }] }';
    const { bench, probe } = await run(`replies: [${calls("fire")}, ${done}]`, { team });
    expect(probe.calls).toEqual([]);
    expect(results(bench)[0]).toMatch(/^denied: .*Owned by ops/);
  });

  test("SE-12: a terminal tool that succeeds ends the run, one that fails does not", async () => {
    const ok = await run(`replies: [${calls("submit")}, ${done}]`);
    expect(ends(ok.bench)).toEqual(["completed:terminal_tool"]);
    expect(ok.bench.requests).toHaveLength(1);
    expect(results(ok.bench)).toEqual(["ok: submit() done"]);
    const bad = await run(`replies: [{ reply: [{ call: submit, args: { fail: true } }] }, ${done}]`);
    expect(ends(bad.bench)).toEqual(["completed:end_turn"]);
  });

  test("SE-15 AP-27: details go to the event and not to the model, status texts are said", async () => {
    const tool = odd("rich", () => ({ content: "short", details: { secret: 1 }, statusText: "Half way" }));
    const { bench } = await run(`replies: [${calls("rich")}, ${done}]`, { tools: [tool] });
    expect(dataOf(bench, "tool_call_end")[0]).toMatchObject({ output: "short", details: { secret: 1 } });
    expect(dataOf(bench, "status_update")).toEqual([{ text: "Half way" }]);
    expect(JSON.stringify(bench.requests[1]?.messages)).not.toContain("secret");
  });

  test("SE-6: the output of a tool that says nothing still says so", async () => {
    const { bench } = await run(`replies: [${calls("mute")}, ${done}]`, {
      tools: [odd("mute", () => ({ content: "" }))],
    });
    expect(results(bench)).toEqual(["ok: (no output)"]);
  });
});

describe("SE-17: what overlaps", () => {
  test("SE-17: reads go together", async () => {
    const { probe } = await working(named(["look", "a"], ["look", "b"], ["look", "c"]));
    expect(probe.names()).toEqual(["look(a)", "look(b)", "look(c)"]);
  });

  test("SE-17: writes wait for all earlier calls and hold back all later ones", async () => {
    const { bench, probe } = await working(named(["look", "a"], ["put", "b"], ["put", "c"], ["fire", "d"]));
    expect(probe.names()).toEqual(["look(a)"]);
    for (const expected of [["put(b)"], ["put(c)"], ["fire(d)"]]) {
      probe.calls.at(-1)?.finish();
      await bench.steps();
      expect(probe.names().slice(-1)).toEqual(expected);
    }
    probe.calls.at(-1)?.finish();
    await bench.idle();
    expect(results(bench).map((text) => text.slice(4, -5))).toEqual([
      "look(a)",
      "put(b)",
      "put(c)",
      "fire(d)",
    ]);
  });

  test("SE-17: at most eight at once, the ninth as soon as one has ended", async () => {
    const { bench, probe } = await working(
      named(...Array.from({ length: 10 }, (_, index): [string, string] => ["look", `n${index}`])),
    );
    expect(probe.calls).toHaveLength(8);
    probe.calls[3]?.finish();
    await bench.steps();
    expect(probe.calls).toHaveLength(9);
  });

  test("SE-3 SE-17: results stand in call order, in whatever order calls end", async () => {
    const { bench, probe } = await working(named(["look", "a"], ["look", "b"], ["look", "c"]));
    for (const at of [2, 0, 1]) {
      expect(results(bench)).toEqual([]);
      probe.calls[at]?.finish();
      await bench.steps();
    }
    expect(results(bench)).toEqual(["ok: look(a) done", "ok: look(b) done", "ok: look(c) done"]);
  });

  test("SE-17: a call that is refused at once holds nobody back", async () => {
    const { probe } = await working(
      "{ reply: [{ call: put, raw_args: '{' }, { call: look, args: { name: b } }] }",
    );
    expect(probe.names()).toEqual(["look(b)"]);
  });

  test("SE-17 SE-28: a writing call that waits for approval holds later calls back, reads before it go on", async () => {
    const team = "permissions: { rules: [{ tool: put, action: ask }] }";
    const { bench, probe } = await working(named(["look", "a"], ["put", "b"], ["look", "c"]), { team });
    expect(probe.names()).toEqual(["look(a)"]);
    probe.calls[0]?.finish();
    await bench.idle();
    expect(probe.names()).toEqual(["look(a)"]);
    expect(bench.ok("get")).toMatchObject({ status: "waiting" });
    bench.ok("answer", { ask: Object.keys(bench.state().asks)[0], decision: "deny" });
    await bench.steps();
    expect(probe.names()).toEqual(["look(a)", "look(c)"]);
  });
});

describe("SE-18 SE-19: long outputs", () => {
  const build = `${"a".repeat(1_000_000)}\nE: the middle\n${"b".repeat(1_097_139)}`;
  const fails = odd("build", () => ({ content: build, isError: true }));

  test("SE-18 SE-19 ★: a failing build of 2 MiB fits its limit, and recall finds the middle after a restart and a second input", async () => {
    const find = `{ reply: [{ call: recall, args: { id: b1, find: "E: the middle" } }] }`;
    const part = `{ reply: [{ call: recall, args: { id: b1, offset: 1000000, limit: 15 } }] }`;
    const { bench } = await run(`replies: [${calls("build")}, ${done}, ${find}, ${part}, ${done}]`, {
      tools: [fails],
      agent: "options: { tool_output_limits: { build: 1000 } }",
    });
    const [first] = results(bench);
    // Room is kept for an id of six characters.
    expect(first?.slice("error: ".length)).toHaveLength(1_000 - "b99999".length + "b1".length);
    expect(first).toMatch(/ … \[\d+ characters omitted; recall\("b1"\) has the full text\] … /);
    expect(dataOf(bench, "tool_call_end")[0]).toMatchObject({ truncated: true });
    expect(bench.chat()[2]?.parts[0]).toMatchObject({ recall: "b1" });
    bench.crash();
    bench.send("Where?");
    await bench.idle();
    expect(results(bench)[1]).toContain("E: the middle");
    expect(results(bench)[2]).toContain("E: the middle");
  });

  test("SE-18: without a limit of its own a tool has 32 000 characters; astral characters are not split", async () => {
    const wide = odd("wide", () => ({ content: "😀".repeat(40_000) }));
    const { limit: _, ...unlimited } = wide;
    const { bench } = await run(`replies: [${calls("wide")}, ${done}]`, { tools: [unlimited] });
    const text = results(bench)[0]?.slice(4) ?? "";
    expect([...text].length).toBeLessThanOrEqual(32_000);
    expect([...text].length).toBeGreaterThan(31_990);
    expect(text.isWellFormed()).toBe(true);
  });

  test("SE-19: recall is declared with every agent that has tools, and an unknown id is an error result", async () => {
    const { bench } = await run(`replies: [{ reply: [{ call: recall, args: { id: b99 } }] }, ${done}]`);
    expect(bench.requests[0]?.tools.map(({ name }) => name)).toContain("recall");
    expect(results(bench)[0]).toMatch(/^error: not_found/);
  });
});

describe("SE-20: cached results", () => {
  const cached = { agent: "options: { cache_tool_results: true }" };

  test("SE-20 ★: the same arguments in another order are a hit, counted and said", async () => {
    const swapped = '{ reply: [{ call: look, raw_args: \'{"fail":false,"name":"a"}\' }] }';
    const straight = '{ reply: [{ call: look, raw_args: \'{"name":"a","fail":false}\' }] }';
    const { bench, probe } = await run(`replies: [${straight}, ${swapped}, ${done}]`, cached);
    expect(probe.names()).toEqual(["look(a)"]);
    expect(results(bench)).toEqual(["ok: look(a) done", "ok: look(a) done"]);
    const hit = bench
      .events()
      .filter(({ call }) => call === bench.events().find(({ type }) => type === "tool_cache_hit")?.call);
    expect(
      hit.map(({ type }) => type).filter((type) => type.startsWith("tool_call") || type === "tool_cache_hit"),
    ).toEqual(["tool_call_start", "tool_cache_hit", "tool_call_end"]);
    expect(dataOf(bench, "tool_call_end")[1]).toMatchObject({ cached: true, duration_ms: 0 });
    expect(lastResult(bench)).toMatchObject({ tool_calls: 2, tool_cache_hits: 1, tool_cache_misses: 1 });
    expect(
      dataOf(bench, "turn_metrics").map(({ cache_hits, cache_misses }) => [cache_hits, cache_misses]),
    ).toEqual([
      [0, 1],
      [1, 0],
      [0, 0],
    ]);
  });

  test("SE-20: off by default; nothing is asked and nothing counted", async () => {
    const { bench, probe } = await run(
      `replies: [${named(["look", "a"])}, ${named(["look", "a"])}, ${done}]`,
    );
    expect(probe.calls).toHaveLength(2);
    expect(lastResult(bench)).toMatchObject({ tool_cache_hits: 0, tool_cache_misses: 0 });
  });

  test("SE-20: read, write, read in one reply reads twice", async () => {
    const { probe } = await run(
      `replies: [${named(["look", "a"], ["put", "x"], ["look", "a"])}, ${done}]`,
      cached,
    );
    expect(probe.names()).toEqual(["look(a)", "put(x)", "look(a)"]);
  });

  test("SE-20: a tool that does not say what it does to files empties the cache, also when it fails", async () => {
    const secret = odd("secret", () => {
      throw new Error("no");
    });
    const { probe } = await run(
      `replies: [${named(["look", "a"])}, ${calls("secret")}, ${named(["look", "a"])}, ${done}]`,
      { ...cached, tools: [secret] },
    );
    expect(probe.names()).toEqual(["look(a)", "look(a)"]);
  });

  test("SE-20: a read that began before a write is not kept, and errors never are", async () => {
    const { bench, probe } = await working(named(["look", "a"], ["fire", "w"]), cached);
    expect(probe.calls).toHaveLength(2);
    probe.calls[0]?.finish({ content: "broken", isError: true });
    probe.calls[1]?.finish();
    await bench.idle();
    expect(lastResult(bench)).toMatchObject({ tool_cache_hits: 0 });
    probe.instant = true;
    const again = await run(
      `replies: [{ reply: [{ call: look, args: { name: a, fail: true } }] }, { reply: [{ call: look, args: { name: a, fail: true } }] }, ${done}]`,
      cached,
    );
    expect(again.probe.calls).toHaveLength(2);
  });

  test("SE-20: while a tool runs that may change files, nothing older is taken from the cache and nothing read before is kept", async () => {
    let end: (output: ToolOutput) => void = () => undefined;
    const slow = odd("slow", () => new Promise((resolve) => (end = resolve)));
    const during = "{ reply: [{ call: slow }, { call: look, args: { name: a } }] }";
    const { bench, probe } = await play(
      `replies: [${named(["look", "a"])}, ${during}, ${named(["look", "a"])}, ${done}]`,
      { ...cached, tools: [slow] },
    );
    bench.send("Go");
    await bench.steps();
    expect(probe.calls).toHaveLength(2);
    end({ content: "changed" });
    await bench.idle();
    expect(probe.calls).toHaveLength(3);
  });

  test("SE-20: a read that a change overtook is not kept", async () => {
    const quick = odd("quick", () => ({ content: "changed" }));
    const { bench, probe } = await play(
      `replies: [{ reply: [{ call: look, args: { name: a } }, { call: quick }] }, ${named(["look", "a"])}, ${done}]`,
      { ...cached, tools: [quick], instant: false },
    );
    bench.send("Go");
    await bench.steps();
    probe.instant = true;
    probe.calls[0]?.finish();
    await bench.idle();
    expect(probe.calls).toHaveLength(2);
  });

  test("SE-20: entries live in memory only, a restart begins anew", async () => {
    const { bench, probe } = await run(
      `replies: [${named(["look", "a"])}, ${done}, ${named(["look", "a"])}, ${done}]`,
      cached,
    );
    bench.crash();
    bench.send("Again");
    await bench.idle();
    expect(probe.calls).toHaveLength(2);
  });
});

describe("SE-22 SE-30 TB-1: what a tool is given", () => {
  test("SE-22: writable paths reach every tool; absent means unbounded, empty means nothing", async () => {
    const paths = async (agent: string): Promise<unknown> =>
      (await run(`replies: [${calls("look")}, ${done}]`, { agent })).probe.calls[0]?.context.writablePaths;
    expect(await paths('options: { writable_paths: ["src/**"] }')).toEqual(["src/**"]);
    expect(await paths("options: { writable_paths: [] }")).toEqual([]);
    expect(await paths("")).toBeUndefined();
  });

  test("TB-1: a call has its key, its deadline and a clock", async () => {
    const { bench, probe } = await run(`replies: [${calls("look")}, ${done}]`);
    const [call] = probe.calls;
    const id = bench.events().find(({ type }) => type === "tool_call_start")?.call;
    expect(call?.key).toBe(`run_1/${id}`);
    expect(call?.context).toMatchObject({
      attempt: 1,
      thread: "main",
      agent: "tester",
      deadline: bench.now() + 60_000,
      commandTimeout: { default: 120, max: 600 },
    });
  });

  test("SE-18 SE-2: text of tools is cleaned, media beside it stays", async () => {
    const mixed = odd("mixed", () => ({
      content: [
        { type: "text", text: "a\0b\ud800" },
        { type: "image", url: "https://x.example/i.png", media_type: "image/png" },
      ],
    }));
    const { bench } = await run(`replies: [${calls("mixed")}, ${done}]`, { tools: [mixed] });
    const part = bench.chat()[2]?.parts[0];
    expect(part?.type === "tool_result" ? resultText(part) : "").toBe("ab\ufffd[image]");
  });
});

describe("AP-27: outputs in events", () => {
  test("a result's event names its call and does not repeat the output that `tool_call_end` has brought", async () => {
    const { bench } = await run(`replies: [${named(["look", "a"], ["put", "b"])}, ${done}]`);
    const told = dataOf(bench, "message_added").filter(({ message }) => message.role === "tool");
    expect(told.map(({ message }) => message.parts)).toEqual(
      bench.chat().flatMap(({ parts }) =>
        parts.flatMap((part) => {
          if (part.type !== "tool_result") return [];
          const { content: _, ...rest } = part;
          return [[rest]];
        }),
      ),
    );
    expect(told).toHaveLength(2);
    expect(dataOf(bench, "tool_call_end").map(({ output }) => output)).toEqual([
      "look(a) done",
      "put(b) done",
    ]);
    expect(results(bench)).toEqual(["ok: look(a) done", "ok: put(b) done"]);
  });

  test("SE-13: calls of a cut reply have no end, so their results bring the output themselves", async () => {
    const { bench } = await run(`replies: [{ reply: [{ call: look }], finish: length }, ${done}]`);
    const [told] = dataOf(bench, "message_added").filter(({ message }) => message.role === "tool");
    expect(dataOf(bench, "tool_call_end")).toEqual([]);
    expect(told?.message.parts).toEqual(bench.chat().find(({ role }) => role === "tool")?.parts);
  });
});
