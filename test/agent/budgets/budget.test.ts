import { describe, expect, test } from "vitest";
import type { Engine } from "../../../src/engine/engine.ts";
import { memoryTables } from "../../engine/access/tables.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import { createProbe } from "../../support/probe.ts";
import { claims, done, look, replies, scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { dataOf, ends, lastResult, play, results, run, textsOf } from "../loop/play.ts";

const many = (count: number, reply: string): string => Array.from({ length: count }, () => reply).join(", ");

/** A reply that claims so many tokens. */
const final = (total: number): string => claims(total, "{ text: Done. }");

const budget = (keys: string, more = ""): string => `guards: { budget: { ${keys} } }\n${more}`;

/** A dollar for a million tokens, whatever they are. */
const priced = "models: { play: { price: { input: 1, output: 1, cache_read: 1, cache_write: 1 } } }";

const estimates = (bench: Bench): readonly number[] =>
  dataOf(bench, "llm_request_start").map(({ estimated_tokens }) => estimated_tokens);

describe("EF-38: room before each call", () => {
  test("EF-38: two calls of $0.006 fit a cap of $0.01 by their reservations; a third is never asked", async () => {
    const { bench } = await run(replies(many(5, claims(6_000))), {
      agent: budget("max_cost_usd: 0.01", "max_tokens: 1000"),
      team: priced,
    });
    expect(bench.requests).toHaveLength(2);
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(lastResult(bench)).toMatchObject({ cost_usd: 0.012, cost_exceeded: true, max_turns_used: false });
    expect(dataOf(bench, "budget_reached")).toEqual([
      { scope: "run", kind: "max_cost_usd", limit: 0.01, spent: 0.012 },
    ]);
    expect(results(bench)).toHaveLength(2);
  });

  test("EF-38: a finishing turn over the cap: its reply is kept, cost_exceeded is set", async () => {
    const { bench } = await run(replies(final(20_000)), {
      agent: budget("max_cost_usd: 0.01"),
      team: priced,
    });
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(lastResult(bench)).toMatchObject({ text: "Done.", cost_exceeded: true, cost_usd: 0.02 });
    expect(dataOf(bench, "run_end")[0]?.message).toBe(bench.chat().at(-1)?.id);
    expect(dataOf(bench, "turn_metrics")).toHaveLength(1);
  });

  test("EF-38: a finishing turn that spends the cap to the last token is completed", async () => {
    const { bench } = await run(replies(final(20_000)), { agent: budget("max_tokens: 20000") });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(lastResult(bench).cost_exceeded).toBe(false);
  });

  test("EF-38: the request's max output is lowered to what is left", async () => {
    const { bench } = await run(replies(claims(4_000), done), { agent: budget("max_tokens: 6000") });
    const [first = 0, second = 0] = estimates(bench);
    expect(bench.requests.map(({ maxTokens }) => maxTokens)).toEqual([6_000 - first, 2_000 - second]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-38: at exactly 256 tokens of output the call is made, at 255 it is not", async () => {
    const free = await run(replies(claims(2_000), done));
    const [, second = 0] = estimates(free.bench);
    const at = await run(replies(claims(2_000), done), {
      agent: budget(`max_tokens: ${2_000 + second + 256}`),
    });
    expect(at.bench.requests.map(({ maxTokens }) => maxTokens)[1]).toBe(256);
    expect(ends(at.bench)).toEqual(["completed:end_turn"]);
    const below = await run(replies(claims(2_000), done), {
      agent: budget(`max_tokens: ${2_000 + second + 255}`),
    });
    expect(below.bench.requests).toHaveLength(1);
    expect(lastResult(below.bench)).toMatchObject({ reason: "budget_exceeded", turns: 1 });
    expect(lastResult(below.bench).error).toBe(
      `max_tokens: 2000 of ${2_000 + second + 255} tokens are spent; the next call needs at least ${second + 256}`,
    );
  });

  test("EF-38: an agent whose output is capped below 256 tokens needs room for no more than that", async () => {
    const free = await run(replies(done), { agent: "max_tokens: 50" });
    const [first = 0] = estimates(free.bench);
    const agent = (limit: number): string => budget(`max_tokens: ${limit}`, "max_tokens: 50");
    const fits = await run(replies(claims(10, "{ text: Ok. }")), { agent: agent(first + 50) });
    expect(fits.bench.requests).toHaveLength(1);
    const lacks = await run(replies(done), { agent: agent(first + 49) });
    expect(lacks.bench.requests).toEqual([]);
  });

  test("EF-38 MO-36: a cost limit lowers the output by its price, and counts what a cache write costs", async () => {
    const price = "models: { play: { price: { input: 1, output: 10, cache_write: 2 } } }";
    const { bench } = await run(replies(done), { agent: budget("max_cost_usd: 0.02"), team: price });
    const [input = 0] = estimates(bench);
    expect(bench.requests[0]?.maxTokens).toBe(Math.floor((20_000 - 2 * input) / 10));
  });

  test("EF-37: what the model is free to say costs nothing where it has no price, and a free model fits a cap of 0", async () => {
    const free = "models: { play: { price: { input: 0, output: 0 } } }";
    const { bench } = await run(replies(done), { agent: budget("max_cost_usd: 0"), team: free });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    const dear = await run(replies(done), { agent: budget("max_cost_usd: 0"), team: priced });
    expect(dear.bench.requests).toEqual([]);
    expect(lastResult(dear.bench)).toMatchObject({
      reason: "budget_exceeded",
      cost_exceeded: true,
      turns: 0,
    });
  });

  test("EF-38: a retried attempt needs room again, with what the aborted one was billed", async () => {
    const cut = "{ fail: [{ error: truncated_stream, after_chars: 4 }], reply: [{ text: 'Hello there' }] }";
    const first = await run(replies(cut));
    const [input = 0] = estimates(first.bench);
    const { bench } = await run(replies(cut), { agent: budget(`max_tokens: ${2 * input + 200}`) });
    await bench.pass(120_000);
    expect(bench.requests).toHaveLength(1);
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(dataOf(bench, "turn_end")).toHaveLength(1);
  });

  test("EF-39 ★: two sessions on one provider are independent", async () => {
    const yaml = scripted(replies(claims(3_000), final(3_000)), budget("max_tokens: 8000"));
    const probe = createProbe();
    const engine = await engineOf(yaml, { toolboxes: [probe.toolbox] });
    const { tables } = memoryTables();
    const ids = [
      "s_aaaaaaaaaaaaaaaaaaaaaaaaaa",
      "s_bbbbbbbbbbbbbbbbbbbbbbbbbb",
      "s_cccccccccccccccccccccccccc",
    ];
    for (const id of ids) {
      const bench = openBench({ engine, id, tables });
      bench.ok("create");
      bench.send("Go");
      await bench.idle();
      expect(ends(bench), id).toEqual(["completed:end_turn"]);
    }
  });

  test("EF-37 ★: cached tokens are billed once", async () => {
    const cached = "{ reply: [{ text: Ok. }], usage: { input: 10, output: 0, cacheRead: 90 } }";
    const price = "models: { play: { price: { input: 100, output: 100, cache_read: 10 } } }";
    const { bench } = await run(replies(cached), { agent: budget("max_cost_usd: 5"), team: price });
    expect(lastResult(bench).cost_usd).toBe((10 * 100 + 90 * 10) / 1e6);
    expect(bench.state().spent).toMatchObject({ usage: { total: 100 }, cost: (10 * 100 + 90 * 10) * 1_000 });
  });
});

describe("EF-37: model time", () => {
  /** An engine whose calls take so long each, by their own account. */
  const slow = (engine: Engine, minutes: readonly number[]): Engine => {
    let calls = 0;
    return {
      ...engine,
      agent: (...given) => {
        const agent = engine.agent(...given);
        const targets = agent.targets.map((target) => ({
          ...target,
          completer: {
            ...target.completer,
            complete: async (...asked: Parameters<typeof target.completer.complete>) => ({
              ...(await target.completer.complete(...asked)),
              totalMs: (minutes[calls++] ?? 0) * 60_000,
            }),
          },
        }));
        return { ...agent, targets };
      },
    };
  };

  const timed = async (limit: string, minutes: readonly number[], agent?: string): Promise<Bench> => {
    const probe = createProbe(false);
    const yaml = scripted(replies(look, look, done), agent ?? budget(`max_duration: ${limit}`));
    const bench = openBench({ engine: slow(await engineOf(yaml, { toolboxes: [probe.toolbox] }), minutes) });
    bench.ok("create");
    bench.send("Go");
    await bench.steps();
    await bench.tick(300_000);
    probe.instant = true;
    for (const call of probe.calls) call.finish();
    await bench.idle();
    return bench;
  };

  test("EF-37: 2 minutes of model, 5 of a tool, 3 of model are 5 minutes", async () => {
    const spent = await timed("5m", [2, 3]);
    expect(ends(spent)).toEqual(["failed:budget_exceeded"]);
    expect(spent.requests).toHaveLength(2);
    expect(lastResult(spent).error).toBe("max_duration: 300 of 300 s of model time are spent");
    expect(dataOf(spent, "budget_reached")).toEqual([
      { scope: "run", kind: "max_duration", limit: 300_000, spent: 300_000 },
    ]);
    const left = await timed("5m1s", [2, 3]);
    expect(ends(left)).toEqual(["completed:end_turn"]);
  });

  test("EF-40: time_budget is max_duration, with its warning", async () => {
    const agent = "effects: [{ kind: time_budget, params: { max_duration: 5m, warn_threshold: 0.4 } }]";
    const yaml = scripted(replies(look, look, done)).replace("    effects: []\n", `    ${agent}\n`);
    const probe = createProbe();
    const bench = openBench({ engine: slow(await engineOf(yaml, { toolboxes: [probe.toolbox] }), [2, 3]) });
    bench.ok("create");
    bench.send("Go");
    await bench.idle();
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(dataOf(bench, "budget_warning")).toEqual([
      { scope: "run", kind: "max_duration", limit: 300_000, spent: 120_000 },
    ]);
  });
});

describe("EF-37: dispatched calls", () => {
  test("EF-37: a model that only wants to answer may, after its calls are used up", async () => {
    const { bench, probe } = await run(replies(look, look, look, done), {
      agent: budget("max_tool_calls: 2"),
    });
    expect(probe.calls).toHaveLength(2);
    expect(results(bench)).toEqual([
      "ok: look() done",
      "ok: look() done",
      "error: limit: max_tool_calls: 2 of 2 calls are spent, so this call was not run. Answer without further calls.",
    ]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(dataOf(bench, "budget_reached")).toEqual([
      { scope: "run", kind: "max_tool_calls", limit: 2, spent: 2 },
    ]);
    expect(lastResult(bench).tool_calls).toBe(2);
  });

  test("EF-37: a model that insists in a further turn ends its run", async () => {
    const { bench, probe } = await run(replies(look, look, look, done), {
      agent: budget("max_tool_calls: 1"),
    });
    expect(probe.calls).toHaveLength(1);
    expect(bench.requests).toHaveLength(3);
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(lastResult(bench).error).toContain("max_tool_calls: 1 of 1 calls");
    expect(results(bench)).toHaveLength(3);
    expect(dataOf(bench, "budget_reached")).toHaveLength(1);
  });

  test("EF-37: refused in one reply together, or again in the next run: that is not insisting", async () => {
    const three = `{ reply: [${many(3, "{ call: look }")}] }`;
    const { bench, probe } = await run(replies(three, done, three, done), {
      agent: budget("max_tool_calls: 1"),
    });
    bench.send("Again");
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
    expect(probe.calls).toHaveLength(2);
  });
});

describe("SE-9: turns", () => {
  test("SE-9 SE-14: a repair turn is made though the turns are used up", async () => {
    const agent = "options: { max_iterations: 1, response_format: json_object }";
    const { bench } = await run("replies: [{ reply: [{ text: No. }] }, { reply: [{ text: '{}' }] }]", {
      agent,
    });
    expect(bench.requests).toHaveLength(2);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });
});

describe("EF-37: warnings", () => {
  const warnings = (bench: Bench) => dataOf(bench, "budget_warning");
  const notes = (bench: Bench): readonly string[] =>
    bench
      .chat()
      .filter(({ sender }) => sender === "budget")
      .map(textsOf);

  test("EF-37: one note and one warning per kind and run, at 0.8 by default", async () => {
    const { bench } = await run(replies(claims(3_000), claims(5_000), claims(500), final(400)), {
      agent: budget("max_tokens: 10000"),
    });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(warnings(bench)).toEqual([{ scope: "run", kind: "max_tokens", limit: 10_000, spent: 8_000 }]);
    expect(notes(bench)).toEqual([
      "Used of the run's budget max_tokens: 8000 of 10000 tokens. Bring the work to an end, or hand over what you have.",
    ]);
    bench.send("Again");
    await bench.idle();
    expect(warnings(bench)).toHaveLength(1);
  });

  test("EF-37 EF-2 ★: a warning that is due while a reply has calls stands behind their results, and the model reads it next", async () => {
    const { bench } = await run(replies(claims(8_500), done), { agent: budget("max_tokens: 10000") });
    expect(bench.chat().map(({ role, sender }) => sender ?? role)).toEqual([
      "user",
      "assistant",
      "tool",
      "budget",
      "assistant",
    ]);
    const shown = bench.requests[1]?.messages.at(-1);
    expect(textsOf(shown ?? { parts: [] })).toMatch(/^<note from="budget">Used of .*<\/note>$/s);
  });

  test("EF-37: a warning with a text that was cut off is read before the text goes on", async () => {
    const cut = "{ reply: [{ text: 'A long' }], finish: length, usage: { input: 8490, output: 10 } }";
    const { bench } = await run(replies(cut, done), { agent: budget("max_tokens: 10000") });
    const [, second] = bench.requests;
    expect(second?.messages.map(textsOf).join("\n")).toContain('<note from="budget">');
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-37: the next run is warned anew, each kind for itself", async () => {
    const agent = budget("max_tokens: 10000, max_tool_calls: 2, warn_at: 0.5");
    const { bench } = await run(replies(claims(6_000), done, claims(6_000), done), { agent });
    bench.send("Again");
    await bench.idle();
    expect(warnings(bench).map(({ kind }) => kind)).toEqual([
      "max_tokens",
      "max_tool_calls",
      "max_tokens",
      "max_tool_calls",
    ]);
    expect(notes(bench)).toHaveLength(4);
  });

  test("SE-3 EF-37 ★: a warning with the reply that ends the run by a terminal tool leaves one result for each call", async () => {
    const { bench } = await run(replies(claims(9_000, "{ call: submit }")), {
      agent: budget("max_tokens: 10000"),
    });
    expect(ends(bench)).toEqual(["completed:terminal_tool"]);
    expect(results(bench)).toEqual(["ok: submit() done"]);
  });

  test("EF-37: a warning with the last answer is told to watchers only", async () => {
    const { bench } = await run(replies(final(9_000)), { agent: budget("max_tokens: 10000") });
    expect(warnings(bench)).toHaveLength(1);
    expect(notes(bench)).toEqual([]);
  });

  test("EF-40 ★: token_budget from YAML ends the run as max_tokens does, and warns at its own share", async () => {
    const effects =
      "    effects: [{ kind: token_budget, params: { max_tokens: 9000, warn_threshold: 0.3 } }]\n";
    const yaml = scripted(replies(many(5, claims(3_000)))).replace("    effects: []\n", effects);
    const { bench } = await run("", { yaml });
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(lastResult(bench).error).toContain("max_tokens: ");
    expect(warnings(bench)).toEqual([{ scope: "run", kind: "max_tokens", limit: 9_000, spent: 3_000 }]);
  });

  test("EF-37: run_start tells the smallest limits", async () => {
    const { bench } = await run(replies(done), {
      agent: budget("max_tokens: 9000, max_duration: 2m"),
      team: "budgets: { run: { max_tokens: 8000, max_tool_calls: 'off', max_cost_usd: 4 } }",
    });
    expect(dataOf(bench, "run_start")[0]?.budget).toEqual({
      max_tokens: 8_000,
      max_cost_usd: 4,
      max_duration: 120_000,
      max_tool_calls: null,
    });
  });
});

test("EF-38 AP-18: a message whose run no budget allows is answered with that run and its end", async () => {
  const { bench } = await play(replies(final(100)), { agent: budget("max_tokens: 10") });
  expect(bench.ok("send", { content: "Go" })).toMatchObject({ run: "run_1", run_state: "failed" });
});
