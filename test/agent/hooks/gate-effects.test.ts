import { addSpending, noUsage } from "../../../src/agent/state/budget.ts";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineEffect } from "../../../src/agent/definition/effect.ts";
import { withEffects } from "../../support/effects.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { insist } from "../../support/power-cut.ts";
import { dataOf, ends, onlyAsk } from "../loop/play.ts";
import type { Stage } from "../turn/gate-play.ts";
import {
  compacted,
  leases,
  openStage,
  purposes,
  raiseWanted,
  settled,
  talked,
  teamOf,
} from "../turn/gate-play.ts";

/** Summaries at their provider's gate: they ask for places, wait, and report like the calls of turns (MO-29). */

/** The session's summary waits a minute for its place. */
const waiting = async (): Promise<Stage & { readonly startAt: number }> => {
  const stage = await talked({ limits: { rpm: 2 } });
  stage.other("before");
  const { startAt } = stage.other("before too");
  await compacted(stage);
  expect(purposes(stage.bench)).toEqual(["turn", "turn"]);
  expect(stage.bench.alarm()).toBe(startAt + 60_000);
  expect(leases(stage)).toHaveLength(3);
  return { ...stage, startAt: startAt + 60_000 };
};

describe("MO-29: a summary has its place at the gate", () => {
  test("MO-29: it waits for a slot that others hold, as a deadline, and asks again under its name", async () => {
    const stage = await talked({ limits: { max_concurrent: 1 } });
    const { bench, asked, other, otherEnded } = stage;
    expect(other("busy").status).toBe("booked");
    await compacted(stage);
    expect(purposes(bench)).toEqual(["turn", "turn"]);
    expect(dataOf(bench, "run_waiting")).toEqual([{ on: [{ kind: "retry", until: bench.alarm() }] }]);
    otherEnded("busy");
    await settled(bench);
    expect(purposes(bench)).toEqual(["turn", "turn", "compaction"]);
    expect(asked).toHaveLength(4);
    expect(new Set(asked).size).toBe(3);
    expect(leases(stage)).toEqual([]);
    checkInvariants(bench, []);
  });

  test("MO-29: what it really took stands in the gate's books, and its slot is free", async () => {
    const stage = await talked({ limits: { input_tpm: 100_000, max_concurrent: 1 } });
    await compacted(stage);
    expect(ends(stage.bench)).toHaveLength(2);
    expect(stage.gate().bookings.map(({ input, output }) => ({ input, output }))).toEqual([
      { input: 900, output: 70 },
    ]);
    expect(leases(stage)).toEqual([]);
  });

  test("MO-29: its place in a minute is used without asking again, also after a crash", async () => {
    const { bench, asked, die, startAt } = await waiting();
    await die();
    await bench.pass(startAt - bench.now() - 1);
    expect(purposes(bench)).toEqual(["turn", "turn"]);
    await bench.pass(1);
    expect(purposes(bench)).toEqual(["turn", "turn", "compaction"]);
    expect(asked).toHaveLength(3);
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
    checkInvariants(bench, []);
  });

  test("MO-29: cancelled while it waits: its gap is used", async () => {
    const { bench, other, startAt } = await waiting();
    bench.ok("cancel");
    await bench.idle();
    expect(ends(bench).at(-1)).toBe("cancelled:cancelled");
    expect(other("behind").startAt).toBe(startAt);
  });

  test("MO-29: cancelled while it waits, in another isolate: its gap is used", async () => {
    const { bench, die, other, startAt } = await waiting();
    await die();
    bench.ok("cancel");
    await bench.idle();
    expect(other("behind").startAt).toBe(startAt);
  });

  test("MO-29: cancelled while the gate is asked: nothing leaves, and the place is given back", async () => {
    const stage = await talked({ limits: { max_concurrent: 1 } });
    stage.bench.ok("compact");
    stage.bench.ok("cancel");
    await stage.bench.idle();
    expect(purposes(stage.bench)).toEqual(["turn", "turn"]);
    expect(stage.gate().queue).toEqual([]);
    expect(leases(stage)).toEqual([]);
  });

  test("MO-29: cancelled under way: its slot is free, and its request counts", async () => {
    const stage = await talked({ limits: { max_concurrent: 1 } });
    stage.bench.hold = true;
    stage.bench.ok("compact");
    await stage.bench.steps();
    expect(leases(stage)).toHaveLength(1);
    stage.bench.ok("cancel");
    await stage.bench.steps();
    expect(ends(stage.bench).at(-1)).toBe("cancelled:cancelled");
    expect(leases(stage)).toEqual([]);
    expect(stage.gate().bookings.map(({ requests }) => requests)).toEqual([1]);
  });

  test("MO-29: a crash under way frees its slot, and the next try books anew", async () => {
    const stage = await talked({ limits: { max_concurrent: 1 } });
    const { bench, asked, die } = stage;
    bench.hold = true;
    bench.ok("compact");
    await bench.steps();
    expect(leases(stage)).toHaveLength(1);
    await die();
    bench.hold = false;
    bench.release();
    await bench.pass(5_000);
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
    expect(new Set(asked).size).toBe(4);
    expect(leases(stage)).toEqual([]);
    checkInvariants(bench, []);
  });

  test("MO-29: a power cut at any write keeps no slot", async () => {
    const limits = { max_concurrent: 1 };
    const whole = await talked({ limits });
    const before = whole.bench.writes();
    await compacted(whole);
    const writes = whole.bench.writes() - before;
    expect(writes).toBeGreaterThan(3);
    for (let write = 1; write <= writes; write++) {
      const stage = await talked({ limits });
      const { bench } = stage;
      bench.cutAt(write);
      insist(bench, "compact", {}, "k1");
      await settled(bench);
      expect(ends(bench), `cut at ${write}`).toEqual(["completed:end_turn", "completed:end_turn"]);
      expect(leases(stage), `cut at ${write}`).toEqual([]);
      checkInvariants(bench, []);
    }
  });

  test("MO-29: a crash frees the slot at the summaries' own provider", async () => {
    const stage = await talked({
      limits: { max_concurrent: 1 },
      agent: "effects: [{ kind: compact, params: { summary_provider: dear } }]",
      others: `  - name: dear
    kind: scripted
    model: play
    rate_limit: { max_concurrent: 1 }
    script: { script: 1, pace: { chunk: 1, delay_ms: 60000 }, scenes: [{ name: tells, reply: [{ text: A summary. }] }] }`,
    });
    stage.bench.ok("compact");
    await stage.bench.steps();
    expect(leases(stage, "dear")).toHaveLength(1);
    const [lost] = leases(stage, "dear");
    await stage.die();
    await stage.bench.steps();
    expect(leases(stage, "dear")).not.toContain(lost);
    stage.bench.ok("cancel");
    await stage.bench.steps();
    expect(leases(stage, "dear")).toEqual([]);
  });

  test("MO-29: a place beyond max_wait is none: the summary fails, and the provider is not blamed", async () => {
    const provider = "context_window: 128000\n    retry: { max_wait: 30s }";
    const stage = await talked({ limits: { rpm: 2 }, provider });
    stage.other("before");
    stage.other("before too");
    const { length } = stage.told;
    await compacted(stage);
    expect(purposes(stage.bench)).toEqual(["turn", "turn"]);
    expect(dataOf(stage.bench, "compaction")).toMatchObject([{ stage: "failed" }]);
    expect(ends(stage.bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
    expect(stage.told).toHaveLength(length);
    expect(stage.gate().health).toEqual({});
  });

  test("MO-29: two calls of one effect at once: one after the other, each once", async () => {
    const effect = defineEffect({
      kind: "twice",
      phase: "before_complete",
      order: "inject",
      params: z.strictObject({}),
      run: async ({ complete }) => {
        const prompts = ["one", "two"];
        await Promise.all(prompts.map((prompt) => complete({ system: "S", prompt, maxTokens: 100 })));
        return {};
      },
    });
    const limits = { max_concurrent: 1 };
    const stage = await openStage(teamOf({ limits }), limits, {
      engine: (engine) => withEffects(engine, { effects: [effect] }),
    });
    const { bench } = stage;
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    expect(purposes(bench)).toEqual(["compaction"]);
    bench.release();
    await settled(bench);
    expect(purposes(bench)).toEqual(["compaction", "compaction", "turn", "compaction", "compaction", "turn"]);
    expect(bench.ledger()).toHaveLength(6);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, []);
  });
});

describe("MO-28: summaries tell of their target's health", () => {
  const others = `  - name: spare
    kind: scripted
    model: spare
    script: { script: 1, pace: { chunk: 4000, delay_ms: 0 }, replies: [{ reply: [{ text: Spare. }] }] }`;
  const provider = "fallbacks: [spare]";

  test.each([
    ["429 until the tries are used up", {}, "fail: [{ status: 429, times: 9 }], reply: [{ text: No. }]", 3],
    [
      "429 with a wait that is too long",
      {},
      "fail: [{ status: 429, retry_after: 3600 }], reply: [{ text: No. }]",
      1,
    ],
    ["429 under a rate limit", { rpm: 100 }, "fail: [{ status: 429, times: 9 }], reply: [{ text: No. }]", 3],
  ])("MO-28: %s: the target cools for the next turn", async (_, limits, summary, tries) => {
    const stage = await talked({ limits, provider, others, summary });
    await compacted(stage);
    await settled(stage.bench);
    const failed = stage.told.filter(({ code }) => code === "rate_limited");
    expect(failed.map(({ model, exhausted }) => ({ model, exhausted }))).toEqual(
      Array.from({ length: tries }, (__, n) => ({ model: "play", exhausted: n === tries - 1 })),
    );
    stage.bench.send("Again");
    await settled(stage.bench);
    expect(stage.bench.requests.at(-1)?.model).toBe("spare");
  });

  test("MO-28: one that comes through clears the cooldown", async () => {
    const stage = await talked({ limits: { rpm: 100 } });
    await compacted(stage);
    expect(stage.told.at(-1)).toMatchObject({ model: "play", code: "ok", usage: { input: 900 } });
  });
});

describe("MO-29: a place that nobody takes is given back", () => {
  test("MO-29 EF-37: a tree that waits for a higher limit; after the answer it asks for another", async () => {
    const { bench, other, startAt, gate } = await waiting();
    raiseWanted(bench);
    expect(gate().bookings.map(({ id }) => id)).toEqual(["before", "before too"]);
    await bench.pass(startAt - 1_000 - bench.now());
    expect(other("meanwhile").startAt).toBe(startAt);
    expect(other("meanwhile too").startAt).toBe(startAt);
    bench.ok("answer", { ask: onlyAsk(bench), decision: "approve", limit: 9_000_000 });
    await bench.pass(1_000);
    expect(purposes(bench)).toEqual(["turn", "turn"]);
    await bench.pass(60_000);
    expect(purposes(bench)).toEqual(["turn", "turn", "compaction"]);
  });

  test("MO-29: a budget that is used up meanwhile", async () => {
    const stage = await talked({
      limits: { rpm: 2 },
      agent: "effects: []\n    guards: { budget: { max_tokens: 30000 } }",
    });
    stage.other("before");
    const { startAt } = stage.other("before too");
    await compacted(stage);
    const { bench } = stage;
    expect(bench.alarm()).toBe(startAt + 60_000);
    bench.change((draft) => {
      const { main } = draft.state.threads;
      if (main?.run == null) return;
      main.run.spent = addSpending(main.run.spent, { usage: { ...noUsage, total: 30_000 } });
    });
    await bench.pass(startAt + 60_000 - bench.now());
    expect(ends(bench).at(-1)).toBe("failed:budget_exceeded");
    expect(leases(stage)).toEqual(["before", "before too"]);
  });
});
