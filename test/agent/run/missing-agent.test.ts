import { expect, test } from "vitest";
import { createEngines } from "../../../src/engine/engines.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import type { Member } from "../../support/crew.ts";
import { crewYaml, lead, member, task } from "../../support/crew.ts";
import type { Probe } from "../../support/probe.ts";
import { createProbe } from "../../support/probe.ts";
import { claims, said } from "../../support/scripts.ts";
import { engineOptions, teamOf } from "../../support/teams.ts";
import { dataOf } from "../loop/play.ts";
import { done, leads, node, worker } from "../delegation/graph-play.ts";

/** Sessions of which an agent is missing for a while, since a deployment lacks the toolbox `other` that it names. */

const needsOther = "toolboxes: [probe, other]";

interface Stage {
  readonly bench: Bench;
  readonly probe: Probe;
  /** Deploys the team again, with the toolbox or without it. */
  readonly deploy: (isWhole: boolean) => Promise<void>;
  /** Deploys another team, without the toolbox. */
  readonly deployNew: (members: readonly Member[]) => Promise<void>;
}

const stage = async (
  members: readonly Member[],
  isWhole = true,
  { timeoutMs = 60_000, more = "" } = {},
): Promise<Stage> => {
  const probe = createProbe(false);
  const looks = probe.toolbox.tools.map((tool) => ({ ...tool, timeout: () => timeoutMs }));
  const own = { ...probe.toolbox, tools: looks };
  const others = createProbe(true).toolbox.tools.map((tool) => ({ ...tool, name: `other_${tool.name}` }));
  const toolboxes = [own, { ...probe.toolbox, name: "other", tools: others }];
  const yaml = crewYaml(members, more);
  const whole = createEngines(engineOptions(await teamOf(yaml, { toolboxes }), { toolboxes })).deployed();
  const engineOf = async (isWhole: boolean) => {
    const bindings = { toolboxes: isWhole ? toolboxes : [own] };
    const team = await teamOf(isWhole ? yaml : yaml.replaceAll(needsOther, "toolboxes: [probe]"), bindings);
    return createEngines(engineOptions(team, bindings)).loadPinned(whole.revision, whole.definition);
  };
  const bench = openBench({ engine: await engineOf(isWhole) });
  bench.ok("create");
  bench.send("Go");
  await bench.steps();
  return {
    bench,
    probe,
    deploy: async (isWhole) => bench.deploy(await engineOf(isWhole)),
    deployNew: async (others) => {
      const bindings = { toolboxes: [own] };
      const team = await teamOf(crewYaml(others), bindings);
      bench.deployRevision(createEngines(engineOptions(team, bindings)).deployed());
    },
  };
};

const finishCalls = async ({ bench, probe }: Stage): Promise<void> => {
  probe.instant = true;
  for (const call of probe.calls) call.finish();
  await bench.steps();
};

const results = (bench: Bench): readonly string[] =>
  bench
    .chat()
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === "tool_result" ? [JSON.stringify(part.content)] : []));

test("CF-34: a called agent that ends while its caller's agent is missing has its whole result delivered", async () => {
  const made = await stage([
    lead([said(["delegate_to_agent", task("coder")]), said("Over.")], needsOther),
    member("coder", ["{ reply: [{ call: look }] }", said("This is the long result of the coder.")]),
  ]);
  await made.deploy(false);
  await finishCalls(made);
  await made.deploy(true);
  await made.bench.tick(300_000);
  await made.bench.idle();
  expect(results(made.bench)).toEqual([expect.stringContaining("This is the long result of the coder.")]);
});

test("CF-34: a graph goes on while the agent that dispatched it is missing", async () => {
  const made = await stage([leads([node("a"), node("b", ["a"])], {}, needsOther), worker(done("a", "b"))]);
  await made.deploy(false);
  await finishCalls(made);
  await made.deploy(true);
  await made.bench.tick(300_000);
  await made.bench.idle();
  expect(dataOf(made.bench, "run_end").map(({ state }) => state)).toEqual([
    "completed",
    "completed",
    "completed",
  ]);
});

test("CF-34: the report of an agent that is missing is not taken before its guardrails are back", async () => {
  const report = ["task_complete", { status: "completed", summary: "it is S3CRET" }] as const;
  const guardrail = "middleware: [{ kind: output_guardrail, params: { must_not_contain: [S3CRET] } }]";
  const made = await stage([
    lead([said(["delegate_to_agent", task("coder")]), said("Over.")]),
    member("coder", [said(report, ["fire", {}]), said("x")], `${needsOther}\n${guardrail}`),
  ]);
  await made.deploy(false);
  await finishCalls(made);
  expect(results(made.bench)).toEqual([]);
  await made.deploy(true);
  await made.bench.tick(300_000);
  await made.bench.idle();
  expect(results(made.bench).join()).not.toContain("S3CRET");
  expect(dataOf(made.bench, "run_end").map(({ reason }) => reason)).toContain("output_invalid");
});

test("CF-34 SE-34: an agent that is missing beyond its day sets no alarm in the past while its caller is held", async () => {
  const budget = "guards: { tool_loops: false, budget: { max_tool_calls: 3, on_exceeded: ask } }";
  const looks = ["{ reply: [{ call: look }] }", "{ reply: [{ call: look, args: { name: b } }] }"];
  const made = await stage(
    [
      lead(
        [said(["delegate_to_agent", task("hand")], ["delegate_to_agent", task("coder")]), said("Over.")],
        budget,
      ),
      member("coder", [...looks, said("Coded.")]),
      member("hand", [said("Dug.")], needsOther),
    ],
    false,
    { timeoutMs: 90_000_000 },
  );
  const { bench } = made;
  for (let at = 0; at < 12; at++) await bench.tick(300_000);
  await finishCalls(made);
  expect(dataOf(bench, "ask_user")).toHaveLength(1);
  for (let at = 0; at < 12 * 23 + 3; at++) await bench.tick(300_000);
  expect(bench.alarm()).toBeGreaterThan(bench.now());
});

test("CF-34 EF-27: a compaction that its agent never comes back for is given up with its run", async () => {
  const { bench, deploy } = await stage([lead([said("Over.")], needsOther)]);
  await bench.idle();
  await deploy(false);
  bench.ok("compact");
  for (let day = 0; day < 3; day += 1) await bench.tick(90_000_000);
  expect(dataOf(bench, "run_end").map(({ state, reason }) => `${state}:${reason}`)).toEqual([
    "completed:end_turn",
    "failed:config_changed",
  ]);
  expect(bench.alarm()).toBeNull();
});

test("CF-34 SE-37: a run that began while its agent was missing makes its plan once the agent is back", async () => {
  const plans = `${needsOther}\noptions: { plan_before_execute: approve }`;
  const { bench, deploy } = await stage([lead([said("1. Look."), said("Over.")], plans)], false);
  await deploy(true);
  await bench.tick(300_000);
  await bench.idle();
  expect(dataOf(bench, "plan_created")).toHaveLength(1);
  expect(Object.values(bench.state().asks)).toMatchObject([{ approval: { tool: "plan" } }]);
});

test("CF-34 EF-3: what an effect counts in a run begins anew in one that began while its agent was missing", async () => {
  const look = "{ reply: [{ call: look }] }";
  const counts = `${needsOther}\neffects: [{ kind: loop_detect, params: { threshold: 2 } }]`;
  const made = await stage([lead([look, said("One."), look, said("Two.")], counts)]);
  const { bench, deploy } = made;
  await finishCalls(made);
  await deploy(false);
  bench.send("Again");
  await bench.steps();
  await deploy(true);
  await bench.tick(300_000);
  await bench.idle();
  expect(dataOf(bench, "run_end").map(({ state }) => state)).toEqual(["completed", "completed"]);
  expect(bench.chat().filter(({ sender }) => sender === "loop_detect")).toEqual([]);
});

/** A lead whose coder the deployment lacks, and what becomes of both at a revision in which the lead is the boss. */
const migrateToBoss = async (calls: string, leadYaml = ""): Promise<Bench> => {
  const each = [calls, "{ reply: [{ text: Over. }] }", "{ reply: [{ text: Told. }] }"];
  const coder = (yaml = ""): Member => member("coder", ["{ reply: [{ text: Coded. }] }"], yaml);
  const { bench, deployNew } = await stage([lead(each, leadYaml), coder(needsOther)], false);
  await bench.idle();
  await deployNew([member("boss", each, leadYaml), coder()]);
  bench.ok("migrate", { agents: { lead: "boss" } });
  await bench.tick(300_000);
  await bench.idle();
  return bench;
};

const endsOf = (bench: Bench): readonly string[] =>
  bench
    .events()
    .flatMap(({ type, agent, data }) =>
      type === "run_end" ? `${agent.name} ${(data as { state: string }).state}` : [],
    );

test("CF-34 CF-35: a run that awaits an agent which the deployment lacks goes on at a revision that has it", async () => {
  const bench = await migrateToBoss(said(["delegate_to_agent", task("coder")]));
  expect(endsOf(bench)).toEqual(["coder completed", "boss completed"]);
});

test("CF-34 AG-37: the deadline of a run whose agent is missing stops the agent that it awaits", async () => {
  const timed = `${needsOther}\nmiddleware: [{ kind: timeout, params: { duration: 30s, count: wall } }]`;
  const made = await stage([
    lead([said(["delegate_to_agent", task("coder")]), said("Over.")], timed),
    member("coder", ["{ reply: [{ call: look }] }", said("Coded.")]),
  ]);
  const { bench, deploy } = made;
  await deploy(false);
  await bench.tick(31_000);
  await bench.tick(6_000);
  expect(endsOf(bench)).toEqual(["coder cancelled", "lead failed"]);
  expect(bench.alarm()).toBeNull();
});

test("CF-34 AG-22: the budget of a run whose agent is missing bounds the agents that it called", async () => {
  const bounded = `${needsOther}\nguards: { tool_loops: false, budget: { max_tokens: 25000 } }`;
  const made = await stage([
    lead([said(["delegate_to_agent", task("coder")]), said("Over.")], bounded),
    member("coder", [...Array.from({ length: 9 }, () => claims(10_000)), said("Coded.")]),
  ]);
  const { bench, deploy } = made;
  await deploy(false);
  await finishCalls(made);
  await bench.tick(300_000);
  expect(bench.state().spent.usage.total).toBeLessThan(35_000);
  expect(dataOf(bench, "run_end").map(({ reason }) => reason)).toEqual(["cancelled", "budget_exceeded"]);
});

test("CF-34 AG-37: an agent that ends while it is missing reveals nothing that its guardrail forbids", async () => {
  const guarded = `${needsOther}
middleware:
  - { kind: output_guardrail, params: { must_not_contain: [S3CRET] } }
  - { kind: timeout, params: { duration: 30s, count: wall } }`;
  const made = await stage([
    lead([said(["delegate_to_agent", task("coder")]), said("Over.")]),
    member("coder", [said("It is S3CRET.", ["look", {}]), said("Coded.")], guarded),
  ]);
  const { bench, deploy } = made;
  await deploy(false);
  await bench.tick(31_000);
  expect(endsOf(bench)).toEqual(["coder failed", "lead completed"]);
  expect(results(bench).join()).toContain("deadline_exceeded");
  expect(results(bench).join()).not.toContain("S3CRET");
});

test("CF-34 RE-4: a model call that the deploy interrupts, which takes the agent away, has its price", async () => {
  const made = await stage([lead(["{ reply: [{ call: look }] }", said("Over.")], needsOther)]);
  const { bench, deploy } = made;
  bench.hold = true;
  await finishCalls(made);
  await deploy(false);
  expect(dataOf(bench, "attempt_aborted")).toMatchObject([{ code: "interrupted" }]);
  expect(bench.ok("get")).toMatchObject({ usage: { cost_usd: 0, estimated: true } });
});

test("CF-34 RE-4: a session that waits for its agent gives back its share of the tenant's day", async () => {
  const made = await stage([lead(["{ reply: [{ call: look }] }", said("Over.")], needsOther)], true, {
    more: "budgets: { tenant: { max_tokens: 1000000 } }",
  });
  const { bench, deploy } = made;
  expect(bench.state().funds.tenant.lease).toMatchObject({ closed: false });
  await deploy(false);
  await finishCalls(made);
  expect(bench.ok("get")).toMatchObject({ waiting_for: [{ kind: "config" }] });
  expect(bench.state().funds.tenant.lease).toMatchObject({ closed: true });
});
