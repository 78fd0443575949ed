import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { ChatEdit, Effect, EffectContext, EffectResult } from "../../../src/agent/definition/effect.ts";
import { defineEffect } from "../../../src/agent/definition/effect.ts";
import type { Bench } from "../../support/bench.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { insist, settle } from "../../support/power-cut.ts";
import type { Play, PlayOptions } from "../loop/play.ts";
import { dataOf, ends, lastResult, onlyAsk, play, run, textsOf } from "../loop/play.ts";

/** An effect of one turn that asks a model, or a person, before it edits. */
const asking = (
  turn: number,
  act: (context: EffectContext) => Promise<EffectResult<null>>,
  kind = "asker",
): Effect =>
  defineEffect({
    kind,
    description: "Of a test.",
    phase: "before_complete",
    order: "shrink",
    params: z.strictObject({}),
    run: (context) => (context.force === null && context.turn !== turn ? {} : act(context)),
  });

const summarise = async (context: EffectContext, chunks: readonly string[]): Promise<EffectResult<null>> => {
  const texts: string[] = [];
  for (const chunk of chunks) {
    const reply = await context.complete({ system: "Summarise.", prompt: chunk, maxTokens: 500 });
    if (!reply.ok) return { edits: [{ inject: { text: `failed: ${reply.error} after ${reply.attempts}` } }] };
    texts.push(reply.text);
  }
  const [first, last] = [context.view[0], context.view.at(-1)];
  const retire: ChatEdit = {
    retire: { from: first?.id ?? "", to: last?.id ?? "", summary: texts.join(" + ") },
  };
  return { edits: [retire] };
};

const compacting = asking(2, (context) => summarise(context, ["one", "two", "three"]));

const look = "reply: [{ call: look, args: { name: a } }]";

const summary = (text: string): string =>
  `{ name: summary, when: { purpose: compaction }, reply: [{ text: ${text} }] }`;

const failing = (when: string): string =>
  `{ name: failing, when: { purpose: compaction${when} }, fail: [{ status: 529, times: 3 }] }`;

const turnScenes = `
  - { name: one, when: { turn: 1 }, ${look} }
  - { name: two, when: { turn: 2 }, ${look} }
  - { name: three, reply: [{ text: Done. }] }`;

/** Two turns with a call, then an answer; compactions by their own scenes. */
const script = (...compactions: readonly string[]): string =>
  `scenes:${compactions.map((scene) => `\n  - ${scene}`).join("")}${turnScenes}`;

const prompts = (bench: Bench): readonly string[] =>
  bench.requests
    .filter(({ context }) => context.purpose === "compaction")
    .map(({ messages }) => textsOf(messages[0] ?? { parts: [] }));

const turns = (bench: Bench): number =>
  bench.requests.filter(({ context }) => context.purpose === "turn").length;

describe("EF-20: model calls of an effect", () => {
  test("EF-20: the calls are booked as compaction, and the edits come before the turn's request", async () => {
    const { bench } = await run(script(summary("S")), { effects: { effects: [compacting] } });
    expect(prompts(bench)).toEqual(["one", "two", "three"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    const second = bench.requests.filter(({ context }) => context.purpose === "turn")[1];
    expect(second?.messages.map(textsOf)).toEqual(["S + S + S"]);
    expect(bench.ledger().map(({ purpose }) => purpose)).toEqual([
      "turn",
      "compaction",
      "compaction",
      "compaction",
      "turn",
      "turn",
    ]);
    checkInvariants(bench, []);
  });

  test("EF-20 C22 C23 ★: a power cut at any write: finished chunks are not asked again, the history is whole", async () => {
    const options: PlayOptions = { effects: { effects: [compacting] } };
    const whole = await run(script(summary("S")), options);
    for (let write = 1; write <= whole.bench.writes(); write++) {
      const { bench }: Play = await play(script(summary("S")), options);
      bench.cutAt(write);
      insist(bench, "send", { id: "i1", content: "Go" }, "k1");
      await settle(bench);
      expect(ends(bench), `cut at ${write}`).toEqual(["completed:end_turn"]);
      expect(prompts(bench).length, `cut at ${write}`).toBeLessThanOrEqual(4);
      expect(new Set(prompts(bench))).toEqual(new Set(["one", "two", "three"]));
      expect(bench.chat().map(textsOf)[0]).toBe("S + S + S");
      expect(bench.chat().length).toBe(whole.bench.chat().length);
      checkInvariants(bench, ["i1"]);
    }
  });

  test("EF-20 ★: a failed try waits as a deadline, the finished chunk is kept, and the object may sleep", async () => {
    const first = failing(", attempt: 1, last: { text: { contains: two } }");
    const { bench } = await run(script(first, summary("S")), { effects: { effects: [compacting] } });
    expect(dataOf(bench, "run_waiting")).toHaveLength(1);
    expect(bench.alarm()).toBe(bench.now() + 500);
    bench.crash();
    await settle(bench);
    expect(prompts(bench)).toEqual(["one", "two", "two", "three"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, []);
  });

  test("EF-20: after three tries the effect is told, and the run goes on", async () => {
    const { bench } = await run(script(failing("")), { effects: { effects: [compacting] } });
    await settle(bench);
    expect(prompts(bench)).toEqual(["one", "one", "one"]);
    expect(bench.chat().map(textsOf).join()).toContain("after 3");
    const told = dataOf(bench, "attempt_aborted").map(({ code, retry_at }) => [code, retry_at !== null]);
    expect(told, "each try ends with when the next begins").toEqual([
      ["overloaded", true],
      ["overloaded", true],
      ["overloaded", false],
    ]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-23: a refused text is a failed try", async () => {
    const refusing = asking(2, async (context) => {
      const call = {
        system: "S",
        prompt: "p",
        maxTokens: 10,
        refuse: (text: string) => (text === "bad" ? "bad text" : null),
      };
      const reply = await context.complete(call);
      return { edits: [{ inject: { text: reply.ok ? reply.text : reply.error } }] };
    });
    const { bench } = await run(script(summary("bad")), { effects: { effects: [refusing] } });
    await settle(bench);
    expect(prompts(bench)).toHaveLength(3);
    expect(bench.chat().map(textsOf)).toContain("bad text");
  });

  test("EF-6: an effect that never answers ends the run after 5 seconds of its own", async () => {
    const endless = asking(1, () => new Promise(() => {}), "endless");
    const { bench } = await play(script(), { effects: { effects: [endless] } });
    bench.send("Go");
    await bench.steps();
    await bench.tick(4_000);
    expect(ends(bench)).toEqual([]);
    await bench.tick(1_001);
    await bench.steps();
    expect(ends(bench)).toEqual(["failed:effect_failed"]);
    expect(lastResult(bench).error).toBe("endless: it took longer than 5 s");
  });

  test("SE-31: cancel while a summary is under way: nothing follows, the call is paid for", async () => {
    const { bench } = await play(script(summary("S")), { effects: { effects: [compacting] } });
    bench.send("Go");
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    const held = await play(script(summary("S")), {
      effects: { effects: [asking(1, (context) => summarise(context, ["one"]))] },
    });
    held.bench.hold = true;
    held.bench.send("Go");
    await held.bench.steps();
    held.bench.ok("cancel");
    await held.bench.steps();
    expect(ends(held.bench)).toEqual(["cancelled:cancelled"]);
    held.bench.release();
    await held.bench.idle();
    expect(turns(held.bench)).toBe(0);
    expect(held.bench.ledger().map(({ outcome }) => outcome)).toEqual(["cancelled"]);
    checkInvariants(held.bench, []);
  });

  test("★ SE-31: after a cancel that lets the turn end, an effect under way makes no further model call", async () => {
    const compactions = asking(1, async (context) => {
      const first = await context.complete({ system: "Summarise.", prompt: "one", maxTokens: 500 });
      played.bench.ok("cancel", { mode: "after_turn" });
      return first.ok ? summarise(context, ["two", "three"]) : {};
    });
    const played = await play(script(summary("S")), { effects: { effects: [compactions] } });
    played.bench.send("Go");
    await played.bench.idle();
    expect(prompts(played.bench)).toEqual(["one"]);
    expect(ends(played.bench)).toEqual(["cancelled:cancelled"]);
    checkInvariants(played.bench, []);
  });

  test("EF-37: the time of a summary that is lost by a cancel or a crash is model time, too", async () => {
    const first = asking(1, (context) => summarise(context, ["one"]));
    const under = async (): Promise<Bench> => {
      const { bench } = await play(script(summary("S")), { effects: { effects: [first] } });
      bench.hold = true;
      bench.send("Go");
      await bench.steps();
      await bench.tick(3_000);
      return bench;
    };
    const cancelled = await under();
    cancelled.ok("cancel");
    await cancelled.steps();
    expect(cancelled.state().spent.time).toBe(3_000);
    const crashed = await under();
    crashed.hold = false;
    crashed.crash();
    await crashed.idle();
    expect(crashed.state().spent.time).toBeGreaterThanOrEqual(3_000);
    expect(ends(crashed)).toEqual(["completed:end_turn"]);
    checkInvariants(crashed, []);
  });

  test("EF-20 EF-37: the ledger numbers the tries of a summary, the lost one too", async () => {
    const once = asking(1, (context) => summarise(context, ["one"]));
    const scenes = script(failing(", attempt: 1"), summary("S"));
    const { bench } = await play(scenes, { effects: { effects: [once] } });
    bench.send("Go");
    await bench.steps();
    bench.hold = true;
    await bench.tick(500);
    await bench.steps();
    bench.crash();
    bench.hold = false;
    await bench.idle();
    const tries = bench.ledger().filter(({ purpose }) => purpose === "compaction");
    expect(tries.map(({ attempt, outcome }) => `${attempt} ${outcome}`)).toEqual([
      "1 overloaded",
      "2 interrupted",
      "2 ok",
    ]);
    checkInvariants(bench, []);
  });

  test("EF-2: a range that changed meanwhile is not retired", async () => {
    const late = asking(2, async (context) => {
      const reply = await context.complete({ system: "S", prompt: "p", maxTokens: 10 });
      return {
        edits: [{ retire: { from: "msg_main_0", to: "msg_main_99", summary: reply.ok ? reply.text : "" } }],
      };
    });
    const { bench } = await run(script(summary("S")), { effects: { effects: [late] } });
    expect(dataOf(bench, "effect_applied")).toEqual([]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });
});

describe("EF-24: questions of an effect", () => {
  const questioning = asking(2, async (context) => {
    const text = await context.ask({
      text: "Go on?",
      options: ["continue", "retry"],
      default: "continue",
      timeoutMs: 600_000,
    });
    return { edits: [{ inject: { text: `told ${text}` } }] };
  });
  const options: PlayOptions = { effects: { effects: [questioning] } };

  test("AP-17 EF-24: the run waits for the answer, over a restart", async () => {
    const { bench } = await run(script(), options);
    const waits = { kind: "ask", ask: onlyAsk(bench), until: bench.now() + 600_000 };
    expect(bench.ok("get")).toMatchObject({ status: "waiting", waiting_for: [waits] });
    bench.crash();
    bench.ok("answer", { ask: onlyAsk(bench), decision: "answer", selections: ["retry"] });
    await bench.idle();
    expect(bench.chat().map(textsOf)).toContain("told retry");
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, []);
  });

  test("EF-24: nobody answers: the default after ten minutes", async () => {
    const { bench } = await run(script(), options);
    expect(bench.alarm()).toBe(bench.now() + 600_000);
    await bench.pass(600_000);
    expect(bench.chat().map(textsOf)).toContain("told continue");
    expect(dataOf(bench, "ask_expired")).toHaveLength(1);
    checkInvariants(bench, []);
  });

  test("EF-24: without an interactive person the default holds at once", async () => {
    const { bench } = await run(script(), { ...options, create: { interactive: false } });
    expect(bench.chat().map(textsOf)).toContain("told continue");
    expect(dataOf(bench, "ask_user")).toEqual([]);
  });

  test("SE-25: a steer settles the question by its default, and joins at the next turn", async () => {
    const { bench } = await run(script(), options);
    const ask = onlyAsk(bench);
    bench.send("Listen", { on_busy: "steer" });
    await bench.idle();
    expect(dataOf(bench, "ask_cancelled")).toEqual([{ ask }]);
    expect(dataOf(bench, "ask_expired")).toEqual([]);
    const said = bench.chat().map(textsOf);
    expect(said.indexOf("told continue")).toBeGreaterThan(0);
    expect(said.indexOf("Listen")).toBeGreaterThan(said.indexOf("told continue"));
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, []);
  });

  test("SE-31: cancel closes the question", async () => {
    const { bench } = await run(script(), options);
    bench.ok("cancel");
    await bench.idle();
    expect(dataOf(bench, "ask_cancelled")).toHaveLength(1);
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    checkInvariants(bench, []);
  });
});

describe("EF-25: overflows", () => {
  const compaction = asking(
    0,
    (context) => {
      if (context.force?.why === "overflow" && context.force.count === 3) return Promise.resolve({});
      const last = context.view.at(-2) ?? context.view.at(-1);
      return Promise.resolve({
        edits: [
          {
            retire: {
              from: context.view[0]?.id ?? "",
              to: last?.id ?? "",
              summary: `S${context.view.length}`,
            },
          },
        ],
      });
    },
    "compact",
  );
  const overflowing = `scenes:
  - { name: over, when: { turn: 2, attempt: 1 }, fail: [{ status: 413 }] }${turnScenes}`;

  test("EF-25: the provider's overflow forces a compaction, then the request is made again", async () => {
    const { bench } = await run(overflowing, { effects: { compaction } });
    await settle(bench);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(turns(bench)).toBe(4);
    expect(dataOf(bench, "turn_start")).toHaveLength(3);
    checkInvariants(bench, []);
  });

  test("EF-25: a compaction that finds nothing to leave out ends the run", async () => {
    const nothing = asking(0, () => Promise.resolve({}), "compact");
    const { bench } = await run(overflowing, { effects: { compaction: nothing } });
    await settle(bench);
    expect(ends(bench)).toEqual(["failed:context_length_exceeded"]);
  });
});

describe("EF-27: compaction by the API", () => {
  const compaction = asking(
    0,
    (context) =>
      summarise(context, [
        `${context.force?.why} ${context.force?.why === "api" ? context.force.instructions : ""}`,
      ]),
    "compact",
  );
  const options: PlayOptions = { effects: { compaction } };

  test("EF-27: an idle chat is summarised in a run without turns", async () => {
    const { bench } = await run(script(summary("S")), options);
    bench.ok("compact", { instructions: "Keep names." });
    await settle(bench);
    expect(prompts(bench)).toEqual(["api Keep names."]);
    expect(bench.chat().map(textsOf)).toEqual(["S"]);
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
    expect(dataOf(bench, "turn_start")).toHaveLength(3);
    bench.send("Again");
    await settle(bench);
    expect(ends(bench)).toHaveLength(3);
    checkInvariants(bench, []);
  });

  test("EF-27: during a run it comes before the next turn", async () => {
    const { bench, probe } = await play(script(summary("S")), { ...options, instant: false });
    bench.send("Go");
    await bench.steps();
    bench.ok("compact");
    await bench.steps();
    expect(prompts(bench)).toEqual([]);
    probe.calls[0]?.finish();
    await bench.steps();
    expect(prompts(bench)).toEqual(["api null"]);
    probe.calls[1]?.finish();
    await settle(bench);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, []);
  });

  test("EF-27: asked for during the last turn, it follows the run", async () => {
    const { bench } = await play(
      `scenes:\n  - ${summary("S")}\n  - { name: all, reply: [{ text: Done. }] }`,
      options,
    );
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.ok("compact");
    bench.release();
    await settle(bench);
    expect(prompts(bench)).toEqual(["api null"]);
    expect(bench.chat().map(textsOf)).toEqual(["S"]);
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
    checkInvariants(bench, []);
  });

  test("EF-27: an empty chat is left alone", async () => {
    const { bench } = await play(script(), options);
    expect(bench.ok("compact")).toEqual({ run: null, seq: bench.state().head });
  });
});
