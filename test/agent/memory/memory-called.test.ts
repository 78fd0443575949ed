import { expect, test } from "vitest";
import { memoryTables } from "../../engine/access/tables.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import type { Member } from "../../support/crew.ts";
import { crewYaml, delegate, endings, member } from "../../support/crew.ts";
import type { Probe } from "../../support/probe.ts";
import { createProbe } from "../../support/probe.ts";
import { engineOf } from "../../support/teams.ts";
import { said } from "../../support/scripts.ts";

/** What is remembered of agents that call each other (AG-41): what was reported and asked, by whom it was. */

interface Opened {
  readonly bench: Bench;
  readonly probe: Probe;
  readonly remembered: () => readonly unknown[];
}

const opened = async (members: readonly Member[], instant = true): Promise<Opened> => {
  const { tables } = memoryTables();
  const probe = createProbe(instant);
  const engine = await engineOf(crewYaml(members), { toolboxes: [probe.toolbox] });
  const bench = openBench({ engine, id: `s_${"a".repeat(26)}`, tables });
  bench.ok("create", { metadata: { subject: "ada" } });
  const remembered = (): readonly unknown[] =>
    tables.read("SELECT text FROM memories ORDER BY n").map(({ text }) => text);
  return { bench, probe, remembered };
};

const lead = member("lead", [said(delegate("coder", { task: "Paint the boat red" })), said("Done.")]);

const look = (name: string): string => said(["look", { name }]);

const painted = ["task_complete", { status: "completed", summary: "Painted the boat." }] as const;

test("AG-41 AG-23: of a called agent its report is remembered, not the words beside it", async () => {
  const { bench, remembered } = await opened([
    lead,
    member("coder", [said("I will report now.", painted)], "memory: {}"),
  ]);
  bench.send("Go");
  await bench.idle();
  expect(remembered()).toEqual([expect.stringMatching(/Paint the boat red\nAnswered: Painted the boat\.$/)]);
});

test("AG-41 AG-26: of a run that hands its task over nothing is remembered; the peer's answer is", async () => {
  const { bench, remembered } = await opened([
    lead,
    member(
      "coder",
      [said("Not mine.", ["handoff", { agent: "writer", reason: "It fits", context: "The plan" }])],
      "memory: {}\noptions: { max_handoffs: 1 }",
    ),
    member("writer", [said("Painted.")], "memory: {}"),
  ]);
  bench.send("Go");
  await bench.idle();
  expect(endings({ bench })).toHaveLength(3);
  expect(remembered()).toEqual([expect.stringMatching(/Answered: Painted\.$/)]);
});

/** The lead announces the coder's result, was asked something, and is at its next turn. */
const asked = async (
  after: readonly string[],
  yaml: string,
): Promise<Opened & { readonly finished: (name: string) => Promise<void> }> => {
  const { bench, probe, remembered } = await opened(
    [
      member(
        "lead",
        [said(delegate("coder", { async: true })), said("Started."), look("l"), ...after],
        `memory: {}\n${yaml}`,
      ),
      member("coder", [look("c"), said("Coded.")]),
    ],
    false,
  );
  const finished = async (name: string): Promise<void> => {
    probe.calls.find((call) => call.name === name)?.finish();
    for (let round = 0; round < 3; round++) await bench.steps();
  };
  bench.send("Go");
  for (let round = 0; round < 3; round++) await bench.steps();
  await finished("c");
  bench.send("Where is the boat?", { on_busy: "steer" });
  await finished("l");
  return { bench, probe, remembered, finished };
};

const twoTurns = "options: { max_iterations: 2 }\ndelegation: { async: true, announce: { backoff: 2s } }";

test("AG-41 AG-31: what a person asks during an announcing run is remembered with its answer, the announcement is not", async () => {
  const { bench, remembered } = await asked([said("It lies in Kiel.")], "delegation: { async: true }");
  await bench.idle();
  expect(endings({ bench })).toHaveLength(3);
  expect(remembered()).toEqual([
    "Asked: Go\nAnswered: Started.",
    "Asked: Where is the boat?\nAnswered: It lies in Kiel.",
  ]);
});

test("AG-41 AG-31: what a person asks during an announcing run that fails is remembered with the answer of the next try", async () => {
  const { bench, remembered, finished } = await asked([look("m"), said("It lies in Kiel.")], twoTurns);
  await finished("m");
  expect(endings({ bench }).at(-1)).toBe("lead failed:max_iterations");
  bench.crash();
  await bench.pass(2_000);
  expect(endings({ bench }).at(-1)).toBe("lead completed:end_turn");
  expect(remembered()).toEqual([
    "Asked: Go\nAnswered: Started.",
    "Asked: Where is the boat?\nAnswered: It lies in Kiel.",
  ]);
});

test("AG-41 AG-31: what a person asks during an announcing run that is rolled back is remembered no more", async () => {
  const { bench, probe, remembered } = await asked(
    [look("m"), look("n"), look("o"), said("The coder is done.")],
    twoTurns,
  );
  probe.instant = true;
  bench.send("Start over", { on_busy: "rollback" });
  await bench.pass(5_000);
  expect(endings({ bench }).at(-1)).toBe("lead failed:max_iterations");
  await bench.pass(2_000);
  expect(endings({ bench }).at(-1)).toBe("lead completed:end_turn");
  expect(remembered()).toEqual(["Asked: Go\nAnswered: Started."]);
});
