import { expect, test } from "vitest";
import type { Message } from "../../../src/chat/message.ts";
import { memoryTables } from "../../engine/access/tables.ts";
import { openBench } from "../../support/bench.ts";
import type { Bench } from "../../support/bench.ts";
import { childIds, crewYaml, delegate, member } from "../../support/crew.ts";
import type { Member } from "../../support/crew.ts";
import { engineOf } from "../../support/teams.ts";
import { said } from "../../support/scripts.ts";
import { createBigTool } from "../../support/probe.ts";
import { textsOf } from "../../agent/loop/play.ts";

/** Which message a summary quotes as the one that began the run (EF-22). */

const big = createBigTool("x".repeat(10_000));

/** In each run so many turns that read much, then an answer; what is compacted is told in one word. */
const reader = (name: string, runs: readonly number[], yaml = ""): Member => ({
  name,
  script: [
    "scenes:",
    "  - { name: tells, when: { purpose: compaction }, reply: [{ text: Told. }] }",
    ...runs.flatMap((turns, at) => [
      `  - { name: reads${at}, when: { times: ${turns} }, reply: [{ text: Reading. }, { call: big }] }`,
      `  - { name: done${at}, when: { times: 1 }, reply: [{ text: Done. }] }`,
    ]),
  ].join("\n"),
  yaml: `effects: [{ kind: compact, params: { threshold: 0.3, target: 0.1 } }]\nmax_tokens: 1000\n${yaml}`,
});

const opened = async (
  members: readonly Member[],
  { tables } = memoryTables(),
  sessions = ["a"],
): Promise<readonly Bench[]> => {
  const yaml = crewYaml(members).replaceAll("context_window: 128000", "context_window: 20000");
  const engine = await engineOf(yaml, {
    toolboxes: [{ name: "probe", description: "Probes.", tools: [big] }],
  });
  return sessions.map((each) => {
    const bench = openBench({ engine, tables, id: `s_${each.repeat(26)}` });
    bench.ok("create", { metadata: { subject: "ada" } });
    return bench;
  });
};

const played = async (members: readonly Member[]): Promise<Bench> => {
  const [bench] = (await opened(members)) as readonly [Bench];
  bench.send("Paint the boat");
  await bench.idle();
  return bench;
};

/** All messages of a thread, also those that have left its view. */
const allOf = (bench: Bench, thread: string): readonly Message[] => {
  const { data } = bench.ok("messages", { thread, limit: 200, retired: true });
  return data as unknown as readonly Message[];
};

/** Requests that the summaries of a thread quoted, in their order. */
const quotes = (bench: Bench, thread = "main"): readonly string[] =>
  allOf(bench, thread).flatMap((message) => {
    if (message.summary === undefined) return [];
    return /<request>\n(.*)\n<\/request>/s.exec(textsOf(message))?.[1] ?? "none";
  });

const told = { task: "Sand the hull", context: "Use fine paper" };

test("EF-22 AG-16 ★: in a called agent it is the task, not the context that it is told before", async () => {
  const bench = await played([
    member("lead", [said(delegate("coder", told)), said("Done.")]),
    reader("coder", [4]),
  ]);
  const [coder = ""] = childIds({ bench });
  expect(quotes(bench, coder)).toEqual(["Sand the hull", "Sand the hull", "Sand the hull"]);
});

test("EF-22 AG-26: in a peer it is the task that was handed over", async () => {
  const bench = await played([
    member("lead", [said(delegate("coder", told)), said("Done.")]),
    member(
      "coder",
      [said(["handoff", { agent: "writer", reason: "It fits", context: "The plan" }])],
      "options: { max_handoffs: 1 }",
    ),
    reader("writer", [4]),
  ]);
  const [, writer = ""] = childIds({ bench });
  expect(quotes(bench, writer)).toEqual(["Sand the hull", "Sand the hull", "Sand the hull"]);
});

test("EF-22 AG-13: in a thread that is kept it is the task at hand", async () => {
  const again = { ...told, persistent: true };
  const bench = await played([
    member("lead", [
      said(delegate("coder", again)),
      said(delegate("coder", { ...again, task: "Oil the mast" })),
      said("Done."),
    ]),
    reader("coder", [2, 4]),
  ]);
  const [coder = ""] = childIds({ bench });
  expect(quotes(bench, coder).at(-1)).toBe("Oil the mast");
});

test("EF-22 AG-41: it is the input, not what is remembered of others", async () => {
  const [first, bench] = (await opened([reader("lead", [4, 4], "memory: { threshold: 0 }")], memoryTables(), [
    "a",
    "b",
  ])) as readonly [Bench, Bench];
  for (const each of [first, bench]) {
    each.send("Paint the boat in red and white");
    await each.idle();
  }
  expect(allOf(bench, "main").some(({ memories }) => memories !== undefined)).toBe(true);
  expect(quotes(bench)).toEqual(["Paint the boat in red and white"]);
});

test("EF-22 SE-24: it is the input that began the run, not one that joined it since", async () => {
  const [bench] = (await opened([reader("lead", [9])])) as readonly [Bench];
  bench.hold = true;
  bench.send("Paint the boat");
  for (let turn = 1; bench.hold; turn++) {
    await bench.steps();
    if (turn === 6) bench.send("In red", { on_busy: "steer" });
    bench.release();
    bench.hold = bench.state().threads["main"]?.run !== null;
    await bench.steps();
  }
  await bench.idle();
  expect([...new Set(quotes(bench))]).toEqual(["Paint the boat"]);
});

test("EF-22: of a long request its first 2 400 characters and its last 1 600 are quoted", async () => {
  const [bench] = (await opened([reader("lead", [4])])) as readonly [Bench];
  bench.send(`${"a".repeat(3_000)}${"z".repeat(2_000)}`);
  await bench.idle();
  expect(quotes(bench).at(-1)).toBe(
    `${"a".repeat(2_400)}\n[… 1000 characters left out …]\n${"z".repeat(1_600)}`,
  );
});
