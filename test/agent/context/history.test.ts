import { describe, expect, test } from "vitest";
import {
  argsDigest,
  comparableText,
  packHistory,
  unpackHistory,
} from "../../../src/agent/context/history.ts";
import { sanitizeToolName } from "../../../src/agent/state/call.ts";
import type { CallRecord } from "../../../src/agent/state/records.ts";
import { shortDigest } from "../../../src/sandbox/sha256.ts";
import { calls, fromAgent, same, saying, script, times } from "../../guards/support.ts";
import type { Play } from "../loop/play.ts";
import { play, run } from "../loop/play.ts";
import { done } from "../../support/scripts.ts";

const historyOf = ({ bench }: Pick<Play, "bench">): readonly CallRecord[] =>
  bench.state().threads["main"]?.history ?? [];

describe("EF-31: digests", () => {
  test("key order, spaces and number forms make no difference; values, types and tools' own texts do", () => {
    const one = argsDigest('{"a":1,"b":{"x":[1,2],"y":"é"}}');
    expect(argsDigest('{ "b": {"y":"\\u00e9","x":[1.0,2]}, "a": 1e0 }')).toBe(one);
    expect(argsDigest('{"a":"1","b":{"x":[1,2],"y":"é"}}')).not.toBe(one);
    expect(argsDigest('{"a":1,"b":{"x":[2,1],"y":"é"}}')).not.toBe(one);
    expect(argsDigest("")).toBe(argsDigest("{}"));
    expect(argsDigest(" {} ")).toBe(argsDigest("{}"));
  });

  test("★ what is no JSON, or nested beyond all reason, is compared as it is", () => {
    expect(argsDigest('{"a":')).not.toBe(argsDigest('{"a": '));
    expect(argsDigest('{"a":')).toBe(argsDigest('{"a":'));
    const deep = "[".repeat(200_000);
    expect(argsDigest(deep)).toBe(shortDigest(deep));
    expect(argsDigest(deep + "]".repeat(200_000))).toHaveLength(16);
  });

  test("volatile fields of JSON are left out at any depth; other text is whole", () => {
    const fields = ["pid", "duration_ms"];
    const one = comparableText('{"pid":7,"state":"up","jobs":[{"pid":1,"name":"a"}]}', fields);
    expect(comparableText('{"state":"up","jobs":[{"name":"a","pid":2}],"pid":8}', fields)).toBe(one);
    expect(comparableText('{"state":"down","jobs":[{"name":"a"}]}', fields)).not.toBe(one);
    expect(comparableText("pid: 7", fields)).toBe("pid: 7");
    expect(comparableText([{ type: "text", text: '{"pid":7}' }], fields)).toBe("{}");
  });

  test("a name is kept short and without spaces, whatever the model makes of it", () => {
    expect(sanitizeToolName("github__list-issues")).toBe("github__list-issues");
    expect(sanitizeToolName("run this\nnow 😀")).toBe("run_this_now___");
    expect(sanitizeToolName("x".repeat(5_000))).toHaveLength(128);
  });
});

describe("EF-31: records", () => {
  test("a finished call is recorded with run, turn, status and number, across runs and restarts", async () => {
    const { bench } = await play(
      script(calls("look {name: a}", "look {name: b, fail: true}"), done, calls("hidden"), done),
      { others: [same("hidden").tool] },
    );
    bench.send("Go");
    await bench.idle();
    bench.crash();
    fromAgent(bench);
    await bench.idle();
    expect(historyOf({ bench })).toMatchObject([
      { n: 1, tool: "look", status: "ok", run: "run_1", turn: 1, changed: false, poll: false },
      { n: 2, tool: "look", status: "error", run: "run_1", turn: 1 },
      { n: 3, tool: "hidden", status: "denied", run: "run_2", turn: 1 },
    ]);
  });

  test("★ fields that a tool calls volatile make no difference, in a cut output either", async () => {
    const long = "x".repeat(40_000);
    const tool = saying("job", (count) => JSON.stringify({ pid: count, duration_ms: count * 3, out: long }), {
      volatile: ["pid", "duration_ms"],
    });
    const plain = saying("plain", (count) => JSON.stringify({ pid: count }));
    const { bench } = await run(script(...times(3, calls("job", "plain")), done), {
      tools: [tool.tool, plain.tool],
    });
    const outcomes = (name: string): number =>
      new Set(historyOf({ bench }).flatMap((each) => (each.tool === name ? [each.outcome] : []))).size;
    expect(outcomes("job")).toBe(1);
    expect(outcomes("plain")).toBe(3);
  });

  test("★ the id under which a cut output is kept makes no difference, its length does", async () => {
    const texts = ["x".repeat(40_000), "x".repeat(40_000), "x".repeat(40_001)];
    const tool = saying("dump", texts);
    const { bench } = await run(script(...times(3, calls("dump")), done), { tools: [tool.tool] });
    const [first, second, third] = historyOf({ bench }).map(({ outcome }) => outcome);
    expect(first).toBe(second);
    expect(third).not.toBe(first);
  });

  test("★ a note at the end of a result is no part of its outcome", async () => {
    const { bench } = await run(script(...times(6, calls("same")), done), {
      agent: "guards: { tool_loops: { warning_threshold: 2, critical_threshold: 9 } }",
      tools: [same().tool],
    });
    expect(new Set(historyOf({ bench }).map(({ outcome }) => outcome)).size).toBe(1);
  });

  test("a call that changed files says so", async () => {
    const tool = saying("edit", ["edited"]).tool;
    const changing = {
      ...tool,
      run: async () => ({
        content: "edited",
        changes: [{ op: "create" as const, path: "a.txt", kind: "file" as const }],
      }),
    };
    const { bench } = await run(script(calls("edit"), calls("look"), done), { tools: [changing] });
    expect(historyOf({ bench }).map(({ changed }) => changed)).toEqual([true, false]);
  });

  test("the newest are kept, as many as the agent needs", async () => {
    const { bench } = await run(script(...times(9, calls("same")), done), {
      agent:
        "guards: { tool_loops: { history_size: 4, critical_threshold: 4, warning_threshold: 3, generic_repeat: false } }",
      tools: [same().tool],
    });
    expect(historyOf({ bench }).map(({ n }) => n)).toEqual([6, 7, 8, 9]);
  });

  test("EF-34: what is stored is the history that lives, at every step", async () => {
    const { bench } = await play(
      script(...times(7, calls("same {a: 1}", "look {name: b}"), calls("look {name: c}")), done),
      {
        agent: "guards: { tool_loops: { history_size: 5, critical_threshold: 5, warning_threshold: 2 } }",
        tools: [same().tool],
      },
    );
    const stored = (): readonly CallRecord[] => {
      const [row] = bench.rows("turns");
      return unpackHistory((row as { history: string }).history);
    };
    bench.hold = true;
    bench.send("Go");
    const lengths = new Set<number>();
    for (let step = 0; step < 40; step++) {
      await bench.steps();
      expect(stored()).toEqual(historyOf({ bench }));
      lengths.add(stored().length);
      bench.release();
      bench.hold = true;
    }
    expect([...lengths]).toEqual([0, 2, 3, 5]);
  });

  test("AP: clearing a session forgets them, and numbers are never used again", async () => {
    const { bench } = await run(script(calls("look"), done, calls("look"), done));
    bench.ok("clear");
    expect(historyOf({ bench })).toEqual([]);
    bench.send("Again");
    await bench.idle();
    expect(historyOf({ bench }).map(({ n }) => n)).toEqual([2]);
  });
});

describe("EF-34: the stored form", () => {
  test("every history comes back as it was", () => {
    const statuses = ["ok", "error", "denied", "skipped", "cancelled", "unknown"] as const;
    const history = Array.from({ length: 60 }, (_, at): CallRecord => ({
      n: at + 1,
      tool: sanitizeToolName(["fs_read", "a b\nc", "", "github__x-y", "é"][at % 5] ?? ""),
      args: shortDigest(`args ${at}`),
      outcome: shortDigest(`outcome ${at}`),
      status: statuses[at % statuses.length] ?? "ok",
      run: `run_${at % 7}`,
      turn: at,
      changed: at % 2 === 0,
      poll: at % 3 === 0,
    }));
    expect(unpackHistory(packHistory(history))).toEqual(history);
    expect(unpackHistory(packHistory([]))).toEqual([]);
    expect(packHistory(history.slice(0, 30)).length).toBeLessThan(2_500);
  });
});
