import { afterAll, beforeAll, expect, test } from "vitest";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { engineOf } from "../support/teams.ts";
import { benchOf, eventsOf, lastEvent, lastText, say, wireEnv } from "./harness.ts";

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const newest = () => fake.requests.at(-1)?.body ?? {};

/** Model targets of the entry agent as the engine builds them. */
const targetsOf = async (yaml: string) => {
  const engine = await engineOf(yaml);
  const session = { tools: null, clientTools: [], model: null };
  return engine.agent(engine.team.entry_agent, session as never).targets;
};

const wire = (kind: "anthropic" | "openai", model: string, provider = "", agent = "", more = ""): string => `
providers:
  - name: main
    kind: ${kind}
    base_url: ${fake.url(kind)}
    api_key: \${KEY}
    model: ${model}
    ${provider}
agents:
  - name: helper
    effects: []
    ${agent}
${more}`;

const asked = async (yaml: string): Promise<Readonly<Record<string, unknown>>> => {
  const bench = await benchOf(yaml, { env: wireEnv(fake) }, {});
  expect(await say(bench)).toMatchObject({ state: "completed" });
  return newest();
};

test("MO-6: without max_tokens a model with a large output is asked for 16 384, and less if it gives less", async () => {
  expect((await asked(wire("anthropic", "claude-sonnet-5-5")))["max_tokens"]).toBe(16_384);
  const small = "models: { claude-sonnet-5-5: { max_output: 4000 } }";
  expect((await asked(wire("anthropic", "claude-sonnet-5-5", "", "", small)))["max_tokens"]).toBe(4_000);
});

test("MO-6, CF-13: the provider's max_tokens is sent, the agent's wins over it", async () => {
  expect((await asked(wire("openai", "gpt-4o", "max_tokens: 900")))["max_completion_tokens"]).toBe(900);
  const both = wire("openai", "gpt-4o", "max_tokens: 900", "max_tokens: 700");
  expect((await asked(both))["max_completion_tokens"]).toBe(700);
});

test("CF-13: temperature and top_p of provider and agent reach the request, the agent's first", async () => {
  const provider = "temperature: 0.3\n    top_p: 0.5";
  const body = await asked(wire("openai", "gpt-4o", provider, "temperature: 0.9"));
  expect(body).toMatchObject({ temperature: 0.9, top_p: 0.5 });
});

test("★ MO-7: what a model refuses is left out and said once in a session", async () => {
  const yaml = wire("anthropic", "claude-sonnet-5-5", "temperature: 0.3");
  const bench = await benchOf(yaml, { env: wireEnv(fake) }, {});
  await say(bench);
  await say(bench, "Again");
  expect(newest()).not.toHaveProperty("temperature");
  const dropped = eventsOf(bench, "error").filter(({ code }) => code === "param_dropped");
  expect(dropped).toHaveLength(1);
  expect(dropped[0]?.["message"]).toContain("temperature");
});

test.each(["claude-opus-4-6", "claude-sonnet-4-6"])(
  "MO-7 MO-10: %s takes a temperature unless it reasons",
  async (model) => {
    const plain = await benchOf(wire("anthropic", model, "temperature: 0.3"), { env: wireEnv(fake) }, {});
    await say(plain);
    expect(newest()).toMatchObject({ temperature: 0.3 });
    expect(newest()).not.toHaveProperty("thinking");
    expect(eventsOf(plain, "error")).toEqual([]);
    const asks = wire("anthropic", model, "temperature: 0.3\n    reasoning: { effort: low }");
    const thinking = await benchOf(asks, { env: wireEnv(fake) }, {});
    await say(thinking);
    expect(newest()).toMatchObject({ thinking: { type: "adaptive" } });
    expect(newest()).not.toHaveProperty("temperature");
    expect(eventsOf(thinking, "error").map(({ code }) => code)).toEqual(["param_dropped"]);
  },
);

test("CF-14: reasoning_effort is the agent's effort, and takes the place of the provider's effort or budget", async () => {
  const effort = "options: { reasoning_effort: low }";
  expect(await asked(wire("openai", "gpt-5.2", "reasoning: { effort: high }", effort))).toMatchObject({
    reasoning_effort: "low",
  });
  const budget = wire("anthropic", "claude-haiku-4-5", "reasoning: { budget_tokens: 20000 }", effort);
  expect(await asked(budget)).toMatchObject({ thinking: { type: "enabled", budget_tokens: 4_096 } });
});

test.each([
  ["has room for both", 1_000, 4_096],
  ["is scarce: half of it", 6_700, 2_603],
  ["has no room for it", 9_000, undefined],
])(
  "MO-6 MO-10: a budget of reasoning stays within the window beside the reply, when that %s",
  async (_, words, budget) => {
    const yaml = wire("anthropic", "claude-haiku-4-5", "context_window: 16000", "reasoning: { effort: low }");
    const bench = await benchOf(yaml, { env: wireEnv(fake) }, {});
    await say(bench, "Tide. ".repeat(words));
    const { estimated_tokens: input } = lastEvent(bench, "llm_request_start") as { estimated_tokens: number };
    const { max_tokens: most, thinking } = newest() as {
      max_tokens: number;
      thinking?: { budget_tokens: number };
    };
    expect(thinking?.budget_tokens).toEqual(budget);
    expect(most).toBeLessThanOrEqual(16_000 - input - 256);
    expect(most - (thinking?.budget_tokens ?? 0)).toBeGreaterThanOrEqual(1_024);
  },
);

test("CF-13: an agent's reasoning stands for the provider's as a whole", async () => {
  const yaml = wire(
    "anthropic",
    "claude-haiku-4-5",
    "reasoning: { effort: high }",
    "reasoning: { budget_tokens: 2000 }",
  );
  expect(await asked(yaml)).toMatchObject({ thinking: { budget_tokens: 2_000 } });
});

test("CF-17: defaults reach every agent; its own scalar replaces them, options and reasoning merge key by key", async () => {
  const yaml = `
providers: [{ name: main, kind: openai, base_url: "${fake.url("openai")}", api_key: "\${KEY}", model: gpt-4o }]
defaults:
  temperature: 0.2
  top_p: 0.4
  max_tokens: 800
  options: { max_iterations: 7, tool_output_limits: { fs_read: 500 } }
agents:
  - name: helper
    temperature: 0.7
    effects: []
    options: { max_iterations: 3 }`;
  expect(await asked(yaml)).toMatchObject({ temperature: 0.7, top_p: 0.4, max_completion_tokens: 800 });
  const engine = await engineOf(yaml);
  const agent = engine.agent("helper", { tools: null, clientTools: [], model: null } as never);
  expect(agent.limits.maxIterations).toBe(3);
  expect(agent.outputLimits).toEqual({ fs_read: 500 });
});

test("MO-12: cache off sets no breakpoints, 1h asks for the long one, auto is the default", async () => {
  const text = async (provider = ""): Promise<string> =>
    JSON.stringify(await asked(wire("anthropic", "claude-sonnet-5-5", provider)));
  expect(await text()).toContain('"cache_control":{"type":"ephemeral"}');
  expect(await text("cache: { ttl: 1h }")).toContain('"cache_control":{"type":"ephemeral","ttl":"1h"}');
  expect(await text("cache: { mode: 'off' }")).not.toContain("cache_control");
});

test("CF-20: headers of a provider are sent with their references resolved", async () => {
  const yaml = wire("openai", "gpt-4o", "headers: { X-Team: 'a-${TEAM}' }");
  const bench = await benchOf(yaml, { env: wireEnv(fake, { TEAM: "blue" }) }, {});
  await say(bench);
  expect(fake.requests.at(-1)?.headers["x-team"]).toBe("a-blue");
});

const scriptOf = (text: string, fail = ""): string =>
  `{ script: 1, pace: { chunk: 24, delay_ms: 0 }, start: s, scenes: [{ name: s, ${fail} reply: [{ text: ${text} }] }] }`;
const busy = "fail: [{ status: 529, times: 9 }],";

test("MO-27: fallbacks are tried in order, each move is said, and the next turn begins with the first target again", async () => {
  const yaml = `
providers:
  - { name: a, kind: scripted, model: ma, rate_limit: { max_retries: 0 }, fallbacks: [b, { provider: c, model: mc-2 }], script: { script: 1, start: s, scenes: [{ name: bad, when: { input: { equals: Hi } }, ${busy} reply: [{ text: no }] }, { name: s, reply: [{ text: from a }] }] } }
  - { name: b, kind: scripted, model: mb, rate_limit: { max_retries: 0 }, script: ${scriptOf("no", busy)} }
  - { name: c, kind: scripted, model: mc, script: ${scriptOf("from c")} }
agents: [{ name: helper, effects: [] }]`;
  const bench = await benchOf(yaml, {}, {});
  await say(bench);
  expect(lastText(bench, "assistant")).toBe("from c");
  expect(eventsOf(bench, "provider_failover")).toEqual([
    { from: "a/ma", to: "b/mb", code: "overloaded" },
    { from: "b/mb", to: "c/mc-2", code: "overloaded" },
  ]);
  await say(bench, "Again");
  expect(lastText(bench, "assistant")).toBe("from a");
});

test("MO-27: an agent's own fallbacks stand for the provider's, and [] means none", async () => {
  const yaml = (fallbacks: string): string => `
providers:
  - { name: a, kind: scripted, model: ma, rate_limit: { max_retries: 0 }, fallbacks: [b], script: ${scriptOf("no", busy)} }
  - { name: b, kind: scripted, model: mb, script: ${scriptOf("from b")} }
  - { name: c, kind: scripted, model: mc, script: ${scriptOf("from c")} }
agents: [{ name: helper, effects: [], fallbacks: ${fallbacks} }]`;
  const own = await benchOf(yaml("[c]"), {}, {});
  await say(own);
  expect(lastText(own, "assistant")).toBe("from c");
  const none = await benchOf(yaml("[]"), {}, {});
  expect(await say(none)).toMatchObject({ state: "failed", reason: "provider_overloaded" });
});

test("MO-20 MO-39: a scripted provider that is silent for longer than its timeouts gives way to the next", async () => {
  const slow = `{ script: 1, replies: [{ stall_ms: 3600000, reply: [{ text: late }] }] }`;
  const yaml = `
providers:
  - { name: a, kind: scripted, model: ma, rate_limit: { max_retries: 0 }, timeouts: { idle: 5s }, fallbacks: [b], script: ${slow} }
  - { name: b, kind: scripted, model: mb, script: ${scriptOf("from b")} }
agents: [{ name: helper, effects: [] }]`;
  const bench = await benchOf(yaml, {}, {});
  bench.send("Hi");
  await bench.steps();
  await bench.tick(4_999);
  expect(eventsOf(bench, "provider_failover")).toEqual([]);
  await bench.pass(1);
  expect(lastText(bench, "assistant")).toBe("from b");
  expect(eventsOf(bench, "provider_failover")).toEqual([{ from: "a/ma", to: "b/mb", code: "timeout" }]);
});

test("MO-27: all targets failed: the run ends with the first target's code and what was said of it", async () => {
  const yaml = `
providers:
  - { name: a, kind: scripted, model: ma, rate_limit: { max_retries: 0 }, fallbacks: [b], script: ${scriptOf("no", busy)} }
  - { name: b, kind: scripted, model: mb, rate_limit: { max_retries: 0 }, script: ${scriptOf("no", "fail: [{ status: 429, times: 9 }],")} }
agents: [{ name: helper, effects: [] }]`;
  const bench = await benchOf(yaml, {}, {});
  expect(await say(bench)).toMatchObject({
    state: "failed",
    reason: "provider_overloaded",
    error: { code: "provider_overloaded", detail: "The provider is overloaded (a/ma, HTTP 529)." },
  });
});

test.each([
  ["has its own fallbacks", "", ["c/mc"]],
  ["gives way to the fallbacks that the agent names", ", fallbacks: [b, d]", ["d/md"]],
  ["has none if the agent is to have none", ", fallbacks: []", []],
])("MO-27 MO-38: a provider that a delegating call chose %s", async (_what, own, taken) => {
  const lead = `{ script: 1, replies: [{ reply: [{ call: delegate_to_agent, args: { agent: coder, task: Go, context: None, provider: b } }] }, { reply: [{ text: "{{results.delegate_to_agent}}" }] }] }`;
  const yaml = `
providers:
  - { name: a, kind: scripted, model: ma, script: ${lead} }
  - { name: b, kind: scripted, model: mb, rate_limit: { max_retries: 0 }, fallbacks: [c], script: ${scriptOf("no", busy)} }
  - { name: c, kind: scripted, model: mc, script: ${scriptOf("from c")} }
  - { name: d, kind: scripted, model: md, script: ${scriptOf("from d")} }
agents:
  - { name: lead, effects: [], toolboxes: [agents], permissions: { preset: open }, delegation: { providers: [b] } }
  - { name: coder, effects: []${own} }`;
  const bench = await benchOf(yaml, {}, {});
  expect(await say(bench)).toMatchObject({ state: "completed" });
  expect(eventsOf(bench, "provider_failover")).toEqual(
    taken.map((to) => ({ from: "b/mb", to, code: "overloaded" })),
  );
});

test("CF-22: each target has the window of its own provider and model", async () => {
  const targets = await targetsOf(`
providers:
  - { name: a, kind: anthropic, api_key: k, allow_literal_secrets: true, model: claude-sonnet-5-5, fallbacks: [{ provider: a, model: claude-haiku-4-5 }, b, c, d, { provider: d, model: listed }] }
  - { name: b, kind: openai, api_key: k, allow_literal_secrets: true, model: gpt-6.1-sol, context_window: auto }
  - { name: c, kind: openai-compatible, base_url: "https://c.example", api_key: k, allow_literal_secrets: true, model: unheard-of }
  - { name: d, kind: openai-compatible, base_url: "https://d.example", api_key: k, allow_literal_secrets: true, model: zero, context_window: 0 }
models: { listed: { context_window: 48000 } }
agents: [{ name: helper, effects: [] }]
defaults: { options: { context_window: 33000 } }`);
  expect(targets.map(({ model }) => model)).toEqual([
    "claude-sonnet-5-5",
    "claude-haiku-4-5",
    "gpt-6.1-sol",
    "unheard-of",
    "zero",
    "listed",
  ]);
  const [sonnet, haiku, gpt, unheard, zero, listed] = targets.map(({ window }) => window);
  expect([sonnet, haiku, unheard, zero, listed]).toEqual([200_000, 200_000, 33_000, 0, 48_000]);
  expect(gpt).toBeGreaterThan(128_000);
});

test("MO-26, MO-29: retry and limits of a target are its provider's; without limits there is no gate", async () => {
  const [a, b] = await targetsOf(`
providers:
  - { name: a, kind: anthropic, api_key: k, allow_literal_secrets: true, model: claude-sonnet-5-5, fallbacks: [b], retry: { max_wait: 3m }, rate_limit: { rpm: 7, input_tpm: 900, max_retries: 1, base_delay: 2s }, timeouts: { total: 4m } }
  - { name: b, kind: openai, api_key: k, allow_literal_secrets: true, model: gpt-6.1-sol }
agents: [{ name: helper, effects: [] }]`);
  expect(a?.retry).toEqual({ maxRetries: 1, baseDelay: 2_000, maxWait: 180_000 });
  expect(a?.gate).toMatchObject({ maxWait: 180_000, total: 240_000, limits: { rpm: 7, input_tpm: 900 } });
  expect(a?.gate?.limits.cacheReadsCount).toBe(false);
  expect(b?.retry).toEqual({ maxRetries: 3, baseDelay: 1_000, maxWait: 600_000 });
  expect(b?.gate).toBeNull();
});

test("MO-36: a target prices by its own model, the team's price before the catalogue's", async () => {
  const [a, b] = await targetsOf(`
providers:
  - { name: a, kind: openai-compatible, base_url: "https://a.example", api_key: k, allow_literal_secrets: true, model: house, fallbacks: [{ provider: a, model: other }] }
models: { house: { price: { input: 3, output: 5 } } }
agents: [{ name: helper, effects: [] }]`);
  const usage = { input: 1_000, output: 100, cacheRead: 0, cacheWrite: 0, total: 1_100 };
  expect(a?.cost(usage)).toBe(3_000_000 + 500_000);
  expect(b?.cost(usage)).toBeNull();
});

test("MO-6: under 1 024 tokens of room the run ends before anything is sent", async () => {
  const instructions = `instructions: ${"word ".repeat(12_000).trim()}`;
  const yaml = wire("openai", "gpt-4o", "context_window: 16000", instructions);
  const bench = await benchOf(yaml, { env: wireEnv(fake) }, {});
  const before = fake.requests.length;
  expect(await say(bench)).toMatchObject({ reason: "context_length_exceeded" });
  expect(fake.requests).toHaveLength(before);
  expect(lastEvent(bench, "run_end")["error"]).toMatchObject({
    detail: expect.stringContaining("does not fit the model's context window"),
  });
});

test("MO-6 EF-25: an input without room is cut to fit before anything is sent, its original stays", async () => {
  const yaml = wire("openai", "gpt-4o", "context_window: 16000");
  const bench = await benchOf(yaml, { env: wireEnv(fake) }, {});
  const before = fake.requests.length;
  const input = "word ".repeat(13_000);
  expect(await say(bench, input)).toMatchObject({ state: "completed" });
  expect(fake.requests).toHaveLength(before + 1);
  expect(JSON.stringify(newest()).length).toBeLessThan(15_000 * 4);
  expect(lastEvent(bench, "compaction")).toMatchObject({ effect: "overflow", stage: "hard_clear" });
  expect(bench.chat()[0]?.parts).toMatchObject([{ type: "text", text: input }]);
});
