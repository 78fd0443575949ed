import { expect, test } from "vitest";
import type { Bench } from "../../support/bench.ts";
import { ends } from "../loop/play.ts";
import type { Scene, Stage } from "./gate-play.ts";
import { openStage, settled, teamOf } from "./gate-play.ts";

/** A model that is chosen while a call to another is under way (MO-38): that call stays what it was. */

const others = `  - name: back
    kind: scripted
    model: back
    context_window: 128000
    script: { script: 1, scenes: [{ name: waits, fail: [{ status: 529, times: 9 }], stall_ms: 50, reply: [{ text: No. }] }] }
  - name: spare
    kind: scripted
    model: spare
    context_window: 128000
    script: { script: 1, replies: [{ reply: [{ text: Spare. }] }, { reply: [{ text: Spare. }] }] }
models:
  play: { price: { input: 100, output: 100 } }
  spare: { price: { input: 1, output: 1 } }`;

const started = async (scene: Omit<Scene, "limits" | "others"> = {}): Promise<Stage> => {
  const stage = await openStage(teamOf({ limits: {}, others, ...scene }), {});
  stage.bench.hold = true;
  stage.bench.send("word ".repeat(500));
  await stage.bench.steps();
  return stage;
};

/** USD per million tokens, and the model, of every booked attempt. */
const prices = (bench: Bench): readonly (readonly [unknown, number])[] =>
  bench.ledger().map(({ model, cost, usage }) => [model, Number(cost) / 1_000 / usage.total]);

test("MO-36 MO-38: a call that is cancelled has the price of the model it went to, not of the one chosen since", async () => {
  const { bench } = await started();
  bench.ok("patch", { model: "spare" });
  bench.ok("cancel");
  await bench.steps();
  expect(prices(bench)).toEqual([["play", 100]]);
});

test("MO-36 MO-38: a call that a crash cut off has the price of the model it went to", async () => {
  const { bench, die } = await started();
  bench.ok("patch", { model: "spare" });
  await die();
  bench.hold = false;
  bench.release();
  await settled(bench);
  expect(prices(bench)).toEqual([
    ["play", 100],
    ["spare", 1],
  ]);
});

test("MO-36 MO-38: a summary that is cancelled has the price of the model it went to", async () => {
  const { bench } = await started();
  bench.release();
  await settled(bench);
  bench.hold = true;
  bench.ok("compact");
  await bench.steps();
  bench.ok("patch", { model: "spare" });
  bench.ok("cancel");
  await bench.steps();
  expect(prices(bench).at(-1)).toEqual(["play", 100]);
});

test("MO-26 MO-38: a call to a fallback that fails is tried again, with the model chosen meanwhile", async () => {
  const provider = "context_window: 128000\n    fallbacks: [back]";
  const yaml = teamOf({ limits: {}, others, provider }).replace(
    "- { name: one,",
    "- { name: no, fail: [{ status: 401, times: 9 }], reply: [{ text: No. }] }\n        - { name: one,",
  );
  const { bench } = await openStage(yaml, {});
  bench.send("Go");
  await bench.steps();
  expect(bench.requests.map(({ model }) => model)).toEqual(["play", "back"]);
  bench.ok("patch", { model: "spare" });
  await settled(bench);
  expect(bench.requests.map(({ model }) => model)).toEqual(["play", "back", "spare"]);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});
