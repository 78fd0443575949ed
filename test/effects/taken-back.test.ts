import { expect, test } from "vitest";
import * as z from "zod";
import { defineEffect } from "../../src/agent/definition/effect.ts";
import { dataOf, ends, play, textsOf } from "../agent/loop/play.ts";
import type { Play, PlayOptions } from "../agent/loop/play.ts";

/** EF-8: what left the chat since the last call is no part of the next request, whoever took it out. */

/** A session whose effect tells the size of each request. */
const watched = async (replies: string, options: PlayOptions = {}): Promise<Play & { sizes: number[] }> => {
  const sizes: number[] = [];
  const watch = defineEffect({
    kind: "watch",
    phase: "before_complete",
    order: "inject",
    params: z.strictObject({}),
    run: ({ size }) => {
      sizes.push(size);
      return {};
    },
  });
  const played = await play(`replies: [${replies}]`, { ...options, effects: { effects: [watch] } });
  return { ...played, sizes };
};

const done = "{ reply: [{ text: Done. }], usage: { input: 1000, output: 10 } }";
const words = "words ".repeat(2_000);

/** Estimated tokens of the messages that a model call had seen, by how their texts begin. */
const tokensOf = ({ bench }: Play, begins: string): number =>
  dataOf(bench, "message_added")
    .map(({ message }) => message)
    .filter((message) => textsOf(message).startsWith(begins))
    .reduce((sum, { tokens }) => sum + tokens, 0);

test("EF-8 SE-24: a rolled-back run leaves the context of the last call, and what that call had not seen never was in it", async () => {
  const played = await watched(
    `${done}, { reply: [{ text: Unseen. }, { call: look, args: {} }], usage: { input: 20000, output: 10 } }, ${done}`,
    { instant: false },
  );
  const { bench, probe, sizes } = played;
  bench.send("First");
  await bench.idle();
  bench.send(`Second ${words}`);
  await bench.steps();
  bench.send("Third", { on_busy: "rollback" });
  probe.calls[0]?.finish();
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn", "cancelled:rolled_back", "completed:end_turn"]);
  expect(bench.requests.at(-1)?.messages.map(textsOf)).toEqual(["First", "Done.", "Third"]);
  expect(tokensOf(played, "Second")).toBeGreaterThan(2_000);
  expect(sizes.at(-1)).toBe(20_000 - tokensOf(played, "Second"));
});

test("EF-8 AG-37: the parts of an answer that a guardrail replaced leave the context of the last call, too", async () => {
  const rude = `{ reply: [{ text: "Rude ${words}" }], finish: length, usage: { input: 1000, output: 10 } }`;
  const played = await watched(
    `${rude}, { reply: [{ text: The end. }], usage: { input: 20000, output: 10 } }, ${done}`,
    {
      agent:
        'middleware: [{ kind: output_guardrail, params: { must_not_contain: [Rude], on_fail: replace, text: "Held back." } }]',
    },
  );
  const { bench, sizes } = played;
  for (const input of ["First", "Second"]) {
    bench.send(input);
    await bench.idle();
  }
  expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
  expect(bench.requests.at(-1)?.messages.map(textsOf)).toEqual([
    "First",
    expect.stringMatching(/cut|continue|limit/i),
    "Held back.",
    "Second",
  ]);
  expect(tokensOf(played, "Rude")).toBeGreaterThan(2_000);
  expect(sizes.at(-1)).toBe(20_000 - tokensOf(played, "Rude"));
});
