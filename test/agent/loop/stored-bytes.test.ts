import { expect, test } from "vitest";
import * as z from "zod";
import { eventFrame } from "../../../src/session/frames.ts";
import { defineTool, parkCallOn } from "../../../src/tools/define-tool.ts";
import { openBench } from "../../support/bench.ts";
import type { Bench } from "../../support/bench.ts";
import { childIds, coder, crew, lead, passTurns, spawn, task } from "../../support/crew.ts";
import { done, replies, said, scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";

/** What a long session stores, and what it sends to a watcher. */

const turns = 400;

const echo = defineTool({
  name: "echo",
  description: "Gives back 256 bytes.",
  params: z.strictObject({ i: z.int().describe("A number.") }),
  safety: "read",
  workspace: "none",
  run: ({ i }) => ({ content: `${i}:`.padEnd(256, "x") }),
});

const echoes = Array.from({ length: turns }, (_, i) => ({ reply: [{ call: "echo", args: { i } }] }));

const yaml = `
providers:
  - name: script
    kind: scripted
    model: play
    context_window: 1000000
    script: ${JSON.stringify({ script: 1, replies: [...echoes, { reply: [{ text: "Done." }] }] })}
models:
  play: { price: { input: 1, output: 1 } }
agents:
  - name: tester
    description: Tests.
    toolboxes: [echoes]
    options: { max_iterations: 2000 }
budgets:
  run: { max_tokens: "off", max_tool_calls: "off", max_cost_usd: "off" }
  tenant: { max_cost_usd: "off" }
`;

const pageBytes = 4_096;

const pagesOf = (bench: Bench): number => Number(bench.rows("pragma_page_count")[0]?.["page_count"]);

test("400 turns with a call each store little beside their chat, and no row grows with them", async () => {
  const engine = await engineOf(yaml, {
    toolboxes: [{ name: "echoes", description: "A tool.", tools: [echo] }],
  });
  const bench = openBench({ engine });
  bench.ok("create", {});
  bench.send("Go");
  await bench.idle();
  const chat = bench.chat().reduce((sum, { parts }) => sum + JSON.stringify(parts).length, 0);
  expect(chat).toBeGreaterThan(170_000);
  // The platform has a few pages of its own beside these.
  expect(pagesOf(bench) * pageBytes).toBeLessThanOrEqual(462 * 1_024 - 4 * pageBytes);
  const sent = bench.commits.flatMap((lines) => lines.split("\n")).map((line) => eventFrame(line).length);
  expect(sent.reduce((sum, each) => sum + each, 0) / turns).toBeLessThanOrEqual(5_350);
  for (const [table, most] of [
    ["threads", 8_000],
    ["turns", 16_000],
  ] as const)
    for (const row of bench.rows(table)) expect(JSON.stringify(row).length, table).toBeLessThan(most);
});

/** Changes many files at once. */
const change = defineTool({
  name: "change",
  description: "Changes files.",
  params: z.strictObject({
    op: z.enum(["create", "modify", "delete"]).describe("What it does to them."),
    from: z.int().describe("Number of the first."),
    to: z.int().describe("Number of the last."),
  }),
  safety: "idempotent",
  run: ({ op, from, to }) => ({
    content: "Done.",
    changes: Array.from({ length: to - from + 1 }, (_, n) => ({ op, path: `src/tides/${from + n}.ts` })),
  }),
});

const wait = defineTool({
  name: "wait",
  description: "Waits for a person.",
  params: z.strictObject({}),
  safety: "read",
  workspace: "none",
  run: () =>
    parkCallOn({ on: "ask", question: { text: "On?", options: [], multi_select: false, strict: false } }),
});

test("SE-44: a run that changes thousands of files remembers the newest 200 of each kind, and its rows stay small", async () => {
  const toolboxes = [{ name: "files", description: "Files.", tools: [change, wait] }];
  const changes = (op: string, from: number, to: number): string => said(["change", { op, from, to }]);
  const script = replies(
    changes("create", 1, 2_500),
    changes("modify", 3_001, 3_250),
    changes("create", 2_501, 3_000),
    changes("delete", 2_991, 2_995),
    said(["wait", {}]),
    done,
  );
  const bench = openBench({
    engine: await engineOf(scripted(script).replace("[probe]", "[files]"), { toolboxes }),
  });
  bench.ok("create", {});
  bench.send("Go");
  await bench.idle();
  bench.crash();
  for (const row of bench.rows("turns")) expect(String(row["json"]).length).toBeLessThan(16_000);
  expect(bench.rows("blobs").map(({ id }) => id)).not.toContain("turn:main");
  bench.ok("answer", { ask: Object.keys(bench.state().asks)[0], decision: "answer", text: "On" });
  await bench.idle();
  const end = bench.events().findLast(({ type }) => type === "run_end");
  const path = (n: number): string => `src/tides/${n}.ts`;
  const paths = (from: number, to: number): string[] =>
    Array.from({ length: to - from + 1 }, (_, n) => path(from + n));
  expect(end?.data).toMatchObject({
    result: {
      files_created: [...paths(2_801, 2_990), ...paths(2_996, 3_000)],
      files_modified: paths(3_051, 3_250),
      files_deleted: [],
    },
  });
  expect(bench.events().filter(({ type }) => type === "file_change")).toHaveLength(3_255);
});

test("a commit leaves every thread as it was that it did not change", async () => {
  const look = said(["look", {}]);
  const made = await crew([
    lead([said(spawn([task("coder"), task("coder")])), done]),
    coder([look, look, done]),
  ]);
  made.bench.send("Go");
  await passTurns(made, 1);
  const { bench } = made;
  const before = bench.state().threads;
  bench.send("How far are you?", { on_busy: "queue" });
  const after = bench.state().threads;
  expect(after["main"]).not.toBe(before["main"]);
  const [first = "", second = ""] = childIds(made);
  for (const id of [first, second]) {
    expect(before[id]?.run?.phase.at).toBe("thinking");
    expect(after[id]).toBe(before[id]);
  }
});
