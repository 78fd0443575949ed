import { describe, expect, test } from "vitest";
import { callEdgesOf, effectiveTools, isWithinCeiling } from "../../src/engine/tools/effective-tools.ts";
import type { CallerConstraints } from "../../src/agent/state/child.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { Toolbox } from "../../src/tools/define-tool.ts";
import { toolboxes } from "../../src/toolboxes/index.ts";
import { childIds, crew, crewYaml, delegate, eventsAs, resultsOf, spawn, task } from "../support/crew.ts";
import type { Crew, Member } from "../support/crew.ts";
import { createProbe } from "../support/probe.ts";
import { teamOf } from "../support/teams.ts";
import { replies, said } from "../support/scripts.ts";
import * as z from "zod";

/** AG-19: one function of what a thread may use, over every way to start one, each policy, and a ceiling. */

const named = (name: string): Toolbox["tools"][number] =>
  defineTool({ name, description: "A tool.", params: z.strictObject({}), run: () => ({ content: name }) });
const box = (name: string, ...tools: readonly string[]): Toolbox => ({
  name,
  description: "A toolbox.",
  tools: tools.map(named),
});
const boxes = [box("one", "a", "b"), box("two", "b2", "c")];
const policies = ["own", "intersect", "union"] as const;
type Policy = (typeof policies)[number];

const plainTeam = (inherit: Policy, lead = "", coder = "") =>
  teamOf(
    `
providers: [{ name: p, kind: scripted, model: m, context_window: 32000, script: { script: 1, replies: [{ reply: [{ text: hi }] }] } }]
agents:
  - { name: lead, toolboxes: [one], delegation: { inherit: ${inherit}, ad_hoc: true }, options: { max_handoffs: 1, interaction_mode: interactive }, effects: []${lead} }
  - { name: coder, toolboxes: [{ name: one, tools: [a] }, two], options: { max_delegation_depth: 5, max_handoffs: 1 }, effects: []${coder} }
  - { name: writer, toolboxes: [two], effects: [] }
`,
    { toolboxes: boxes },
  );

const constraints = (chain: readonly string[], more: Partial<CallerConstraints> = {}): CallerConstraints => ({
  chain,
  hidden: chain.map(() => []),
  interactive: false,
  provider: null,
  writablePaths: null,
  adHoc: null,
  ...more,
});

const namesOf = async (
  inherit: Policy,
  name: string,
  stand: CallerConstraints | null,
  ceiling: readonly string[] | null = null,
  lead = "",
  coder = "",
): Promise<readonly string[]> => {
  const team = await plainTeam(inherit, lead, coder);
  const agent = team.agents.find((each) => each.name === name);
  if (agent === undefined) throw new Error(`no agent ${name}`);
  const parts = { team, toolboxes: [...toolboxes, ...boxes] };
  return [...effectiveTools(parts, { agent, callerConstraints: stand }, ceiling).keys()];
};

const core = ["ask_user", "recall", "report_status"];
const isOwn = (name: string): boolean => ["a", "b", "b2", "c"].includes(name);

describe("AG-19: the table", () => {
  test("AG-19: own is its toolboxes after whitelists; intersect and union are with the caller's effective tools", async () => {
    const called = constraints(["lead"]);
    expect((await namesOf("own", "coder", called)).filter(isOwn)).toEqual(["a", "b2", "c"]);
    expect((await namesOf("intersect", "coder", called)).filter(isOwn)).toEqual(["a"]);
    expect((await namesOf("union", "coder", called)).filter(isOwn)).toEqual(["a", "b2", "c", "b"]);
  });

  test("AG-19 AG-41 (decision): what works on the caller's own memory is not lent", async () => {
    const memory = ", memory: {}";
    const lent = await namesOf("union", "coder", constraints(["lead"]), null, memory);
    expect(lent.filter((name) => name.startsWith("memory_"))).toEqual([]);
    const own = await namesOf("union", "coder", constraints(["lead"]), null, "", memory);
    expect(own.filter((name) => name.startsWith("memory_"))).toEqual(["memory_search", "memory_append"]);
  });

  test("AG-19: along a chain each caller's policy applies to what that caller may use itself", async () => {
    const called = constraints(["lead", "coder"]);
    const nested = ", delegation: { inherit: union }";
    expect((await namesOf("intersect", "writer", called, null, "", nested)).filter(isOwn)).toEqual([
      "b2",
      "c",
      "a",
    ]);
    const strict = ", delegation: { inherit: intersect }";
    expect((await namesOf("intersect", "writer", called, null, "", strict)).filter(isOwn)).toEqual([]);
  });

  test("AG-19 SE-21: tool_access disables all tools, and what such a caller could lend", async () => {
    const team = await plainTeam("union");
    const [lead, coder, ...others] = team.agents;
    if (lead === undefined || coder === undefined) throw new Error("no lead, or no coder");
    const bare = { ...lead, options: { ...lead.options, tool_access: "none" } };
    const parts = {
      team: { ...team, agents: [bare, coder, ...others] },
      toolboxes: [...toolboxes, ...boxes],
    };
    const called = effectiveTools(parts, { agent: coder, callerConstraints: constraints(["lead"]) }, null);
    expect([...called.keys()].filter(isOwn)).toEqual(["a", "b2", "c"]);
    expect([...effectiveTools(parts, { agent: bare, callerConstraints: null }, null).keys()]).toEqual([]);
  });

  test("AG-19: agents, task_complete, handoff and request_input follow depth and config, never inheritance", async () => {
    for (const inherit of policies) {
      const main = await namesOf(inherit, "lead", null);
      expect(main).toContain("answer_child");
      for (const name of ["task_complete", "handoff", "request_input"]) expect(main).not.toContain(name);
      const coder = await namesOf(inherit, "coder", constraints(["lead"], { interactive: true }));
      for (const name of ["task_complete", "handoff", "request_input", "delegate_to_agent"])
        expect(coder).toContain(name);
      expect(coder).not.toContain("answer_child");
      expect(coder).not.toContain("spawn_agent");
      const adHoc = constraints(["lead"], { adHoc: { system: "", maxTurns: 3 } });
      const nameless = await namesOf(inherit, "lead", adHoc);
      expect(nameless.toSorted()).toEqual(["a", ...core, "b", "task_complete"].toSorted());
    }
  });

  test("AG-19: the agents toolbox is narrowed by its entry, where delegate and spawn_agents are one", async () => {
    const only = (tools: string): string => `, toolboxes: [one, { name: agents, tools: [${tools}] }]`;
    const lead = async (tools: string): Promise<readonly string[]> => {
      const team = await teamOf(
        `
providers: [{ name: p, kind: scripted, model: m, context_window: 32000, script: { script: 1, replies: [{ reply: [{ text: hi }] }] } }]
agents:
  - { name: lead, delegation: {}, effects: []${only(tools)} }
  - { name: coder, effects: [] }
`,
        { toolboxes: boxes },
      );
      const [agent] = team.agents;
      if (agent === undefined) throw new Error("no lead");
      const found = effectiveTools(
        { team, toolboxes: [...toolboxes, ...boxes] },
        { agent, callerConstraints: null },
        null,
      );
      return [...found.keys()].filter((name) => !isOwn(name) && !core.includes(name));
    };
    expect(await lead("list_agents")).toEqual(["list_agents"]);
    expect(await lead("delegate")).toEqual(["spawn_agents", "delegate"]);
    expect(await lead("spawn_agents")).toEqual(["spawn_agents", "delegate"]);
    expect(await lead("")).toEqual([]);
  });

  test("AG-19: every edge is listed with the tools that the called agent has", async () => {
    const team = await plainTeam("intersect");
    const [lead] = team.agents;
    if (lead === undefined) throw new Error("no lead");
    const edges = callEdgesOf({ team, toolboxes: [...toolboxes, ...boxes] }, lead);
    expect(edges.map(({ agent, inherit, tools }) => [agent, inherit, tools.filter(isOwn)])).toEqual([
      ["coder", "intersect", ["a"]],
      ["writer", "intersect", []],
    ]);
  });
});

test("AG-19 AG-28: an edge lists request_input only where the caller can answer, as the child then has it", async () => {
  const done = said("Done.");
  const listed = async (lead: string): Promise<readonly boolean[]> => {
    const members: readonly Member[] = [
      { name: "lead", script: replies(said(delegate("coder")), done), yaml: lead },
      { name: "coder", script: replies(done), yaml: "toolboxes: []" },
    ];
    const made = await crew(members);
    made.bench.send("Go");
    await made.bench.idle();
    const child = made.bench.requests.find(({ context }) => context.thread !== "main");
    const team = await teamOf(crewYaml(members), { toolboxes: [createProbe().toolbox] });
    const [caller] = team.agents;
    if (caller === undefined) throw new Error("no lead");
    const [edge] = callEdgesOf({ team, toolboxes: [...toolboxes] }, caller);
    return [edge?.tools ?? [], child?.tools.map(({ name }) => name) ?? []].map((tools) =>
      tools.includes("request_input"),
    );
  };
  const interactive = "options: { interaction_mode: interactive }";
  expect(await listed(interactive)).toEqual([true, true]);
  const only = "toolboxes: [{ name: agents, tools: [delegate_to_agent] }]";
  expect(await listed(`${interactive}\n${only}`)).toEqual([false, false]);
});

describe("AG-19: every way to start a thread × policy × ceiling: effective ⊆ ceiling, and dispatch refuses the rest", () => {
  const done = said("Done.");
  const ceiling = [
    "look",
    "delegate_to_agent",
    "spawn_agent*",
    "dispatch_tasks",
    "handoff",
    "task_complete",
    "steer_child",
  ];
  const isBelow = (made: Crew): boolean =>
    made.bench.requests.every(({ tools }) => tools.every(({ name }) => isWithinCeiling(name, ceiling)));
  const trying = said(["look", {}], ["put", {}]);
  const member = (name: string, script: readonly string[], yaml: string): Member => ({
    name,
    script: replies(...script),
    yaml,
  });
  const ways: Readonly<
    Record<string, { readonly lead: readonly string[]; readonly coder?: readonly string[] }>
  > = {
    delegate: { lead: [said(delegate("coder")), done] },
    spawn: { lead: [said(spawn([task("coder")])), done] },
    background: { lead: [said(delegate("coder", { async: true })), done, done] },
    dispatch: {
      lead: [
        said(["dispatch_tasks", { tasks: [{ id: "t", agent: "coder", message: "Try", blocking: true }] }]),
        done,
      ],
    },
    "ad hoc": { lead: [said(["spawn_agent", { task: "Try" }]), done] },
    handoff: {
      lead: [said(delegate("writer")), done],
    },
    resume: {
      lead: [
        said(delegate("coder", { persistent: true })),
        said(delegate("coder", { persistent: true })),
        done,
      ],
    },
  };
  for (const inherit of policies) {
    for (const [way, { lead }] of Object.entries(ways)) {
      test(`AG-19: ${way}, ${inherit}`, async () => {
        const script = way === "ad hoc" ? [lead[0] ?? "", trying, done] : lead;
        const made = await crew(
          [
            member("lead", script, `delegation: { inherit: ${inherit}, async: true, ad_hoc: true }`),
            member("coder", [trying, done, trying, done], "toolboxes: [probe]"),
            member(
              "writer",
              [said(["handoff", { agent: "coder", reason: "r", context: "c" }])],
              "options: { max_handoffs: 2 }",
            ),
          ],
          { create: { tools: ceiling } },
        );
        made.bench.send("Go");
        await made.bench.idle();
        const child = childIds(made).at(-1) ?? "";
        const [looked, put] = resultsOf(made, child).slice(-2);
        expect(looked).toBe("ok: look() done");
        expect(put).toMatch(/^denied: not_permitted:/);
        expect(made.probe.names()).not.toContain("put()");
        expect(isBelow(made)).toBe(true);
      });
    }
  }

  for (const inherit of policies)
    test(`AG-19 ★: steer, ${inherit}: the child keeps its tools; what is not among them is a refusal`, async () => {
      const made = await crew(
        [
          member("lead", [said(delegate("coder")), done], `delegation: { inherit: ${inherit} }`),
          member("coder", [said(["look", {}]), trying, done], "toolboxes: [{ name: probe, tools: [look] }]"),
        ],
        inherit === "union" ? { create: { tools: ceiling } } : {},
      );
      made.bench.send("Go");
      made.bench.hold = true;
      await made.bench.steps();
      made.bench.release();
      made.bench.hold = true;
      await made.bench.steps();
      const [child = ""] = childIds(made);
      made.bench.send("Try put", { thread: child, on_busy: "steer" });
      made.bench.release();
      await made.bench.idle();
      expect(eventsAs(made, "steering_injected")).toHaveLength(1);
      expect(resultsOf(made, child).at(-1)).toMatch(/^denied: not_permitted: /);
      expect(inherit !== "union" || isBelow(made)).toBe(true);
    });

  test("AG-19 TB-6: an inherited tool obeys both agents' rules, the stricter wins", async () => {
    const rule = "{ tool: put, action: deny, reason: Not by others }";
    const made = await crew([
      member(
        "lead",
        [said(delegate("coder")), done],
        `delegation: { inherit: union }\npermissions: { preset: open, rules: [${rule}] }`,
      ),
      member("coder", [said(["put", {}], ["look", {}]), done], "toolboxes: []"),
    ]);
    made.bench.send("Go");
    await made.bench.idle();
    expect(resultsOf(made, childIds(made)[0])).toEqual([
      "denied: denied: a rule forbids this call (rule deny put): Not by others",
      "ok: look() done",
    ]);
  });

  test("AG-13 AG-19: an inherited tool writes only where its lenders may, too; the child's own tools as ever", async () => {
    const paths = async (lead: string, coder: string): Promise<readonly unknown[]> => {
      const made = await crew([
        member("lead", [said(delegate("coder")), done], `delegation: { inherit: union }\n${lead}`),
        member("coder", [said(["put", {}], ["look", {}]), done], coder),
      ]);
      made.bench.send("Go");
      await made.bench.idle();
      return made.probe.calls.map(({ tool, context }) => `${tool} ${context.writablePaths?.join()}`);
    };
    const own = "toolboxes: [{ name: probe, tools: [look] }]";
    const bound = "options: { writable_paths: [docs/**, src/**] }";
    expect(await paths(bound, own)).toEqual(["put docs/**,src/**", "look undefined"]);
    const narrow = `${own}\noptions: { writable_paths: [src/a/**, test/**] }`;
    expect(await paths(bound, narrow)).toEqual(["put src/a/**", "look src/a/**,test/**"]);
    expect(await paths("", narrow)).toEqual(["put src/a/**,test/**", "look src/a/**,test/**"]);
  });

  test("AG-13 AG-19: a tool that came down two edges is bounded by both lenders", async () => {
    const union = "delegation: { inherit: union }";
    const made = await crew([
      member(
        "lead",
        [said(delegate("coder")), done],
        `${union}\noptions: { writable_paths: [docs/**, src/**] }`,
      ),
      member(
        "coder",
        [said(delegate("writer")), done],
        `${union}\ntoolboxes: []\noptions: { writable_paths: [src/**, test/**] }`,
      ),
      member("writer", [said(["put", {}]), done], "toolboxes: []"),
    ]);
    made.bench.send("Go");
    await made.bench.idle();
    expect(made.probe.calls.map(({ context }) => context.writablePaths)).toEqual([["src/**"]]);
  });

  test("AG-19 TB-7: rules see the agent that is called, whatever its case, behind auto, and by either name of a tool", async () => {
    const rules =
      "rules: [{ tool: spawn_agents, match: coder, action: deny }, { tool: delegate_to_agent, match: coder, action: deny }]";
    const made = await crew([
      member(
        "lead",
        [
          said(delegate("CODER")),
          said(delegate("auto", { task: "please review" })),
          said(["delegate", { tasks: [task("writer"), task("Coder")] }]),
          said(delegate("writer")),
          done,
        ],
        `permissions: { preset: open, ${rules} }`,
      ),
      member("coder", [done], "capabilities: [{ name: review }]"),
      member("writer", [said("Written.")], ""),
    ]);
    made.bench.send("Go");
    await made.bench.idle();
    const [upper, auto, alias, other] = resultsOf(made);
    for (const text of [upper, auto, alias])
      expect(text).toMatch(/^denied: denied: a rule forbids this call/);
    expect(other).toBe("ok: Written.");
  });

  test("AG-13: writable_paths narrows what a child may write, and those below it", async () => {
    const made = await crew([
      member("lead", [said(delegate("coder", { writable_paths: ["src/a/**", "docs/**"] })), done], ""),
      member(
        "coder",
        [said(delegate("writer", { writable_paths: ["src/**"] })), done],
        "options: { writable_paths: [src/**] }",
      ),
      member("writer", [done], ""),
    ]);
    made.bench.send("Go");
    made.bench.hold = true;
    const paths = new Map<string, readonly string[] | null>();
    for (let round = 0; round < 6; round++) {
      await made.bench.steps();
      for (const thread of Object.values(made.bench.state().threads))
        paths.set(thread.agent, thread.child?.callerConstraints.writablePaths ?? null);
      made.bench.release();
      made.bench.hold = true;
    }
    made.bench.release();
    await made.bench.idle();
    expect(paths.get("coder")).toEqual(["src/a/**", "docs/**"]);
    expect(paths.get("writer")).toEqual(["src/a/**"]);
  });
});
