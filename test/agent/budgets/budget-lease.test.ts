import { describe, expect, test } from "vitest";
import type { LeaseAnswer, LeaseRequest } from "../../../src/agent/budgets/lease.ts";
import { drawLease, settleLease } from "../../../src/engine/access/tenant/days.ts";
import { memoryTables } from "../../engine/access/tables.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import type { Member } from "../../support/crew.ts";
import { crewYaml, spawn, task } from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { createProbe } from "../../support/probe.ts";
import { replies, said, scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { dataOf, ends, lastResult, onlyAsk, results } from "../loop/play.ts";

/** A tenant's day, drawn in leases (RE-4). */

const look = "{ call: look }";

const claims = (total: number, piece = look): string =>
  `{ reply: [${piece}], usage: { input: ${total - 10}, output: 10 } }`;

const final = (total: number): string => claims(total, "{ text: Done. }");

const listed = (...each: readonly string[]): string => `replies: [${each.join(", ")}]`;

interface Stage {
  readonly bench: Bench;
  readonly requests: readonly LeaseRequest[];
  readonly answers: readonly LeaseAnswer[];
  readonly tables: ReturnType<typeof memoryTables>["tables"];
  /** While true nobody answers. */
  down: boolean;
  /** What the session says when it has come to rest. */
  readonly report: () => void;
  /** Spent on the day by what was settled, and what is out in leases. */
  readonly day: () => { readonly spent: number; readonly out: number };
}

const open = async (
  yaml: string,
  given: Partial<Pick<Stage, "tables">> & { readonly id?: string; readonly create?: object } = {},
): Promise<Stage> => {
  const tables = given.tables ?? memoryTables().tables;
  const probe = createProbe();
  const requests: LeaseRequest[] = [];
  const answers: LeaseAnswer[] = [];
  const state = { down: false };
  const bench = openBench({
    engine: await engineOf(yaml, { toolboxes: [probe.toolbox] }),
    ...(given.id === undefined ? {} : { id: given.id }),
    lease: async (request) => {
      requests.push(request);
      if (state.down) throw new Error("nobody is there");
      const answer = drawLease(tables, request, bench.now());
      answers.push(answer);
      return answer;
    },
  });
  bench.ok("create", given.create ?? {});
  const sum = (table: string): number =>
    Number(tables.read(`SELECT sum(tokens) AS sum FROM ${table}`)[0]?.["sum"] ?? 0);
  return {
    bench,
    requests,
    answers,
    tables,
    get down() {
      return state.down;
    },
    set down(on) {
      state.down = on;
    },
    report: () => {
      const { lease } = bench.state().funds.tenant;
      if (lease?.closed !== true) return;
      tables.write((all) => settleLease(all, bench.id, { id: lease.id, used: lease.used }));
    },
    day: () => ({ spent: sum("days"), out: sum("leases") }),
  };
};

const perDay = (keys: string): string => `budgets: { tenant: { ${keys} } }`;

const go = async ({ bench }: Stage, text = "Go"): Promise<void> => {
  bench.send(text);
  await bench.idle();
};

/** A script whose replies cost 900 tokens and may have 500 of output. */
const yamlOf = (limit: number, ...each: readonly string[]): string =>
  scripted(listed(...each), "max_tokens: 500", perDay(`max_tokens: ${limit}`));

describe("RE-4: leases", () => {
  test("RE-4: one hop per lease, not per call; what was not used goes back when the run has ended", async () => {
    const stage = await open(yamlOf(640_000, ...Array.from({ length: 12 }, () => claims(900)), final(900)));
    await go(stage);
    expect(ends(stage.bench)).toEqual(["completed:end_turn"]);
    expect(stage.bench.requests).toHaveLength(13);
    expect(stage.requests.length).toBeLessThanOrEqual(3);
    expect(stage.bench.state().funds.tenant.lease?.closed).toBe(true);
    stage.report();
    expect(stage.day()).toEqual({ spent: 13 * 900, out: 0 });
    expect(stage.bench.alarm()).toBeNull();
  });

  test("RE-4: nothing is asked where the day bounds nothing, or only a cost that there is not", async () => {
    const off = scripted(listed(final(900)), "", perDay("max_cost_usd: 'off'"));
    const free = scripted(listed(final(900)), "", perDay("max_cost_usd: 3"));
    for (const yaml of [off, free]) {
      const stage = await open(yaml);
      await go(stage);
      expect(stage.requests).toEqual([]);
      expect(ends(stage.bench)).toEqual(["completed:end_turn"]);
    }
  });

  test("RE-3: by default a tenant may spend 100 USD a day", async () => {
    const price = "models: { play: { price: { input: 1, output: 1 } } }";
    const stage = await open(scripted(listed(final(900)), "", price));
    await go(stage);
    expect(stage.requests).toHaveLength(1);
    expect(stage.requests[0]?.limits).toEqual({ cost: 100_000_000_000 });
  });

  test("RE-3: a day that is used up ends the run, whatever on_exceeded says, and inputs are refused for a minute", async () => {
    const yaml = scripted(
      listed(claims(900), claims(900), claims(900), final(900)),
      "max_tokens: 500",
      perDay("max_tokens: 3000, on_exceeded: ask"),
    );
    const stage = await open(yaml);
    await go(stage);
    const { bench } = stage;
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(dataOf(bench, "budget_reached")).toEqual([
      { scope: "tenant", kind: "max_tokens", limit: 3_000, spent: expect.any(Number) },
    ]);
    expect(lastResult(bench).error).toMatch(/^max_tokens of the tenant's day: \d+ of 3000 tokens are spent/);
    expect(bench.perform("send", { content: "More" })).toMatchObject({
      ok: false,
      problem: { code: "budget_exceeded", retryAfterMs: 60_000 },
    });
    await bench.pass(60_000);
    expect(bench.perform("send", { content: "More" }).ok).toBe(true);
    await bench.idle();
    expect(ends(bench)).toHaveLength(2);
    checkInvariants(bench, ["in_1"]);
  });

  test("SE-27 RE-3: what is queued behind a run that the day ended goes back to its sender", async () => {
    const stage = await open(yamlOf(600, final(900)));
    stage.bench.send("One");
    stage.bench.send("Two", { on_busy: "queue" });
    await stage.bench.idle();
    expect(dataOf(stage.bench, "input_returned")).toEqual([
      { input: "in_2", content: expect.anything(), reason: "no_budget" },
    ]);
    expect(ends(stage.bench)).toEqual(["failed:budget_exceeded"]);
  });

  test("RE-3: the next day has a budget of its own", async () => {
    const stage = await open(yamlOf(2_200, final(900), final(900), final(900), final(900)));
    for (let run = 0; run < 3; run++) {
      await go(stage);
      stage.report();
    }
    expect(ends(stage.bench).at(-1)).toBe("failed:budget_exceeded");
    await stage.bench.pass(86_400_000);
    await go(stage);
    expect(ends(stage.bench).at(-1)).toBe("completed:end_turn");
  });

  test("RE-4: a lease of yesterday is not spent from", async () => {
    const stage = await open(
      yamlOf(640_000, "{ reply: [{ call: ask_user, args: { question: 'Which?' } }] }", final(900)),
    );
    await go(stage);
    expect(stage.bench.state().funds.tenant.lease?.closed).toBe(true);
    const [ask = ""] = Object.keys(stage.bench.state().asks);
    await stage.bench.pass(20 * 3_600_000);
    stage.bench.ok("answer", { ask, decision: "answer", text: "this" });
    await stage.bench.idle();
    expect(stage.requests).toHaveLength(2);
    expect(stage.requests[1]?.settles?.id).toBe("1");
  });

  test("RE-4: a run that works over midnight pays each call from the day it is made on", async () => {
    const stage = await open(yamlOf(640_000, claims(900), final(900)));
    const { bench } = stage;
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    await bench.tick(2 * 3_600_000);
    bench.release();
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    const days = stage.answers.map((answer) => answer.until);
    expect(days).toHaveLength(2);
    expect((days[1] ?? 0) - (days[0] ?? 0)).toBe(86_400_000);
  });

  test("RE-4: a session that waits for people gives its lease back, one that waits for a retry keeps it", async () => {
    const retry =
      "{ fail: [{ status: 529, retry_after: 20 }], reply: [{ call: ask_user, args: { question: 'Which?' } }] }";
    const stage = await open(yamlOf(640_000, retry, final(900)));
    await go(stage);
    expect(stage.bench.state().funds.tenant.lease?.closed).toBe(false);
    await stage.bench.pass(40_000);
    expect(dataOf(stage.bench, "ask_user")).toHaveLength(1);
    expect(stage.bench.state().funds.tenant.lease?.closed).toBe(true);
    stage.report();
    expect(stage.day().out).toBe(0);
    stage.bench.ok("answer", { ask: onlyAsk(stage.bench), decision: "answer", text: "this" });
    await stage.bench.idle();
    expect(ends(stage.bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-38: a lease that is smaller than the worst case makes the reply shorter", async () => {
    const stage = await open(yamlOf(1_200, final(600)));
    await go(stage);
    const [input = 0] = dataOf(stage.bench, "llm_request_start").map(
      ({ estimated_tokens }) => estimated_tokens,
    );
    expect(stage.bench.requests[0]?.maxTokens).toBe(Math.min(500, 1_200 - input));
    const tight = await open(yamlOf(input + 300, final(600)));
    await go(tight);
    expect(tight.bench.requests[0]?.maxTokens).toBe(300);
    const short = await open(yamlOf(input + 255, final(600)));
    await go(short);
    expect(short.bench.requests).toEqual([]);
    expect(ends(short.bench)).toEqual(["failed:budget_exceeded"]);
  });

  test("EF-37: the day's budget warns once per run", async () => {
    const stage = await open(yamlOf(4_000, claims(900), claims(900), final(300), final(300)));
    await go(stage);
    stage.report();
    await go(stage);
    const warned = dataOf(stage.bench, "budget_warning");
    expect(
      warned.every(
        ({ scope, kind, limit }) => scope === "tenant" && kind === "max_tokens" && limit === 4_000,
      ),
    ).toBe(true);
    expect(warned.length).toBeLessThanOrEqual(2);
  });

  test("RE-4: the sessions of a tenant share its day, those of another do not", async () => {
    const { tables } = memoryTables();
    const yaml = yamlOf(2_200, final(900));
    const ids = ["a", "b", "c", "d", "e"].map((letter) => `s_${letter.repeat(26)}`);
    const outcomes: string[] = [];
    for (const id of ids) {
      const stage = await open(yaml, { id, tables });
      await go(stage);
      stage.report();
      outcomes.push(ends(stage.bench)[0] ?? "");
    }
    expect(outcomes).toEqual([
      "completed:end_turn",
      "completed:end_turn",
      "failed:budget_exceeded",
      "failed:budget_exceeded",
      "failed:budget_exceeded",
    ]);
  });
});

describe("RE-4: calls and trees", () => {
  test("EF-37: calls of the day: beyond them a call is refused, and the model may answer", async () => {
    const reply = `{ reply: [${look}, ${look}, ${look}] }`;
    const yaml = scripted(listed(reply, final(100)), "", perDay("max_tool_calls: 2, max_cost_usd: 'off'"));
    const stage = await open(yaml);
    await go(stage);
    expect(results(stage.bench).map((each) => each.slice(0, 40))).toEqual([
      "ok: look() done",
      "ok: look() done",
      expect.stringContaining("error: limit: max_tool_calls"),
    ]);
    expect(ends(stage.bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-37 RE-4: a call that a person approves after midnight is not refused for the calls of yesterday", async () => {
    const reply = `{ reply: [{ call: fire }, ${look}] }`;
    const rules = "permissions: { rules: [{ tool: fire, action: ask, ask_timeout: 1d }] }";
    const day = perDay("max_tool_calls: 1, max_cost_usd: 'off'");
    const stage = await open(scripted(listed(reply, final(100)), "", `${day}\n${rules}`));
    await go(stage);
    await stage.bench.pass(20 * 3_600_000);
    stage.bench.ok("answer", { ask: onlyAsk(stage.bench), decision: "approve" });
    await stage.bench.idle();
    expect(results(stage.bench)).toEqual(["ok: fire() done", "ok: look() done"]);
    expect(ends(stage.bench)).toEqual(["completed:end_turn"]);
  });

  const lead: Member = {
    name: "lead",
    script: replies(said(spawn([task("coder"), task("coder"), task("coder")])), said("Done.")),
  };
  const coder: Member = {
    name: "coder",
    script: replies(said(["look", {}]), said("Done.")),
    yaml: "max_tokens: 2000",
  };

  test("RE-4: threads that draw at the same time all get what they need", async () => {
    const stage = await open(crewYaml([lead, coder], perDay("max_tokens: 200000")));
    await go(stage);
    expect(ends(stage.bench)).toHaveLength(4);
    expect(ends(stage.bench).every((end) => end === "completed:end_turn")).toBe(true);
    stage.report();
    expect(stage.day()).toEqual({ spent: stage.bench.state().spent.usage.total, out: 0 });
    checkInvariants(stage.bench, ["in_1"]);
  });

  test("EF-38 RE-4: where the day pays for one call at a time, the others wait for it", async () => {
    const brief: Member = { name: "coder", script: replies(said("Done.")), yaml: "max_tokens: 6000" };
    const stage = await open(
      crewYaml([{ ...lead, yaml: "max_tokens: 300" }, brief], perDay("max_tokens: 12800")),
    );
    const { bench } = stage;
    await go(stage);
    expect(ends(bench)).toHaveLength(1);
    expect(dataOf(bench, "run_waiting").some(({ on }) => on[0]?.kind === "retry")).toBe(true);
    for (let round = 0; round < 40 && ends(bench).length < 4; round++) await bench.pass(5_000);
    expect(ends(bench)).toEqual(Array.from({ length: 4 }, () => "completed:end_turn"));
    expect(dataOf(bench, "budget_reached")).toEqual([]);
    checkInvariants(bench, ["in_1"]);
  });

  test("RE-P12: failures between answers that make a call wait are not failures in a row", async () => {
    const brief: Member = { name: "coder", script: replies(said("Done.")), yaml: "max_tokens: 6000" };
    const stage = await open(
      crewYaml([{ ...lead, yaml: "max_tokens: 300" }, brief], perDay("max_tokens: 12800")),
    );
    const { bench } = stage;
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.release();
    bench.hold = true;
    await bench.steps();
    for (let round = 0; round < 60; round++) {
      stage.down = round % 2 === 0;
      await bench.pass(5_000);
      await bench.steps();
    }
    expect(ends(bench), "one call is held, and the others wait for what it reserved").toEqual([]);
    stage.down = false;
    bench.release();
    await bench.idle();
    for (let round = 0; round < 40 && ends(bench).length < 4; round++) await bench.pass(5_000);
    expect(ends(bench)).toEqual(Array.from({ length: 4 }, () => "completed:end_turn"));
  });
});

describe("RE-2: a team that does not answer", () => {
  test("RE-2 RE-P12: the attempt waits for it, and goes on", async () => {
    const stage = await open(yamlOf(640_000, final(900)));
    stage.down = true;
    await go(stage);
    expect(stage.bench.requests).toEqual([]);
    expect(dataOf(stage.bench, "attempt_aborted")).toEqual([]);
    expect(dataOf(stage.bench, "run_waiting")).toHaveLength(1);
    stage.down = false;
    await stage.bench.pass(5_000);
    expect(ends(stage.bench)).toEqual(["completed:end_turn"]);
    expect(stage.bench.ledger()).toHaveLength(1);
    checkInvariants(stage.bench, ["in_1"]);
  });

  test("RE-P12: it is not waited for without end", async () => {
    const stage = await open(yamlOf(640_000, final(900)));
    stage.down = true;
    await go(stage);
    for (let minute = 0; minute < 15; minute++) await stage.bench.pass(60_000);
    expect(ends(stage.bench)).toEqual(["failed:storage_error"]);
    expect(stage.requests).toHaveLength(10);
    expect(stage.bench.requests).toEqual([]);
  });

  test("RE-4: a lease is stored with what follows: it costs a run no write", async () => {
    const writes = await Promise.all(
      ["max_tokens: 640000", "max_tokens: 'off', max_cost_usd: 'off'"].map(async (keys) => {
        const stage = await open(scripted(listed(claims(900), final(900)), "max_tokens: 500", perDay(keys)));
        const before = stage.bench.writes();
        await go(stage);
        return { leases: stage.requests.length, writes: stage.bench.writes() - before };
      }),
    );
    expect(writes[0]?.leases).toBeGreaterThan(0);
    expect(writes[1]).toEqual({ leases: 0, writes: writes[0]?.writes });
  });

  test("RE-4: a crash between a lease and its commit takes the same lease again", async () => {
    const stage = await open(yamlOf(640_000, final(900)));
    const { bench } = stage;
    for (let cut = 1; cut < 30; cut++) {
      bench.cutAt(cut);
      try {
        bench.send("Go");
      } catch {
        // the power went before the input was stored
      }
      await bench.idle();
    }
    bench.cutAt(null);
    await bench.pass(60_000);
    stage.report();
    const {
      spent,
      funds: { tenant },
    } = bench.state();
    expect(stage.day().out).toBe(0);
    expect(stage.day().spent + tenant.owed.tokens).toBe(spent.usage.total);
  });
});
