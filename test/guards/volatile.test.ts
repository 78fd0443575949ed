import { describe, expect, test } from "vitest";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { crew, delegate, mission, spawn, task } from "../support/crew.ts";
import { replies, said, scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import { workspaceWith } from "../support/workspace.ts";
import { ends } from "../agent/loop/play.ts";
import { script } from "./support.ts";

/** Built-in tools whose output names something new each time: equal calls are a loop all the same (EF-31). */

const guards = "guards: { tool_loops: { warning_threshold: 3, critical_threshold: 4 } }";
const call = (name: string, args: object): string =>
  `{ reply: [{ call: ${name}, args: ${JSON.stringify(args)} }] }`;
const five = (each: string): readonly string[] => Array.from({ length: 5 }, () => each);

/** How many outcomes the calls of `main` had, and how the run ended. */
const judged = (bench: Bench): readonly [number, string | undefined] => [
  new Set(bench.state().threads["main"]?.history.map(({ outcome }) => outcome)).size,
  ends(bench).at(-1),
];
const loop = [1, "failed:tool_loop"];

const repeated = async (name: string, args: object): Promise<Bench> => {
  const yaml = scripted(script(...five(call(name, args))), guards).replace(
    "toolboxes: [probe]",
    "toolboxes: [exec, state, tasks]",
  );
  const { env } = await workspaceWith();
  const bench = openBench({ engine: await engineOf(yaml, { env }) });
  bench.ok("create");
  bench.send("Go");
  await bench.idle();
  return bench;
};

describe("EF-31 EF-32: what an output only numbers makes no other outcome", () => {
  for (const [name, args] of [
    ["exec_run", { command: "true", background: true }],
    ["exec_shell", { script: "true", background: true }],
    ["shared_state_set", { key: "k", value: 1 }],
    ["shared_tasks_create", { title: "Again" }],
  ] as const)
    test(`EF-31: ${name}`, async () => {
      expect(judged(await repeated(name, args))).toEqual(loop);
    });

  test("EF-31: two different values that are set are two outcomes of two calls", async () => {
    const set = (value: number): string => call("shared_state_set", { key: "k", value });
    const yaml = scripted(script(set(1), set(2), "{ reply: [{ text: Done. }] }"), guards).replace(
      "toolboxes: [probe]",
      "toolboxes: [state]",
    );
    const bench = openBench({ engine: await engineOf(yaml) });
    bench.ok("create");
    bench.send("Go");
    await bench.idle();
    expect(new Set(bench.state().threads["main"]?.history.map(({ args }) => args)).size).toBe(2);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  const coder = (...each: readonly string[]) => ({ name: "coder", script: replies(...each) });
  const graph = (more: object): readonly [string, object] => [
    "dispatch_tasks",
    { tasks: [{ id: "t", agent: "coder", message: "Do it", blocking: true }], ...more },
  ];
  for (const [what, piece] of [
    ["delegate_to_agent in the background", delegate("coder", { async: true })],
    ["spawn_agents", spawn([task("coder")])],
    ["delegate", ["delegate", { tasks: [task("coder")] }]],
    ["dispatch_tasks in the background", graph({ async: true })],
  ] as const)
    test(`EF-31: ${what}`, async () => {
      const lead = {
        name: "lead",
        script: replies(...five(said(piece))),
        yaml: `${guards}\ndelegation: { async: true }`,
      };
      const { bench } = await mission([lead, coder("{ reply: [{ text: Done. }] }")]);
      expect(judged(bench)[0]).toBe(1);
      expect(ends(bench)).toContain("failed:tool_loop");
    });

  const long = "Word ".repeat(100);
  const lists = ["caveats", "tests_run"].map(
    (list) => `${list}: ${JSON.stringify(Array(30).fill("x".repeat(123)))}`,
  );
  const children = [
    ["that fails", `{ fail: [{ status: 400 }], reply: [{ text: Never. }] }`],
    ["whose result is too long", said(long)],
    [
      "whose lists are too long",
      `{ reply: [{ call: task_complete, args: { status: completed, summary: Done, ${lists.join(", ")} } }] }`,
    ],
  ] as const;
  const cuts = "max_result_length: 200";
  const many = (piece: readonly [string, object]): readonly string[] =>
    Array.from({ length: 12 }, () => said(piece));
  const twelve = "guards: { tool_loops: { warning_threshold: 10, critical_threshold: 11 } }";
  for (const [what, reply] of children) {
    for (const piece of [
      delegate("coder"),
      spawn([task("coder"), task("coder")]),
      ["delegate", { tasks: [task("coder"), task("coder")] }],
      graph({}),
    ] as const)
      test(`EF-31: ${piece[0]} of a child ${what}`, async () => {
        const lead = {
          name: "lead",
          script: replies(...many(piece)),
          yaml: `${twelve}\ndelegation: { ${cuts} }`,
        };
        const { bench } = await mission([lead, coder(reply)]);
        expect(judged(bench)).toEqual(loop);
      });

    test(`EF-31: spawn_agent of a child ${what}`, async () => {
      const piece = said(["spawn_agent", { task: "Try" }]);
      const scenes = `scenes: [${piece.replace("{ ", "{ name: spawns, when: { input: { equals: Go } }, ")}, ${reply.replace("{ ", "{ name: helps, ")}]`;
      const lead = {
        name: "lead",
        script: scenes,
        yaml: `${twelve}\ndelegation: { ad_hoc: true, ${cuts} }`,
      };
      expect(judged((await mission([lead])).bench)).toEqual(loop);
    });
  }

  test("EF-31: two long results that differ in what is shown are two outcomes", async () => {
    const again = said(delegate("coder", { persistent: true }));
    const lead = {
      name: "lead",
      script: replies(again, again, said("Done.")),
      yaml: `${guards}\ndelegation: { ${cuts} }`,
    };
    const { bench } = await mission([lead, coder(said(`One ${long}`), said(`Two ${long}`))]);
    expect(judged(bench)).toEqual([2, "completed:end_turn"]);
  });

  test("EF-31: the seconds in a graph's report", async () => {
    const lead = {
      name: "lead",
      script: replies(...five(said(graph({})))),
      yaml: `${guards}\ndelegation: { async: true }`,
    };
    const members = [lead, coder(said(["look", {}]), said("Done."))];
    const { bench, probe } = await crew(members, { instant: false });
    bench.send("Go");
    for (let round = 1; round <= 3; round++) {
      await bench.steps();
      await bench.tick(1_000 * round);
      probe.calls.at(-1)?.finish();
    }
    await bench.idle();
    expect(judged(bench)).toEqual(loop);
  });
});
