import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../../src/tools/define-tool.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { createProbe } from "../support/probe.ts";
import { scripted } from "../support/scripts.ts";
import { benchOf, eventsOf, say, wireEnv } from "./harness.ts";

const looping = `
start: loop
scenes:
  - name: loop
    reply: [{ call: look }]
    usage: { input: 800, output: 200, cacheRead: 0, cacheWrite: 0 }`;

const priced = "models: { play: { price: { input: 100, output: 1000 } } }";

const run = async (agent: string, team = "", script = looping) => {
  const probe = createProbe();
  const bench = await benchOf(scripted(script, agent, team), { toolboxes: [probe.toolbox] }, {});
  const end = await say(bench);
  return { bench, probe, end, turns: bench.requests.length };
};

test("CF-14: max_iterations bounds the turns of a run, 100 by default", async () => {
  const bounded = await run("options: { max_iterations: 3 }");
  expect(bounded.end).toMatchObject({ state: "failed", reason: "max_iterations" });
  expect(bounded.turns).toBe(3);
  expect((await run("guards: { tool_loops: false }")).turns).toBe(100);
});

test("EF-37: a token budget of the agent ends the run typed, and names the key", async () => {
  const { end, turns } = await run("guards: { budget: { max_tokens: 3900 } }");
  expect(end).toMatchObject({ state: "failed", reason: "budget_exceeded" });
  expect(end["error"]).toMatchObject({ detail: expect.stringContaining("max_tokens") });
  expect(turns).toBe(3);
});

test("EF-37: the smaller of the agent's and the team's bound rules, whichever it is", async () => {
  const both = async (agent: number, team: number): Promise<number> =>
    (await run(`guards: { budget: { max_tokens: ${agent} } }`, `budgets: { run: { max_tokens: ${team} } }`))
      .turns;
  expect(await both(2_900, 9_000)).toBe(2);
  expect(await both(9_000, 2_900)).toBe(2);
});

test("EF-37, CF-16: 0 means that nothing may be spent; off and an absent key leave the team's bound", async () => {
  const none = await run("guards: { budget: { max_tokens: 0 } }");
  expect(none.end).toMatchObject({ reason: "budget_exceeded" });
  expect(none.turns).toBe(0);
  const team = "budgets: { run: { max_tokens: 2900 } }";
  expect((await run("guards: { budget: { max_tokens: 'off' } }", team)).turns).toBe(2);
  expect((await run("guards: { budget: false }", team)).turns).toBe(2);
  expect((await run("", team)).turns).toBe(2);
});

test("EF-37, MO-36: a cost budget counts the model's price", async () => {
  const { end, turns } = await run("guards: { budget: { max_cost_usd: 0.75 } }", priced);
  expect(end).toMatchObject({ reason: "budget_exceeded" });
  expect(turns).toBe(2);
});

test("EF-37: a budget of tool calls ends the run before the next turn", async () => {
  const { end, probe } = await run("guards: { budget: { max_tool_calls: 4 } }");
  expect(end).toMatchObject({ reason: "budget_exceeded" });
  expect(probe.calls).toHaveLength(4);
});

test("CF-27: max_iterations 0 with a budget runs until the budget ends it", async () => {
  const { end, turns } = await run(
    "options: { max_iterations: 0 }\nguards: { tool_loops: false, budget: { max_tokens: 123000 } }",
  );
  expect(end).toMatchObject({ reason: "budget_exceeded" });
  expect(turns).toBe(120);
});

test("CF-27 EF-40: a token_budget effect is a budget, too", async () => {
  const probe = createProbe();
  const agent = "options: { max_iterations: 0 }\nguards: { tool_loops: false }";
  const yaml = scripted(looping, agent).replace(
    "effects: []",
    "effects: [{ kind: token_budget, params: { max_tokens: 123000 } }]",
  );
  const bench = await benchOf(yaml, { toolboxes: [probe.toolbox] }, {});
  expect(await say(bench)).toMatchObject({ reason: "budget_exceeded" });
});

test("CF-27: max_iterations 0 without a budget fails the build", async () => {
  await expect(run("options: { max_iterations: 0 }")).rejects.toThrow(/unbounded_agent/);
});

test("AG-37: a timeout middleware is the run's deadline from its start", async () => {
  const probe = createProbe(false);
  const agent = "middleware: [{ kind: timeout, params: { duration: 10m, count: wall } }]";
  const bench = await benchOf(scripted(looping, agent), { toolboxes: [probe.toolbox] }, {});
  bench.send("Go");
  await bench.steps();
  bench.crash();
  await bench.steps();
  expect(bench.alarm()).toBeLessThanOrEqual(bench.now() + 600_000);
  probe.instant = true;
  await bench.pass(600_000);
  expect(eventsOf(bench, "run_end")[0]).toMatchObject({ state: "failed", reason: "deadline_exceeded" });
});

test("CF-14, SE-36: context_window_warning_threshold says when the window is nearly full", async () => {
  const script =
    "replies: [{ reply: [{ text: ok }], usage: { input: 70000, output: 5, cacheRead: 0, cacheWrite: 0 } }]";
  const warned = await run("options: { context_window_warning_threshold: 0.5 }", "", script);
  expect(eventsOf(warned.bench, "context_window_warning")).toHaveLength(1);
  expect(eventsOf((await run("", "", script)).bench, "context_window_warning")).toEqual([]);
});

test("MO-10 EF-38: what a model may think beside its reply is kept back, too", async () => {
  const thinking = (model: string, reasoning: string) =>
    benchOf(
      `
providers: [{ name: p, kind: anthropic, api_key: "\${KEY}", model: ${model}${reasoning} }]
agents: [{ name: helper, effects: [] }]`,
      { env: { KEY: "k" }, fetch: () => new Promise<Response>(() => {}) },
      {},
    );
  const held = async (model: string, reasoning: string): Promise<number> => {
    const bench = await thinking(model, reasoning);
    bench.send("Hi");
    const { run } = bench.state().threads["main"] ?? {};
    const [start] = eventsOf(bench, "llm_request_start");
    const hold = run?.phase.at === "thinking" ? run.phase.call.reservation : null;
    return (hold?.tokens ?? 0) - (hold?.output ?? 0) - Number(start?.["estimated_tokens"] ?? 0);
  };
  expect(await held("claude-haiku-4-5", ", reasoning: { effort: medium }")).toBe(8_192);
  expect(await held("claude-haiku-4-5", ", reasoning: { budget_tokens: 3000 }")).toBe(3_000);
  expect(await held("claude-haiku-4-5", "")).toBe(0);
  expect(await held("claude-opus-5-5", ", reasoning: { effort: medium }")).toBe(0);
});

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const wired = async (usage: object | null, text = "word ".repeat(8_000)) => {
  fake.play(() => ({ speech: { pieces: [{ text: "ok" }], usage: usage as never } }));
  const yaml = `
providers: [{ name: p, kind: openai, base_url: "${fake.url("openai")}", api_key: "\${KEY}", model: gpt-4o }]
agents: [{ name: helper, effects: [] }]`;
  const bench = await benchOf(yaml, { env: wireEnv(fake) }, {});
  await say(bench, text);
  return {
    bench,
    doubts: () => eventsOf(bench, "error").filter(({ code }) => code === "input_truncated_suspected"),
  };
};
const reported = (prompt: number) => ({
  prompt_tokens: prompt,
  completion_tokens: 5,
  total_tokens: prompt + 5,
});

test("MO-35: a server that reports less than half of what was sent is suspected, with both figures", async () => {
  const { doubts } = await wired(reported(4_096));
  expect(doubts()).toHaveLength(1);
  expect(doubts()[0]?.["message"]).toMatch(/gpt-4o reports 4096 input tokens where about 1\d{4} were sent/);
  expect(doubts()[0]).toMatchObject({ retryable: false });
});

test("MO-35: it is said once per run, and again in the next", async () => {
  let calls = 0;
  const { bench, doubts } = await wired(reported(4_096));
  fake.play(() => ({
    speech: {
      pieces: calls++ < 3 ? [{ call: "report_status", args: { status: "on it" } }] : [{ text: "ok" }],
      usage: reported(4_000),
    },
  }));
  await say(bench, "Go on");
  expect(calls).toBe(4);
  expect(doubts()).toHaveLength(2);
});

test("MO-35: honest figures, short inputs and missing reports raise no doubt", async () => {
  expect((await wired(reported(9_000))).doubts()).toEqual([]);
  expect((await wired(reported(10), "Hi")).doubts()).toEqual([]);
  expect((await wired(null)).doubts()).toEqual([]);
});

test("MO-35: a server that counts little for images is not suspected, for they are estimated as dearer models count", async () => {
  const { bench, doubts } = await wired(reported(1_700), "Hi");
  const image = (name: string) => ({
    type: "image",
    media_type: "image/png",
    url: `https://example.com/${name}.png`,
  });
  bench.ok("send", { content: [image("sea"), image("shore")] });
  await bench.idle();
  expect(Number(eventsOf(bench, "llm_request_start").at(-1)?.["estimated_tokens"])).toBeGreaterThan(6_000);
  expect(doubts()).toEqual([]);
});

test("MO-35: a summary whose input was cut is suspected, too", async () => {
  const { bench, doubts } = await wired(reported(9_000));
  fake.play(() => ({ speech: { pieces: [{ text: "A summary." }], usage: reported(2_000) } }));
  bench.ok("compact");
  await bench.idle();
  expect(bench.requests.at(-1)?.context.purpose).toBe("compaction");
  expect(doubts()).toHaveLength(1);
});

test("MO-35: results that an effect has shortened count as they were shown, so an honest server is not suspected", async () => {
  const big = defineTool({
    name: "big",
    description: "A long text.",
    params: z.strictObject({}),
    safety: "read",
    run: () => ({ content: "word ".repeat(8_000) }),
  });
  const yaml = `
providers: [{ name: p, kind: openai, base_url: "${fake.url("openai")}", api_key: "\${KEY}", model: gpt-4o }]
agents:
  - name: helper
    toolboxes: [texts]
    effects: [{ kind: trim_tool_results, params: { max_result_length: 100, preserve_recent: 0 } }]`;
  const toolboxes = [{ name: "texts", description: "Texts.", tools: [big] }];
  const bench = await benchOf(yaml, { env: wireEnv(fake), toolboxes }, {});
  const sent: number[] = [];
  fake.play(({ text }) => {
    const prompt = Math.ceil(text.length / 4);
    const piece = sent.push(prompt) < 6 ? { call: "big", args: {} } : { text: "ok" };
    return { speech: { pieces: [piece], usage: reported(prompt) } };
  });
  await say(bench, "Read on");
  expect(sent).toHaveLength(6);
  const errors = eventsOf(bench, "error").map(({ code }) => code);
  expect(errors).toEqual([]);
});
