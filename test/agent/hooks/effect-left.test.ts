import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import * as z from "zod";
import type { EffectContext } from "../../../src/agent/definition/effect.ts";
import { defineEffect } from "../../../src/agent/definition/effect.ts";
import { withEffects } from "../../support/effects.ts";
import { ends, lastResult, onlyAsk } from "../loop/play.ts";
import { leases, openStage, settled, teamOf } from "../turn/gate-play.ts";

/** An effect that ends while a model call of it is under way. */

const left = async (end: (call: Promise<unknown>) => Promise<object>): Promise<void> => {
  const effect = defineEffect({
    kind: "hasty",
    phase: "before_complete",
    order: "inject",
    params: z.strictObject({}),
    run: ({ complete, turn }: EffectContext) =>
      turn > 1 ? {} : end(complete({ system: "S", prompt: "word ".repeat(400), maxTokens: 100 })),
  });
  const limits = { max_concurrent: 2 };
  const stage = await openStage(teamOf({ limits }), limits, {
    engine: (engine) => withEffects(engine, { effects: [effect] }),
  });
  const { bench } = stage;
  bench.hold = true;
  bench.send("Go");
  await pause(20);
  await bench.steps();
  expect(leases(stage).filter((id) => id.includes("effect"))).toEqual([]);
  bench.release();
  await settled(bench);
  const rows = bench.ledger();
  expect(rows.map(({ outcome }) => outcome)).toContain("cancelled");
  expect(rows).toHaveLength(bench.requests.length);
  const sum = rows.reduce((total, { usage }) => total + usage.total, 0);
  expect(lastResult(bench).usage.total).toBe(sum);
  expect(sum).toBeGreaterThan(500);
  expect(leases(stage)).toEqual([]);
  expect(bench.leftTimers(), "an effect that has ended has no time").toBe(0);
};

test("EF-39 MO-33: an effect that goes on without its call's reply: the call is broken off, and stands in the ledger", () =>
  left(async (call) => {
    await Promise.race([call, pause(5)]);
    return {};
  }));

test("EF-39 MO-33: an effect that throws while its call is under way: the same", () =>
  left(async () => {
    await pause(5);
    throw new Error("no");
  }));

test("EF-24 MO-33: an effect that asks a person while its call is under way: the call comes first, and is paid once", async () => {
  const effect = defineEffect({
    kind: "both",
    phase: "before_complete",
    order: "inject",
    params: z.strictObject({}),
    run: async ({ complete, ask, turn }) => {
      if (turn > 1) return {};
      const call = { system: "S", prompt: "word ".repeat(400), maxTokens: 100 };
      const question = { text: "Which?", options: ["a", "b"], default: "a", timeoutMs: 60_000 };
      await Promise.all([complete(call), ask(question)]);
      return {};
    },
  });
  const stage = await openStage(
    teamOf({ limits: {} }),
    {},
    {
      engine: (engine) => withEffects(engine, { effects: [effect] }),
    },
  );
  const { bench } = stage;
  bench.send("Go");
  await bench.idle();
  expect(bench.ledger().map(({ outcome }) => outcome)).toEqual(["ok"]);
  bench.ok("answer", { ask: onlyAsk(bench), decision: "answer", selections: ["b"] });
  await settled(bench);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(bench.requests).toHaveLength(3);
  expect(bench.ledger()).toHaveLength(3);
});
