import * as fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import { defineEffect } from "../../../src/agent/definition/effect.ts";
import { defineTool } from "../../../src/tools/define-tool.ts";
import type { Tool, ToolOutput } from "../../../src/tools/define-tool.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench, PowerCut } from "../../support/bench.ts";
import { createProbe } from "../../support/probe.ts";
import { done, scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { dataOf, run } from "./play.ts";
import { sizeOf } from "../../support/random-size.ts";

/** The log refers to content that other rows hold; whoever reads it gets what watchers were sent, byte for byte. */

const giving = (name: string, output: ToolOutput): Tool => ({
  ...defineTool({
    name,
    description: "Gives back something.",
    params: z.strictObject({}),
    safety: "read",
    run: () => output,
  }),
  limit: 1_000_000,
});

const secret = "sk-a-secret-of-the-tests-0123456789";

const tools = [
  giving("loud", { content: "漢字 ".repeat(30_000) }),
  giving("several", {
    content: [
      { type: "text", text: "one" },
      { type: "text", text: '{"output":null}' },
    ],
    details: { output: null, line: "\u2028" },
  }),
];

const call = fc.oneof(
  fc.constantFrom({ call: "loud" }, { call: "several" }),
  fc.record({
    call: fc.constantFrom("look", "put", "fire"),
    args: fc.record({
      name: fc.constantFrom("a", "ü\u2028\ud83d\ude00", '"\\\n\t', '"output":null', secret),
      fail: fc.boolean(),
    }),
  }),
);

/** A reply without calls ends the run, unless it was cut. */
const reply = fc.oneof(
  fc.array(call, { minLength: 1, maxLength: 4 }).map((reply) => ({ reply })),
  fc.array(call, { minLength: 1, maxLength: 2 }).map((reply) => ({ reply, finish: "length" })),
  fc.constantFrom("漢\tand\nlines", `It is ${secret}.`, "long ".repeat(4_000)).map((text) => ({
    reply: [{ reasoning: "Hm." }, { text }],
    finish: "length",
  })),
);

const insist = (command: () => void): void => {
  for (let tries = 0; tries < 3; tries++) {
    try {
      command();
      return;
    } catch (error) {
      if (!(error instanceof PowerCut) && !String(error).includes("storage_error")) throw error;
    }
  }
};

const expectSameLog = (bench: Bench): void => {
  const sent = bench.commits.flatMap((lines) => lines.split("\n"));
  expect(bench.lines()).toEqual(sent);
};

test("RE-V1 AP-27: whatever a script does and wherever it is cut, the log gives back what was sent", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(reply, { maxLength: 8 }),
      fc.option(fc.integer({ min: 1, max: 80 }), { nil: null }),
      async (replies, cut) => {
        const script = [...replies, { reply: [{ text: "Done." }] }];
        const engine = await engineOf(scripted(`replies: ${JSON.stringify(script)}`), {
          toolboxes: [
            { name: "probe", description: "Probes.", tools: [...createProbe().toolbox.tools, ...tools] },
          ],
        });
        engine.redactor.learn("KEY", secret);
        const bench = openBench({ engine });
        bench.ok("create", {});
        bench.cutAt(cut);
        insist(() => bench.send("Go ü", { id: "in_go" }));
        await bench.idle();
        bench.cutAt(null);
        expectSameLog(bench);
        const [first] = bench.chat();
        bench.ok("pin", { message: first?.id, pinned: true });
        bench.send("Again", { on_busy: "interrupt" });
        await bench.idle();
        expectSameLog(bench);
        for (const after of [1, 7, bench.state().head - 1])
          expect(bench.ok("events", { after, limit: 1_000 })["data"]).toEqual(
            bench.events().slice(after, after + 1_000),
          );
      },
    ),
    sizeOf(60),
  );
});

test("RE-P14: a session that is read by an isolate that did not write it gives back what was sent", async () => {
  const replies = Array.from({ length: 40 }, () => ({ reply: [{ call: "several" }, { call: "put" }] }));
  const script = `replies: ${JSON.stringify([...replies, { reply: [{ text: "Done." }] }])}`;
  const engine = await engineOf(
    scripted(script, "options: { max_iterations: 100 }\nguards: { tool_loops: { enabled: false } }"),
    {
      toolboxes: [
        { name: "probe", description: "Probes.", tools: [...createProbe().toolbox.tools, ...tools] },
      ],
    },
  );
  const bench = openBench({ engine });
  bench.ok("create", {});
  bench.send("Go");
  await bench.idle();
  expect(bench.rows("events").length).toBeGreaterThan(3);
  for (let round = 0; round < 20; round++) {
    bench.crash();
    bench.ok("patch", { title: `Title ${round}` });
    expectSameLog(bench);
  }
  expect(dataOf(bench, "tool_call_end")).toHaveLength(80);
});

test("RE-P14: a result that stands elsewhere than its reply foretold is found for good", async () => {
  const retirer = defineEffect({
    kind: "retirer",
    description: "Retires everything before the reply of turn 2.",
    phase: "after_complete",
    order: "shrink",
    params: z.strictObject({}),
    run: ({ turn, view }) =>
      turn === 2
        ? {
            edits: [
              { retire: { from: view[0]?.id ?? "", to: view.at(-2)?.id ?? "", summary: "All before." } },
            ],
          }
        : {},
  });
  const two = "{ reply: [{ call: look, args: { name: a } }, { call: put, args: { name: b } }] }";
  const { bench } = await run(`replies: [${two}, ${two}, ${two}, ${done}]`, {
    effects: { effects: [retirer] },
  });
  expect(dataOf(bench, "effect_applied").map(({ retired }) => retired)).toEqual([expect.any(Number)]);
  expectSameLog(bench);
});
