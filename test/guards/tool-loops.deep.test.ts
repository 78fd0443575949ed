import { describe, expect, test } from "vitest";
import { markCompaction } from "../../src/agent/calls/after-guards.ts";
import type { Tool } from "../../src/tools/define-tool.ts";
import type { Bench } from "../support/bench.ts";
import { done, scripted } from "../support/scripts.ts";
import { checkInvariants } from "../support/invariants.ts";
import { insist } from "../support/power-cut.ts";
import { dataOf, ends, lastResult, play, results, run } from "../agent/loop/play.ts";
import { calls, changing, denied, fromAgent, loops, noted, same, saying, script, times } from "./support.ts";
import { selectThread } from "../../src/agent/transaction/draft.ts";

const guard = (settings: string): string => `guards: { tool_loops: { ${settings} } }`;

describe("EF-31 to EF-34 ★: known failures", () => {
  test("EF-32 ★: 25 calls whose outcomes change are warned of at 10 and 20, never refused", async () => {
    const tool = changing();
    const { bench } = await run(script(...times(25, calls("changing {a: 1}")), done), { tools: [tool.tool] });
    expect(tool.ran()).toBe(25);
    expect(noted(bench)).toEqual([10, 20]);
    expect(loops(bench)).toEqual(["generic_repeat warning 10", "generic_repeat warning 20"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-32 EF-33: equal outcomes get a note at 10, none at 11 to 19, a veto at 20, then the run stops", async () => {
    const tool = same();
    const { bench } = await run(script(...times(25, calls("same {a: 1}"))), { tools: [tool.tool] });
    expect(tool.ran()).toBe(19);
    expect(noted(bench)).toEqual([10]);
    expect(denied(bench)).toEqual([20, 21]);
    expect(loops(bench)).toEqual([
      "generic_repeat warning 10",
      "generic_repeat critical 20",
      "generic_repeat critical 20",
    ]);
    expect(ends(bench)).toEqual(["failed:tool_loop"]);
    expect(lastResult(bench)).toMatchObject({ loop_detected: true, max_turns_used: false, tool_calls: 19 });
    expect(lastResult(bench).error).toContain("same was called 20 times with the same arguments and outcome");
    expect(bench.requests).toHaveLength(21);
    checkInvariants(bench, []);
  });

  test("EF-33 ★: after the veto the model recovers, with its tools, and the run goes on", async () => {
    const [tool, other] = [same(), changing("other")];
    const replies = script(
      ...times(20, calls("same {a: 1}")),
      calls("other {a: 1}"),
      calls("other {a: 2}"),
      done,
    );
    const { bench } = await run(replies, { tools: [tool.tool, other.tool] });
    expect(tool.ran()).toBe(19);
    expect(other.ran()).toBe(2);
    expect(bench.requests.at(20)?.tools.map(({ name }) => name)).toContain("same");
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(lastResult(bench).loop_detected).toBe(false);
  });

  test("EF-33: a veto refuses every call of its reply, each with the reason; none is dispatched", async () => {
    const [tool, other] = [same(), changing("other")];
    const replies = script(...times(4, calls("same")), calls("other", "same", "other"), done);
    const { bench } = await run(replies, {
      agent: guard("warning_threshold: 3, critical_threshold: 5"),
      tools: [tool.tool, other.tool],
    });
    expect(tool.ran()).toBe(4);
    expect(other.ran()).toBe(0);
    expect(denied(bench)).toEqual([5, 6, 7]);
    for (const text of results(bench).slice(4))
      expect(text).toContain("same was called 5 times with the same arguments and outcome");
    const verdicts = dataOf(bench, "tool_call_end").map(({ permission }) => permission?.by);
    expect(verdicts.slice(4)).toEqual(times(3, "guard tool_loops"));
    expect(dataOf(bench, "tool_call_start")).toHaveLength(4);
  });

  test("EF-33: what was vetoed neither breaks a streak nor counts in it", async () => {
    const [tool, other] = [same(), same("other")];
    const replies = script(...times(5, calls("same")), calls("other"), calls("same"), done);
    const { bench } = await run(replies, {
      agent: guard("warning_threshold: 3, critical_threshold: 5"),
      tools: [tool.tool, other.tool],
    });
    expect(loops(bench).filter((loop) => loop.includes("critical"))).toEqual([
      "generic_repeat critical 5",
      "generic_repeat critical 5",
    ]);
    expect(ends(bench)).toEqual(["failed:tool_loop"]);
  });

  test("EF-33 EF-41: a veto is no progress: a stall that was nudged before it goes on behind it", async () => {
    const [tool, other] = [same(), same("other")];
    const replies = script(...times(5, calls("same")), ...times(6, calls("other")), done);
    const stall = "effects: [{ kind: stall_detect, params: { window: 3, similarity_threshold: 0.6 } }]";
    const yaml = scripted(replies, guard("warning_threshold: 3, critical_threshold: 5"));
    const { bench } = await run("", {
      yaml: yaml.replace("effects: []", stall),
      tools: [tool.tool, other.tool],
    });
    expect(denied(bench)).toEqual([5]);
    expect(other.ran()).toBe(2);
    expect(ends(bench)).toEqual(["failed:no_progress"]);
  });

  test("EF-33: a warning in a reply that is refused for a later call ends its own call's result", async () => {
    const [tool, other] = [same(), changing("other")];
    const replies = script(
      ...times(4, calls("same")),
      ...times(2, calls("other")),
      calls("other", "same"),
      calls("other"),
      done,
    );
    const { bench } = await run(replies, {
      agent: guard("warning_threshold: 3, critical_threshold: 5"),
      tools: [tool.tool, other.tool],
    });
    expect(loops(bench)).toEqual([
      "generic_repeat warning 3",
      "generic_repeat warning 3",
      "generic_repeat critical 5",
    ]);
    expect(denied(bench)).toEqual([7, 8]);
    expect(noted(bench)).toEqual([3, 7]);
    expect(results(bench)[6]).toContain("[tool_loops: other was called 3 times with the same arguments.");
  });

  test("EF-31 ★: 4 parallel calls after 40: each outcome stands on its own call's record", async () => {
    const tool = saying("echo", (count) => `outcome ${count}`);
    const forty = Array.from({ length: 40 }, (_, at) => calls(`echo {a: ${at}}`));
    const four = calls("echo {a: w}", "echo {a: x}", "echo {a: y}", "echo {a: z}");
    const { bench } = await run(script(...forty, four, four, done), { tools: [tool.tool] });
    const { history } = bench.state().threads["main"] ?? { history: [] };
    expect(history).toHaveLength(30);
    expect(history.map(({ n }) => n)).toEqual(Array.from({ length: 30 }, (_, at) => at + 19));
    const keys = new Set(history.slice(-8).map(({ args }) => args));
    expect(keys.size).toBe(4);
    expect(new Set(history.map(({ outcome }) => outcome)).size).toBe(30);
    expect(loops(bench)).toEqual([]);
  });

  test("EF-32: the order of keys makes no difference, the values do", async () => {
    const tool = changing();
    const two = [
      calls("changing {a: 1, b: {x: 1, y: [2, 3]}}"),
      calls("changing {b: {y: [2, 3], x: 1}, a: 1}"),
    ];
    const { bench } = await run(script(...times(5, ...two), ...times(5, calls("changing {a: 2}")), done), {
      tools: [tool.tool],
    });
    expect(loops(bench)).toEqual(["generic_repeat warning 10"]);
  });

  test("EF-31: enabled: false lets 100 calls run, and nothing is recorded", async () => {
    for (const settings of ["guards: { tool_loops: { enabled: false } }", "guards: { tool_loops: false }"]) {
      const tool = same();
      const { bench } = await run(script(...times(100, calls("same"))), {
        agent: `options: { max_iterations: 100 }\n${settings}`,
        tools: [tool.tool],
      });
      expect(tool.ran()).toBe(100);
      expect(loops(bench)).toEqual([]);
      expect(bench.state().threads["main"]?.history).toEqual([]);
    }
  });
});

describe("EF-32: strict counts tool and arguments alone", () => {
  test("warn 3, critical 5: nothing at 2, a warning at 3 and at 4 with one note, a veto at 5", async () => {
    const tool = changing();
    const { bench } = await run(script(...times(5, calls("changing")), done), {
      agent: guard("strict: true, warning_threshold: 3, critical_threshold: 5"),
      tools: [tool.tool],
    });
    expect(tool.ran()).toBe(4);
    expect(loops(bench)).toEqual([
      "generic_repeat warning 3",
      "generic_repeat warning 4",
      "generic_repeat critical 5",
    ]);
    expect(noted(bench)).toEqual([3]);
    expect(denied(bench)).toEqual([5]);
  });

  test("without it the same calls are only warned of", async () => {
    const tool = changing();
    const { bench } = await run(script(...times(8, calls("changing")), done), {
      agent: guard("warning_threshold: 3, critical_threshold: 5"),
      tools: [tool.tool],
    });
    expect(tool.ran()).toBe(8);
    expect(loops(bench)).toEqual(["generic_repeat warning 3", "generic_repeat warning 6"]);
  });
});

describe("EF-32: back and forth", () => {
  const pingPong = (count: number): readonly string[] =>
    Array.from({ length: count }, (_, at) => calls(at % 2 === 0 ? "one {a: 1}" : "two {a: 1}"));

  test("stable outcomes on both sides: a warning at 10, a veto at 20", async () => {
    const [one, two] = [same("one"), same("two")];
    const { bench } = await run(script(...pingPong(20), done), { tools: [one.tool, two.tool] });
    expect(one.ran() + two.ran()).toBe(19);
    expect(loops(bench)).toEqual([
      "ping_pong warning 10",
      "generic_repeat warning 10",
      "ping_pong critical 20",
    ]);
  });

  test("EF-33 ★: what was vetoed stands in the alternation: the call that goes on with it ends the run", async () => {
    const [one, two] = [same("one"), same("two")];
    const { bench } = await run(script(...pingPong(30), done), { tools: [one.tool, two.tool] });
    expect(one.ran() + two.ran()).toBe(19);
    expect(loops(bench).slice(2)).toEqual(["ping_pong critical 20", "ping_pong critical 21"]);
    expect(denied(bench)).toEqual([20, 21]);
    expect(ends(bench)).toEqual(["failed:tool_loop"]);
  });

  test("EF-33: the vetoed call once more ends the run as well", async () => {
    const [one, two] = [same("one"), same("two")];
    const replies = script(...pingPong(20), calls("two {a: 1}"), done);
    const { bench } = await run(replies, { tools: [one.tool, two.tool] });
    expect(loops(bench).slice(2)).toEqual(["ping_pong critical 20", "ping_pong critical 20"]);
    expect(ends(bench)).toEqual(["failed:tool_loop"]);
  });

  test("EF-33: something else after the veto is no alternation, whatever comes behind it", async () => {
    const [one, two, three] = [same("one"), same("two"), changing("three")];
    const others = ["three {a: 1}", "one {a: 1}", "two {a: 1}", "one {a: 1}"].map((call) => calls(call));
    const replies = script(...pingPong(20), ...others, done);
    const { bench } = await run(replies, { tools: [one, two, three].map(({ tool }) => tool) });
    expect(loops(bench).filter((loop) => loop.includes("critical"))).toEqual(["ping_pong critical 20"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("one side changing: never critical", async () => {
    const [one, two] = [same("one"), changing("two")];
    const { bench } = await run(script(...pingPong(50), done), { tools: [one.tool, two.tool] });
    expect(one.ran() + two.ran()).toBe(50);
    expect(loops(bench).filter((loop) => loop.includes("critical"))).toEqual([]);
  });

  test("a third call between the two is no back and forth", async () => {
    const tools = [same("one"), same("two"), changing("three")];
    const { bench } = await run(script(...times(12, calls("one"), calls("two"), calls("three")), done), {
      agent: guard("generic_repeat: false"),
      tools: tools.map(({ tool }) => tool),
    });
    expect(loops(bench)).toEqual([]);
  });
});

describe("EF-34 ★: across runs, restarts and power cuts", () => {
  const off = guard("generic_repeat: false, known_poll_no_progress: false, ping_pong: false");

  test("EF-32 ★: generic off: the breaker stops at 30, though the window holds 30 and the runs are three", async () => {
    const tool = same();
    const turns = [...times(12, calls("same")), done];
    const { bench } = await play(script(...turns, ...turns, ...times(10, calls("same"))), {
      agent: off,
      tools: [tool.tool],
    });
    bench.send("Go");
    await bench.idle();
    for (const name of ["second", "third"]) {
      bench.crash();
      fromAgent(bench, name);
      await bench.idle();
    }
    expect(tool.ran()).toBe(29);
    expect(loops(bench)).toEqual(["global_circuit_breaker critical 30"]);
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn", "failed:tool_loop"]);
  });

  test("EF-32 ★: the breaker counts what has left the window: 30 calls among 30 others", async () => {
    const [tool, other] = [same(), changing("other")];
    const pairs = Array.from({ length: 32 }, (_, at) => [calls("same"), calls(`other {a: ${at}}`)]).flat();
    const { bench } = await run(script(...pairs, done), { tools: [tool.tool, other.tool] });
    expect(tool.ran()).toBe(29);
    expect(loops(bench).at(-1)).toBe("global_circuit_breaker critical 30");
    expect(ends(bench)).toEqual(["failed:tool_loop"]);
  });

  /** Replies that go through so many distinct calls, over and over, up to 50 calls a reply. */
  const rounds = (count: number, length: number, tool = "same"): readonly string[] => {
    const keys = Array.from({ length }, (_, at) => `${tool} {a: ${at}}`);
    const replies = Array.from({ length: Math.ceil(length / 50) }, (_, at) =>
      calls(...keys.slice(at * 50, at * 50 + 50)),
    );
    return times(count, ...replies);
  };

  test("EF-32 ★: a cycle longer than the window is stopped when its first call comes for the 30th time", async () => {
    const tool = same();
    const { bench } = await run(script(...rounds(31, 34)), { tools: [tool.tool] });
    expect(tool.ran()).toBe(29 * 34);
    expect(loops(bench)).toEqual(["global_circuit_breaker critical 30"]);
    expect(ends(bench)).toEqual(["failed:tool_loop"]);
  });

  const early = guard("warning_threshold: 4, critical_threshold: 5, global_circuit_breaker_threshold: 6");

  test("EF-32 EF-34 ★: one call a turn, a cycle of 35, an object that restarts: stopped at the 6th time", async () => {
    const cycle = Array.from({ length: 35 }, (_, at) => calls(`same {a: ${at}}`));
    const tool = same();
    const { bench } = await play(script(...times(2, ...cycle), done, ...times(5, ...cycle)), {
      agent: `options: { max_iterations: 500 }\n${early}`,
      tools: [tool.tool],
    });
    bench.send("Go");
    await bench.idle();
    bench.crash();
    fromAgent(bench);
    await bench.idle();
    expect(tool.ran()).toBe(5 * 35);
    expect(loops(bench)).toEqual(["global_circuit_breaker critical 6"]);
  });

  test("EF-32 EF-34 ★: a cycle longer than what is kept is stopped, and what is kept stays small", async () => {
    const tool = same();
    const { bench } = await run(script(...rounds(4, 300)), {
      agent: guard("warning_threshold: 2, critical_threshold: 3, global_circuit_breaker_threshold: 3"),
      tools: [tool.tool],
    });
    expect(loops(bench)).toEqual(["global_circuit_breaker critical 3"]);
    expect(tool.ran()).toBeLessThanOrEqual(3 * 300);
    expect(JSON.stringify(bench.state().threads["main"]?.guards).length).toBeLessThan(6_000);
  });

  test("EF-32: a long cycle whose outcomes change goes on; strict stops that, too", async () => {
    const loose = changing();
    const free = await run(script(...rounds(9, 40, "changing"), done), { agent: early, tools: [loose.tool] });
    expect(loose.ran()).toBe(360);
    expect(loops(free.bench)).toEqual([]);
    const strict = changing();
    const { bench } = await run(script(...rounds(9, 40, "changing"), done), {
      agent: early.replace("{ tool_loops: {", "{ tool_loops: { strict: true,"),
      tools: [strict.tool],
    });
    expect(strict.ran()).toBe(200);
    expect(loops(bench)).toEqual(["global_circuit_breaker critical 6"]);
  });

  test("EF-31: a call that was cancelled before it ran says nothing of a loop", async () => {
    const put = calls("put {name: a}");
    const { bench, probe } = await play(
      script(put, put, done, calls("look {name: b}", "put {name: a}"), put, put, done),
      { agent: guard("warning_threshold: 2, critical_threshold: 4") },
    );
    bench.send("Go");
    await bench.idle();
    probe.instant = false;
    fromAgent(bench);
    await bench.steps();
    bench.ok("cancel");
    probe.instant = true;
    for (const call of probe.calls) call.finish();
    await bench.idle();
    expect(results(bench).at(-1)).toBe("cancelled: cancelled: It did not run.");
    fromAgent(bench);
    await bench.idle();
    expect(loops(bench)).toEqual(["generic_repeat warning 2", "generic_repeat critical 4"]);
  });

  test("EF-31: a human input is a new intent: window, notes, vetoes and breaker begin anew, numbers do not", async () => {
    const tool = same();
    const turns = [...times(19, calls("same")), done];
    const { bench } = await play(script(...turns, ...turns), { tools: [tool.tool] });
    for (const text of ["Go", "Again"]) {
      bench.send(text);
      await bench.idle();
    }
    expect(tool.ran()).toBe(38);
    expect(loops(bench)).toEqual(times(2, "generic_repeat warning 10"));
    expect(bench.state().threads["main"]?.history.at(-1)?.n).toBe(38);
  });

  test("EF-31: an agent's input is none: the same calls in its run are refused", async () => {
    const tool = same();
    const turns = [...times(19, calls("same")), done];
    const { bench } = await play(script(...turns, calls("same"), done), { tools: [tool.tool] });
    bench.send("Go");
    await bench.idle();
    fromAgent(bench);
    await bench.idle();
    expect(tool.ran()).toBe(19);
    expect(loops(bench)).toEqual(["generic_repeat warning 10", "generic_repeat critical 20"]);
  });

  test("EF-31: a person who steers begins a new intent, too", async () => {
    const tool = same();
    const { bench, probe } = await play(
      script(...times(18, calls("same")), calls("look"), calls("same"), calls("same"), done),
      { tools: [tool.tool], instant: false },
    );
    bench.send("Go");
    await bench.steps();
    await bench.steps();
    await bench.steps();
    bench.send("Once more", { on_busy: "steer" });
    for (const call of probe.calls) call.finish();
    await bench.idle();
    expect(tool.ran()).toBe(20);
    expect(loops(bench)).toEqual(["generic_repeat warning 10"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-34 RE-P2: cut at every write: the same notes, the same veto, the same stop, each said once", async () => {
    const settings = guard("warning_threshold: 2, critical_threshold: 4");
    const replies = script(...times(6, calls("same", "changing")));
    const played = async (cut: number | null): Promise<Bench> => {
      const tools = [same().tool, changing().tool].map((tool) => ({
        ...tool,
        safety: () => "read" as const,
      }));
      const { bench } = await play(replies, { agent: settings, tools });
      bench.cutAt(cut);
      insist(bench, "send", { content: "Go" }, "go");
      await bench.idle();
      return bench;
    };
    const whole = await played(null);
    const expected = { loops: loops(whole), noted: noted(whole), denied: denied(whole), ends: ends(whole) };
    expect(expected.loops).toContain("generic_repeat critical 4");
    expect(expected.ends).toEqual(["failed:tool_loop"]);
    const total = whole.writes();
    for (let cut = 1; cut <= total; cut++) {
      const bench = await played(cut);
      const found = { loops: loops(bench), noted: noted(bench), denied: denied(bench), ends: ends(bench) };
      expect(found, `cut before write ${cut}`).toEqual(expected);
      checkInvariants(bench, []);
    }
  });

  test("EF-31: what a steer skipped says nothing of a loop", async () => {
    const tool = same();
    const { bench, probe } = await play(
      script(calls("same"), calls("look", "put", "same"), calls("same"), done),
      { agent: guard("warning_threshold: 2, critical_threshold: 3"), tools: [tool.tool], instant: false },
    );
    bench.send("Go");
    await bench.steps();
    bench.send("Stop", { on_busy: "steer" });
    for (const call of probe.calls) call.finish();
    await bench.idle();
    expect(loops(bench).filter((loop) => loop.includes("critical"))).toEqual([]);
  });
});

describe("EF-33: after a compaction", () => {
  /** Turns whose results fill the window, until the chat is compacted and one call comes again and again. */
  const filling = (more: string): string => `
scenes:
  - { name: tells, when: { purpose: compaction }, reply: [{ text: "## Goal\\nGo." }] }
  - { name: fill, when: { times: 6, purpose: turn }, reply: [{ call: big, args: { a: 1 } }] }
  ${more}`;

  test("★ from YAML: the compact effect summarises, and the third identical call after it ends the run", async () => {
    const big = saying("big", (count) => `${count} ${"x".repeat(8_000)}`);
    const tool = same();
    const yaml = scripted(filling("- { name: stuck, reply: [{ call: same }] }"))
      .replace("context_window: 128000", "context_window: 20000")
      .replace("effects: []", "effects: [{ kind: compact, params: { threshold: 0.6, target: 0.1 } }]");
    const { bench } = await run("", { yaml, tools: [big.tool, tool.tool] });
    expect(dataOf(bench, "compaction").some(({ retired }) => retired !== null)).toBe(true);
    expect(loops(bench)).toEqual(["post_compaction critical 3"]);
    expect(ends(bench)).toEqual(["failed:tool_loop"]);
  });

  const compactedAfter = async (
    before: number,
    replies: readonly string[],
    tools: readonly Tool[],
  ): Promise<Bench> => {
    const { bench } = await play(script(...times(before, calls("changing")), done, ...replies), { tools });
    bench.send("Go");
    await bench.idle();
    bench.change((draft) => markCompaction(selectThread(draft, "main")));
    fromAgent(bench);
    await bench.idle();
    return bench;
  };

  test("3 identical calls with equal outcomes end the run: the third is not made", async () => {
    const tool = same();
    const bench = await compactedAfter(2, times(5, calls("same")), [tool.tool, changing().tool]);
    expect(tool.ran()).toBe(2);
    expect(loops(bench)).toEqual(["post_compaction critical 3"]);
    expect(ends(bench)).toEqual(["completed:end_turn", "failed:tool_loop"]);
    expect(denied(bench)).toEqual([5]);
  });

  test("whatever came between the compaction and them", async () => {
    const tool = same();
    const replies = [calls("changing"), calls("same"), calls("changing"), ...times(4, calls("same"))];
    const bench = await compactedAfter(2, replies, [tool.tool, changing().tool]);
    expect(tool.ran()).toBe(3);
    expect(loops(bench)).toEqual(["post_compaction critical 3"]);
  });

  test("★: a chat that is compacted after each of them is stuck as well", async () => {
    const tool = same();
    const { bench } = await play(script(done, ...times(5, calls("same"), done)), { tools: [tool.tool] });
    bench.send("Go");
    await bench.idle();
    for (let round = 0; round < 3; round++) {
      bench.change((draft) => markCompaction(selectThread(draft, "main")));
      fromAgent(bench);
      await bench.idle();
    }
    expect(tool.ran()).toBe(2);
    expect(loops(bench)).toEqual(["post_compaction critical 3"]);
  });

  test("another outcome, another call between them, or a poll is no such loop", async () => {
    const [still, fresh] = [same(), changing("other")];
    const cases: readonly (readonly string[])[] = [
      times(4, calls("other")),
      times(3, calls("same"), calls("changing")),
      times(4, calls("poll")),
    ];
    for (const replies of cases) {
      const poll = same("poll", { poll: true });
      const bench = await compactedAfter(
        1,
        [...replies, done],
        [still.tool, fresh.tool, poll.tool, changing().tool],
      );
      for (let wait = 0; wait < 3; wait++) await bench.pass(10_000);
      expect(loops(bench)).toEqual([]);
      expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
    }
  });

  test("a human input clears it", async () => {
    const tool = same();
    const { bench } = await play(script(done, ...times(4, calls("same")), done), { tools: [tool.tool] });
    bench.send("Go");
    await bench.idle();
    bench.change((draft) => markCompaction(selectThread(draft, "main")));
    bench.send("More");
    await bench.idle();
    expect(tool.ran()).toBe(4);
  });
});
