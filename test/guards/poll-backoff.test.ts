import { describe, expect, test } from "vitest";
import { isForgotten, nextPoll } from "../../src/guards/backoff.ts";
import type { Bench } from "../support/bench.ts";
import { checkInvariants } from "../support/invariants.ts";
import { insist } from "../support/power-cut.ts";
import { done } from "../support/scripts.ts";
import { dataOf, ends, headOf, play, results, typesAfter } from "../agent/loop/play.ts";
import { calls, fromAgent, loops, same, saying, script, times } from "./support.ts";

/** Lets time pass until nothing waits any more; gives the seconds that each poll was held back. */
const waits = async (bench: Bench): Promise<readonly number[]> => {
  const held: number[] = [];
  for (let round = 0; round < 100; round++) {
    await bench.idle();
    const at = bench.alarm();
    if (at === null) break;
    held.push((at - bench.now()) / 1_000);
    await bench.pass(at - bench.now());
  }
  return held;
};

const started = async (bench: Bench): Promise<readonly number[]> => {
  bench.send("Go");
  return waits(bench);
};

const poll = (texts: readonly string[]) => saying("status", texts, { poll: true });

describe("EF-35: polls that bring nothing new", () => {
  test("5, 10, 30, 60, 60 seconds; new output, then 5", async () => {
    const tool = poll([...times(6, "pending"), "done"]);
    const { bench } = await play(script(...times(9, calls("status {a: 1}")), done), { tools: [tool.tool] });
    expect(await started(bench)).toEqual([5, 10, 30, 60, 60, 5]);
    expect(tool.ran()).toBe(9);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("the result names the next useful time; the first and a new one are free", async () => {
    const tool = poll(["pending", "pending", "done"]);
    const { bench } = await play(script(...times(3, calls("status")), done), { tools: [tool.tool] });
    const begin = bench.now();
    await started(bench);
    const at = new Date(begin + 5_000).toISOString();
    expect(results(bench)).toEqual([
      "ok: pending",
      `ok: pending\n\n[poll: nothing new 2 times in a row; the next useful poll is in 5 s, at ${at}; an earlier one waits until then]`,
      "ok: done",
    ]);
  });

  test("a held poll is a row: the session rests, has one alarm, and survives a restart", async () => {
    const tool = poll(["pending"]);
    const { bench } = await play(script(...times(3, calls("status")), done), { tools: [tool.tool] });
    bench.send("Go");
    await bench.idle();
    const due = bench.now() + 5_000;
    expect(tool.ran()).toBe(2);
    await bench.drive();
    expect(bench.alarm()).toBe(due);
    expect(dataOf(bench, "tool_call_parked")).toEqual([{ tool: "status", on: "time", until: due }]);
    expect(dataOf(bench, "run_waiting")).toEqual([{ on: [{ kind: "time", until: due }] }]);
    bench.crash();
    await bench.pass(4_999);
    expect(tool.ran()).toBe(2);
    await bench.pass(1);
    expect(tool.ran()).toBe(3);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("suggest only says so, off says nothing; neither waits", async () => {
    for (const [mode, says] of [
      ["suggest", true],
      ["off", false],
    ] as const) {
      const tool = poll(["pending"]);
      const { bench } = await play(script(...times(4, calls("status")), done), {
        agent: `guards: { tool_loops: { poll_backoff: ${mode} } }`,
        tools: [tool.tool],
      });
      expect(await started(bench)).toEqual([]);
      expect(tool.ran()).toBe(4);
      expect(results(bench).some((text) => text.includes("the next useful poll is in 30 s"))).toBe(says);
      expect(results(bench).some((text) => text.includes("waits until then"))).toBe(false);
    }
  });

  test("each key has its own row of polls, and other tools never wait", async () => {
    const [tool, other] = [poll(["pending"]), same()];
    const replies = script(
      calls("status {a: 1}", "status {a: 2}"),
      calls("status {a: 1}", "status {a: 2}"),
      calls("status {a: 3}", "same"),
      calls("status {a: 3}", "same"),
      calls("same"),
      done,
    );
    const { bench } = await play(replies, { tools: [tool.tool, other.tool] });
    expect(await started(bench)).toEqual([]);
  });

  test("EF-32: a tool is a poll by configuration, too: a glob over names", async () => {
    const tool = same("ci_build_status");
    const { bench } = await play(script(...times(3, calls("ci_build_status")), done), {
      agent: 'guards: { tool_loops: { poll_tools: ["ci_*_status"] } }',
      tools: [tool.tool],
    });
    expect(await started(bench)).toEqual([5]);
  });

  test("EF-32: a poll with one outcome is warned of at 10 and refused at 20 by its own detector", async () => {
    const tool = poll(["pending"]);
    const { bench } = await play(script(...times(20, calls("status")), done), {
      agent: "guards: { tool_loops: { generic_repeat: false } }",
      tools: [tool.tool],
    });
    await started(bench);
    expect(tool.ran()).toBe(19);
    expect(loops(bench)).toEqual(["known_poll_no_progress warning 10", "known_poll_no_progress critical 20"]);
  });

  test("EF-32: 40 polls with changing outcomes are never refused", async () => {
    const tool = saying("status", (count) => `at ${count} %`, { poll: true });
    const { bench } = await play(script(...times(40, calls("status")), done), { tools: [tool.tool] });
    expect(await started(bench)).toEqual([]);
    expect(loops(bench).filter((loop) => !loop.startsWith("generic_repeat warning"))).toEqual([]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("a poll is held back though many calls came between", async () => {
    const [tool, other] = [poll(["pending"]), same()];
    const between = Array.from({ length: 40 }, (_, at) => calls(`same {a: ${at}}`));
    const { bench } = await play(script(...times(2, calls("status")), ...between, calls("status"), done), {
      tools: [tool.tool, other.tool],
    });
    expect(await started(bench)).toEqual([5]);
  });

  test("a person's input makes the next poll free, an agent's does not", async () => {
    for (const [input, expected] of [
      ["human", []],
      ["agent", [5]],
    ] as const) {
      const tool = poll(["pending"]);
      const { bench } = await play(script(...times(2, calls("status")), done, calls("status"), done), {
        tools: [tool.tool],
      });
      await started(bench);
      if (input === "human") bench.send("And now?");
      else fromAgent(bench);
      expect(await waits(bench)).toEqual(expected);
    }
  });

  test("forgotten after an hour", async () => {
    const tool = poll(["pending"]);
    const { bench } = await play(script(...times(4, calls("status")), done, calls("status"), done), {
      tools: [tool.tool],
    });
    await started(bench);
    await bench.pass(3_600_001);
    fromAgent(bench);
    expect(await waits(bench)).toEqual([]);
    expect(results(bench).at(-1)).toBe("ok: pending");
  });

  test("the first poll is forgotten, too: an equal one more than an hour later is the first of a new row", async () => {
    const tool = poll(["pending"]);
    const { bench } = await play(script(calls("status"), done, ...times(2, calls("status")), done), {
      tools: [tool.tool],
    });
    await started(bench);
    await bench.pass(3_600_001);
    fromAgent(bench);
    expect(await waits(bench)).toEqual([]);
    expect(results(bench).map((text) => text.includes("2 times in a row"))).toEqual([false, false, true]);
  });

  test("SE-25: a steer skips a held poll; SE-31: a cancel ends it as not run", async () => {
    const tool = poll(["pending"]);
    const { bench } = await play(script(...times(3, calls("status")), done), { tools: [tool.tool] });
    bench.send("Go");
    await bench.idle();
    const head = headOf(bench);
    bench.send("Never mind", { on_busy: "steer" });
    await bench.idle();
    expect(results(bench).at(-1)).toBe("skipped: skipped: Not started: a new message arrived first.");
    expect(typesAfter(bench, head)).toContain("steering_injected");
    expect(bench.alarm()).toBeNull();

    const second = await play(script(...times(3, calls("status")), done), {
      tools: [poll(["pending"]).tool],
    });
    second.bench.send("Go");
    await second.bench.idle();
    second.bench.ok("cancel");
    await second.bench.idle();
    expect(results(second.bench).at(-1)).toBe("cancelled: cancelled: It did not run.");
    expect(ends(second.bench)).toEqual(["cancelled:cancelled"]);
    checkInvariants(second.bench, []);
  });

  test("SE-30: a held poll that needs an approval asks when its time has come", async () => {
    const tool = poll(["pending"]);
    const { bench } = await play(script(...times(3, calls("status")), done), {
      team: "permissions: { rules: [{ tool: status, action: ask }] }",
      tools: [tool.tool],
    });
    bench.send("Go");
    for (let approved = 0; approved < 2; approved++) {
      await bench.idle();
      for (const ask of Object.keys(bench.state().asks)) bench.ok("answer", { ask, decision: "approve" });
    }
    await bench.idle();
    expect(Object.keys(bench.state().asks)).toEqual([]);
    await bench.pass(5_000);
    expect(Object.keys(bench.state().asks)).toHaveLength(1);
  });

  test("RE-P2: cut at every write, each poll runs at its time", async () => {
    const played = async (cut: number | null): Promise<{ bench: Bench; held: readonly number[] }> => {
      const tool = poll(["pending"]);
      const { bench } = await play(script(...times(4, calls("status")), done), { tools: [tool.tool] });
      bench.cutAt(cut);
      insist(bench, "send", { content: "Go" }, "go");
      return { bench, held: await waits(bench) };
    };
    const whole = await played(null);
    expect(whole.held).toEqual([5, 10]);
    for (let cut = 1; cut <= whole.bench.writes(); cut++) {
      const { bench, held } = await played(cut);
      expect([cut, held.filter((each) => each > 0)]).toEqual([cut, [5, 10]]);
      expect(results(bench)).toEqual(results(whole.bench));
      checkInvariants(bench, []);
    }
  });
});

describe("EF-35: the table", () => {
  test("waits grow from the second equal outcome on and stay at a minute", () => {
    const at = 1_000_000;
    const seconds = [1, 2, 3, 4, 5, 6, 50].map((equal) => nextPoll({ equal, at }, at));
    expect(seconds.map((until) => (until === null ? null : (until - at) / 1_000))).toEqual([
      null,
      5,
      10,
      30,
      60,
      60,
      60,
    ]);
    expect(nextPoll({ equal: 5, at }, at + 3_600_001)).toBeNull();
    expect(isForgotten(at, at + 3_600_000)).toBe(false);
  });
});
