import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineGuard } from "../../src/agent/definition/guard.ts";
import type { Guard, GuardDefinition, JudgedCall } from "../../src/agent/definition/guard.ts";
import { createEngine } from "../../src/engine/create.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { checkInvariants } from "../support/invariants.ts";
import { createProbe } from "../support/probe.ts";
import type { Probe } from "../support/probe.ts";
import { done, scripted } from "../support/scripts.ts";
import { engineOf, engineOptions } from "../support/teams.ts";
import { insist } from "../support/power-cut.ts";
import { dataOf, ends, lastResult, results } from "../agent/loop/play.ts";
import { calls, loops, script, times } from "./support.ts";

type State = { readonly calls: number };
type Definition = GuardDefinition<z.ZodObject, State>;

const guard = (before: Definition["before"], more: Partial<Definition> = {}): Guard =>
  defineGuard({
    kind: "few_calls",
    description: "Of a test.",
    params: z.strictObject({ most: z.int().min(1).default(2) }),
    state: { initial: { calls: 0 }, reset: "run" },
    before,
    ...more,
  });

/** Allows a number of calls, and does then what it is told. */
const counting = (then: "warn" | "veto" | "stop", more: Partial<Definition> = {}): Guard =>
  guard((call, _history, { params, state }) => {
    const next = { calls: state.calls + 1 };
    if (next.calls <= Number(params["most"])) return { do: "allow", state: next };
    const said = `${call.tool} is call ${next.calls}`;
    if (then === "warn") return { do: "warn", note: `[${said}]`, state: next };
    return { do: then, reason: said, state: next };
  }, more);

interface Opened {
  readonly bench: Bench;
  readonly probe: Probe;
  readonly engine: Engine;
}

const open = async (replies: string, own: Guard, agent = "guards: { few_calls: {} }"): Promise<Opened> => {
  const probe = createProbe();
  const engine = await engineOf(scripted(replies, agent), { toolboxes: [probe.toolbox], guards: [own] });
  const bench = openBench({ engine });
  bench.ok("create");
  return { bench, probe, engine };
};

const run = async (...parts: Parameters<typeof open>): Promise<Opened> => {
  const opened = await open(...parts);
  opened.bench.send("Go");
  await opened.bench.idle();
  return opened;
};

const looks = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => calls(`look {name: a${at}}`));

describe("EF-44: guards of a team", () => {
  test("a warning ends the result, with parameters from YAML and their defaults", async () => {
    for (const [agent, expected] of [
      ["guards: { few_calls: {} }", [false, false, true, true]],
      ["guards: { few_calls: { most: 3 } }", [false, false, false, true]],
      ["guards: { few_calls: false }", [false, false, false, false]],
      ["", [false, false, false, false]],
    ] as const) {
      const { bench } = await run(script(...looks(4), done), counting("warn"), agent);
      expect(results(bench).map((text) => text.endsWith("]"))).toEqual(expected);
      expect(ends(bench)).toEqual(["completed:end_turn"]);
    }
  });

  test("a veto denies the whole reply with the reason, and the model goes on", async () => {
    const { bench, probe } = await run(
      script(calls("look {name: a}"), calls("fire {name: b}", "fire {name: c}", "put {name: d}"), done),
      counting("veto"),
    );
    expect(probe.names()).toEqual(["look(a)"]);
    expect(results(bench).slice(1)).toEqual(times(3, "denied: denied: fire is call 3"));
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(loops(bench)).toEqual([]);
  });

  test("a stop ends the run, all calls answered, with the reason that it names", async () => {
    const stopping = guard(() => ({ do: "stop", reason: "enough is spent", end: "budget_exceeded" }));
    for (const [own, reason] of [
      [counting("stop"), "tool_loop"],
      [stopping, "budget_exceeded"],
    ] as const) {
      const { bench } = await run(script(...looks(5)), own);
      expect(ends(bench)).toEqual([`failed:${reason}`]);
      checkInvariants(bench, []);
    }
  });

  test("it sees the call, the reply around it, and the finished calls", async () => {
    const seen: unknown[] = [];
    const watching = guard((call: JudgedCall, history, { earlier, later, turn, iteration, run }) => {
      seen.push({
        call: `${call.tool} ${JSON.stringify(call.input)}`,
        earlier: earlier.map(({ tool }) => tool),
        later,
        turn,
        iteration,
        run,
        history: history.map(({ tool, status }) => `${tool} ${status}`),
      });
      return { do: "allow" };
    });
    await run(
      script(calls("look {name: a}", "put {name: b}"), calls("look {name: c, fail: true}"), done),
      watching,
    );
    expect(seen).toEqual([
      { call: 'look {"name":"a"}', earlier: [], later: 1, turn: 1, iteration: 0, run: "run_1", history: [] },
      {
        call: 'put {"name":"b"}',
        earlier: ["look"],
        later: 0,
        turn: 1,
        iteration: 0,
        run: "run_1",
        history: [],
      },
      {
        call: 'look {"name":"c","fail":true}',
        earlier: [],
        later: 0,
        turn: 2,
        iteration: 1,
        run: "run_1",
        history: ["look ok", "put ok"],
      },
    ]);
  });

  test("what it remembers begins anew as it says: with a run, with a human input, or never", async () => {
    for (const [reset, expected] of [
      ["run", ["allow", "warn"]],
      ["input", ["allow", "warn"]],
      ["never", ["warn", "warn"]],
    ] as const) {
      const own = counting("warn", { state: { initial: { calls: 0 }, reset } });
      const { bench } = await run(script(...looks(2), done, ...looks(3), done), own);
      bench.crash();
      bench.send("Again");
      await bench.idle();
      const second = results(bench)
        .slice(2)
        .map((text) => (text.endsWith("]") ? "warn" : "allow"));
      expect([second[0], second[2]]).toEqual(expected);
    }
  });

  test("a word after the outcome ends the result, and its state is kept", async () => {
    const own = guard(() => ({ do: "allow" }), {
      after: (record, history, { state }) => ({
        note: `[${record.status} ${history.length} ${state.calls}]`,
        state: { calls: state.calls + 1 },
      }),
    });
    const { bench } = await run(script(calls("look {name: a}", "look {name: b, fail: true}"), done), own);
    expect(results(bench)).toEqual([
      "ok: look(a) done\n\n[ok 1 1]",
      "error: failed: the probe was told to fail\n\n[error 0 0]",
    ]);
    expect(dataOf(bench, "tool_call_end").map(({ output }) => output)).toEqual([
      "failed: the probe was told to fail\n\n[error 0 0]",
      "look(a) done\n\n[ok 1 1]",
    ]);
  });

  const broken: readonly (readonly [string, Guard, string])[] = [
    [
      "throws",
      guard(() => {
        throw new Error("out of order");
      }),
      "few_calls: out of order",
    ],
    ["gives no verdict", guard(() => undefined as never), "few_calls: before must return a verdict"],
    [
      "gives a promise",
      guard((async () => ({ do: "allow" })) as never),
      "few_calls: before must return a verdict",
    ],
    [
      "remembers too much",
      guard(() => ({ do: "allow", state: { calls: 1, more: "x".repeat(70_000) } })),
      "few_calls: its state is larger than 64 KiB",
    ],
    [
      "throws after the outcome",
      guard(() => ({ do: "allow" }), {
        after: () => {
          throw new Error("too late");
        },
      }),
      "few_calls: too late",
    ],
  ];
  const giving = (verdict: unknown): Guard => guard(() => verdict as never);
  const saying = (afterword: unknown): Guard =>
    guard(() => ({ do: "allow" }), { after: () => afterword as never });
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  const later = guard(() => ({ do: "allow" }), {
    after: (async () => {
      throw new Error("later");
    }) as never,
  });
  const odd: readonly (readonly [string, Guard, string])[] = [
    ["remembers no JSON", giving({ do: "allow", state: 5n }), "few_calls: its state is not JSON"],
    ["waits for no moment", giving({ do: "allow", until: "soon" }), "few_calls: before must return"],
    ["warns without words", giving({ do: "warn" }), "few_calls: before must return"],
    ["vetoes without words", giving({ do: "veto", reason: null }), "few_calls: before must return"],
    [
      "stops for another reason",
      giving({ do: "stop", reason: "x", end: "y" }),
      "few_calls: before must return",
    ],
    [
      "names no loop",
      giving({ do: "veto", reason: "x", loop: { count: 5n } }),
      "few_calls: before must return",
    ],
    ["says no word after the outcome", saying(5), "few_calls: after may return"],
    ["says a number after the outcome", saying({ note: 5 }), "few_calls: after may return"],
    ["stops with nothing after the outcome", saying({ stop: null }), "few_calls: after may return"],
    ["stops without words after the outcome", saying({ stop: {} }), "few_calls: after may return"],
    ["gives a promise after the outcome", later, "few_calls: after may return"],
    ["remembers a circle after the outcome", saying({ state: cyclic }), "few_calls: its state is not JSON"],
  ];
  test.each([...broken, ...odd])(
    "one that %s ends the run effect_failed, with all calls answered",
    async (_what, own, error) => {
      const { bench } = await run(script(calls("look {name: a}", "fire {name: b}"), done), own);
      expect(ends(bench)).toEqual(["failed:effect_failed"]);
      expect(lastResult(bench).error).toContain(error);
      bench.send("Again");
      await bench.idle();
      checkInvariants(bench, []);
    },
  );

  test("RE-P2: cut at every write, it has counted each call once", async () => {
    const { engine } = await open(script(...looks(3), calls("look", "put"), done), counting("warn"));
    const played = async (cut: number | null): Promise<Bench> => {
      const bench = openBench({ engine });
      bench.ok("create");
      bench.cutAt(cut);
      insist(bench, "send", { content: "Go" }, "go");
      await bench.idle();
      return bench;
    };
    const whole = await played(null);
    expect(whole.state().threads["main"]?.guards["few_calls"]).toEqual({ calls: 5 });
    for (let cut = 1; cut <= whole.writes(); cut++) {
      const bench = await played(cut);
      expect(bench.state().threads["main"]?.guards).toEqual(whole.state().threads["main"]?.guards);
      expect(results(bench)).toEqual(results(whole));
    }
  });

  test("CF-34: a deployment without the guard that a session needs makes its run wait, and says so", async () => {
    const { bench, probe, engine } = await open(script(...looks(1), done), counting("warn"));
    bench.deploy(createEngine(engineOptions(engine.team, { toolboxes: [probe.toolbox] })));
    bench.send("Go");
    await bench.idle();
    expect(dataOf(bench, "run_waiting")).toMatchObject([
      { on: [{ kind: "config", missing: "guard few_calls" }] },
    ]);
  });
});
