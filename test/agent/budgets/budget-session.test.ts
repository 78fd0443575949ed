import { describe, expect, test } from "vitest";
import type { ShownLimit } from "../../../src/session/operations/budget.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import { claims, replies, scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import type { Play } from "../loop/play.ts";
import { dataOf, ends, lastResult, onlyAsk, openAsks, play, refused, run } from "../loop/play.ts";

/** A session's own budget (AP-16, AP-41). */

const final = (total: number): string => claims(total, "{ text: Done. }");

const plain = scripted(replies(final(10))).replace("toolboxes: [probe]", "toolboxes: []");

const opened = (budget: object, ...each: readonly string[]): Promise<Play> =>
  play(replies(...each), { create: { budget }, agent: "max_tokens: 500" });

const go = async (bench: Bench): Promise<void> => {
  bench.send("Go");
  await bench.idle();
};

const manager = ["sessions:read", "sessions:write", "sessions:manage", "asks:answer"] as const;

type Shown = Readonly<Record<string, ShownLimit | null>>;

const shown = (bench: Bench): Shown => bench.ok("get")["budget"] as unknown as Shown;

/** The limits of the session, without what others have. */
const limits = (bench: Bench): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(shown(bench)).flatMap(([key, held]) =>
      held?.scope === "session" ? [[key, held.limit]] : [],
    ),
  );

describe("AP-16: given at creation", () => {
  test("AP-16 AP-17: the session shows it, with what a default fills in; durations are texts or milliseconds", async () => {
    const { bench } = await opened(
      {
        max_tokens: 9_000,
        max_cost_usd: 0.5,
        max_duration: "30m",
        max_tool_calls: 7,
      },
      final(10),
    );
    const held = (limit: number) => ({
      scope: "session",
      limit,
      spent: 0,
      left: limit,
      warn_at: 0.8,
      on_exceeded: "stop",
    });
    expect(shown(bench)).toEqual({
      max_tokens: held(9_000),
      max_cost_usd: held(0.5),
      max_duration: held(1_800_000),
      max_tool_calls: held(7),
    });
    const timed = await opened({ max_duration: 90_000, warn_at: 0.5, on_exceeded: "ask" }, final(10));
    expect(shown(timed.bench)["max_duration"]).toMatchObject({
      limit: 90_000,
      warn_at: 0.5,
      on_exceeded: "ask",
    });
    expect(limits((await play(replies(final(10)))).bench)).toEqual({});
    expect(limits((await opened({}, final(10))).bench)).toEqual({});
  });

  test("AP-41: of several limits the one with the least left is shown, with its scope and what is spent", async () => {
    const { bench } = await play(replies(final(1_500)), {
      team: "budgets: { session: { max_tokens: 5000 }, run: { max_tokens: 4000 } }",
      create: { budget: { max_tokens: 9_000 } },
    });
    expect(shown(bench)["max_tokens"]).toMatchObject({ scope: "run", limit: 4_000, spent: 0, left: 4_000 });
    await go(bench);
    const held = shown(bench)["max_tokens"];
    const spent = bench.state().spent.usage.total;
    expect(spent).toBeGreaterThan(1_000);
    expect(held).toMatchObject({ scope: "session", limit: 5_000, spent, left: 5_000 - spent });
    expect(bench.ok("get")["budget"]).toMatchObject({
      max_tool_calls: { scope: "run", limit: 1_000, left: 1_000 },
    });
  });

  test("AP-2 AP-10: what is no budget is refused, with the field", async () => {
    const { bench } = await play(replies(final(10)));
    for (const budget of [
      { max_token: 5 },
      { max_tokens: -1 },
      { max_tokens: 1.5 },
      { max_duration: "soon" },
      { warn_at: 0 },
      5,
    ])
      expect(refused(bench, "patch", { budget })).toBe("invalid_request");
    const reply = bench.perform("patch", { budget: { max_tokens: "many" } });
    expect(reply).toMatchObject({ ok: false, problem: { errors: [{ pointer: "/budget/max_tokens" }] } });
  });

  test("EF-37 AP-41: it bounds the session over all its runs; the next input is refused, and nothing is stored", async () => {
    const { bench } = await opened(
      { max_tokens: 5_000 },
      final(2_000),
      claims(2_000),
      claims(2_000),
      final(10),
    );
    await go(bench);
    await go(bench);
    expect(ends(bench)).toEqual(["completed:end_turn", "failed:budget_exceeded"]);
    expect(bench.requests).toHaveLength(2);
    expect(dataOf(bench, "budget_reached")).toEqual([
      { scope: "session", kind: "max_tokens", limit: 5_000, spent: 4_000 },
    ]);
    expect(lastResult(bench).error).toMatch(/^max_tokens of the session: 4000 of 5000 tokens are spent/);
    expect(refused(bench, "send", { content: "More" })).toBe("budget_exceeded");
    expect(bench.perform("send", { content: "More" })).toMatchObject({
      problem: {
        detail: expect.stringContaining(
          "sessions:manage and approvals:decide can raise it with PATCH {budget}",
        ),
      },
    });
  });

  test("EF-37: 0 means that nothing may be spent", async () => {
    const { bench } = await opened({ max_tokens: 0 }, final(10));
    expect(refused(bench, "send", { content: "Go" })).toBe("budget_exceeded");
    const calls = await opened({ max_tool_calls: 0 }, claims(10), final(10));
    await go(calls.bench);
    expect(calls.probe.calls).toEqual([]);
    expect(ends(calls.bench)).toEqual(["completed:end_turn"]);
  });

  test("AP-16: an input that comes with it is refused with the session, and nothing is created", async () => {
    const bench = openBench({ engine: await engineOf(plain) });
    const create = (budget: object) => bench.perform("create", { budget, input: "Go" });
    expect(create({ max_tokens: 0 })).toMatchObject({ ok: false, problem: { code: "budget_exceeded" } });
    expect(bench.perform("get")).toMatchObject({ ok: false, problem: { code: "not_found" } });
    expect(create({ max_tokens: 9_000 })).toMatchObject({ ok: true, status: 201 });
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("RE-3: the team's session section bounds every session; a caller's own only narrows it", async () => {
    const team = "budgets: { session: { max_tokens: 3000 } }";
    const both = (budget?: object) =>
      run(replies(final(2_000), final(2_000)), {
        team,
        agent: "max_tokens: 500",
        create: budget === undefined ? {} : { budget },
      });
    const plain = await both();
    expect(refused(plain.bench, "send", { content: "Go" })).toBe("budget_exceeded");
    const wide = await both({ max_tokens: 1_000_000 });
    expect(refused(wide.bench, "send", { content: "Go" })).toBe("budget_exceeded");
    const narrow = await both({ max_tokens: 1_500 });
    expect(narrow.bench.requests).toHaveLength(1);
    expect(ends(narrow.bench)).toEqual(["failed:budget_exceeded"]);
  });

  test("SE-27: what waits behind the run that used it up goes back to its sender", async () => {
    const { bench } = await opened({ max_tokens: 2_500 }, final(2_400), final(10));
    bench.hold = true;
    bench.send("One");
    bench.send("Two", { on_busy: "queue" });
    bench.send("Three", { on_busy: "queue" });
    bench.release();
    await bench.idle();
    expect(dataOf(bench, "input_returned").map(({ input, reason }) => [input, reason])).toEqual([
      ["in_2", "no_budget"],
      ["in_3", "no_budget"],
    ]);
    expect(bench.ok("get")).toMatchObject({ queued_inputs: [], status: "idle" });
    expect(bench.ok("input", { input: "in_2" })).toMatchObject({ status: "returned" });
  });

  test("RE-3: a cleared chat begins a new period of usage, not a new budget", async () => {
    const { bench } = await opened({ max_tokens: 2_500 }, final(2_000), final(10));
    await go(bench);
    bench.ok("clear");
    expect(bench.ok("get")).toMatchObject({ usage: { total: 0 } });
    expect(refused(bench, "send", { content: "Go" })).toBe("budget_exceeded");
  });

  test("RE-4: it survives a crash and a deploy with all that was spent", async () => {
    const { bench } = await opened({ max_tokens: 2_500 }, final(2_000), final(10));
    await go(bench);
    bench.crash();
    expect(refused(bench, "send", { content: "Go" })).toBe("budget_exceeded");
  });
});

describe("AP-41: changed by PATCH", () => {
  test("AP-41: tightening needs no more than sessions:manage", async () => {
    const { bench } = await opened({ max_tokens: 9_000 }, final(10));
    const narrow = (budget: object) => bench.performAs({ scopes: [...manager] }, "patch", { budget });
    expect(narrow({ max_tokens: 8_000 }).ok).toBe(true);
    expect(narrow({ max_tool_calls: 3, warn_at: 0.5 }).ok).toBe(true);
    expect(limits(bench)).toEqual({ max_tokens: 8_000, max_tool_calls: 3 });
    expect(shown(bench)["max_tokens"]).toMatchObject({ warn_at: 0.5, on_exceeded: "stop" });
    expect(dataOf(bench, "session_updated").at(-1)).toEqual({ budget: shown(bench) });
  });

  test.each([
    ["a higher limit", { max_tokens: 9_001 }],
    ["no limit", { max_tokens: null }],
    ["no budget", null],
  ])("AP-41: %s is a raise, which needs approvals:decide", async (_, budget) => {
    const { bench } = await opened({ max_tokens: 9_000 }, final(10));
    const before = bench.state();
    expect(bench.performAs({ scopes: [...manager] }, "patch", { budget })).toMatchObject({
      ok: false,
      problem: { code: "scope_missing", detail: expect.stringContaining("/budget/max_tokens") },
    });
    expect(bench.state()).toBe(before);
    expect(bench.performAs({ scopes: [...manager, "approvals:decide"] }, "patch", { budget }).ok).toBe(true);
  });

  test("AP-41: how a limit warns and ends can be set before there is one, and stays when the last is removed", async () => {
    const rest = { warn_at: 0.5, on_exceeded: "ask" } as const;
    const { bench } = await opened(rest, final(10));
    const setLimit = (max_tokens: number | null) => bench.ok("patch", { budget: { max_tokens } });
    setLimit(9_000);
    expect(shown(bench)["max_tokens"]).toMatchObject({ limit: 9_000, ...rest });
    setLimit(null);
    expect(limits(bench)).toEqual({});
    setLimit(8_000);
    expect(shown(bench)["max_tokens"]).toMatchObject({ limit: 8_000, ...rest });
    bench.ok("patch", { budget: null });
    bench.ok("patch", { budget: { on_exceeded: "ask" } });
    setLimit(9_000);
    expect(shown(bench)["max_tokens"]).toMatchObject({ warn_at: 0.8, on_exceeded: "ask" });
  });

  test("AP-41: with more the session takes inputs again", async () => {
    const { bench } = await opened({ max_tokens: 2_500 }, final(2_000), final(10));
    await go(bench);
    expect(refused(bench, "send", { content: "Go" })).toBe("budget_exceeded");
    bench.ok("patch", { budget: { max_tokens: 9_000 } });
    await go(bench);
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
  });

  test("AP-41: a limit that is given while a run works holds from its next call on", async () => {
    const { bench } = await play(replies(claims(2_000), claims(2_000), final(10)), {
      agent: "max_tokens: 500",
    });
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.ok("patch", { budget: { max_tokens: 2_100 } });
    bench.release();
    await bench.idle();
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(bench.requests).toHaveLength(1);
  });
});

describe("EF-37: a session that asks", () => {
  const asking = (): Promise<Play> =>
    opened({ max_tokens: 2_500, on_exceeded: "ask" }, claims(2_000), final(10), final(10), final(10));

  test("EF-37: an input is taken, and its run asks for more of the session", async () => {
    const { bench } = await opened({ max_tokens: 2_500, on_exceeded: "ask" }, final(2_000), final(10));
    await go(bench);
    await go(bench);
    expect(bench.state().asks[onlyAsk(bench)]?.budget).toMatchObject({ scope: "session", limit: 2_500 });
    bench.ok("answer", { ask: onlyAsk(bench), decision: "approve", limit: 9_000 });
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
    expect(limits(bench)).toEqual({ max_tokens: 9_000 });
  });

  test("EF-37: what was raised is the session's, for the runs that follow", async () => {
    const { bench } = await asking();
    await go(bench);
    bench.ok("answer", { ask: onlyAsk(bench), decision: "approve", limit: 9_000 });
    await bench.idle();
    await go(bench);
    expect(openAsks(bench)).toEqual([]);
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
  });

  test("AP-41: PATCH answers the open ask if it is enough, and does not if it is not", async () => {
    const { bench } = await asking();
    await go(bench);
    bench.ok("patch", { budget: { max_tokens: 2_510 } });
    expect(openAsks(bench)).toHaveLength(1);
    bench.ok("patch", { budget: { max_tokens: 9_000 } });
    await bench.idle();
    expect(dataOf(bench, "ask_resolved")).toMatchObject([{ decision: "approve", by: "key1" }]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("AP-41: a limit that was raised can be tightened again", async () => {
    const { bench } = await asking();
    await go(bench);
    bench.ok("answer", { ask: onlyAsk(bench), decision: "approve", limit: 9_000 });
    await bench.idle();
    expect(bench.performAs({ scopes: [...manager] }, "patch", { budget: { max_tokens: 2_100 } }).ok).toBe(
      true,
    );
    expect(limits(bench)).toEqual({ max_tokens: 2_100 });
    await go(bench);
    expect(bench.state().asks[onlyAsk(bench)]?.budget).toMatchObject({ limit: 2_100 });
  });
});
