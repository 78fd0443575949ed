import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineEffect } from "../../src/agent/effect.ts";
import type { Effect, EffectPhase } from "../../src/agent/effect.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { checkInvariants } from "../support/invariants.ts";
import { createProbe } from "../support/probe.ts";
import { scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import { dataOf, ends, lastResult } from "./play.ts";

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
