import { expect, test } from "vitest";
import { summary } from "../../engine/access/summary.ts";
import { memoryTables } from "../../engine/access/tables.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import type { Member } from "../../support/crew.ts";
import { crewYaml, delegate } from "../../support/crew.ts";
import { createProbe } from "../../support/probe.ts";
import { replies, said } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { indexSession } from "../../../src/engine/access/tenant/session-index.ts";
import type { Tables } from "../../../src/engine/access/database.ts";

/** What a session that is made anew under a deleted one's name leaves with its tenant: its runs count from 1 again. */

/** Plays a run of the session of this name, which is made anew so much later. */
const play = async (tables: Tables, later: number, members: readonly Member[], team = ""): Promise<Bench> => {
  const engine = await engineOf(crewYaml(members, team), { toolboxes: [createProbe().toolbox] });
  const bench = openBench({ engine, id: `s_${"a".repeat(26)}`, tables });
  await bench.tick(later);
  bench.ok("create", { metadata: { subject: "ada" } });
  bench.send("Where is my boat?");
  await bench.idle();
  return bench;
};

test("★ AG-41: the memory of a session's first run is kept beside that of an earlier session of its name", async () => {
  const { tables } = memoryTables();
  for (const [later, answer] of [
    [0, "In Kiel."],
    [1_000, "In Lübeck."],
  ] as const)
    await play(tables, later, [{ name: "helper", yaml: "memory: {}", script: replies(said(answer)) }]);
  const texts = tables.read("SELECT text FROM memories ORDER BY n").map(({ text }) => String(text));
  expect(texts.map((text) => text.split("Answered: ")[1])).toEqual(["In Kiel.", "In Lübeck."]);
});

test("★ AG-39: the lesson of a session's first call is kept beside that of an earlier session of its name", async () => {
  const { tables } = memoryTables();
  const failing = said(["task_complete", { status: "failed", summary: "Broke it." }]);
  const members: readonly Member[] = [
    {
      name: "lead",
      script: replies(said(delegate("coder", { task: "Migrate the database" })), said("Done.")),
    },
    { name: "coder", script: replies(failing) },
  ];
  for (const later of [0, 1_000]) await play(tables, later, members, "reflections: { scope: tenant }");
  expect(tables.read("SELECT id FROM reflections")).toHaveLength(2);
});

test("★ AG-47: a shared note of a session is written, although an earlier session of its name made the same call", async () => {
  const { tables } = memoryTables();
  for (const [later, content] of [
    [0, "low"],
    [1_000, "high"],
  ] as const) {
    const script = replies(said(["write_note", { name: "tide", content }]), said("Done."));
    const bench = await play(
      tables,
      later,
      [{ name: "helper", script, yaml: "toolboxes: [notes]" }],
      "notes: { scope: tenant }",
    );
    expect(bench.types()).toContain("store_changed");
  }
  expect(tables.read("SELECT content FROM notes")).toEqual([{ content: "high" }]);
});

test("★ AG-41 RE-C38: a session made anew after its clock stepped back keeps its own memory", async () => {
  const { tables } = memoryTables();
  const members = [{ name: "helper", yaml: "memory: { scope: session }", script: replies(said("In Kiel.")) }];
  const first = await play(tables, 3_600_000, members);
  const { id, createdAt, updatedAt } = first.state();
  const times = { created_at: createdAt, updated_at: updatedAt };
  indexSession(tables, summary(id, { ...times, status: "deleted", removal: { key: null, at: updatedAt } }));
  expect(tables.read("SELECT id FROM memories")).toEqual([]);
  await play(tables, 0, members);
  expect(tables.read("SELECT id FROM memories")).toHaveLength(1);
});
