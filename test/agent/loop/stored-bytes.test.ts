import { expect, test } from "vitest";
import * as z from "zod";
import { eventFrame } from "../../../src/session/frames.ts";
import { defineTool } from "../../../src/tools/define-tool.ts";
import { openBench } from "../../support/bench.ts";
import type { Bench } from "../../support/bench.ts";
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

const replies = Array.from({ length: turns }, (_, i) => ({ reply: [{ call: "echo", args: { i } }] }));

const yaml = `
providers:
  - name: script
    kind: scripted
    model: play
    context_window: 1000000
    script: ${JSON.stringify({ script: 1, replies: [...replies, { reply: [{ text: "Done." }] }] })}
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
