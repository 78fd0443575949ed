import { expect, test } from "vitest";
import { memoryTables } from "../../engine/access/tables.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import { engineOf } from "../../support/teams.ts";
import { dataOf, results } from "../loop/play.ts";
import { call, listOf, script, storeRun, storeYaml } from "./store-play.ts";

/** Notes from YAML, of a session, an agent, a tenant (AG-47). */

const write = (name: string, content: string): string => call("write_note", { name, content });

const read = (name: string): string => call("read_note", { name });

const list = call("list_notes");

test("AG-47: a note is written, read whole, replaced, and listed by name with its first line", async () => {
  const long = `\n  ${"é".repeat(100)}\nmore`;
  const { bench } = await storeRun(
    script(
      list,
      write("plan", "First\nsecond"),
      write("a-b_1", long),
      read("plan"),
      write("plan", "New"),
      list,
      read("plam"),
    ),
  );
  expect(results(bench)).toEqual([
    "ok: []",
    'ok: {"name":"plan","first_line":"First"}',
    `ok: {"name":"a-b_1","first_line":"${"é".repeat(80)}"}`,
    "ok: First\nsecond",
    'ok: {"name":"plan","first_line":"New"}',
    `ok: [{"name":"a-b_1","first_line":"${"é".repeat(80)}"},{"name":"plan","first_line":"New"}]`,
    'error: not_found: there is no note "plam"; did you mean "plan"?',
  ]);
  expect(listOf(bench, "notes")).toEqual([
    { name: "a-b_1", content: long },
    { name: "plan", content: "New" },
  ]);
  expect(dataOf(bench, "store_changed")).toEqual(
    ["plan", "a-b_1", "plan"].map((key) => ({ store: "notes", key, op: "set" })),
  );
});

test.each([["../etc"], ["a b"], [""], ["x".repeat(65)], ["ä"]])(
  "AG-47: %j is no name of a note",
  async (name) => {
    const { bench } = await storeRun(script(write(name, "x"), read(name)));
    for (const result of results(bench)) expect(result).toContain("error: invalid_arguments: name: ");
    expect(listOf(bench, "notes")).toEqual([]);
  },
);

test("AG-47: a note has at most 64 KiB, in bytes", async () => {
  const { bench } = await storeRun(script(write("a", "é".repeat(32_768)), write("b", "é".repeat(32_769))));
  expect(results(bench)[0]).toMatch(/^ok: /);
  expect(results(bench)[1]).toContain("error: invalid_arguments: content: a note has at most 64 KiB");
});

const many = Array.from({ length: 201 }, (_, at) => write(`n${at}`, "x"));

const pages = [many.slice(0, 60), many.slice(60, 120), many.slice(120, 180), many.slice(180)];

const fill = script(...pages.map((page) => page.join(", ")), write("n0", "again"));

for (const scope of ["session", "tenant"])
  test(`AG-47: 200 notes are the most, one can still be replaced: scope ${scope}`, async () => {
    const { bench } = await storeRun(fill, { team: `notes: { scope: ${scope} }` });
    expect(results(bench)).toHaveLength(202);
    expect(results(bench).filter((result) => result.startsWith("error"))).toEqual([
      "error: limit: there are 200 notes; overwrite one of them",
    ]);
  });

interface Who {
  readonly agent?: string;
  readonly letter?: string;
}

/** Sessions over one tenant's tables; each plays its own script. */
const sessions = (scope: string) => {
  const { tables } = memoryTables();
  const open = async (replies: string, { agent = "tester", letter = "a" }: Who = {}) => {
    const yaml = storeYaml(replies, `notes: { scope: ${scope} }`)
      .replace("[probe, state, tasks, notes]", "[notes]")
      .replace("agents:", "agents:\n  - { name: other, toolboxes: [notes], effects: [] }");
    const bench = openBench({ engine: await engineOf(yaml), id: `s_${letter.repeat(26)}`, tables });
    bench.ok("create", { agent });
    return bench;
  };
  const go = async (replies: string, who: Who = {}): Promise<readonly string[]> => {
    const bench = await open(replies, who);
    bench.send("Go");
    await bench.idle();
    return results(bench);
  };
  return { open, go };
};

const mine = script(write("shared", "From the first session."));

const look = script(list, read("shared"));

const nothing = ["ok: []", 'error: not_found: there is no note "shared"; list_notes shows the names'];

const found = [
  'ok: [{"name":"shared","first_line":"From the first session."}]',
  "ok: From the first session.",
];

test("AG-47: by default two sessions share no note", async () => {
  const { go } = sessions("session");
  await go(mine);
  expect(await go(look, { letter: "b" })).toEqual(nothing);
});

test("AG-47: tenant shares notes among all agents of a tenant", async () => {
  const { go } = sessions("tenant");
  await go(mine);
  expect(await go(look, { letter: "b" })).toEqual(found);
  expect(await go(look, { letter: "c", agent: "other" })).toEqual(found);
});

test("AG-47: agent shares notes among the sessions of one agent", async () => {
  const { go } = sessions("agent");
  await go(mine);
  expect(await go(look, { letter: "b" })).toEqual(found);
  expect(await go(look, { letter: "c", agent: "other" })).toEqual(nothing);
});

test("AG-47: a shared write is told in the session that made it; reading over the API names whose notes they are", async () => {
  const tenant = await sessions("tenant").open(mine);
  tenant.send("Go");
  await tenant.idle();
  expect(dataOf(tenant, "store_changed")).toEqual([{ store: "notes", key: "shared", op: "set" }]);
  expect(tenant.rows("entries")).toEqual([]);
  expect(tenant.ok("notes")).toEqual({ agents: null });
  const agent = await sessions("agent").open(mine);
  expect(agent.ok("notes")).toEqual({ agents: ["other", "tester"] });
});

/** Sends again until it is acknowledged. */
const acknowledged = (bench: Bench): void => {
  try {
    bench.ok("send", { content: "Go" }, "key1");
  } catch {
    bench.ok("send", { content: "Go" }, "key1");
  }
};

test("AG-47 RE-C12: a write that a crash repeats does not undo what another session wrote meanwhile", async () => {
  const { open, go } = sessions("tenant");
  const first = await open(mine);
  const before = first.writes();
  acknowledged(first);
  await first.idle();
  const total = first.writes() - before;
  let repeated = 0;
  for (let cut = 1; cut <= total; cut++) {
    const team = sessions("tenant");
    const bench = await team.open(mine);
    bench.cutAt(cut);
    acknowledged(bench);
    for (let round = 0; round < 30 && bench.types().at(-1) !== "tool_call_start"; round++)
      await new Promise((resolve) => setImmediate(resolve));
    await team.go(script(write("shared", "Newer.")), { letter: "b" });
    await bench.idle();
    const [said] = await team.go(script(read("shared")), { letter: "c" });
    const started = bench.events().filter(({ type }) => type === "tool_call_start").length;
    if (said === "ok: Newer.") repeated += 1;
    expect(started, `cut ${cut}`).toBe(1);
    expect(results(bench), `cut ${cut}`).toEqual([
      'ok: {"name":"shared","first_line":"From the first session."}',
    ]);
  }
  expect(repeated).toBeGreaterThan(0);
  expect(await go(look, { letter: "d" })).toEqual(found);
});

test("AG-3: an agent with list_notes has a notes protocol after its instructions, another has none", async () => {
  const prompt = async (toolboxes: string): Promise<string> => {
    const { bench } = await storeRun(script(), { toolboxes });
    return bench.requests[0]?.system ?? "";
  };
  expect(await prompt("[probe, notes]")).toMatch(/<notes_protocol>\n.*list_notes and read_note.*write_note/s);
  const reader = await prompt("[probe, { name: notes, tools: [list_notes, read_note] }]");
  expect(reader).toContain("<notes_protocol>");
  expect(reader).not.toContain("write_note");
  expect(await prompt("[probe, { name: notes, tools: [read_note] }]")).not.toContain("notes_protocol");
  expect(await prompt("[probe]")).not.toContain("notes_protocol");
});
