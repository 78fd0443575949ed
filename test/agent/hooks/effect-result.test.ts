import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Effect, EffectPhase } from "../../../src/agent/definition/effect.ts";
import { defineEffect } from "../../../src/agent/definition/effect.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { createProbe } from "../../support/probe.ts";
import { scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { dataOf, ends, lastResult } from "../loop/play.ts";

/** A team's own effect, named in the agent's YAML, that gives back whatever a test says. */

const giving = (phase: EffectPhase, run: () => unknown): Effect =>
  defineEffect({
    kind: "odd",
    phase,
    order: "inject",
    params: z.strictObject({}),
    run: run as unknown as () => object,
  });

const ran = async (effect: Effect): Promise<Bench> => {
  const probe = createProbe();
  const yaml = scripted(
    "replies: [{ reply: [{ call: look }] }, { reply: [{ text: Done. }] }, { reply: [{ text: Done. }] }]",
    "",
  ).replace("effects: []", "effects: [{ kind: odd }]");
  const bench = openBench({
    engine: await engineOf(yaml, { toolboxes: [probe.toolbox], effects: [effect] }),
  });
  bench.ok("create");
  bench.send("Go");
  await bench.idle();
  return bench;
};

const stage = {
  stage: "mask",
  tokens_before: 9,
  tokens_after: 5,
  retired: null,
  attempts: 0,
  message: null,
};

const wrong: readonly (readonly [string, unknown, string])[] = [
  ["a notice that is none", { notify: [null] }, "notify[0]"],
  ["an end that is no failure", { stop: { reason: "rolled_back", message: "Back." } }, "stop.reason"],
  ["an answer's end", { stop: { reason: "end_turn", message: "Done." } }, "stop.reason"],
  [
    "an overlay whose function gives no text",
    { edits: [{ overlay: { message: "msg_main_0", part: 0, text: () => 5 } }] },
    "the text of an overlay must be a text, or a function that returns one",
  ],
  ["a notice of another event", { notify: [{ event: "x" }] }, "notify[0].event"],
  ["a status without data", { notify: [{ event: "status_update" }] }, "notify[0].data"],
  [
    "a status that is no text",
    { notify: [{ event: "status_update", data: { text: 5n } }] },
    "notify[0].data",
  ],
  ["a compaction without figures", { notify: [{ event: "compaction", data: {} }] }, "notify[0].data.stage"],
  [
    "a compaction with more than its figures",
    { notify: [{ event: "compaction", data: { ...stage, more: 5n } }] },
    "notify[0].data",
  ],
  ["a stop that is none", { stop: null }, "stop"],
  ["a stop for no known reason", { stop: { reason: "nonsense", message: "x" } }, "stop.reason"],
  ["a stop for what every object has", { stop: { reason: "toString", message: "x" } }, "stop.reason"],
  ["a stop without words", { stop: { reason: "no_progress" } }, "stop.message"],
  ["a summary that is no text", { edits: [{ retire: { from: "a", to: "b", summary: 5 } }] }, "edits[0]"],
  ["a range without end", { edits: [{ retire: { from: "a" } }] }, "edits[0]"],
  [
    "an overlay of no part",
    { edits: [{ overlay: { message: "m", part: "length", text: "x" } }] },
    "edits[0]",
  ],
  ["two edits in one", { edits: [{ inject: { text: "x" }, retire: null }] }, "edits[0]"],
  ["tools that are no names", { tools: { hide: [5] } }, "tools.hide"],
  ["no tools", { tools: null }, "tools.hide"],
];

describe("EF-6 EF-44: what an effect may not give back ends the run effect_failed, naming it", () => {
  for (const [what, result, where] of wrong)
    for (const phase of ["before_complete", "after_complete"] as const)
      test(`EF-6 EF-44: ${what}, ${phase}`, async () => {
        const bench = await ran(giving(phase, () => result));
        expect(ends(bench)).toEqual(["failed:effect_failed"]);
        expect(lastResult(bench).error).toContain("odd: ");
        expect(lastResult(bench).error).toContain(where);
        expect(dataOf(bench, "message_added").length).toBeGreaterThan(0);
        bench.send("Again");
        await bench.idle();
        expect(ends(bench)).toHaveLength(2);
        checkInvariants(bench, []);
      });

  test("EF-1: notices, a stop and a summary as they are documented are taken", async () => {
    const notify = [
      { event: "status_update", data: { text: "at work" } },
      { event: "compaction", data: stage },
    ];
    const stop = { reason: "no_progress", message: "enough" };
    const bench = await ran(giving("before_complete", () => ({ notify, stop })));
    expect(ends(bench)).toEqual(["failed:no_progress"]);
    expect(dataOf(bench, "status_update")).toEqual([{ text: "at work" }]);
    expect(dataOf(bench, "compaction")).toMatchObject([{ stage: "mask", effect: "odd" }]);
  });
});

test("EF-3: what an effect remembers is the same before and after a restart: what JSON makes of it", async () => {
  const seen: unknown[] = [];
  const odd = defineEffect({
    kind: "odd",
    phase: "before_complete",
    order: "inject",
    params: z.strictObject({}),
    state: { initial: { n: 0 }, reset: "never" },
    run: (_, __, state) => {
      seen.push(state);
      return { state: { n: new Date(0), more: undefined } as never };
    },
  });
  const bench = await ran(odd);
  bench.crash();
  bench.send("Again");
  await bench.idle();
  const kept = { n: "1970-01-01T00:00:00.000Z" };
  expect(seen).toEqual([{ n: 0 }, kept, kept]);
});

test("EF-6, EF-44: the function of an overlay is asked once, before the commit", async () => {
  let asked = 0;
  const odd = giving("after_complete", () => ({
    edits: [
      {
        overlay: {
          message: "msg_main_2",
          part: 0,
          text: (id: string) => {
            asked += 1;
            if (asked > 1) throw new Error("odd");
            return `[${id}]`;
          },
        },
      },
    ],
  }));
  const bench = await ran(odd);
  expect(ends(bench)).not.toEqual(["completed:end_turn"]);
  expect(lastResult(bench).error).toContain("odd");
});
