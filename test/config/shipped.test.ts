import { expect, test } from "vitest";
import { readTeamFiles } from "../../src/config/files.ts";
import { resolve } from "node:path";
import { compileTeam } from "../../src/config/compile.ts";
import type { Team } from "../../src/config/team.ts";
import { createEngine } from "../../src/engine/create.ts";
import { toolboxes } from "../../src/toolboxes/index.ts";
import { openBench } from "../support/bench.ts";
import { engineOptions } from "../support/teams.ts";

const root = resolve(import.meta.dirname, "../..");
const shipped = async (name: string): Promise<Team> => {
  const { team, diagnostics } = await compileTeam(readTeamFiles(root, name), { name });
  expect(diagnostics).toEqual([]);
  if (team === null) throw new Error("the team was not built");
  return team;
};

test("CF-39: default needs no secret and no network, has prices, a window of 16 000 and a budget of 1 USD", async () => {
  const team = await shipped("default");
  expect(team.secrets).toEqual([]);
  expect(team.providers.map(({ name, kind, context_window }) => [name, kind, context_window])).toEqual([
    ["tour", "scripted", 16_000],
    ["spare", "scripted", 16_000],
  ]);
  expect(team.models["tour-1"]?.price).toEqual({ input: 3, output: 15 });
  expect(team.models["spare-1"]?.price).toEqual({ input: 1, output: 5 });
  expect(team.agents.map(({ name, guards }) => [name, guards.budget.max_cost_usd])).toEqual([["guide", 1]]);
});

test("CF-39: every call of the guide's script is one that its tools accept", async () => {
  const { providers, agents } = await shipped("default");
  const listed = new Set(agents[0]?.toolboxes.map(({ name }) => name));
  const tools = toolboxes.filter(({ name }) => listed.has(name)).flatMap((box) => box.tools);
  const scenes = providers[0]?.script?.scenes ?? [];
  const calls = scenes.flatMap(({ reply }) => reply.flatMap((piece) => ("call" in piece ? [piece] : [])));
  expect(calls.length).toBeGreaterThan(6);
  for (const { call, args } of calls) {
    const tool = tools.find(({ name }) => name === call);
    expect([call, tool?.params.safeParse({ ...args }).success]).toEqual([call, true]);
  }
});

const played = async (...inputs: readonly string[]) => {
  const bench = openBench({ engine: createEngine(engineOptions(await shipped("default"))) });
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

test("CF-39: the menu names every scene that a word begins, and every other scene follows one", async () => {
  const script = (await shipped("default")).providers[0]?.script;
  const scenes = script?.scenes ?? [];
  const menu = scenes.find(({ name }) => name === script?.start)?.reply[0];
  const text = menu !== undefined && "text" in menu ? JSON.stringify(menu.text) : "";
  const words = scenes.flatMap(({ when }) => when.input?.words ?? []);
  expect(words).toEqual([
    "hello",
    "files",
    "run",
    "ask",
    "approve",
    "retry",
    "fallback",
    "budget",
    "json",
    "slow",
  ]);
  expect(words.filter((word) => !text.includes(`**${word}**`))).toEqual([]);
  const later = scenes.filter(({ when, name }) => when.input === undefined && name !== script?.start);
  expect(later.filter(({ when }) => when.after === undefined || when.last?.tool === undefined)).toEqual([]);
});

test("CF-41: assistant has one agent on a real model, ten turns and the generated effects", async () => {
  const team = await shipped("assistant");
  expect(team.secrets).toEqual(["ANTHROPIC_API_KEY"]);
  expect(team.agents).toHaveLength(1);
  const [agent] = team.agents;
  expect(agent?.toolboxes.map(({ name }) => name)).toEqual(["ask", "filesystem", "exec", "search"]);
  expect(agent?.options.max_iterations).toBe(10);
  expect(agent?.effects.map(({ kind }) => kind)).toEqual(["trim_tool_results", "compact"]);
});

test("CF-41: each commented provider of assistant is right once it is swapped in", async () => {
  const files = readTeamFiles(root, "assistant");
  const yaml = new TextDecoder().decode(files.get("team.yaml") as Uint8Array);
  const blocks = [...yaml.matchAll(/^ {2}# - name: default\n(?: {2}# {3}.*\n)+/gm)].map(([block]) => block);
  expect(blocks).toHaveLength(4);
  const current = /^ {2}- name: default\n(?: {4}.*\n)+/m;
  for (const block of blocks) {
    const swapped = yaml.replace(current, block.replaceAll(/^ {2}# /gm, "  "));
    const { team, diagnostics } = await compileTeam(new Map([["team.yaml", swapped]]), { name: "assistant" });
    expect([block, diagnostics]).toEqual([block, []]);
    expect(team?.secrets).toHaveLength(1);
  }
});

test("AG-19: each agent of dev-team has its own skill, and only the lead may call others", async () => {
  const team = await shipped("dev-team");
  expect(team.secrets).toEqual([]);
  expect(team.agents.map(({ name, skills, delegation }) => [name, skills, delegation.may_call])).toEqual([
    ["lead", ["lead-workflow"], ["explorer", "planner", "coder", "reviewer"]],
    ...["explorer", "planner", "coder", "reviewer"].map((name) => [name, [`${name}-workflow`], []]),
  ]);
  expect(team.skills.map(({ description }) => description !== null)).toEqual(Array(5).fill(true));
  const writable = team.agents.map(({ name, options }) => [name, options.writable_paths]);
  expect(Object.fromEntries(writable)).toMatchObject({ explorer: [], planner: ["PLAN.md"], reviewer: [] });
});
