import { expect, test } from "vitest";
import { emptySession } from "../../src/session/operations/session.ts";
import { compileTeam } from "../../src/config/build/compile.ts";
import type { TeamAgent, Team } from "../../src/config/team.ts";
import { createEngine } from "../../src/engine/create.ts";
import { toolboxes } from "../../src/toolboxes/index.ts";
import { openBench } from "../support/bench.ts";
import { shippedTeam, shippedYaml } from "../support/shipped.ts";
import { engineOptions } from "../support/teams.ts";

test("CF-39: default needs no secret and no network, has prices, a window of 16 000 and a budget of 1 USD", async () => {
  const team = await shippedTeam("default");
  expect(team.secrets).toEqual([]);
  expect(team.providers.map(({ name, kind, context_window }) => [name, kind, context_window])).toEqual([
    ["tour", "scripted", 16_000],
    ["spare", "scripted", 16_000],
    ["crew", "scripted", 16_000],
  ]);
  expect(team.models["tour-1"]?.price).toEqual({ input: 3, output: 15 });
  expect(team.models["spare-1"]?.price).toEqual({ input: 1, output: 5 });
  expect(team.entry_agent).toBe("guide");
  expect(team.agents[0]?.guards.budget.max_cost_usd).toBe(1);
});

const toolboxesOf = ({ toolboxes: entries }: TeamAgent): readonly string[] => entries.map(({ name }) => name);

test("CF-39: guide has every toolbox that needs no network, a builder, and a scout that cannot write", async () => {
  const { agents } = await shippedTeam("default");
  expect(agents.map(({ name, delegation }) => [name, delegation.may_call])).toEqual([
    ["guide", ["*"]],
    ["scout", []],
    ["builder", []],
  ]);
  const [guide, scout, builder] = agents as [TeamAgent, TeamAgent, TeamAgent];
  expect(toolboxesOf(guide).toSorted()).toEqual([
    "ask",
    "exec",
    "filesystem",
    "git",
    "notes",
    "search",
    "state",
    "tasks",
  ]);
  expect(toolboxesOf(builder)).toContain("exec");
  expect(toolboxesOf(scout)).not.toContain("exec");
  const files = toolboxes.find(({ name }) => name === "filesystem")?.tools ?? [];
  const listed = scout.toolboxes.find(({ name }) => name === "filesystem")?.tools ?? [];
  expect(listed.map((name) => [name, files.find((tool) => tool.name === name)?.workspace])).toEqual(
    listed.map((name) => [name, "read"]),
  );
  expect(scout.options.writable_paths).toEqual([]);
});

/** Calls of a team's scripts, each with the agents that it may come from. */
const scriptedCalls = ({ providers, agents }: Team) =>
  providers.flatMap(({ name: provider, script }) =>
    (script?.scenes ?? []).flatMap(({ when, reply }) => {
      const own = agents.filter((agent) => agent.provider === provider);
      const callers = own.filter(({ name }) => when.agent === undefined || when.agent === name);
      return reply.flatMap((piece) => ("call" in piece ? [{ ...piece, callers }] : []));
    }),
  );

test.each(["default", "dev-team"])(
  "CF-39, CF-40: every call of the scripts of %s is one that its agents have, and whose arguments it accepts",
  async (name) => {
    const team = await shippedTeam(name);
    const engine = createEngine(engineOptions(team));
    const session = emptySession(
      "s_aaaaaaaaaaaaaaaaaaaaaaaaaa",
      { tenant: "t1", jurisdiction: null },
      engine.rules,
      0,
    );
    // Only where it is called an agent has this one.
    const calls = scriptedCalls(team).filter(({ call }) => call !== "task_complete");
    expect(calls.length).toBeGreaterThan(12);
    for (const { call, args, callers } of calls) {
      const filled = JSON.parse(JSON.stringify({ ...args }).replaceAll(/\{\{.*?\}\}/g, "task_1")) as object;
      for (const caller of callers) {
        const found = engine.agent(caller.name, session).tools.get(call)?.tool.params.safeParse(filled);
        expect([caller.name, call, found?.success, found?.error?.issues]).toEqual([
          caller.name,
          call,
          true,
          undefined,
        ]);
      }
    }
  },
);

const played = async (...inputs: readonly string[]) => {
  const bench = openBench({ engine: createEngine(engineOptions(await shippedTeam("default"))) });
  bench.ok("create");
  for (const input of inputs) {
    bench.send(input);
    await bench.idle();
    for (let wait = 0; wait < 4; wait++) await bench.pass(20_000);
  }
  return bench;
};

test("★ CF-39, MO-27: the scene fallback goes on with the spare model, is priced as it, and does not stick", async () => {
  const bench = await played("fallback", "hello");
  const finishes = bench.events().flatMap((event) => (event.type === "llm_finish" ? [event.data] : []));
  expect(finishes.map(({ provider, model }) => `${provider}/${model}`)).toEqual([
    "spare/spare-1",
    "tour/tour-1",
  ]);
  const [first] = finishes;
  const { input = 0, output = 0 } = first?.usage ?? {};
  expect(first?.cost_usd).toBeCloseTo((input * 1 + output * 5) / 1e6, 9);
  expect(bench.events().find(({ type }) => type === "provider_failover")?.data).toEqual({
    from: "tour/tour-1",
    to: "spare/spare-1",
    code: "auth",
  });
  expect(bench.types().filter((type) => type === "run_end")).toHaveLength(2);
});

test("CF-39, MO-26: the scene retry stays with its model, though there is a spare one", async () => {
  const bench = await played("retry");
  expect(bench.types().filter((type) => type === "attempt_aborted")).toHaveLength(3);
  expect(bench.types()).not.toContain("provider_failover");
  expect(bench.events().findLast(({ type }) => type === "run_end")?.data).toMatchObject({
    state: "completed",
  });
});

test("CF-41: assistant has one agent on a real model, ten turns and the generated effects", async () => {
  const team = await shippedTeam("assistant");
  expect(team.secrets).toEqual(["ANTHROPIC_API_KEY"]);
  expect(team.agents).toHaveLength(1);
  const [agent] = team.agents;
  expect(agent?.toolboxes.map(({ name }) => name)).toEqual([
    "ask",
    "filesystem",
    "exec",
    "search",
    "git",
    "http",
    "state",
    "tasks",
  ]);
  expect(agent?.options.max_iterations).toBe(10);
  expect(agent?.effects.map(({ kind }) => kind)).toEqual(["trim_tool_results", "compact"]);
});

test("CF-41: each commented provider of assistant is right once it is swapped in", async () => {
  const yaml = shippedYaml("assistant");
  const blocks = [...yaml.matchAll(/^ {2}# - name: default\n(?: {2}# {3}.*\n)+/gm)].map(([block]) => block);
  expect(blocks).toHaveLength(5);
  const current = /^ {2}- name: default\n(?: {4}.*\n)+/m;
  for (const block of blocks) {
    const swapped = yaml.replace(current, block.replaceAll(/^ {2}# /gm, "  "));
    const { team, diagnostics } = compileTeam(new Map([["team.yaml", swapped]]), { name: "assistant" });
    expect([block, diagnostics]).toEqual([block, []]);
    expect(team?.secrets).toHaveLength(block.includes("workers-ai") ? 0 : 1);
  }
});

test("CF-40: each agent of dev-team has its own skill, and only the lead may call others", async () => {
  const team = await shippedTeam("dev-team");
  expect([team.secrets, team.entry_agent]).toEqual([[], "lead"]);
  expect(team.agents.map(({ name, skills, delegation }) => [name, skills, delegation.may_call])).toEqual([
    ["lead", ["lead-workflow"], ["explorer", "planner", "coder", "reviewer"]],
    ...["explorer", "planner", "coder", "reviewer"].map((name) => [name, [`${name}-workflow`], []]),
  ]);
  expect(team.skills.map(({ description }) => description !== null)).toEqual(Array(5).fill(true));
});

const minutes = 60_000;
const reading = ["fs_read", "fs_read_lines", "fs_list", "fs_stat"];
const short = {
  observation_mask: { threshold: 0.6, recent_window: 10 },
  trim_tool_results: { max_result_length: 400, preserve_recent: 3 },
  compact: { threshold: 0.8 },
  stall_detect: {},
  time_budget: { max_duration: 5 * minutes },
};
const long = {
  observation_mask: { threshold: 0.5, recent_window: 8 },
  compact: { threshold: 0.75 },
  stall_detect: {},
  time_budget: { max_duration: 10 * minutes },
};

/** The spec's table: `filesystem` by its tools. */
const table = [
  {
    name: "lead",
    files: reading,
    others: ["search", "browser", "tasks", "notes"],
    effects: { ...long, trim_tool_results: { max_result_length: 300, preserve_recent: 3 } },
    turns: 20,
    writes: undefined,
  },
  {
    name: "explorer",
    files: reading,
    others: ["search", "git", "browser", "notes"],
    effects: short,
    turns: 10,
    writes: [],
  },
  {
    name: "planner",
    files: reading,
    others: ["search", "git", "browser", "notes", "tasks"],
    effects: short,
    turns: 10,
    writes: [],
  },
  {
    name: "coder",
    files: undefined,
    others: ["exec", "search", "git", "http", "browser", "tasks", "notes"],
    effects: { ...long, loop_detect: {}, reflection: {}, progress: {}, trim_tool_results: {} },
    turns: 20,
    writes: ["bin/**", "src/**", "test/**"],
  },
  {
    name: "reviewer",
    files: [...reading, "fs_diff"],
    others: ["search", "exec", "notes"],
    effects: short,
    turns: 10,
    writes: [],
  },
];

test.each(table)("CF-40: $name has the toolboxes, effects and options of the table", async (row) => {
  const team = await shippedTeam("dev-team");
  const agent = team.agents.find(({ name }) => name === row.name) as TeamAgent;
  const boxes = new Map(agent.toolboxes.map(({ name, tools }) => [name, tools]));
  expect([...boxes.keys()].toSorted()).toEqual(["ask", "filesystem", ...row.others].toSorted());
  expect(boxes.get("filesystem")).toEqual(row.files);
  const looking = row.writes?.length === 0 ? ["git_status", "git_diff", "git_log"] : undefined;
  expect(row.others.map((name) => boxes.get(name))).toEqual(
    row.others.map((name) => (name === "git" ? looking : undefined)),
  );
  const effects = Object.fromEntries(agent.effects.map(({ kind, params }) => [kind, params]));
  expect(Object.keys(effects).toSorted()).toEqual(Object.keys(row.effects).toSorted());
  expect(effects).toMatchObject(row.effects);
  const { max_iterations, max_delegation_depth, writable_paths } = agent.options;
  expect([max_iterations, writable_paths]).toEqual([row.turns, row.writes]);
  if (row.name === "lead") expect(max_delegation_depth).toBe(2);
});
