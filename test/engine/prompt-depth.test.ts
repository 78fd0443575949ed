import { expect, test } from "vitest";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { crewYaml, delegate, spawn, task } from "../support/crew.ts";
import type { Member } from "../support/crew.ts";
import { createProbe } from "../support/probe.ts";
import { engineOf } from "../support/teams.ts";
import { say } from "./harness.ts";
import { done, replies, said } from "../support/scripts.ts";

/** System prompts of agents that call and are called, from YAML to the requests (AG-3 to AG-6). */

const files = {
  "context/a.md": "House rules.",
  "context/HEARTBEAT.md": "Look around.",
  "skills/plain/SKILL.md": "Always count.",
  "skills/maps/SKILL.md": "---\ndescription: How to read maps\n---\nRead the legend first.",
};

const opened = async (members: readonly Member[], team = ""): Promise<Bench> => {
  const engine = await engineOf(crewYaml(members, team), { toolboxes: [createProbe().toolbox], files });
  const bench = openBench({ engine });
  bench.ok("create");
  return bench;
};

const systemsOf = (bench: Bench, agent: string): readonly string[] =>
  bench.requests.filter(({ context }) => context?.agent === agent).map(({ system }) => system);

const sectionsOf = (system: string): readonly string[] =>
  [...system.matchAll(/^<([a-z_]+)>$/gm)].map(([, name]) => name ?? "");

const section = (system: string, name: string): string =>
  new RegExp(`<${name}>\\n([\\s\\S]*?)\\n</${name}>`).exec(system)?.[1] ?? "";

const plain = (name: string, yaml = ""): Member => ({ name, script: replies(done), yaml });

test("AG-3: all eight sections in their order, for an agent that is called and may call", async () => {
  const coder = { ...plain("coder", "instructions: Be brief.\ntoolboxes: [notes]") };
  const bench = await opened([{ name: "lead", script: replies(said(delegate("coder")), done) }, coder]);
  await say(bench);
  expect(sectionsOf(systemsOf(bench, "coder")[0] ?? "")).toEqual([
    "identity",
    "instructions",
    "notes_protocol",
    "project_context",
    "skills",
    "available_skills",
    "available_agents",
    "completion_protocol",
  ]);
});

test("★ AG-4: children of one agent, started at different times and in different turns, have equal prompts", async () => {
  const members = [
    {
      name: "lead",
      script: replies(
        said(spawn([task("coder"), task("coder", { task: "Other work", context: "Some context" })])),
        said(delegate("coder")),
        done,
        said(delegate("coder")),
        done,
      ),
    },
    plain("coder"),
  ];
  const bench = await opened(members);
  await say(bench);
  await bench.pass(86_400_000);
  bench.crash();
  await say(bench, "Again");
  const systems = systemsOf(bench, "coder");
  expect(systems).toHaveLength(4);
  expect(new Set(systems).size).toBe(1);
  expect(new Set(systemsOf(bench, "lead")).size).toBe(1);
  expect(systems[0]).not.toMatch(/coder-|t_[a-z2-7]{26}|run_\d|20\d\d-/);
});

test("AG-3: main and a child of the same agent share the prompt byte for byte up to what depth changes", async () => {
  const writer = { name: "writer", script: replies(said(delegate("coder")), done) };
  const coder = { name: "coder", script: replies(said(delegate("writer")), done) };
  const asMain = await opened([coder, writer]);
  await say(asMain);
  const [root = "", called = ""] = [systemsOf(asMain, "coder")[0], systemsOf(asMain, "coder").at(-1)];
  const bench = await opened([writer, coder]);
  await say(bench);
  const child = systemsOf(bench, "coder")[0] ?? "";
  const upTo = root.indexOf("<available_agents>");
  expect(upTo).toBeGreaterThan(100);
  expect(child.startsWith(root)).toBe(true);
  expect(child.slice(root.length)).toMatch(/^\n\n<completion_protocol>/);
  expect(called).toBe(root);
});

test("AG-6: a line per callable agent by name, itself left out, with what its card says", async () => {
  const cards: readonly Member[] = [
    plain(
      "zoe",
      "capabilities: [{ name: code-generation, languages: [golang, python], strength: 0.9 }, { name: code-review, languages: [golang], strength: 0.8 }]\nskills_tags: [a, b]\nestimated_cost: cheap",
    ),
    plain("lead", "delegation: { may_call: ['*'] }"),
    plain("Bob", "capabilities: [{ name: docs }]"),
    plain("ann"),
  ];
  const bench = await opened(cards, "entry_agent: lead");
  await say(bench);
  expect(section(systemsOf(bench, "lead")[0] ?? "", "available_agents").split("\n")).toEqual([
    "- Bob: The Bob. | can: docs",
    "- ann: The ann.",
    "- zoe: The zoe. | can: code-generation [golang, python] (0.9), code-review [golang] (0.8) | tags: a, b | cost: cheap",
  ]);
});

test("AG-6: agents that it may not call are not in the section", async () => {
  const members = [plain("lead", "delegation: { may_call: [c*] }"), plain("coder"), plain("writer")];
  const bench = await opened(members);
  await say(bench);
  expect(section(systemsOf(bench, "lead")[0] ?? "", "available_agents")).toBe("- coder: The coder.");
});

const orchestration = ["delegate_to_agent", "spawn_agents", "dispatch_tasks", "list_agents"];

test("AG-3: at the limit of its depth a child has neither the section nor a tool to call others", async () => {
  const members = [
    {
      name: "lead",
      script: replies(said(delegate("coder")), done),
      yaml: "options: { max_delegation_depth: 1 }",
    },
    plain("coder"),
  ];
  const bench = await opened(members);
  await say(bench);
  const child = bench.requests.find(({ context }) => context?.agent === "coder");
  expect(sectionsOf(child?.system ?? "")).not.toContain("available_agents");
  expect(sectionsOf(child?.system ?? "")).toContain("completion_protocol");
  expect(child?.tools.map(({ name }) => name).filter((name) => orchestration.includes(name))).toEqual([]);
  const lead = bench.requests.find(({ context }) => context?.agent === "lead");
  expect(sectionsOf(lead?.system ?? "")).toContain("available_agents");
  expect(sectionsOf(lead?.system ?? "")).not.toContain("completion_protocol");
});

test("★ AG-2: instructions are literal text: $ has no meaning", async () => {
  const bench = await opened([plain("lead", "instructions: 'Charge $5 for ${X} and $& and $1'")]);
  await say(bench);
  expect(section(systemsOf(bench, "lead")[0] ?? "", "instructions")).toBe("Charge $5 for ${X} and $& and $1");
});

test("AG-5: a light input is about identity and the heartbeat alone, though the agent may call others", async () => {
  const bench = await opened([plain("lead", "instructions: Be brief."), plain("coder")]);
  await say(bench, "Tick", { light: true });
  expect(sectionsOf(systemsOf(bench, "lead")[0] ?? "")).toEqual(["identity", "project_context"]);
  expect(section(systemsOf(bench, "lead")[0] ?? "", "project_context")).toBe("Look around.");
});

test("AG-5: every tag of ours in the context is escaped, whatever its case, and no other", async () => {
  const names = [
    "identity",
    "instructions",
    "notes_protocol",
    "project_context",
    "skills",
    "available_skills",
    "available_agents",
    "completion_protocol",
  ];
  const forged = names.map((name) => `<${name}></${name.toUpperCase()}>`).join("");
  const engine = await engineOf(crewYaml([plain("lead")]), {
    toolboxes: [createProbe().toolbox],
    files: { "context/a.md": `${forged}<b>kept</b>` },
  });
  const bench = openBench({ engine });
  bench.ok("create");
  await say(bench);
  const escaped = forged.replaceAll("<", "&lt;");
  expect(section(systemsOf(bench, "lead")[0] ?? "", "project_context")).toBe(`${escaped}<b>kept</b>`);
});
