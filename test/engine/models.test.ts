import { expect, test } from "vitest";
import { resolveModel } from "../../src/engine/models/models.ts";
import { createProbe } from "../support/probe.ts";
import { teamOf } from "../support/teams.ts";
import { benchOf, eventsOf, lastEvent, lastText, refused, say } from "./harness.ts";

/** Three scripted models: `first` with a fallback, `second`, and one with a small window. */
const team = (sessions = "", first = "", more = ""): string => `
providers:
  - name: first
    kind: scripted
    model: alpha
    context_window: 128000
    rate_limit: { max_retries: 0 }
    fallbacks: [third]
    script: { script: 1, pace: { chunk: 24, delay_ms: 0 }, start: s, scenes: [${first} { name: s, reply: [{ text: first }] }] }
  - name: second
    kind: scripted
    model: beta
    context_window: 64000
    script: { script: 1, pace: { chunk: 24, delay_ms: 0 }, start: s, scenes: [{ name: s, reply: [{ text: "second" }] }] }
  - name: third
    kind: scripted
    model: gamma
    context_window: 64000
    script: { script: 1, pace: { chunk: 24, delay_ms: 0 }, start: s, scenes: [{ name: s, reply: [{ text: "third" }] }] }
  - name: tiny
    kind: scripted
    model: nano
    context_window: 8000
    script: { script: 1, replies: [{ reply: [{ text: tiny }] }] }
  - name: locked
    kind: openai
    api_key: \${LOCKED_KEY}
    model: gpt-6.1-sol
models:
  delta: { alias: d, context_window: 32000 }
sessions: { ${sessions} }
agents:
  - name: tester
    toolboxes: [probe]
    permissions: { preset: open }
    effects: []
${more}`;

const extras = { toolboxes: [createProbe().toolbox] };
const models = (requests: readonly { model: string }[]): readonly string[] =>
  requests.map(({ model }) => model);

test("MO-38: a provider, one with its model, a listed model and an alias may be chosen at create and later", async () => {
  const choices = [
    ["second", "beta"],
    ["second/beta", "beta"],
    ["beta", "beta"],
    ["delta", "delta"],
    ["d", "delta"],
    ["second/d", "delta"],
  ] as const;
  for (const [choice, model] of choices) {
    const created = await benchOf(team(), extras, { model: choice });
    await say(created);
    expect(models(created.requests), choice).toEqual([model]);
    const patched = await benchOf(team(), extras, {});
    expect(patched.ok("patch", { model: choice })).toMatchObject({ model: choice });
    await say(patched);
    expect(models(patched.requests), choice).toEqual([model]);
  }
});

test("MO-38: an unknown model is 422, names what there is, and the old one is kept", async () => {
  const bench = await benchOf(team(), extras, { model: "second" });
  for (const model of [
    "ghost",
    "second/ghost",
    "ghost/beta",
    "second/",
    "",
    "gamma/",
    "constructor",
    "__proto__",
  ]) {
    const problem = refused(bench, "patch", { model });
    expect(problem.code, model).toBe("unknown_model");
    expect(problem.detail).toContain("second/beta");
  }
  expect(bench.ok("get")).toMatchObject({ model: "second" });
  expect(refused(await benchOf(team(), extras), "create", { model: "ghost" }).code).toBe("unknown_model");
});

test("MO-38: model_override off allows none, any allows all", async () => {
  const off = await benchOf(team("model_override: 'off'"), extras, {});
  expect(refused(off, "patch", { model: "second" }).detail).toContain("does not let sessions choose");
  const any = await benchOf(team("model_override: any"), extras, {});
  any.ok("patch", { model: "second/whatever-9" });
  await say(any);
  any.ok("patch", { model: "whatever-10" });
  await say(any, "More");
  expect(any.requests.map(({ model }) => model)).toEqual(["whatever-9", "whatever-10"]);
  expect(eventsOf(any, "llm_request_start").map(({ provider }) => provider)).toEqual(["second", "first"]);
});

test("MO-38: a listed model goes to a provider that knows it, the agent's own before others", async () => {
  const yaml = `
providers:
  - { name: claude, kind: anthropic, model: claude-sonnet-5-5, api_key: k, allow_literal_secrets: true }
  - { name: chat, kind: openai, model: gpt-6.1-sol, api_key: k, allow_literal_secrets: true }
  - { name: gateway, kind: openai-compatible, base_url: "https://gateway.example", model: house, api_key: k, allow_literal_secrets: true }
models:
  gpt-4o: { alias: old }
  claude-haiku-4-5: {}
  house-2: {}
agents: [{ name: a }, { name: b, provider: gateway }]`;
  const compiled = await teamOf(yaml);
  const [a, b] = compiled.agents;
  const home = (text: string, agent = a) =>
    agent === undefined ? null : resolveModel(compiled, text, agent)?.provider.name;
  expect(home("old")).toBe("chat");
  expect(home("claude-haiku-4-5")).toBe("claude");
  expect(home("house-2")).toBe("claude");
  expect(home("house-2", b)).toBe("gateway");
  expect(home("gpt-4o", b)).toBe("gateway");
});

test("MO-38: the id of a router's model may begin with a vendor that is a provider here, too", async () => {
  const yaml = `
providers:
  - { name: openai, kind: openai, model: gpt-4o, api_key: k, allow_literal_secrets: true }
  - { name: router, kind: openai-compatible, base_url: "https://router.example", model: openai/gpt-oss-120b, api_key: k, allow_literal_secrets: true }
models:
  openai/gpt-oss-20b: {}
agents: [{ name: a, provider: router }]`;
  const bench = await benchOf(yaml, {}, {});
  for (const model of ["openai/gpt-oss-120b", "openai/gpt-oss-20b", "router/openai/gpt-oss-120b"])
    expect(bench.ok("patch", { model })).toMatchObject({ model });
  const compiled = await teamOf(yaml);
  const [agent] = compiled.agents;
  const chosen = (text: string) => {
    const found = agent === undefined ? null : resolveModel(compiled, text, agent);
    return found === null ? null : `${found.provider.name} ${found.model}`;
  };
  expect(chosen("openai/gpt-oss-120b")).toBe("router openai/gpt-oss-120b");
  expect(chosen("openai/gpt-oss-20b")).toBe("router openai/gpt-oss-20b");
  expect(chosen("openai/gpt-4o")).toBe("openai gpt-4o");
  expect(chosen("openai/ghost")).toBeNull();
  const open = { ...compiled, sessions: { ...compiled.sessions, model_override: "any" as const } };
  const free = (text: string) => (agent === undefined ? null : resolveModel(open, text, agent));
  expect(free("openai/gpt-oss-120b")?.provider.name).toBe("router");
  expect(free("openai/ghost")).toMatchObject({ provider: { name: "openai" }, model: "ghost" });
  expect(free("openai/")).toBeNull();
});

test("CF-23, MO-38: a model below the window guard is 422 and the old one is kept", async () => {
  const bench = await benchOf(team(), extras, { model: "second" });
  const message = "its window of 8000 tokens is below 16000";
  expect(refused(bench, "patch", { model: "tiny" })).toEqual({
    code: "context_window_too_small",
    detail: `/model: ${message}`,
    errors: [{ pointer: "/model", code: "context_window_too_small", message }],
  });
  await say(bench);
  expect(models(bench.requests)).toEqual(["beta"]);
});

test("MO-38: a model whose secret is not set is config_incomplete and the old one is kept", async () => {
  const bench = await benchOf(team(), extras, { model: "second" });
  const problem = refused(bench, "patch", { model: "locked" });
  expect(problem.code).toBe("config_incomplete");
  expect(problem.detail).not.toContain("LOCKED_KEY");
  expect(bench.ok("get")).toMatchObject({ model: "second" });
});

test("MO-38: an override in mid-run is used from the next call, survives a crash, and null clears it", async () => {
  const probe = createProbe(false);
  const first =
    "{ name: looks, when: { input: { equals: Hi }, call: 0 }, reply: [{ call: look, args: { name: a } }] },";
  const bench = await benchOf(team("", first), { toolboxes: [probe.toolbox] }, {});
  bench.send("Hi");
  await bench.steps();
  bench.ok("patch", { model: "second" });
  expect(lastEvent(bench, "model_changed")).toEqual({ from: null, to: "second", scope: "main" });
  probe.calls[0]?.finish();
  await bench.idle();
  expect(models(bench.requests)).toEqual(["alpha", "beta"]);
  expect(lastText(bench, "assistant")).toBe("second");
  bench.crash();
  await say(bench, "More");
  expect(models(bench.requests)).toEqual(["alpha", "beta", "beta"]);
  bench.ok("patch", { model: null });
  await say(bench, "Back");
  expect(models(bench.requests).at(-1)).toBe("alpha");
  expect(eventsOf(bench, "model_changed").map(({ to }) => to)).toEqual(["second", null]);
});

test("MO-27, MO-38: an overloaded primary under an override fails without failover", async () => {
  const overloaded =
    "{ name: busy, when: { agent: tester }, fail: [{ status: 529, times: 9 }], reply: [{ text: never }] },";
  const plain = await benchOf(team("", overloaded), extras, {});
  expect(await say(plain)).toMatchObject({ state: "completed" });
  expect(lastEvent(plain, "provider_failover")).toEqual({
    from: "first/alpha",
    to: "third/gamma",
    code: "overloaded",
  });
  const chosen = await benchOf(team("", overloaded), extras, { model: "first" });
  expect(await say(chosen)).toMatchObject({ state: "failed", reason: "provider_overloaded" });
  expect(eventsOf(chosen, "provider_failover")).toEqual([]);
});

test("MO-27, MO-38: an override chosen while a fallback is about to be tried again takes the run over", async () => {
  const yaml = `
providers:
  - { name: first, kind: scripted, model: alpha, fallbacks: [third], rate_limit: { max_retries: 0 }, script: { script: 1, replies: [{ fail: [{ status: 529, times: 9 }], reply: [{ text: never }] }] } }
  - { name: second, kind: scripted, model: beta, script: { script: 1, replies: [{ reply: [{ text: second }] }] } }
  - { name: third, kind: scripted, model: gamma, script: { script: 1, replies: [{ fail: [{ status: 529, times: 9 }], reply: [{ text: never }] }] } }
agents: [{ name: tester, effects: [] }]`;
  const bench = await benchOf(yaml, {}, {});
  bench.send("Hi");
  await bench.idle();
  expect(lastEvent(bench, "run_waiting")).toMatchObject({ on: [{ kind: "retry" }] });
  bench.ok("patch", { model: "second" });
  await bench.pass(60_000);
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
  expect(lastText(bench, "assistant")).toBe("second");
});
