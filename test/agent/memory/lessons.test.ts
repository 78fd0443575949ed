import { expect, test } from "vitest";
import type { Tables } from "../../../src/engine/access/database.ts";
import { addReflections } from "../../../src/engine/access/tenant/reflections.ts";
import { memoryTables } from "../../engine/access/tables.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import type { Member } from "../../support/crew.ts";
import { chatOf, childIds, crewYaml, delegate, eventsAs, spawn, task } from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { createProbe } from "../../support/probe.ts";
import { engineOf } from "../../support/teams.ts";
import { replies, said } from "../../support/scripts.ts";
import { insist } from "../../support/power-cut.ts";

/** Lessons of called agents that failed, from YAML to the next one's chat (AG-39). */

const failing = said(["task_complete", { status: "failed", summary: "Broke it.", caveats: ["Lock first."] }]);

const migrate = { task: "Migrate the customer database" };

const members = (lead: readonly string[], coder: string): readonly Member[] => [
  { name: "lead", script: replies(...lead) },
  { name: "coder", script: coder },
];

const twice = [said(delegate("coder", migrate)), said(delegate("coder", migrate)), said("Done.")];

const opened = async (
  team: string,
  crew: readonly Member[] = members(twice, replies(failing)),
  options: { readonly tables?: Tables; readonly id?: string } = {},
): Promise<Bench> => {
  const engine = await engineOf(crewYaml(crew, team), { toolboxes: [createProbe().toolbox] });
  const bench = openBench({ engine, ...options });
  bench.ok("create");
  return bench;
};

const played = async (...args: Parameters<typeof opened>): Promise<Bench> => {
  const bench = await opened(...args);
  bench.send("Go");
  await bench.idle();
  return bench;
};

const toldTo = (bench: Bench, child: number): readonly string[] =>
  chatOf({ bench }, childIds({ bench })[child] ?? "")
    .filter(({ role }) => role === "user")
    .toSorted((a, b) => (a.place ?? a.pos) - (b.place ?? b.pos))
    .flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")));

const rowsOf = (tables: Tables): readonly string[] =>
  tables.read("SELECT json FROM reflections").map(({ json }) => String(json));

for (const scope of ["session", "tenant"]) {
  test(`AG-39, AG-16: scope ${scope}: the second child is told of the first one's failure, between context and task`, async () => {
    const crew = members(
      [twice[0] ?? "", said(delegate("coder", { ...migrate, context: "Be quick." })), said("Done.")],
      replies(failing),
    );
    const bench = await played(`reflections: { scope: ${scope} }`, crew);
    expect(toldTo(bench, 0)).toEqual(["Migrate the customer database"]);
    const [context, lesson, given] = toldTo(bench, 1);
    expect(context).toBe("<delegation_context>\nBe quick.\n</delegation_context>");
    expect(lesson).toMatch(
      /^<prior_reflections>\n[\s\S]*Broke it\.[\s\S]*- Lock first\.\n<\/prior_reflections>$/,
    );
    expect(lesson).toContain("## coder, 20");
    expect(given).toBe("Migrate the customer database");
    const request = bench.requests.find(({ messages }) =>
      JSON.stringify(messages).includes("prior_reflections"),
    );
    expect(
      request?.messages.map(({ parts }) => (parts[0]?.type === "text" ? parts[0].text.slice(0, 10) : "")),
    ).toEqual(["<delegatio", "<prior_ref", "Migrate th"]);
    expect(eventsAs({ bench }, "error")).toEqual([]);
  });
}

test("AG-39: without reflections in the YAML nothing is kept and nothing is told", async () => {
  const { tables } = memoryTables();
  const bench = await played("", undefined, { tables });
  expect(toldTo(bench, 1)).toEqual(["Migrate the customer database"]);
  expect(rowsOf(tables)).toEqual([]);
  expect(bench.rows("entries")).toEqual([]);
});

test("★ AG-39: two failures at the same moment are two rows", async () => {
  const { tables } = memoryTables();
  const lead = [
    said(spawn([task("coder", migrate), task("coder", migrate)], { on_error: "collect" })),
    said("Done."),
  ];
  await played("reflections: {}", members(lead, replies(failing)), { tables });
  expect(rowsOf(tables)).toHaveLength(2);
  const bench = await played("reflections: { scope: session }", members(lead, replies(failing)));
  expect(bench.rows("entries").filter(({ store }) => store === "reflections")).toHaveLength(2);
});

test("AG-39: a run that fails by a limit leaves one, with the cause as caveat; one that succeeds or is cancelled leaves none", async () => {
  const { tables } = memoryTables();
  const looping = {
    name: "coder",
    script: replies(said("Looking.", ["look", {}])),
    yaml: "options: { max_iterations: 1 }",
  };
  await played("reflections: {}", [members(twice, "")[0] as Member, looping], { tables });
  expect(rowsOf(tables).map((json) => JSON.parse(json) as object)).toMatchObject([
    { agent: "coder", task: "Migrate the customer database", summary: "Looking." },
    { agent: "coder" },
  ]);
  const other = memoryTables().tables;
  await played("reflections: {}", members(twice, replies(said("Fine."))), { tables: other });
  expect(rowsOf(other)).toEqual([]);
});

test("AG-39: lessons go to other sessions of the tenant", async () => {
  const { tables } = memoryTables();
  await played("reflections: {}", undefined, { tables });
  const same = await played("reflections: {}", undefined, { tables, id: "s_bbbbbbbbbbbbbbbbbbbbbbbbbb" });
  expect(toldTo(same, 0)[0]).toContain("Broke it.");
});

test("AG-39: the main thread is told nothing, and its own failure leaves nothing", async () => {
  const { tables } = memoryTables();
  await played("reflections: {}", undefined, { tables });
  const lead = { name: "lead", script: replies(said(["look", {}])), yaml: "options: { max_iterations: 1 }" };
  const bench = await opened("reflections: {}", [lead], { tables, id: "s_bbbbbbbbbbbbbbbbbbbbbbbbbb" });
  bench.send("Migrate the customer database");
  await bench.idle();
  expect(JSON.stringify(bench.requests[0]?.messages)).not.toContain("prior_reflections");
  expect(rowsOf(tables)).toHaveLength(2);
});

/** Tables that fail until they are mended. */
const broken = (): { readonly tables: Tables; mended: boolean } => {
  const { tables } = memoryTables();
  const kept = {
    mended: false,
    tables: {
      ...tables,
      read: (query: string, ...values: readonly (string | number | null)[]) => {
        if (!kept.mended && query.includes("reflections")) throw new Error("down");
        return tables.read(query, ...values);
      },
      write: <T>(work: Parameters<typeof tables.write<T>>[0]): T => {
        if (!kept.mended) throw new Error("down");
        return tables.write(work);
      },
    },
  };
  return kept;
};

test("★ AG-39: a store that is down changes no run; its lessons arrive once it is back, each once", async () => {
  const store = broken();
  const bench = await played("reflections: {}", undefined, { tables: store.tables });
  expect(eventsAs({ bench }, "run_end").at(-1)?.data).toMatchObject({ state: "completed" });
  expect(toldTo(bench, 1)).toEqual(["Migrate the customer database"]);
  expect(eventsAs({ bench }, "error").map(({ data }) => data.code)).toEqual([
    "reflections_unavailable",
    "reflections_unavailable",
  ]);
  expect(bench.alarm()).not.toBeNull();
  bench.crash();
  await bench.pass(10_000);
  store.mended = true;
  await bench.pass(300_000);
  expect(rowsOf(store.tables)).toHaveLength(2);
  bench.crash();
  expect(bench.state().outbox).toBeNull();
  expect(bench.alarm()).toBeNull();
});

test("AG-39: what a store tells twice it keeps once, for its time, and no more than 500 rows", () => {
  const { tables } = memoryTables();
  const rows = Array.from({ length: 510 }, (_, n) => ({
    id: `s/${n}`,
    at: n + 1,
    agent: "a",
    task: "t",
    summary: "",
    caveats: [],
    files: [],
  }));
  const rules = { ttlMs: 1_000, now: 600 };
  addReflections(tables, rows, rules);
  addReflections(tables, rows.slice(-5), rules);
  const times = (): readonly number[] =>
    tables.read("SELECT at FROM reflections ORDER BY at").map(({ at }) => Number(at));
  expect(times()).toHaveLength(500);
  expect(times()[0]).toBe(11);
  addReflections(tables, [], { ttlMs: 100, now: 600 });
  expect(times()[0]).toBe(501);
});

test("AG-39: rows of a session leave with their time", async () => {
  const bench = await opened("reflections: { scope: session, ttl: 1h }");
  bench.send("Go");
  await bench.idle();
  await bench.pass(3_600_000);
  bench.send("Again");
  await bench.idle();
  const told = childIds({ bench }).map((_, child) => toldTo(bench, child).length);
  expect(told.slice(0, 2)).toEqual([1, 2]);
  expect(bench.rows("entries").filter(({ store }) => store === "reflections").length).toBeLessThanOrEqual(2);
});

test("★ AG-39: the power cut at every write: two rows, and nobody is told twice", async () => {
  const engine = await engineOf(crewYaml(members(twice, replies(failing)), "reflections: {}"), {
    toolboxes: [createProbe().toolbox],
  });
  const play = async (
    cut: number | null,
  ): Promise<{ readonly bench: Bench; readonly tables: Tables; readonly writes: number }> => {
    const { tables } = memoryTables();
    const bench = openBench({ engine, tables });
    bench.ok("create");
    const before = bench.writes();
    bench.cutAt(cut);
    insist(bench, "send", { id: "i1", content: "Go" }, "i1");
    await bench.idle();
    for (let round = 0; round < 5 && bench.alarm() !== null; round++)
      await bench.pass(Math.max(1, (bench.alarm() ?? 0) - bench.now()));
    return { bench, tables, writes: bench.writes() - before };
  };
  const { writes } = await play(null);
  for (let cut = 1; cut <= writes; cut++) {
    const { bench, tables } = await play(cut);
    checkInvariants(bench, ["i1"]);
    expect(rowsOf(tables), `cut at ${cut}`).toHaveLength(2);
    bench.crash();
    expect(bench.state().outbox).toBeNull();
    expect(toldTo(bench, 1).filter((text) => text.includes("prior_reflections")).length).toBeLessThanOrEqual(
      1,
    );
  }
});
