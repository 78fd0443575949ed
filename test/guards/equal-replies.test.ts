import { describe, expect, test } from "vitest";
import type { Bench } from "../support/bench.ts";
import { checkInvariants } from "../support/invariants.ts";
import { insist } from "../support/power-cut.ts";
import { done } from "../support/scripts.ts";
import { ends, lastResult, play, results, run } from "../agent/loop/play.ts";
import { calls, changing, denied, loops, same, saying, script, times } from "./support.ts";

const after = (threshold: number, more = ""): string =>
  `options: { loop_detection_threshold: ${threshold} }\n${more}`;

describe("EF-36: options.loop_detection_threshold", () => {
  test("3: the run ends when the third equal reply has its outcomes, as equal as the others", async () => {
    const tool = same();
    const { bench } = await run(script(...times(5, calls("same {a: 1}"))), {
      agent: after(3),
      tools: [tool.tool],
    });
    expect(tool.ran()).toBe(3);
    expect(denied(bench)).toEqual([]);
    expect(ends(bench)).toEqual(["failed:tool_loop"]);
    expect(loops(bench)).toEqual(["loop_detection_threshold critical 3"]);
    expect(lastResult(bench)).toMatchObject({ loop_detected: true, max_turns_used: true, turns: 3 });
    expect(lastResult(bench).error).toContain("3 replies in a row asked for the same calls");
    expect(bench.requests).toHaveLength(3);
    checkInvariants(bench, []);
  });

  test("the outcomes of the last reply count like the others: where they differ, the run goes on", async () => {
    const tool = saying("build", ["pending", "pending", "done"]);
    const { bench } = await run(script(...times(3, calls("build")), done), {
      agent: after(3),
      tools: [tool.tool],
    });
    expect(tool.ran()).toBe(3);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    const two = saying("build", ["pending", "done"]);
    const short = await run(script(...times(2, calls("build")), done), {
      agent: after(2),
      tools: [two.tool],
    });
    expect(ends(short.bench)).toEqual(["completed:end_turn"]);
  });

  const many = (last: string): string => calls(...times(69, "same {a: 1}"), last);

  test("EF-36 SE-13: replies of more than 64 calls count by those that may run, whichever are refused", async () => {
    const tool = same();
    const { bench } = await run(script(...times(4, many("same {a: 1}"))), {
      agent: after(3, "guards: { tool_loops: false }"),
      tools: [tool.tool],
    });
    expect(ends(bench)).toEqual(["failed:tool_loop"]);
    expect(tool.ran()).toBe(3 * 64);
    expect(results(bench)).toHaveLength(3 * 70);
    expect(lastResult(bench)).toMatchObject({ loop_detected: true, turns: 3 });
    checkInvariants(bench, []);
  });

  test("EF-36 SE-13: one outcome of 64 that differs, or another call among those refused, makes another reply", async () => {
    const tool = saying("same", (count) => (count === 64 + 64 ? "different" : "always this"));
    const { bench } = await run(script(...times(4, many("same {a: 1}")), done), {
      agent: after(3, "guards: { tool_loops: false }"),
      tools: [tool.tool],
    });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    const other = await run(script(many("same {a: 1}"), many("same {a: 2}"), done), {
      agent: after(2, "guards: { tool_loops: false }"),
      tools: [same().tool],
    });
    expect(ends(other.bench)).toEqual(["completed:end_turn"]);
  });

  test("a different reply between begins the count anew", async () => {
    const [tool, other] = [same(), changing("other")];
    const two = times(2, calls("same"));
    const { bench } = await run(script(...two, calls("other"), ...two, done), {
      agent: after(3),
      tools: [tool.tool, other.tool],
    });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(lastResult(bench).turns).toBe(6);
  });

  test("a reply of several calls counts like one; another order or another outcome is another reply", async () => {
    const tools = [same("one").tool, same("two").tool];
    const batch = calls("one {a: 1, b: 2}", "two");
    const swapped = calls("one {b: 2, a: 1}", "two");
    const { bench } = await run(script(batch, swapped, batch), { agent: after(3), tools });
    expect(ends(bench)).toEqual(["failed:tool_loop"]);
    const turned = await run(script(batch, calls("two", "one {a: 1, b: 2}"), batch, done), {
      agent: after(2),
      tools,
    });
    expect(ends(turned.bench)).toEqual(["completed:end_turn"]);
    const moving = changing();
    const moved = await run(script(...times(6, calls("changing")), done), {
      agent: after(3),
      tools: [moving.tool],
    });
    expect(moving.ran()).toBe(6);
    expect(ends(moved.bench)).toEqual(["completed:end_turn"]);
  });

  test("outcomes that become equal are counted from there", async () => {
    const tool = saying("settling", ["a", "b", "c", "c"]);
    const { bench } = await run(script(...times(8, calls("settling"))), {
      agent: after(3),
      tools: [tool.tool],
    });
    expect(tool.ran()).toBe(5);
    expect(ends(bench)).toEqual(["failed:tool_loop"]);
  });

  test("it stands apart from the tool-loop guard, and 0 is off", async () => {
    const tool = same();
    const alone = await run(script(...times(3, calls("same"))), {
      agent: after(3, "guards: { tool_loops: false }"),
      tools: [tool.tool],
    });
    expect(ends(alone.bench)).toEqual(["failed:tool_loop"]);
    const off = await run(script(...times(9, calls("same")), done), {
      agent: after(0),
      tools: [same().tool],
    });
    expect(ends(off.bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-33: a reply that the tool-loop guard refuses neither counts nor breaks the row", async () => {
    const tools = [same().tool, same("one").tool, changing().tool];
    const before = times(3, calls("same"), calls("changing"));
    const row = [...times(2, calls("one")), calls("same"), calls("one")];
    const { bench } = await run(script(...before, ...row, done), {
      agent: after(3, "guards: { tool_loops: { warning_threshold: 3, critical_threshold: 4 } }"),
      tools,
    });
    expect(denied(bench)).toEqual([9]);
    expect(loops(bench).at(-1)).toBe("loop_detection_threshold critical 3");
    expect(lastResult(bench)).toMatchObject({ turns: 10, max_turns_used: true });
  });

  test("a person who steers begins the count anew", async () => {
    const { bench, probe } = await play(script(...times(5, calls("look")), done), {
      agent: after(3),
      instant: false,
    });
    bench.send("Go");
    for (let turn = 1; turn <= 5; turn++) {
      await bench.steps();
      if (turn === 2) bench.send("Look again", { on_busy: "steer" });
      probe.calls.at(-1)?.finish();
    }
    await bench.idle();
    expect(ends(bench)).toEqual(["failed:tool_loop"]);
    expect(lastResult(bench).turns).toBe(5);
  });

  test("the next input begins a run of its own", async () => {
    const tool = same();
    const { bench } = await play(script(...times(2, calls("same")), done, ...times(2, calls("same")), done), {
      agent: after(3),
      tools: [tool.tool],
    });
    for (const text of ["Go", "Again"]) {
      bench.send(text);
      await bench.idle();
    }
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
  });

  test("RE-P2: cut at every write, it ends at the same reply", async () => {
    const played = async (cut: number | null): Promise<Bench> => {
      const tools = [same("one").tool, same("two").tool];
      const { bench } = await play(script(...times(5, calls("one", "two"))), { agent: after(3), tools });
      bench.cutAt(cut);
      insist(bench, "send", { content: "Go" }, "go");
      await bench.idle();
      return bench;
    };
    const whole = await played(null);
    expect(ends(whole)).toEqual(["failed:tool_loop"]);
    for (let cut = 1; cut <= whole.writes(); cut++) {
      const bench = await played(cut);
      expect([cut, results(bench), ends(bench)]).toEqual([cut, results(whole), ends(whole)]);
    }
  });
});
