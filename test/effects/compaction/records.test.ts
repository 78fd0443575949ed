import * as z from "zod";
import { expect, test } from "vitest";
import { defineTool } from "../../../src/tools/define-tool.ts";
import { dataOf, ends, play, textsOf } from "../../agent/loop/play.ts";
import type { Play } from "../../agent/loop/play.ts";
import type { Bench } from "../../support/bench.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { indent, scripted } from "../../support/scripts.ts";
import { settle } from "../../support/power-cut.ts";

/** What code adds to a summary: the request, and the files that were touched, whichever run it was (EF-22). */

const edit = defineTool({
  name: "edit",
  description: "Changes files.",
  params: z.strictObject({
    op: z.enum(["create", "modify", "delete"]).describe("How."),
    path: z.string().describe("Which."),
    count: z.int().default(1).describe("How many."),
  }),
  safety: "idempotent",
  run: ({ op, path, count }) => ({
    content: "word ".repeat(1_000),
    changes: Array.from({ length: count }, (_, at) => ({ op, path: at === 0 ? path : `${path}.${at}` })),
  }),
});

/** Each input is one call of `edit`, then an answer. */
const editing = async (args: readonly string[], effects = "[]"): Promise<Play> => {
  const told = "- { name: tells, when: { purpose: compaction }, reply: [{ text: Told. }] }";
  const turns = args.flatMap((each, at) => [
    `- { name: e${at}, when: { times: 1 }, reply: [{ call: edit, args: { ${each} } }] }`,
    `- { name: d${at}, when: { times: 1 }, reply: [{ text: Done. }] }`,
  ]);
  const script = `scenes:\n${indent([told, ...turns, "- { name: done, reply: [{ text: Done. }] }"].join("\n"), 2)}`;
  const yaml = scripted(script, "guards: { tool_loops: false }\nmax_tokens: 1000")
    .replace("context_window: 128000", "context_window: 20000")
    .replace("effects: []", `effects: ${effects}`);
  return play("", { yaml, tools: [edit] });
};

const sent = async (bench: Bench, count: number): Promise<void> => {
  for (let at = 1; at <= count; at++) {
    bench.send(`Request ${at}.`);
    await settle(bench);
  }
};

const compacted = async (bench: Bench): Promise<void> => {
  bench.ok("compact");
  await settle(bench);
};

const summaryIn = (bench: Bench): string =>
  bench
    .chat()
    .filter(({ summary }) => summary !== undefined)
    .map(textsOf)
    .join("\n");

const two = ["op: create, path: src/a.ts", "op: modify, path: src/b.ts"];

test("EF-22 EF-27 ★: a compaction between runs quotes the newest request and lists the files of all runs", async () => {
  const { bench } = await editing(two);
  await sent(bench, 2);
  await compacted(bench);
  const summary = summaryIn(bench);
  expect(summary).toContain("<request>\nRequest 2.\n</request>");
  expect(summary).toContain("- created src/a.ts\n- modified src/b.ts");
  checkInvariants(bench, []);
});

test("EF-22 ★: after a restart the same; a file that came and went is not listed, one that was there before is", async () => {
  const files = [
    "op: create, path: a",
    "op: modify, path: a",
    "op: delete, path: b",
    "op: create, path: b",
    "op: create, path: c",
    "op: delete, path: c",
  ];
  const { bench } = await editing(files);
  await sent(bench, 3);
  bench.crash();
  await sent(bench, 3);
  await compacted(bench);
  expect(summaryIn(bench)).toContain("## Files Touched, As Recorded\n- created a\n- modified b\n\n");
});

test("EF-22 ★: a compaction within a run lists the files of those before it", async () => {
  const { bench } = await editing(two, "[{ kind: compact, params: { threshold: 0.15, target: 0.1 } }]");
  await sent(bench, 2);
  expect(dataOf(bench, "compaction").map(({ stage }) => stage)).toContain("full");
  expect(summaryIn(bench)).toContain("- created src/a.ts");
});

test("EF-22: a compaction after another quotes the request that came since", async () => {
  const { bench } = await editing([...two, "op: delete, path: src/c.ts"]);
  await sent(bench, 2);
  await compacted(bench);
  bench.send("Request 3.");
  await settle(bench);
  await compacted(bench);
  expect(summaryIn(bench)).toContain("<request>\nRequest 3.\n</request>");
  expect(summaryIn(bench)).toContain("- created src/a.ts\n- modified src/b.ts\n- deleted src/c.ts");
});

test("AP-16 EF-22: a cleared chat has touched nothing yet", async () => {
  const { bench } = await editing(two);
  await sent(bench, 1);
  expect(bench.state().threads["main"]?.files.created).toEqual(["src/a.ts"]);
  bench.ok("clear");
  bench.crash();
  expect(bench.state().threads["main"]?.files).toEqual({ created: [], modified: [], deleted: [] });
});

test("EF-22: a thread remembers the newest 200 files of a kind; a run that touches none writes nothing of them", async () => {
  const { bench } = await editing(["op: create, path: old", "op: create, path: p, count: 205"]);
  await sent(bench, 2);
  const created = bench.state().threads["main"]?.files.created ?? [];
  expect([created.length, created[0], created.at(-1)]).toEqual([200, "p.5", "p.204"]);
  bench.send("Nothing more.");
  await settle(bench);
  expect(bench.state().threads["main"]?.files.created).toBe(created);
  expect(ends(bench)).toHaveLength(3);
});
