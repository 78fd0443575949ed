import { expect, test } from "vitest";
import type { Crew } from "../../support/crew.ts";
import { childIds, crewOf, delegate, itemsOf, resultsOf, spawn, task } from "../../support/crew.ts";
import { replies, said } from "../../support/scripts.ts";

/** Many children cost as much per turn as few, and leave nothing behind in the live state. */

const turns = 5;

const looking = Array.from({ length: turns - 1 }, (_, turn) => said(["look", { name: String(turn) }]));

const crewWith = (children: number, runs = 1): Promise<() => Crew> => {
  const spawning = said(spawn(Array.from({ length: children }, () => task("coder"))));
  return crewOf([
    {
      name: "lead",
      script: replies(...Array.from({ length: runs }, () => [spawning, said("Done.")]).flat()),
      yaml: "delegation: { max_children_per_call: 64 }",
    },
    { name: "coder", script: replies(...looking, said("Coded.")) },
  ]);
};

const writesPerTurn = async (children: number): Promise<number> => {
  const { bench } = (await crewWith(children))();
  const before = bench.writes();
  bench.send("Go");
  await bench.idle();
  return (bench.writes() - before) / (children * turns);
};

test("a child's turn writes no more rows among 64 children than among 4", async () => {
  const few = await writesPerTurn(4);
  const many = await writesPerTurn(64);
  expect(many / few).toBeLessThanOrEqual(1.3);
});

test("AG-8: 64 children of a run all end, and nothing of them stays in the live state or its rows", async () => {
  const made = (await crewWith(64, 3))();
  const mainRow = (): number => {
    const row = made.bench.rows("threads").find(({ id }) => id === "main");
    return typeof row?.["state"] === "string" ? row["state"].length : 0;
  };
  const sizes: number[] = [];
  for (let run = 0; run < 3; run++) {
    made.bench.send("Go");
    await made.bench.idle();
    expect(itemsOf(made).every(({ state }) => state === "completed")).toBe(true);
    expect(made.bench.rows("threads").map(({ id }) => id)).toEqual(["main"]);
    sizes.push(mainRow());
  }
  expect(childIds(made)).toHaveLength(192);
  expect(made.bench.rows("children")).toHaveLength(192);
  expect(Math.max(...sizes)).toBeLessThan(8_000);
  expect(sizes[2]).toBeLessThan((sizes[0] ?? 0) * 1.05);
  made.bench.crash();
  expect(Object.keys(made.bench.state().threads)).toEqual(["main"]);
  expect(made.bench.state()).toMatchObject({ queue: [], trees: {}, labels: { coder: 192 } });
});

test("AG-26: a child that is older than those which are listed can be asked for by its id", async () => {
  const spawning = said(spawn(Array.from({ length: 64 }, () => task("coder"))));
  const oldest = "{{results.delegate_to_agent.child}}";
  const made = (
    await crewOf([
      {
        name: "lead",
        script: replies(
          said(delegate("coder", { async: true })),
          said("Begun."),
          said("I see."),
          spawning,
          said(["check_children", { child: oldest }], ["check_children", {}]),
          said("Done."),
        ),
        yaml: "delegation: { max_children_per_call: 64, async: true }",
      },
      { name: "coder", script: replies(said("Coded.")) },
    ])
  )();
  for (const text of ["Go", "Go on"]) {
    made.bench.send(text);
    await made.bench.idle();
    await made.bench.pass(1_000);
  }
  const [one = "", all = ""] = resultsOf(made).slice(-2);
  expect(one).toContain('"state":"completed"');
  expect(one).toContain(childIds(made)[0]);
  expect(all.match(/"child":/g)).toHaveLength(64);
});
