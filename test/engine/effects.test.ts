import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineEffect } from "../../src/agent/definition/effect.ts";
import type { Effect, EffectResult } from "../../src/agent/definition/effect.ts";
import type { Json } from "../../src/chat/message.ts";
import { createEngines } from "../../src/engine/engines.ts";
import { many } from "../effects/context.ts";
import { dataOf, ends, lastResult, textsOf } from "../agent/loop/play.ts";
import type { Bench } from "../support/bench.ts";
import { checkInvariants } from "../support/invariants.ts";
import { createProbe } from "../support/probe.ts";
import { scripted } from "../support/scripts.ts";
import { engineOf, engineOptions, teamOf } from "../support/teams.ts";
import { openBench } from "../support/bench.ts";
import { insist, settle } from "../support/power-cut.ts";
import { benchOf } from "./harness.ts";

const own = (
  kind: string,
  order: Effect["order"],
  act: () => EffectResult<Json> | Promise<EffectResult<Json>> = () => ({}),
  phase: Effect["phase"] = "before_complete",
): Effect =>
  defineEffect({ kind, description: "Of a test.", phase, order, params: z.strictObject({}), run: act });

/** The example of EF-44. */
const remindStyle = defineEffect({
  kind: "remind_style",
  description: "Reminds of a style.",
  phase: "before_complete",
  order: "inject",
  params: z.strictObject({ every: z.int().min(1).default(10), text: z.string().min(1) }),
  state: { initial: { last: 0 }, reset: "run" },
  run: ({ iteration }, { every, text }, { last }) =>
    iteration - last < every ? {} : { edits: [{ inject: { text } }], state: { last: iteration } },
});

const yaml = (effects: string): string =>
  scripted("replies: [{ reply: [{ text: Done. }] }]")
    .replace("effects: []", effects)
    .replace("toolboxes: [probe]", "toolboxes: []");

/** Keys of the effects of each phase as they run, and of what is forced. */
const bound = async (effects: string, given: readonly Effect[] = []) => {
  const engine = await engineOf(yaml(effects), { effects: given });
  const session = { tools: null, clientTools: [], model: null };
  const { before, after, compaction } = engine.agent("tester", session as never).effects;
  const keys = (list: typeof before): readonly string[] => list.map(({ key }) => key);
  return { before: keys(before), after: keys(after), compaction, all: [...before, ...after] };
};

describe("EF-5: order and keys", () => {
  test("EF-5: the built-in shrinkers in their order, custom ones, then the rest as written", async () => {
    const kinds = [
      "progress",
      "tidy",
      "compact",
      "reflection",
      "sliding_window",
      "observation_mask",
      "nudge",
      "tool_scope",
    ];
    const list = `effects: [${kinds.map((kind) => `{ kind: ${kind} }`).join(", ")}]`;
    const given = [own("tidy", "shrink"), own("nudge", "inject")];
    expect((await bound(list, given)).before).toEqual([
      "tool_scope",
      "observation_mask",
      "sliding_window",
      "compact",
      "tidy",
      "progress",
      "reflection",
      "nudge",
    ]);
  });

  test("EF-4: phases are apart, each in its order", async () => {
    const list =
      "effects: [{ kind: offload }, { kind: late }, { kind: loop_detect }, { kind: trim_tool_results }]";
    const { before, after } = await bound(list, [own("late", "shrink", () => ({}), "after_complete")]);
    expect(before).toEqual(["loop_detect"]);
    expect(after).toEqual(["late", "offload", "trim_tool_results"]);
  });

  test("EF-3: equal kinds are told apart by their number in the YAML", async () => {
    const list = "effects: [{ kind: progress }, { kind: compact }, { kind: progress }, { kind: compact }]";
    expect((await bound(list)).before).toEqual(["compact", "compact#2", "progress", "progress#2"]);
  });

  test("EF-44: only effects of extensions are custom", async () => {
    const { all } = await bound("effects: [{ kind: progress }, { kind: tidy }]", [own("tidy", "inject")]);
    expect(all.map(({ key, custom }) => [key, custom])).toEqual([
      ["progress", false],
      ["tidy", true],
    ]);
  });

  test("EF-25: what is forced is the agent's own compact, else one with defaults", async () => {
    const plain = await bound("effects: []");
    expect(plain.before).toEqual([]);
    expect(plain.compaction).toMatchObject({ key: "compact", params: { threshold: 0.8 }, target: null });
    const given = await bound("effects: [{ kind: compact, params: { keep_turns: 2 } }]");
    expect(given.compaction).toBe(given.all[0]);
  });

  test("EF-26: summary_provider is the target of compact's calls", async () => {
    const more = `
  - name: writer
    kind: scripted
    model: other
    script: { script: 1, replies: [{ reply: [{ text: Told. }] }] }
agents:`;
    const list = "effects: [{ kind: compact, params: { summary_provider: writer } }, { kind: progress }]";
    const engine = await engineOf(yaml(list).replace("\nagents:", more));
    const { before } = engine.agent("tester", { tools: null, clientTools: [], model: null } as never).effects;
    expect(before.map(({ target }) => target?.provider ?? null)).toEqual(["writer", null]);
  });
});

/** A run of a session whose agent has an effect of its team's. */
const playing = async (effect: Effect, entry: string, turns = 3): Promise<Bench> => {
  const look = "{ reply: [{ call: look, args: { name: a } }] }";
  const replies = `replies: [${many(turns, () => look).join(", ")}, { reply: [{ text: Done. }] }]`;
  const extras = { toolboxes: [createProbe().toolbox], effects: [effect] };
  return benchOf(scripted(replies).replace("effects: []", `effects: [${entry}]`), extras, {});
};
const entry = "{ kind: own }";
const over = (result: EffectResult<Json>): Effect => own("own", "inject", () => result);

describe("EF-44: effects of a team", () => {
  const reminded = (bench: Bench): readonly number[] =>
    bench.requests.map(({ messages }) => messages.filter((each) => textsOf(each).includes("British")).length);

  test("EF-44: with every: 8 it fires at 8 and 16", async () => {
    const played = await playing(
      remindStyle,
      '{ kind: remind_style, params: { every: 8, text: "Answer in British English." } }',
      17,
    );
    played.send("Go");
    await played.idle();
    expect(reminded(played)).toEqual(many(18, (index) => Math.floor(index / 8)));
    expect(dataOf(played, "effect_applied")).toMatchObject([
      { kind: "remind_style", injected: 1 },
      { kind: "remind_style" },
    ]);
  });

  test("EF-44 EF-3: after a power cut at any write it has fired no second time", async () => {
    const params = '{ kind: remind_style, params: { every: 2, text: "Answer in British English." } }';
    const whole = await playing(remindStyle, params);
    whole.send("Go");
    await whole.idle();
    const expected = whole.chat().map(textsOf);
    expect(expected.filter((text) => text.includes("British"))).toHaveLength(1);
    for (let write = 1; write <= whole.writes(); write++) {
      const bench = await playing(remindStyle, params);
      bench.cutAt(write);
      insist(bench, "send", { id: "i1", content: "Go" }, "i1");
      await settle(bench);
      expect(bench.chat().map(textsOf), `cut at ${write}`).toEqual(expected);
      checkInvariants(bench, ["i1"]);
    }
  });

  const failing: readonly (readonly [string, Effect, RegExp])[] = [
    [
      "throws",
      own("own", "inject", () => {
        throw new Error("no tide");
      }),
      /^own: .*no tide/,
    ],
    ["rejects", own("own", "inject", () => Promise.reject(new Error("no tide"))), /^own: .*no tide/],
    ["makes 51 edits", over({ edits: many(51, () => ({ inject: { text: "x" } })) }), /^own: .*51 edits/],
    ["writes a long note", over({ edits: [{ inject: { text: "x".repeat(16_001) } }] }), /^own: .*8000/],
    ["remembers too much", over({ state: "x".repeat(65_536) }), /^own: .*64 KiB/],
  ];
  for (const [what, effect, says] of failing) {
    test(`EF-44 EF-6: one that ${what} ends the run cleanly, by its name`, async () => {
      const bench = await playing(effect, entry);
      bench.send("Go");
      await bench.idle();
      expect(ends(bench)).toEqual(["failed:effect_failed"]);
      expect(lastResult(bench).error).toMatch(says);
      expect(bench.requests).toHaveLength(0);
      checkInvariants(bench, []);
    });
  }

  test("EF-44 EF-6: one that never answers ends the run after five seconds", async () => {
    const endless = own("own", "inject", () => new Promise<never>(() => {}));
    const bench = await playing(endless, entry);
    bench.send("Go");
    await bench.steps();
    await bench.pass(5_000);
    expect(ends(bench)).toEqual(["failed:effect_failed"]);
    expect(lastResult(bench).error).toContain("longer than 5 s");
  });

  test("EF-44 EF-2: retiring half a block is snapped", async () => {
    const half = defineEffect({
      kind: "own",
      description: "Of a test.",
      phase: "before_complete",
      order: "shrink",
      params: z.strictObject({}),
      run: ({ view, iteration }) => {
        const [first, second] = [view[0]?.id, view[1]?.id];
        if (iteration !== 2 || first === undefined || second === undefined) return {};
        return { edits: [{ retire: { from: first, to: second, summary: "What came before." } }] };
      },
    });
    const bench = await playing(half, entry);
    bench.send("Go");
    await bench.idle();
    expect(bench.requests[2]?.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
    ]);
    expect(textsOf(bench.requests[2]?.messages[0] ?? { parts: [] })).toBe("What came before.");
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, []);
  });
});

test("CF-34: a run whose effect the deployment took away waits, and goes on when it is back", async () => {
  const team = await teamOf(yaml("effects: [{ kind: own }]"), { effects: [own("own", "inject")] });
  const engines = (effects: readonly Effect[]) => createEngines(engineOptions(team, { effects })).deployed();
  const bench = openBench({ engine: engines([]) });
  bench.ok("create");
  bench.send("Go");
  await bench.idle();
  expect(ends(bench)).toEqual([]);
  expect(JSON.stringify(dataOf(bench, "run_waiting"))).toContain("effect own");
  bench.deploy(engines([own("own", "inject")]));
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("EF-42 CF-34: the view of a turn outlives another version of its effect; without the effect it says what is missing", async () => {
  const team = await teamOf(yaml("effects: [{ kind: own }]"), { effects: [own("own", "inject")] });
  const engines = (effects: readonly Effect[]) => createEngines(engineOptions(team, { effects })).deployed();
  const noting = (text: string): Effect => own("own", "inject", () => ({ edits: [{ inject: { text } }] }));
  const bench = openBench({ engine: engines([noting("Old advice.")]) });
  bench.ok("create");
  bench.send("Go");
  await bench.idle();
  const view = () => bench.perform("context", { run: "run_1", turn: 1 });
  const before = view();
  expect(JSON.stringify(before)).toContain("Old advice.");
  bench.deploy(engines([noting("New advice.")]));
  expect(view()).toEqual(before);
  bench.deploy(engines([]));
  expect(view()).toMatchObject({
    ok: false,
    problem: {
      code: "not_found",
      detail: "This deployment lacks what this turn was made with: effect own.",
    },
  });
});
