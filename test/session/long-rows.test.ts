import { expect, test } from "vitest";
import * as z from "zod";
import { defineEffect } from "../../src/agent/definition/effect.ts";
import { ends, openAsks, play, results } from "../agent/loop/play.ts";
import type { Bench } from "../support/bench.ts";
import { scripted } from "../support/scripts.ts";

/** Values that are longer than a row of the platform may be (DESIGN 6). */

/** Bytes of a row that the platform takes in any case. */
const mostBytes = 1.5 * 2 ** 20;

const tables = [
  "threads",
  "turns",
  "messages",
  "overlays",
  "outcomes",
  "asks",
  "events",
  "runs",
  "idempotency",
];

/** Tables with a row that is too long. */
const tooLong = (bench: Bench): readonly string[] =>
  tables.filter((table) =>
    bench.rows(table).some((row) => {
      const texts = Object.values(row).filter((value) => typeof value === "string");
      return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) > mostBytes;
    }),
  );

test("SE-29 SE-30: an approval of long arguments that are edited to other long ones is stored, and read whole", async () => {
  const yaml = scripted(
    'replies: [{ reply: [{ call: fire, args: { name: "{{input}}" } }] }, { reply: [{ text: Done. }] }]',
    "",
    "permissions: { rules: [{ tool: fire, action: ask }] }",
  );
  const { bench, probe } = await play("", { yaml: yaml.replace("128000", "10000000") });
  const name = "x".repeat(1_000_000);
  bench.send(name);
  await bench.idle();
  const [ask = ""] = openAsks(bench);
  const answer = { ask, decision: "edit", input: { name: name.replaceAll("x", "y") } };
  const given = bench.ok("answer", answer, "k1");
  await bench.idle();
  expect(tooLong(bench)).toEqual([]);
  bench.crash();
  expect(bench.ok("answer", answer, "k1")).toEqual(given);
  expect(bench.ok("asks")["data"]).toMatchObject([
    { id: ask, approval: { input: { name } }, resolution: { body: { input: answer.input } } },
  ]);
  expect(probe.calls.map((call) => call.name)).toEqual([answer.input.name]);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("SE-18 SE-33 RE-C33: a long output that waits for its sibling is stored, and told whole after a crash", async () => {
  const { bench, probe } = await play(
    "replies: [{ reply: [{ call: look, args: {} }, { call: ask_user, args: { question: Well? } }] }, { reply: [{ text: Done. }] }]",
    { agent: "options: { tool_output_limits: { look: 3000000 } }", instant: false },
  );
  bench.send("Go");
  await bench.steps();
  probe.calls[0]?.finish("x".repeat(3_000_000));
  await bench.idle();
  expect(tooLong(bench)).toEqual([]);
  bench.crash();
  const [ask = ""] = openAsks(bench);
  bench.ok("answer", { ask, decision: "answer", text: "Yes" });
  await bench.idle();
  expect(tooLong(bench)).toEqual([]);
  const chat = bench.chat();
  expect(results(bench)[0]?.length).toBe("ok: ".length + 3_000_000);
  bench.crash();
  expect(bench.chat()).toEqual(chat);
});

test("AP-16 TB-38: client tools with many long schemas are stored", async () => {
  const schema = (length: number) => ({ type: "object", description: "x".repeat(length) });
  const tool = (n: number) => ({ name: `t${n}`, description: "T.", params: schema(64_000) });
  const client_tools = Array.from({ length: 32 }, (_, n) => tool(n));
  const { bench } = await play("replies: [{ reply: [{ text: Hi. }] }]", { create: { client_tools } });
  bench.send("Go");
  await bench.idle();
  expect(tooLong(bench)).toEqual([]);
  bench.crash();
  expect(bench.state().clientTools).toMatchObject(client_tools);
});

test("EF-2 EF-43: a text that an effect made shorter, and that is still long, is stored and shown so after a crash", async () => {
  const shorten = defineEffect({
    kind: "shorten",
    description: "Of a test.",
    phase: "before_complete",
    order: "shrink",
    params: z.strictObject({}),
    run: ({ view }) => ({
      edits: view.flatMap((message) =>
        message.role === "tool"
          ? [{ overlay: { message: message.id, part: 0, text: "y".repeat(2_000_000) } }]
          : [],
      ),
    }),
  });
  const { bench, probe } = await play(
    "replies: [{ reply: [{ call: look, args: {} }] }, { reply: [{ text: Done. }] }]",
    {
      agent: "options: { tool_output_limits: { look: 3000000 } }",
      instant: false,
      effects: { effects: [shorten] },
    },
  );
  bench.send("Go");
  await bench.steps();
  probe.calls[0]?.finish("x".repeat(3_000_000));
  await bench.idle();
  const before = bench.chat();
  expect(before.some(({ overlay }) => overlay?.texts["0"]?.length === 2_000_000)).toBe(true);
  expect(tooLong(bench)).toEqual([]);
  bench.crash();
  expect(bench.chat()).toEqual(before);
  expect(bench.ok("messages", { retired: true })["data"]).toMatchObject([
    { state: "overlaid", overlay: { texts: { 0: "y".repeat(2_000_000) } } },
  ]);
});
