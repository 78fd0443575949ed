import { expect, test } from "vitest";
import { openBench } from "../../support/bench.ts";
import type { Bench } from "../../support/bench.ts";
import type { Member } from "../../support/crew.ts";
import { crewYaml, lead, member, task } from "../../support/crew.ts";
import type { Probe } from "../../support/probe.ts";
import { createProbe } from "../../support/probe.ts";
import { said } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { dataOf } from "../loop/play.ts";
import { node, rawly } from "../delegation/graph-play.ts";

/** Which threads of a session work, and how many it starts. */

const begin = async (
  members: readonly Member[],
  team = "",
  instant = false,
): Promise<{ readonly bench: Bench; readonly probe: Probe }> => {
  const probe = createProbe(instant);
  const engine = await engineOf(crewYaml(members, team), { toolboxes: [probe.toolbox] });
  const bench = openBench({ engine });
  bench.ok("create");
  bench.send("Go");
  await bench.steps();
  return { bench, probe };
};

const states = ({ bench }: { readonly bench: Bench }): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.values(bench.state().threads).map(({ agent, run }) => [agent, run?.phase.at ?? "none"]),
  );

test("AG-21: agents that a person's decision holds up leave the queue to others", async () => {
  const works = ["Do work", "Do more work", "Do even more"].map(
    (what) => ["delegate_to_agent", task("worker", { task: what })] as const,
  );
  const budget = "guards: { tool_loops: false, budget: { max_tokens: 6500, on_exceeded: ask } }";
  const calls = ["mid", "coder", "writer"].map((name) => ["delegate_to_agent", task(name)] as const);
  const look = (name: string): string => `{ reply: [{ call: look, args: { name: ${name} } }] }`;
  const made = await begin(
    [
      lead([said(...calls), said("Over.")]),
      member("mid", [said(...works), said("mid")], budget),
      member("coder", [look("c"), said("coded")]),
      member("writer", [look("w"), said("written")]),
      member("worker", [look("x"), said("worked")]),
    ],
    "sessions: { max_running_threads: 1 }",
  );
  for (let round = 0; round < 8; round++) {
    for (const call of made.probe.calls) call.finish();
    await made.bench.steps();
  }
  expect(dataOf(made.bench, "ask_user")).toHaveLength(1);
  const ended = made.bench.events().flatMap(({ type, agent }) => (type === "run_end" ? [agent.name] : []));
  expect(ended).toEqual(expect.arrayContaining(["coder", "writer"]));
});

test("SE-31: a run's deadline holds though a called agent was asked to end after its turn", async () => {
  const timeout = "middleware: [{ kind: timeout, params: { duration: 10s, count: wall } }]";
  const made = await begin([
    lead([said(["delegate_to_agent", task("coder")]), said("Over.")], timeout),
    member("coder", ["{ reply: [{ call: look }] }", said("coded")]),
  ]);
  const { bench } = made;
  const child = Object.keys(bench.state().threads).find((id) => id !== "main");
  bench.ok("cancel", { thread: child, mode: "after_turn" });
  await bench.steps();
  for (let at = 0; at < 4; at++) await bench.tick(5_000);
  expect(states(made)).toEqual({ lead: "none" });
  expect(dataOf(bench, "run_end").at(-1)).toMatchObject({ reason: "deadline_exceeded" });
  expect(bench.alarm()).toBeNull();
});

test.each([false, true])(
  "AG-21: the agents of a graph count for its run while one follows another, async: %s",
  async (async) => {
    const tasks = [node("a"), node("b", ["a"]), node("c", ["b"])];
    const background = "delegation: { async: true, announce: { backoff: 1s } }";
    const hands = ["delegate_to_agent", task("hand")] as const;
    const { bench } = await begin(
      [
        lead(
          [rawly("dispatch_tasks", { tasks, async }), said("over"), said("over"), said("over")],
          background,
        ),
        member("worker", [said(hands, ["delegate_to_agent", task("hand", { task: "More" })]), said("ok")]),
        member("hand", [said("dug")]),
      ],
      "limits: { threads: { per_run: 5 } }",
      true,
    );
    await bench.idle();
    const called = dataOf(bench, "agent_start").filter(({ depth }) => depth > 0);
    expect(called.length).toBeLessThanOrEqual(5);
    expect(bench.state().trees).toEqual({});
  },
);

test("AG-36: a graph whose dispatcher was cancelled before it leaves nothing behind", async () => {
  const background = "delegation: { async: true }";
  const tasks = [node("a"), node("b", ["a"])];
  const { bench, probe } = await begin([
    lead([said(["delegate_to_agent", task("mid")]), said("over")], background),
    member(
      "mid",
      [rawly("dispatch_tasks", { tasks, async: true }), "{ reply: [{ call: fire }] }", said("mid")],
      background,
    ),
    member("worker", ["{ reply: [{ call: look }] }", said("done")]),
  ]);
  expect(bench.rows("entries").map(({ store }) => store)).toContain("graph");
  bench.ok("cancel");
  await bench.steps();
  for (let at = 0; at < 2; at++) await bench.tick(6_000);
  for (const call of probe.calls) call.finish();
  await bench.steps();
  expect(bench.rows("entries")).toEqual([]);
});
