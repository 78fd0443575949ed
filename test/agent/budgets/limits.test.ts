import { describe, expect, test } from "vitest";
import { dataOf, ends, lastResult, play, results, run } from "../loop/play.ts";
import { done, look } from "../../support/scripts.ts";

const many = (count: number, reply: string): string => Array.from({ length: count }, () => reply).join(", ");

const spending = (total: number): string =>
  `{ reply: [{ call: look }], usage: { input: ${total - 10}, output: 10 } }`;

describe("SE-9 row 9: limits", () => {
  test("SE-9: max_iterations turns, and not one more; open work is closed", async () => {
    const { bench } = await run(`replies: [${many(5, look)}, ${done}]`, {
      agent: "options: { max_iterations: 3 }",
    });
    expect(bench.requests).toHaveLength(3);
    expect(ends(bench)).toEqual(["failed:max_iterations"]);
    expect(lastResult(bench)).toMatchObject({ turns: 3, max_turns_used: true });
    expect(results(bench)).toHaveLength(3);
  });

  test("SE-9: an answer in the last turn is an answer", async () => {
    const { bench } = await run(`replies: [${look}, ${look}, ${done}]`, {
      agent: "options: { max_iterations: 3 }",
    });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(lastResult(bench)).toMatchObject({ turns: 3, max_turns_used: false });
  });

  test("SE-9: each run has its own turns", async () => {
    const { bench } = await run(`replies: [${look}, ${done}, ${look}, ${done}]`, {
      agent: "options: { max_iterations: 2 }",
    });
    bench.send("Again");
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
  });

  test("EF-37: max_tokens ends the run before the next call", async () => {
    const { bench } = await run(`replies: [${many(5, spending(1_000))}]`, {
      agent: "guards: { budget: { max_tokens: 2500 } }",
    });
    expect(bench.requests).toHaveLength(2);
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(lastResult(bench).error).toContain("max_tokens: 2000 of 2500 tokens");
  });

  test("EF-37: the smaller of the agent's and the team's budget rules", async () => {
    const both = {
      agent: "guards: { budget: { max_tokens: 5000 } }",
      team: "budgets: { run: { max_tokens: 2500 } }",
    };
    const { bench } = await run(`replies: [${many(5, spending(1_000))}]`, both);
    expect(bench.requests).toHaveLength(2);
  });

  test("EF-37 MO-36: max_cost_usd counts the price of the model that answered", async () => {
    const team = "models: { play: { price: { input: 1000, output: 0 } } }";
    const { bench } = await run(`replies: [${many(5, spending(1_010))}]`, {
      agent: "guards: { budget: { max_cost_usd: 1.9 } }",
      team,
    });
    expect(bench.requests).toHaveLength(2);
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(lastResult(bench)).toMatchObject({ cost_usd: 2, cost_exceeded: true });
    expect(bench.ok("get")).toMatchObject({ usage: { cost_usd: 2 } });
  });

  test("EF-37: max_tool_calls", async () => {
    const { bench, probe } = await run(`replies: [${many(5, look)}, ${done}]`, {
      agent: "guards: { budget: { max_tool_calls: 2 } }",
    });
    expect(probe.calls).toHaveLength(2);
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
  });

  test("EF-37: a budget of calls holds inside a reply too: those beyond it are answered and not run", async () => {
    const five = `{ reply: [${many(5, "{ call: look }")}] }`;
    const { bench, probe } = await run(`replies: [${five}, ${done}]`, {
      agent: "guards: { budget: { max_tool_calls: 2 } }",
    });
    expect(probe.calls).toHaveLength(2);
    expect(results(bench).slice(2)).toEqual(
      Array.from(
        { length: 3 },
        () =>
          "error: limit: max_tool_calls: 2 of 2 calls are spent, so this call was not run. Answer without further calls.",
      ),
    );
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-37: 0 means that nothing may be spent", async () => {
    const none = await run(`replies: [${look}, ${done}]`, {
      agent: "guards: { budget: { max_tool_calls: 0 } }",
    });
    expect(none.probe.calls).toEqual([]);
    const mute = await run(`replies: [${done}]`, { agent: "guards: { budget: { max_tokens: 0 } }" });
    expect(mute.bench.requests).toEqual([]);
    expect(ends(mute.bench)).toEqual(["failed:budget_exceeded"]);
  });

  test("EF-37: max_duration counts model time, no tools and no waits", async () => {
    const { bench, probe } = await play(`replies: [${look}, ${look}, ${done}]`, {
      instant: false,
      agent: "guards: { budget: { max_duration: 2m } }",
    });
    bench.send("Go");
    await bench.steps();
    await bench.tick(59_000);
    probe.calls[0]?.finish();
    await bench.steps();
    await bench.tick(59_000);
    probe.instant = true;
    probe.calls[1]?.finish();
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(lastResult(bench).duration_ms).toBe(118_000);
  });

  test("EF-39: what an aborted attempt cost counts", async () => {
    const cut = "{ fail: [{ error: truncated_stream, after_chars: 4 }], reply: [{ text: 'Hello there' }] }";
    const { bench } = await run(`replies: [${cut}]`);
    await bench.pass(120_000);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    const rows = bench.ledger().map(({ outcome, usage }) => [outcome, usage.total] as const);
    expect(rows.map(([outcome]) => outcome)).toEqual(["truncated_stream", "ok"]);
    expect(rows[0]?.[1]).toBeGreaterThan(0);
    const total = rows.reduce((sum, [, tokens]) => sum + tokens, 0);
    expect(lastResult(bench)).toMatchObject({ estimated: true, usage: { total } });
    expect(bench.ok("get")).toMatchObject({ usage: { total } });
  });

  test("SE-9 row 3: the timeout middleware ends a run by wall time, tools included", async () => {
    const agent = "middleware: [{ kind: timeout, params: { duration: 30s, count: wall } }]";
    const { bench, probe } = await play(`replies: [${look}, ${done}]`, { instant: false, agent });
    bench.send("Go");
    await bench.steps();
    await bench.pass(30_000);
    expect(ends(bench)).toEqual(["failed:deadline_exceeded"]);
    expect(results(bench)).toEqual(["cancelled: cancelled: It was running; it may have taken effect."]);
    probe.calls[0]?.finish();
    await bench.idle();
    expect(ends(bench)).toHaveLength(1);
  });
});

describe("SE-36: the window", () => {
  const used = (input: number, cacheRead: number, call = ""): string =>
    `{ reply: [${call === "" ? "{ text: x }" : `{ call: ${call} }`}], usage: { input: ${input}, output: 1, cacheRead: ${cacheRead} } }`;

  test("SE-36 ★: input and cache together are warned of, once", async () => {
    const { bench } = await run(
      `replies: [${used(2_000, 110_000, "look")}, ${used(2_000, 115_000, "look")}, ${used(2_000, 116_000)}]`,
    );
    expect(dataOf(bench, "context_window_warning")).toEqual([
      { kind: "utilization", utilization: 0.875, tokens: 112_000, limit: 128_000 },
    ]);
    expect(dataOf(bench, "turn_metrics")[0]?.utilization).toBe(0.875);
    expect(lastResult(bench).context_utilization).toBe(118_000 / 128_000);
  });

  test("SE-36: armed again once the use fell below; across runs too", async () => {
    const { bench } = await run(
      `replies: [${used(110_000, 0)}, ${used(110_000, 0)}, ${used(10, 0)}, ${used(110_000, 0)}]`,
    );
    for (let index = 0; index < 3; index++) {
      bench.send("Again");
      await bench.idle();
    }
    expect(dataOf(bench, "context_window_warning")).toHaveLength(2);
  });

  test("SE-36: at exactly the threshold, not below", async () => {
    const agent = "options: { context_window_warning_threshold: 0.5 }";
    const at = await run(`replies: [${used(64_000, 0)}]`, { agent });
    expect(dataOf(at.bench, "context_window_warning")).toHaveLength(1);
    const below = await run(`replies: [${used(63_999, 0)}]`, { agent });
    expect(dataOf(below.bench, "context_window_warning")).toEqual([]);
  });
});

describe("SE-44 AP-28: run_end.result", () => {
  const fields = [
    "session_id",
    "run_id",
    "provider",
    "model",
    "reason",
    "duration_ms",
    "turns",
    "max_turns_used",
    "loop_detected",
    "no_progress_detected",
    "cost_exceeded",
    "truncated",
    "breach_verify",
    "tool_calls",
    "tool_counts",
    "files_modified",
    "files_created",
    "files_deleted",
    "usage",
    "cost_usd",
    "estimated",
    "context_utilization",
    "tool_cache_hits",
    "tool_cache_misses",
    "tool_timings",
    "compactions_applied",
    "longest_turn_ms",
    "episode_summary",
    "error",
    "text",
  ].sort();

  test.each([
    ["an answer", `replies: [${done}]`, {}],
    ["a provider error", "replies: [{ fail: [{ status: 401 }], reply: [] }]", {}],
    ["a refusal", "replies: [{ reply: [{ refusal: No. }] }]", {}],
    ["a limit", `replies: [${look}]`, { agent: "options: { max_iterations: 1 }" }],
    ["no budget", `replies: [${look}]`, { agent: "guards: { budget: { max_tokens: 0 } }" }],
  ])("SE-44: all fields are there after %s", async (_, replies, options) => {
    const { bench } = await run(replies, options);
    expect(Object.keys(lastResult(bench)).sort()).toEqual(fields);
  });

  test("SE-44: all fields are there after a cancel", async () => {
    const { bench } = await play(`replies: [${look}]`, { instant: false });
    bench.send("Go");
    await bench.steps();
    bench.ok("cancel");
    await bench.pass(5_000);
    expect(Object.keys(lastResult(bench)).sort()).toEqual(fields);
  });

  test("SE-44 ★: files come from what tools say they changed", async () => {
    const { bench, probe } = await play(`replies: [{ reply: [{ call: put }] }, ${done}]`, { instant: false });
    bench.send("Go");
    await bench.steps();
    probe.calls[0]?.finish({
      content: "ok",
      changes: [
        { path: "a", op: "create" },
        { path: "b", op: "modify" },
        { path: "b", op: "modify" },
        { path: "c", op: "delete" },
        { path: "e", op: "move", from: "d" },
      ],
    });
    await bench.idle();
    expect(lastResult(bench)).toMatchObject({
      files_created: ["a", "e"],
      files_modified: ["b"],
      files_deleted: ["c", "d"],
    });
    expect(dataOf(bench, "file_change")).toHaveLength(5);
  });

  test("SE-44 AP-27: the run's record says the same as its last event", async () => {
    const { bench } = await run(`replies: [${look}, ${done}]`);
    expect(bench.ok("run", { run: "run_1" })).toMatchObject({
      id: "run_1",
      state: "completed",
      reason: "end_turn",
      turns: 2,
      result: lastResult(bench),
    });
    expect(dataOf(bench, "run_end")[0]?.message).toBe(bench.chat().at(-1)?.id);
    expect(lastResult(bench).tool_timings).toEqual({ look: 0 });
  });
});

describe("AP-27: event data", () => {
  test("AP-27: data of more than 64 KiB is cut in the event and whole in the messages", async () => {
    const long = "x".repeat(100_000);
    const { bench } = await play(`replies: [${done}]`);
    bench.send(long);
    await bench.idle();
    const added = bench.events().find(({ type }) => type === "message_added");
    expect(JSON.stringify(added).length).toBeLessThanOrEqual(66_000);
    expect(added?.data).toMatchObject({ truncated: true });
    expect(bench.chat()[0]?.parts).toEqual([{ type: "text", text: long }]);
  });

  test("AP-27: the envelope names run, turn, attempt, call and item where there is one", async () => {
    const { bench } = await run(`replies: [${look}, ${done}]`);
    for (const event of bench.events()) {
      expect(event).toMatchObject({ v: 1, session: bench.id, thread: "main", agent: { name: "tester" } });
      expect(event.id).toBe(`${bench.id}:${event.seq}`);
      if (event.type.startsWith("turn_"))
        expect(event).toMatchObject({ run: "run_1", turn: expect.any(Number) });
      if (event.type.startsWith("llm_")) expect(event.attempt).toBe(1);
      if (event.type.startsWith("tool_call")) expect(typeof event.call).toBe("string");
    }
    const final = dataOf(bench, "message_added").map(({ message, final }) => [message.role, final]);
    expect(final).toEqual([
      ["user", false],
      ["assistant", false],
      ["tool", false],
      ["assistant", true],
    ]);
  });

  test("AP-27: the request's size is told before it leaves", async () => {
    const { bench } = await run(`replies: [${done}]`);
    expect(dataOf(bench, "llm_request_start")[0]).toMatchObject({
      purpose: "turn",
      messages: 1,
      tools: bench.requests[0]?.tools.length,
    });
  });
});
