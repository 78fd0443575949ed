import { expect, test } from "vitest";
import type { Team } from "../../src/config/team.ts";
import { createEngine } from "../../src/engine/create.ts";
import { emptySession } from "../../src/session/operations/session.ts";
import { engineOptions } from "../support/teams.ts";
import { compile, complaints, team } from "./support.ts";

/** What keys mean that depends on where or how they are written. */

const built = async (yaml: string): Promise<Team> => {
  const { team: compiled, diagnostics } = await compile(yaml);
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  if (compiled === null) throw new Error("the team was not built");
  return compiled;
};

test("★ CF-22 CF-17: context_window of an agent comes before its provider's, that of defaults behind the kind's", async () => {
  const windows = async (yaml: string): Promise<unknown> => {
    const engine = createEngine(engineOptions(await built(yaml)));
    const owner = { tenant: "t1", jurisdiction: null };
    const session = emptySession("s_aaaaaaaaaaaaaaaaaaaaaaaaaa", owner, engine.rules, 0);
    return ["guide", "scout"].map((name) => engine.agent(name, session).targets[0]?.window);
  };
  const agent = "    options: { context_window: 40000 }\n  - name: scout";
  expect(await windows(team({ provider: "    context_window: 90000", agent }))).toEqual([40_000, 90_000]);
  const top = "defaults: { options: { context_window: 50000 } }";
  expect(await windows(team({ agent, top }))).toEqual([40_000, 200_000]);
  const unknown = "openai-compatible\n    base_url: https://a.example";
  expect(
    await windows(team({ agent, top }).replace("anthropic", unknown).replace("claude-sonnet-5-5", "m")),
  ).toEqual([40_000, 50_000]);
});

const said = async (yaml: string): Promise<readonly string[]> =>
  (await complaints(yaml)).map((line) => line.replace(/^\S+ (error|warning) /, "").split(": ")[0] ?? "");

test("★ CF-16: a key without a value is absent, and its default or that of the team holds", async () => {
  const effects = async (text: string): Promise<unknown> =>
    (await built(team({ agent: `    effects:${text}` }))).agents[0]?.effects.map(({ kind }) => kind);
  expect(await effects("")).toEqual(["trim_tool_results", "compact"]);
  expect(await effects(" []")).toEqual([]);
  expect(await effects("\n      - { kind: compact, params: }")).toEqual(["compact"]);
  const [agent] = (
    await built(
      team({
        agent: "    skills: null\n    max_tokens: ~\n    options: { max_iterations: }",
        top: "defaults: { options: { max_iterations: 7, command_timeout: } }\nmcp_servers:\ngit: { work_dir: }",
      }),
    )
  ).agents;
  expect(agent?.options).toMatchObject({ max_iterations: 7, command_timeout: 120_000 });
  expect(agent?.max_tokens).toBeUndefined();
});

test("★ CF-16: an empty text where only a duration, size, address, path or one of some words can stand is absent, too", async () => {
  const yaml = team({
    provider:
      '    base_url: ""\n    rate_limit: { base_delay: "" }\n    timeouts: { idle: "" }\n    auth: ""',
    agent: '    estimated_cost: ""\n    options: { interaction_mode: "", working_dir: "", backend: "" }',
    top: 'filesystem: { permissions_file: "" }\nsandbox: { limits: { disk: "" } }\ncontext: { max_external_file_size: "" }\nbudgets: { run: { max_duration: "" } }',
  });
  expect(await said(yaml)).toEqual([
    "empty_value providers[0].base_url",
    "empty_value providers[0].rate_limit.base_delay",
    "empty_value providers[0].timeouts.idle",
    "empty_value providers[0].auth",
    "empty_value agents[0].estimated_cost",
    "empty_value agents[0].options.interaction_mode",
    "empty_value agents[0].options.working_dir",
    "empty_value filesystem.permissions_file",
    "empty_value sandbox.limits.disk",
    "empty_value context.max_external_file_size",
    "empty_value budgets.run.max_duration",
  ]);
  const compiled = await built(yaml);
  expect(compiled.providers[0]).toMatchObject({
    rate_limit: { base_delay: 1_000 },
    timeouts: { idle: 90_000 },
  });
  expect(compiled.agents[0]?.options).toMatchObject({ interaction_mode: "blocking", working_dir: "." });
});

test("CF-16: what is required, names, numbers and lists that allow are not guessed", async () => {
  expect(await said(team().replace("anthropic", ""))).toEqual(["wrong_type providers[0].kind"]);
  expect(await said(team({ agent: '    provider: ""' }))).toEqual(["invalid_value agents[0].provider"]);
  expect(await said(team({ agent: '    options: { max_iterations: "" }' }))).toEqual([
    "wrong_type agents[0].options.max_iterations",
  ]);
  expect(
    await said(team({ agent: "    delegation: { may_call: }\n    options: { writable_paths: }" })),
  ).toEqual(["wrong_type agents[0].delegation.may_call", "wrong_type agents[0].options.writable_paths"]);
  expect(await said(team().replace("[filesystem]", "[{ name: filesystem, tools: }]"))).toEqual([
    "wrong_type agents[0].toolboxes[0].tools",
  ]);
});

test("CF-16: null stays where any value may stand", async () => {
  const schema = '{ type: object, properties: { a: { default: null, const: "" } } }';
  const yaml = team({ agent: `    options: { response_format: json_schema, response_schema: ${schema} }` });
  expect(await complaints(yaml)).toEqual([]);
  const [agent] = (await built(yaml)).agents;
  expect(agent?.options.response_schema).toEqual({
    type: "object",
    properties: { a: { default: null, const: "" } },
  });
});

test("CF-16 CF-10: keys without a value around the body of a template are absent", async () => {
  const wrapped = `template:\nconfig:\n${team().replaceAll(/^(?=.)/gm, "  ")}embedded_skills:\n`;
  expect(await said(wrapped)).toEqual(["empty_value template", "empty_value embedded_skills"]);
});

test("AG-13: a writable path means what it seems to: no ! before it, no bracket left open", async () => {
  const pathsOf = (list: string): Promise<readonly string[]> =>
    said(team({ agent: `    options: { writable_paths: ${list} }` }));
  expect(await pathsOf('["**", "!secrets/**"]')).toEqual([
    "invalid_value agents[0].options.writable_paths[1]",
  ]);
  expect(await pathsOf('["src/[ab"]')).toEqual(["invalid_value agents[0].options.writable_paths[0]"]);
  expect(await pathsOf('["src/[ab]*", "[!.]*"]')).toEqual([]);
});

test("CF-16: a replacement without its text is told", async () => {
  const guardrail = "{ kind: output_guardrail, params: { min_length: 5, on_fail: replace } }";
  expect(await said(team({ agent: `    middleware: [${guardrail}]` }))).toEqual([
    "missing_key agents[0].middleware[0].params.text",
  ]);
});
