import { describe, expect, test } from "vitest";
import type { Tables } from "../../../src/engine/access/database.ts";
import type { Engine } from "../../../src/engine/engine.ts";
import { memoryTables } from "../../engine/access/tables.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { engineOf } from "../../support/teams.ts";
import { settle } from "../../support/power-cut.ts";
import { createBigTool } from "../../support/probe.ts";
import { dataOf, ends, lastResult, onlyAsk } from "../loop/play.ts";

/** Summaries are model calls, too: reserved, booked and leased like any other (EF-26, EF-37, RE-4). */

const big = createBigTool("x".repeat(16_000));

const turns = Array.from(
  { length: 5 },
  (_, n) => `- { name: t${n + 1}, when: { turn: ${n + 1} }, reply: [{ text: "Turn." }, { call: big }] }`,
);

const yamlOf = (budget: string, team = ""): string => `
providers:
  - name: own
    kind: scripted
    model: cheap
    context_window: 20000
    script:
      script: 1
      pace: { chunk: 4000, delay_ms: 0 }
      scenes:
        ${turns.join("\n        ")}
        - { name: done, reply: [{ text: Done. }] }
  - name: dear
    kind: scripted
    model: dear
    script:
      script: 1
      scenes: [{ name: tells, reply: [{ text: A summary of all that. }], usage: { input: 900, output: 100 } }]
models:
  cheap: { price: { input: 1, output: 1 } }
  dear: { price: { input: 1000, output: 1000 } }
agents:
  - name: tester
    toolboxes: [probe]
    permissions: { preset: open }
    max_tokens: 1000
    guards: { tool_loops: false, budget: { ${budget} } }
    effects: [{ kind: compact, params: { threshold: 0.8, target: 0.3, summary_provider: dear } }]
${team}`;

/** An engine that tells how long each summary may be. */
const watched = (engine: Engine, asked: number[]): Engine => ({
  ...engine,
  agent: (...given) => {
    const agent = engine.agent(...given);
    const before = agent.effects.before.map((bound) => {
      if (bound.target === undefined || bound.target === null) return bound;
      const { completer } = bound.target;
      const complete: typeof completer.complete = (request, options) => {
        asked.push(request.maxTokens);
        return completer.complete(request, options);
      };
      return { ...bound, target: { ...bound.target, completer: { ...completer, complete } } };
    });
    return { ...agent, effects: { ...agent.effects, before } };
  },
});

interface Ran {
  readonly bench: Bench;
  /** Most tokens of each summary that was asked for. */
  readonly summaries: readonly number[];
  readonly tables: Tables;
}

const started = async (budget: string, team = "", yaml = yamlOf(budget, team)): Promise<Ran> => {
  const probe = { name: "probe", description: "Probes.", tools: [big] };
  const summaries: number[] = [];
  const { tables } = memoryTables();
  const engine = await engineOf(yaml, { toolboxes: [probe] });
  const bench = openBench({ engine: watched(engine, summaries), tables });
  bench.ok("create");
  bench.send("Go");
  await bench.idle();
  return { bench, summaries, tables };
};

const ran = async (budget: string, team = ""): Promise<Ran> => {
  const done = await started(budget, team);
  await settle(done.bench);
  checkInvariants(done.bench, ["in_1"]);
  return done;
};

test.each(["usage: null", "fail: [{ error: truncated_stream, times: 1 }]"])(
  "MO-32 EF-26: a summary of which the provider reports no tokens is booked with those that it was sent (%s)",
  async (how) => {
    const usage = "usage: { input: 900, output: 100 }";
    const yaml = yamlOf("max_cost_usd: 99").replace(usage, how);
    const { bench } = await started("", "", yaml);
    const [sent] = dataOf(bench, "llm_request_start").filter(({ purpose }) => purpose === "compaction");
    const [row] = bench.ledger().filter(({ purpose }) => purpose === "compaction");
    expect(sent).toBeDefined();
    expect(row).toMatchObject({ estimated: true, usage: { input: sent?.estimated_tokens } });
  },
);

test("EF-26 RE-4: a summary is booked on the run, the session and the lease", async () => {
  const { bench, summaries, tables } = await ran("max_cost_usd: 9");
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(summaries).toHaveLength(1);
  const rows = bench.ledger();
  expect(rows.filter(({ purpose }) => purpose === "compaction").map(({ cost }) => cost)).toEqual([
    1_000_000_000,
  ]);
  const total = rows.reduce((sum, { cost }) => sum + (cost ?? 0), 0);
  const {
    spent,
    funds: { tenant },
  } = bench.state();
  expect(spent.cost).toBe(total);
  const [day] = tables.read("SELECT cost FROM days");
  expect(Number(day?.["cost"] ?? 0) + (tenant.lease?.used.cost ?? 0)).toBe(total);
  expect(lastResult(bench).cost_usd).toBe(total / 1e9);
});

test("EF-38: a summary that the budget has no room for is not asked for: the run ends, as with any other call", async () => {
  const { bench, summaries } = await ran("max_cost_usd: 0.4");
  expect(summaries).toEqual([]);
  expect(dataOf(bench, "budget_reached")).toMatchObject([{ scope: "run", kind: "max_cost_usd", limit: 0.4 }]);
  expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
  expect(lastResult(bench).error).toMatch(/^max_cost_usd: .* of 0.4 USD/);
  expect(dataOf(bench, "compaction")).toEqual([]);
});

test("RE-4: nor is one that the tenant's day has no room for", async () => {
  const { bench, summaries } = await ran("max_cost_usd: 9", "budgets: { tenant: { max_cost_usd: 0.4 } }");
  expect(summaries).toEqual([]);
  expect(dataOf(bench, "budget_reached")).toMatchObject([{ scope: "tenant", kind: "max_cost_usd" }]);
  expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
});

describe("EF-37: a summary without room under on_exceeded: ask", () => {
  const asking = "max_cost_usd: 0.4, on_exceeded: ask";

  test("the run waits for an answer, without an alarm before its end, over a restart", async () => {
    const { bench, summaries } = await started(asking);
    const [ask] = Object.values(bench.state().asks);
    expect(ask).toMatchObject({ kind: "budget", call: "", budget: { kind: "max_cost_usd", limit: 0.4 } });
    const waits = { kind: "ask", ask: ask?.id, until: ask?.expires_at };
    expect(dataOf(bench, "run_waiting").at(-1)).toEqual({ on: [waits] });
    expect(bench.ok("get")).toMatchObject({ status: "waiting", waiting_for: [waits] });
    expect(bench.alarm()).toBe(ask?.expires_at);
    bench.crash();
    await bench.idle();
    expect(bench.alarm()).toBe(ask?.expires_at);
    expect(summaries).toEqual([]);
  });

  test("an answer raises it: the summary is made, and the same run goes on", async () => {
    const { bench, summaries } = await started(asking);
    bench.ok("answer", { ask: onlyAsk(bench), decision: "approve", limit: 9 });
    await settle(bench);
    expect(summaries).toHaveLength(1);
    expect(dataOf(bench, "compaction").map(({ stage }) => stage)).toContain("full");
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(dataOf(bench, "run_start")).toHaveLength(1);
    checkInvariants(bench, ["in_1"]);
  });

  test("without an answer it stops when the ask expires", async () => {
    const { bench, summaries } = await started(asking);
    await settle(bench);
    expect(summaries).toEqual([]);
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    checkInvariants(bench, ["in_1"]);
  });
});

test("EF-38: a summary's output is lowered to what is left", async () => {
  const [asked = 0] = (await ran("max_cost_usd: 9")).summaries;
  const [lowered = 0] = (await ran("max_cost_usd: 1.6")).summaries;
  expect(lowered).toBeLessThan(asked);
  expect(lowered).toBeGreaterThanOrEqual(256);
});
