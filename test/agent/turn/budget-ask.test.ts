import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineEffect } from "../../../src/agent/definition/effect.ts";
import type { Bench } from "../../support/bench.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { claims, done, look, replies } from "../../support/scripts.ts";
import type { Play, PlayOptions } from "../loop/play.ts";
import {
  dataOf,
  ends,
  lastResult,
  onlyAsk,
  openAsks,
  refused,
  results,
  run,
  typesAfter,
} from "../loop/play.ts";

/** Limits that ask for more (EF-37, SE-28): a run that waits for a person, and goes on as the same run. */

const asking = (keys: string): string => `guards: { budget: { ${keys}, on_exceeded: ask } }`;

const day = 86_400_000;

/** A run that has spent 4 000 of its 5 000 tokens and asks for more. */
const asked = (options: PlayOptions = {}): Promise<Play> =>
  run(replies(claims(4_000), claims(4_000), done), { agent: asking("max_tokens: 4300"), ...options });

const approve = (bench: Bench, limit: number, key?: string): Record<string, never> =>
  bench.ok("answer", { ask: onlyAsk(bench), decision: "approve", limit }, key);

describe("SE-28: a budget ask", () => {
  test("EF-37 SE-28: the run waits for an ask without a call, until it expires; nothing else happens", async () => {
    const { bench } = await asked();
    const [ask] = Object.values(bench.state().asks);
    expect(ask).toMatchObject({
      kind: "budget",
      call: "",
      thread: "main",
      run: "run_1",
      budget: { scope: "run", kind: "max_tokens", limit: 4_300, spent: 4_000 },
    });
    const least = ask?.budget?.least ?? 0;
    expect(least).toBeGreaterThan(4_300);
    const until = bench.now() + day;
    expect(dataOf(bench, "run_waiting").at(-1)).toEqual({ on: [{ kind: "ask", ask: ask?.id, until }] });
    expect(bench.types().slice(-4)).toEqual(["turn_end", "budget_reached", "ask_user", "run_waiting"]);
    expect(bench.ok("get")).toMatchObject({
      status: "waiting",
      waiting_for: [{ kind: "ask", ask: ask?.id, until }],
      open_asks: [ask?.id],
    });
    expect(bench.alarm()).toBe(until);
    const writes = bench.writes();
    for (let hour = 0; hour < 23; hour++) await bench.pass(3_600_000);
    expect(bench.writes()).toBe(writes);
    expect(bench.requests).toHaveLength(1);
  });

  test("EF-37: an answer raises it and the same run goes on", async () => {
    const { bench } = await asked();
    const { head } = bench.state();
    approve(bench, 20_000);
    await bench.idle();
    expect(typesAfter(bench, head).slice(0, 3)).toEqual(["ask_resolved", "run_resumed", "turn_start"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(lastResult(bench)).toMatchObject({ run_id: "run_1", turns: 3 });
    expect(dataOf(bench, "run_start")).toHaveLength(1);
    checkInvariants(bench, ["in_1"]);
  });

  test("EF-37: a request that its effects made too large waits for the ask alone, without an alarm before its end", async () => {
    const noting = defineEffect({
      kind: "noting",
      phase: "before_complete",
      order: "inject",
      params: z.strictObject({}),
      run: ({ turn }) => (turn === 2 ? { edits: [{ inject: { text: "long ".repeat(1_500) } }] } : {}),
    });
    const { bench } = await run(replies(claims(1_000), done), {
      agent: asking("max_tokens: 2500"),
      effects: { effects: [noting] },
    });
    expect(bench.requests).toHaveLength(1);
    const [ask] = Object.values(bench.state().asks);
    expect(bench.alarm()).toBe(ask?.expires_at);
    approve(bench, 50_000);
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, ["in_1"]);
  });

  test("EF-37: a raised limit that is reached asks again", async () => {
    const { bench } = await asked();
    approve(bench, 8_100);
    await bench.idle();
    expect(Object.values(bench.state().asks)[0]?.budget).toMatchObject({ limit: 8_100, spent: 8_000 });
    expect(dataOf(bench, "budget_reached")).toHaveLength(2);
    approve(bench, 20_000);
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-37: what was raised is the run's alone: the next begins with the agent's limit", async () => {
    const { bench } = await run(replies(claims(4_000), done, claims(4_000), done), {
      agent: asking("max_tokens: 4300"),
    });
    approve(bench, 50_000);
    await bench.idle();
    bench.send("Again");
    await bench.idle();
    expect(Object.values(bench.state().asks)[0]?.budget).toMatchObject({ limit: 4_300, spent: 4_000 });
  });

  test("AP-10: a limit that is too low, absent or no number is refused, and the ask stays open", async () => {
    const { bench } = await asked();
    const ask = onlyAsk(bench);
    const least = bench.state().asks[ask]?.budget?.least ?? 0;
    const answer = (more: object): string => refused(bench, "answer", { ask, ...more });
    expect(answer({ decision: "approve", limit: 4_300 })).toBe("budget_not_raised");
    expect(answer({ decision: "approve", limit: least - 1 })).toBe("budget_not_raised");
    expect(answer({ decision: "approve", limit: 0 })).toBe("budget_not_raised");
    expect(bench.perform("answer", { ask, decision: "approve" })).toMatchObject({
      problem: { code: "answer_invalid", detail: `/limit: give the new max_tokens, at least ${least}` },
    });
    expect(answer({ decision: "result", output: 3 })).toBe("answer_invalid");
    expect(answer({ decision: "approve", limit: -3 })).toBe("invalid_request");
    expect(answer({ decision: "approve", limit: "9000" })).toBe("invalid_request");
    bench.ok("answer", { ask, decision: "answer", limit: least });
    await bench.idle();
    expect(bench.requests).toHaveLength(2);
  });

  test("AP-13: raising needs approvals:decide", async () => {
    const { bench } = await asked();
    const params = { ask: onlyAsk(bench), decision: "approve", limit: 20_000 };
    const reply = bench.performAs({ scopes: ["asks:answer", "sessions:write"] }, "answer", params);
    expect(reply).toMatchObject({ ok: false, problem: { code: "scope_missing" } });
    expect(bench.performAs({ scopes: ["approvals:decide"] }, "answer", params).ok).toBe(true);
  });

  test("SE-29: the first valid answer wins: repeated 200, another 409", async () => {
    const { bench } = await asked();
    const ask = onlyAsk(bench);
    approve(bench, 20_000);
    const again = bench.perform("answer", { ask, decision: "approve", limit: 20_000 });
    expect(again).toMatchObject({ ok: true, status: 200 });
    expect(bench.perform("answer", { ask, decision: "approve", limit: 30_000 })).toMatchObject({
      ok: false,
      problem: { code: "ask_already_resolved" },
    });
  });

  test.each([
    ["deny", { decision: "deny" }],
    ["cancel", { decision: "cancel" }],
  ])("SE-28: %s stops the run", async (_, answer) => {
    const { bench } = await asked();
    bench.ok("answer", { ask: onlyAsk(bench), ...answer });
    await bench.idle();
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(lastResult(bench).error).toBe("max_tokens: the limit 4300 is reached and was not raised");
    expect(bench.requests).toHaveLength(1);
    checkInvariants(bench, ["in_1"]);
  });

  test("EF-37: without an answer it stops at its expiry, at most a second late, also after a restart", async () => {
    const { bench } = await asked({ team: "limits: { asks: { timeout: 2h } }" });
    await bench.pass(7_199_000);
    bench.crash();
    await bench.idle();
    expect(ends(bench)).toEqual([]);
    await bench.pass(1_000);
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(dataOf(bench, "ask_expired")).toEqual([{ ask: expect.any(String), applied: "stop" }]);
    checkInvariants(bench, ["in_1"]);
  });

  test("SE-29: a session that is not interactive stops at once", async () => {
    const { bench } = await asked({ create: { interactive: false } });
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(dataOf(bench, "ask_expired")).toHaveLength(1);
    expect(openAsks(bench)).toEqual([]);
  });

  test("RE-C15 SE-29: an ask that is open across a restart still takes its answer", async () => {
    const { bench } = await asked();
    bench.crash();
    bench.crash();
    await bench.idle();
    approve(bench, 20_000);
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(bench.requests).toHaveLength(3);
  });

  test("SE-31: a cancel of the run closes its ask", async () => {
    const { bench } = await asked();
    const ask = onlyAsk(bench);
    bench.ok("cancel");
    await bench.idle();
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    expect(dataOf(bench, "ask_cancelled")).toEqual([{ ask }]);
    expect(openAsks(bench)).toEqual([]);
    checkInvariants(bench, ["in_1"]);
  });

  test("SE-25: a steer waits with the run for the answer, and joins its next turn", async () => {
    const { bench } = await asked();
    bench.send("And this", { on_busy: "steer" });
    await bench.idle();
    expect(openAsks(bench)).toHaveLength(1);
    approve(bench, 20_000);
    await bench.idle();
    expect(dataOf(bench, "steering_injected")).toHaveLength(1);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-38: a last answer that spends too much ends the run without asking", async () => {
    const { bench } = await run(replies(claims(9_000, "{ text: Done. }")), {
      agent: asking("max_tokens: 5000"),
    });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(openAsks(bench)).toEqual([]);
  });
});

describe("EF-37: what is asked for", () => {
  test("EF-37: the turns of a run, too: a raise goes on, the end is max_iterations", async () => {
    const options = (limit: number): PlayOptions => ({
      agent: `options: { max_iterations: ${limit} }\nguards: { budget: { on_exceeded: ask } }`,
    });
    const { bench } = await run(replies(look, look, look, look, done), options(2));
    expect(Object.values(bench.state().asks)[0]?.budget).toEqual({
      scope: "run",
      kind: "max_iterations",
      limit: 2,
      spent: 2,
      least: 3,
    });
    expect(refused(bench, "answer", { ask: onlyAsk(bench), decision: "approve", limit: 2 })).toBe(
      "budget_not_raised",
    );
    approve(bench, 3);
    await bench.idle();
    expect(bench.requests).toHaveLength(3);
    bench.ok("answer", { ask: onlyAsk(bench), decision: "deny" });
    await bench.idle();
    expect(ends(bench)).toEqual(["failed:max_iterations"]);
    expect(lastResult(bench)).toMatchObject({ turns: 3, max_turns_used: true });
  });

  test("EF-37: the team's run section asks for turns as well", async () => {
    const { bench } = await run(replies(look, look, done), {
      agent: "options: { max_iterations: 1 }",
      team: "budgets: { run: { on_exceeded: ask } }",
    });
    approve(bench, 10);
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-37: calls: the call waits as it is, and runs once when there may be more", async () => {
    const { bench, probe } = await run(
      replies("{ reply: [{ call: look, args: { name: a } }, { call: look, args: { name: b } }] }", done),
      { agent: asking("max_tool_calls: 1") },
    );
    expect(probe.names()).toEqual(["look(a)"]);
    expect(Object.values(bench.state().asks)[0]?.budget).toMatchObject({ kind: "max_tool_calls", least: 2 });
    bench.crash();
    await bench.idle();
    approve(bench, 2);
    await bench.idle();
    expect(probe.names()).toEqual(["look(a)", "look(b)"]);
    expect(results(bench)).toEqual(["ok: look(a) done", "ok: look(b) done"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, ["in_1"], probe);
  });

  test("EF-37: calls: without more, what waits is answered, and the run is over", async () => {
    const { bench, probe } = await run(replies("{ reply: [{ call: look }, { call: fire }] }", done), {
      agent: asking("max_tool_calls: 1"),
    });
    bench.ok("answer", { ask: onlyAsk(bench), decision: "deny" });
    await bench.idle();
    expect(probe.names()).toEqual(["look()"]);
    expect(results(bench)).toEqual(["ok: look() done", "cancelled: cancelled: It did not run."]);
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
  });

  test("EF-37: cost is asked for in USD, time in milliseconds", async () => {
    const { bench } = await run(replies(claims(900_000), claims(900_000), done), {
      agent: asking("max_cost_usd: 1"),
      team: "models: { play: { price: { input: 1, output: 1 } } }",
    });
    const ask = Object.values(bench.state().asks)[0]?.budget;
    expect(ask).toMatchObject({ kind: "max_cost_usd", limit: 1, spent: 1.8 });
    approve(bench, 2.5);
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(lastResult(bench).cost_exceeded).toBe(false);
  });

  test("EF-37: a limit of the team that stops holds after a raise of the agent's own", async () => {
    const { bench } = await run(replies(claims(4_000), claims(4_000), claims(4_000), done), {
      agent: asking("max_tokens: 4300"),
      team: "budgets: { run: { max_tokens: 9000 } }",
    });
    approve(bench, 100_000);
    await bench.idle();
    expect(openAsks(bench)).toEqual([]);
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(lastResult(bench).error).toContain("max_tokens: 8000 of 9000 tokens");
  });
});
