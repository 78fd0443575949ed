import { noBackgroundCommands } from "../../src/agent/state/records.ts";
import { expect, test } from "vitest";
import * as z from "zod";
import { createEngines } from "../../src/engine/engines.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { Toolbox } from "../../src/tools/define-tool.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { createProbe } from "../support/probe.ts";
import type { Probe } from "../support/probe.ts";
import { engineOptions, teamOf } from "../support/teams.ts";
import type { EngineExtras } from "../support/teams.ts";
import { eventsOf, lastEvent, lastText } from "./harness.ts";

/** What an operator takes back is gone for sessions that pin an older revision (TB-6, CF-34). */

interface Parts {
  /** Keys of the agent `helper`; null: the team has no such agent any more. */
  readonly agent?: string | null;
  readonly permissions?: string;
  /** Calls of the first reply of each run. */
  readonly calls?: string;
  readonly more?: string;
  /** Further fields of the session's creation. */
  readonly create?: object;
}

/** A toolbox that only the build sees, so that scripts may call a client's tool. */
const named: Toolbox = {
  name: "named",
  description: "Names.",
  tools: [
    defineTool({
      name: "pick",
      description: "A name.",
      params: z.strictObject({}),
      run: () => ({ content: "" }),
    }),
  ],
};

const probing = "toolboxes: [probe], permissions: { preset: open }";

const yaml = ({
  agent = probing,
  permissions = "{}",
  calls = "{ call: fire }",
  more = "",
}: Parts): string => `
providers:
  - name: p
    kind: scripted
    model: m
    script:
      script: 1
      start: end
      scenes:
        - { name: use, when: { turn: 1 }, reply: [${calls}] }
        - { name: end, reply: [{ text: done }] }
  - name: q
    kind: scripted
    model: m
    script:
      script: 1
      start: end
      scenes:
        - { name: use, when: { turn: 1 }, reply: [{ call: fire }] }
        - { name: end, reply: [{ text: used }] }
permissions: ${permissions}
agents:
${agent === null ? "" : `  - { name: helper, instructions: Help., provider: p, effects: [], ${agent} }`}
  - { name: other, provider: p, instructions: Other., effects: [], toolboxes: [probe], permissions: { preset: open } }
${more}
`;

interface Deployed {
  readonly bench: Bench;
  readonly probe: Probe;
  readonly old: Engine;
  /** Has the session run on under another team file. */
  readonly deploy: (parts: Parts) => Promise<void>;
  readonly run: () => Promise<void>;
  /** Text of the newest result. */
  readonly result: () => string;
}

/** A session of one team file, which goes on under others. */
const opened = async (parts: Parts, instant = true, more: EngineExtras = {}): Promise<Deployed> => {
  const probe = createProbe(instant);
  const extras = { ...more, toolboxes: [probe.toolbox] };
  const enginesOf = async (given: Parts) =>
    createEngines(engineOptions(await teamOf(yaml(given), { toolboxes: [probe.toolbox, named] }), extras));
  const old: Engine = (await enginesOf(parts)).deployed();
  const bench = openBench({ engine: old });
  bench.ok("create", { agent: "helper", ...parts.create });
  return {
    bench,
    probe,
    old,
    deploy: async (given) => {
      const engines = await enginesOf(given);
      const known = engines.findLoaded(old.revision);
      bench.deploy(known ?? engines.loadPinned(old.revision, old.definition));
    },
    run: async () => {
      bench.send("Go");
      await bench.idle();
    },
    result: () => lastText(bench, "tool"),
  };
};

const asks = (bench: Bench) => Object.values(bench.state().asks);
const withRule = (rule: string): Parts => ({ permissions: `{ rules: [${rule}] }` });
const denyFire = withRule("{ tool: fire, action: deny, reason: Ops took it }");
const askFire = withRule("{ tool: fire, action: ask, ask_timeout: 7m }");
const withTools = (tools: string): Parts => ({
  agent: `toolboxes: [{ name: probe, tools: [${tools}] }], permissions: { preset: open }`,
});
const notPermitted = "not_permitted: helper may not use fire any more";

test("★ TB-6: a tool that a deploy takes from an agent is refused in old sessions, and is there again once given back", async () => {
  const { bench, probe, deploy, run, result } = await opened({});
  await run();
  await deploy(withTools("look"));
  await run();
  expect(result()).toBe(notPermitted);
  expect(lastEvent(bench, "tool_call_end")).toMatchObject({
    outcome: "denied",
    permission: { verdict: "deny", by: "deployed toolboxes" },
  });
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
  expect(probe.calls).toHaveLength(1);
  const [first, ...later] = bench.requests;
  for (const request of later) expect(request.tools).toEqual(first?.tools);
  await deploy({});
  await run();
  expect(probe.calls).toHaveLength(2);
});

test("★ TB-6: a deny that a deploy adds, of team or agent, holds in old sessions until it goes", async () => {
  const ofAgent = {
    agent: "toolboxes: [probe], permissions: { preset: open, rules: [{ tool: fire, action: deny }] }",
  };
  for (const [given, said] of [
    [denyFire, "denied: a rule forbids this call (rule deny fire): Ops took it"],
    [ofAgent, "denied: a rule forbids this call (rule deny fire)"],
  ] as const) {
    const { probe, deploy, run, result } = await opened({});
    await deploy(given);
    await run();
    expect(result()).toBe(said);
    expect(probe.calls).toHaveLength(0);
    await deploy({});
    await run();
    expect(probe.calls).toHaveLength(1);
  }
});

test("TB-6, SE-28: an ask that a deploy adds asks in old sessions, with its own deadline", async () => {
  const { bench, probe, deploy, run } = await opened({});
  await deploy(askFire);
  await run();
  expect(probe.calls).toHaveLength(0);
  const [ask] = asks(bench);
  expect(ask).toMatchObject({ approval: { tool: "fire", rule: "rule ask fire" } });
  expect((ask?.expires_at ?? 0) - (ask?.opened_at ?? 0)).toBe(420_000);
  bench.ok("answer", { ask: ask?.id, decision: "approve" });
  await bench.idle();
  expect(probe.calls).toHaveLength(1);
});

test("TB-6, SE-28: a rule that a deploy no longer lets time approve does not", async () => {
  const rule = (onTimeout: string): Parts =>
    withRule(`{ tool: fire, action: ask, ask_timeout: 7m, on_timeout: ${onTimeout} }`);
  const { bench, probe, deploy, run } = await opened(rule("approve"));
  await run();
  await deploy(rule("deny"));
  await bench.pass(420_000);
  expect(lastEvent(bench, "ask_expired")).toMatchObject({ applied: "deny" });
  expect(probe.calls).toHaveLength(0);
});

test("TB-6: a stricter preset of the deployed team holds in old sessions", async () => {
  const { probe, deploy, run, result } = await opened({});
  await deploy({ agent: "toolboxes: [probe], permissions: { preset: locked }" });
  await run();
  expect(result()).toBe("denied: a rule forbids this call (preset locked)");
  expect(probe.calls).toHaveLength(0);
});

test("★ TB-6: an allow and a tool that a deploy adds give an old session nothing", async () => {
  const old = {
    agent: "toolboxes: [{ name: probe, tools: [look, put] }], permissions: { preset: sandboxed }",
  };
  const calls = "{ call: fire }, { call: put }";
  const { bench, probe, deploy, run } = await opened({ ...old, calls });
  await deploy({ ...withRule("{ tool: '*', action: allow }"), calls });
  await run();
  expect(probe.calls).toHaveLength(0);
  expect(lastEvent(bench, "tool_call_end")).toMatchObject({
    tool: "fire",
    output: "not_permitted: helper may not use fire",
  });
  expect(asks(bench)).toMatchObject([{ approval: { tool: "put", rule: "preset sandboxed" } }]);
});

test("★ CF-34: an agent that the deployed team dropped keeps its pinned tools, under the team's rules", async () => {
  const { probe, deploy, run, result } = await opened({});
  await deploy({ agent: null, permissions: "{ preset: locked }" });
  await run();
  expect(probe.calls).toHaveLength(1);
  await deploy({ agent: null, ...denyFire });
  await run();
  expect(result()).toMatch(/^denied: a rule forbids this call \(rule deny fire\)/);
  expect(probe.calls).toHaveLength(1);
});

test("★ CF-34: a tool whose code is gone is waited for, one that the agent lost is refused", async () => {
  const { bench, old, deploy, run, result } = await opened(withTools("look, fire"));
  await deploy(withTools("look"));
  await run();
  expect(result()).toBe(notPermitted);
  const { revision, definition } = old;
  const { toolbox } = createProbe();
  const less = { ...toolbox, tools: toolbox.tools.filter(({ name }) => name !== "fire") };
  const team = await teamOf(yaml({ calls: "{ call: look }" }).replaceAll("call: fire", "call: look"), {
    toolboxes: [less],
  });
  const narrow = createEngines(engineOptions(team, { toolboxes: [less] }));
  bench.deploy(narrow.loadPinned(revision, definition));
  await run();
  expect(lastEvent(bench, "run_waiting")).toMatchObject({ on: [{ missing: "tool fire of toolbox probe" }] });
});

test("★ TB-6: a deploy in mid-run binds calls of the same reply that had not begun", async () => {
  for (const [given, last] of [
    [withTools("put"), notPermitted],
    [denyFire, "denied: a rule forbids this call (rule deny fire): Ops took it"],
    [askFire, null],
  ] as const) {
    const calls = "{ call: put }, { call: fire }";
    const { bench, probe, deploy, result } = await opened({ calls }, false);
    bench.send("Go");
    await bench.steps();
    expect(probe.names()).toEqual(["put()"]);
    probe.instant = true;
    await deploy({ ...given, calls });
    await bench.idle();
    expect(probe.names()).toEqual(["put()", "put()"]);
    if (last === null) expect(asks(bench)).toMatchObject([{ approval: { rule: "rule ask fire" } }]);
    else expect(result()).toBe(last);
  }
});

test("★ TB-6, SE-33: a call that a deploy interrupted and forbids is not run again; what it did stays unknown", async () => {
  const calls = "{ call: put }";
  const { bench, probe, deploy, result } = await opened({ calls }, false);
  bench.send("Go");
  await bench.steps();
  probe.instant = true;
  await deploy({ ...withTools("look"), calls });
  await bench.idle();
  expect(probe.calls).toHaveLength(1);
  expect(lastEvent(bench, "tool_call_end")).toMatchObject({ outcome: "unknown" });
  expect(result()).toContain("not_permitted: helper may not use put");
});

test("TB-6, TB-29: the command of a call that a deploy forbids ends", async () => {
  const asked: string[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    asked.push(`${request.method} ${new URL(request.url).pathname.split("/").slice(4).join("/")}`);
    return Response.json({});
  };
  const calls = "{ call: put }";
  const { bench, probe, deploy } = await opened({ calls }, false, { env: { SANDBOX: { fetch } } });
  bench.send("Go");
  await bench.steps();
  probe.calls[0]?.context.memo.set({ exec: "e1" });
  await deploy({ ...withRule("{ tool: put, action: deny }"), calls });
  await bench.idle();
  expect(asked).toContain("DELETE exec/e1");
  expect(bench.state().commands).toEqual(noBackgroundCommands);
});

test("★ TB-6: what was asked before a deploy is not approved against it", async () => {
  const asking = { agent: "toolboxes: [probe], permissions: { preset: ask }" };
  for (const [given, said] of [
    [withTools("look"), notPermitted],
    [denyFire, "denied: a rule forbids this call (rule deny fire): Ops took it"],
  ] as const) {
    const { bench, probe, deploy, run, result } = await opened(asking);
    await run();
    await deploy(given);
    bench.ok("answer", { ask: asks(bench)[0]?.id, decision: "approve" });
    await bench.idle();
    expect(result()).toBe(said);
    expect(probe.calls).toHaveLength(0);
  }
});

test("TB-6: an approval that was given before a deploy does not outlive a deny that came before the call's turn", async () => {
  const calls = "{ call: put }, { call: put, args: { name: b } }";
  const rule = "{ tool: put, action: ask }";
  const { bench, probe, deploy, result } = await opened({ ...withRule(rule), calls }, false);
  bench.send("Go");
  await bench.steps();
  for (const { id } of asks(bench)) bench.ok("answer", { ask: id, decision: "approve" });
  await bench.steps();
  expect(probe.names()).toEqual(["put()"]);
  await deploy({ ...withRule(`${rule}, { tool: put, action: deny }`), calls });
  await bench.idle();
  expect(probe.calls).toHaveLength(1);
  expect(result()).toBe("denied: a rule forbids this call (rule deny put)");
});

const none = "toolboxes: [], permissions: { preset: open }";
/** `helper` has `child` use `fire`, with the child's own tools and those that it is lent. */
const crew = (caller: string, child: string): Parts => ({
  agent: `${caller}, delegation: { may_call: [child], inherit: union }`,
  calls: "{ call: spawn_agents, args: { tasks: [{ agent: child, task: Use it, context: '' }] } }",
  more: `  - { name: child, provider: q, instructions: Child., effects: [], ${child} }`,
});

test.each([
  ["its own tool", crew(none, probing), crew(none, none)],
  ["a tool that it is lent", crew(probing, none), crew(none, none)],
  ["a tool that it is lent, by a rule", crew(probing, none), { ...crew(probing, none), ...denyFire }],
])("TB-6: a called agent of an old session loses %s", async (_, before, after) => {
  const { probe, deploy, run, bench } = await opened(before);
  await run();
  expect(probe.calls).toHaveLength(1);
  await deploy(after);
  await run();
  expect(probe.calls).toHaveLength(1);
  expect(eventsOf(bench, "tool_call_end").map(({ tool, outcome }) => [tool, outcome])).toEqual([
    ["fire", "ok"],
    ["spawn_agents", "ok"],
    ["fire", "denied"],
    ["spawn_agents", "ok"],
  ]);
});

test("CF-34: a called agent and its caller that were both dropped keep what one lends the other, under the team's rules", async () => {
  const { probe, deploy, run } = await opened(crew(probing, none));
  await deploy({ agent: null });
  await run();
  expect(probe.calls).toHaveLength(1);
  await deploy({ agent: null, ...denyFire });
  await run();
  expect(probe.calls).toHaveLength(1);
});

test("TB-6 TB-38: a client's tool is denied by a deploy's rule, gone with all tools, and otherwise there", async () => {
  const create = { client_tools: [{ name: "pick", description: "Picks.", params: { type: "object" } }] };
  const parts = { calls: "{ call: pick }", create };
  const { bench, deploy, run, result } = await opened(parts);
  await deploy({ ...parts, ...withRule("{ tool: pick, action: deny }") });
  await run();
  expect(result()).toBe("denied: a rule forbids this call (rule deny pick)");
  await deploy({ ...parts, agent: `${probing}, options: { tool_access: none }` });
  await run();
  expect(result()).toBe("not_permitted: helper may not use pick any more");
  await deploy({ ...parts, ...withTools("look") });
  await run();
  expect(asks(bench)).toMatchObject([{ kind: "client_tool" }]);
});
