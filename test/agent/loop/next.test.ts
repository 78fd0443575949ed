import { freshCall } from "../../../src/agent/state/call.ts";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ThreadFacts } from "../../../src/agent/loop/next.ts";
import { next } from "../../../src/agent/loop/next.ts";
import type { ReachedLimit } from "../../../src/agent/state/budget.ts";
import type { Call } from "../../../src/agent/state/call.ts";
import type { Phase, PreparedWork, Verification, RunPlan } from "../../../src/agent/state/phase.ts";
import { newPlan } from "../../../src/agent/state/phase.ts";
import type { Run } from "../../../src/agent/state/run.ts";
import { freshCounters, freshRun } from "../../../src/agent/state/run.ts";
import type { Thread } from "../../../src/agent/state/thread.ts";
import { newThread } from "../../../src/agent/state/thread.ts";

/** SE-9: `next` as a table. Values are built here and not reached, so that impossible ones are tried too. */

const now = 1_000;

const epoch = 3;

const chain = { current: 0, list: [], committed: false };

const reached: ReachedLimit = {
  scope: "run",
  thread: "main",
  kind: "tokens",
  limit: 5,
  spent: 5,
  least: 6,
  ask: false,
};

const callOf = (
  id: string,
  more: Partial<Call> & { readonly workspace?: "none" | "read" | "write"; readonly refused?: boolean } = {},
): Call => {
  const { workspace = "read", refused = false, ...rest } = more;
  return {
    ...freshCall,
    call: { type: "tool_call", id, name: "look", args: "{}" },
    plan: {
      toolbox: "probe",
      safety: "read",
      workspace,
      terminal: false,
      verdict: "allow",
      by: "preset",
      remember: null,
      ...(refused ? { refusal: { status: "error", text: "no" } } : {}),
    },
    epoch,
    ...rest,
  };
};

const runOf = (phase: Phase, more: Partial<Run> = {}): Run => ({
  ...freshRun,
  id: "run_1",
  inputs: ["in_1"],
  startedAt: 0,
  turn: 1,
  turnSince: 0,
  phase,
  target: { provider: "p", model: "m", window: 0 },
  ...more,
});

const threadOf = (run: Run | null): Thread => ({ ...newThread("main", "a"), run });

const facts = (more: Partial<ThreadFacts> = {}): ThreadFacts => ({
  now,
  epoch,
  slot: () => true,
  children: "none",
  held: null,
  noProgressTurns: 0,
  limit: () => null,
  ...more,
});

const step = (run: Run | null, more: Partial<ThreadFacts> = {}) => next(threadOf(run), facts(more));

const thinking = (at = epoch): Phase => ({
  at: "thinking",
  epoch: at,
  from: { edit: 1, override: null },
  chain,
  items: [],
  call: {
    purpose: "turn",
    target: { provider: "", model: "" },
    attempt: 1,
    input: 0,
    reservation: { tokens: 0, cost: 0, output: 0, leased: true },
    ticket: { provider: "", id: "", booked: false },
    startedAt: 0,
  },
});

const waiting = (until: number, on: "retry" | "budget" = "retry"): Phase => ({
  at: "waiting",
  attempt: 2,
  wait: { on, until },
  chain,
  ticket: null,
});

const preparing = (
  until: number | null,
  at = epoch,
  work: PreparedWork = { kind: "effect", index: 0 },
): Phase => ({
  at: "preparing",
  work,
  attempt: 1,
  epoch: at,
  round: 1,
  startedAt: 0,
  wait: until === null ? null : { on: "budget", until },
  call: null,
  ticket: null,
  memo: {},
  stop: null,
});

const acting = (...calls: Call[]): Phase => ({ at: "acting", calls });

const running = (id: string, at = epoch): Call => callOf(id, { status: "running", epoch: at, attempts: 1 });

const parked = (id: string, until: number): Call =>
  callOf(id, { status: "parked", wait: { on: "ask", ask: "ask_1", until } });

const cancel = (mode: "now" | "after_turn", until = now + 5_000): Pick<Run, "cancel"> => ({
  cancel: { mode, until, reason: "cancelled", returns: [] },
});

const stop: Pick<Run, "stop"> = { stop: { reason: "internal", error: "x" } };

const idle: Pick<Run, "counters"> = { counters: { ...freshCounters, idleTurns: 2 } };

const usedUp: Pick<Run, "stop" | "verification"> = {
  stop: { reason: "max_iterations", error: "x" },
  verification: { of: "breach", outcome: null },
};

const edited: Verification = { of: "edits", repairs: 0, next: "end_turn" };

const checking = (at = epoch): Phase =>
  preparing(null, at, { kind: "verification", what: "breach", command: null });

const asked: RunPlan = { ...newPlan, stage: { at: "asked", ask: "ask_1" } };

describe("SE-9: row by row", () => {
  test.each<[string, Run | null, Partial<ThreadFacts>, object]>([
    ["1: no run", null, {}, { do: "none" }],
    [
      "9: ready, so many turns without progress",
      runOf({ at: "ready" }, idle),
      { noProgressTurns: 2 },
      { do: "finish", state: "failed", reason: "no_progress" },
    ],
    [
      "9: the repair turn of the newest one comes first",
      runOf({ at: "ready" }, { ...idle, repair: true }),
      { noProgressTurns: 2 },
      { do: "think" },
    ],
    ["9: fewer turns than that", runOf({ at: "ready" }, idle), { noProgressTurns: 3 }, { do: "think" }],
    [
      "2: cancelled, nothing live",
      runOf({ at: "ready" }, cancel("now")),
      {},
      { do: "finish", state: "cancelled", reason: "cancelled" },
    ],
    [
      "2: cancelled, a call still has its grace",
      runOf(acting(running("a")), cancel("now")),
      {},
      { do: "none" },
    ],
    [
      "2: cancelled, the grace is over",
      runOf(acting(running("a")), cancel("now", now)),
      {},
      { do: "finish", state: "cancelled" },
    ],
    [
      "2: after_turn waits however long",
      runOf(acting(running("a")), cancel("after_turn", now)),
      {},
      { do: "none" },
    ],
    [
      "2: after_turn, the call of a dead isolate",
      runOf(acting(running("a", 2)), cancel("after_turn")),
      {},
      { do: "finish", state: "cancelled" },
    ],
    [
      "2: after_turn, a call that was begun waits for its command",
      runOf(
        acting(callOf("a", { status: "parked", wait: { on: "exec", until: 2_000 }, attempts: 1 })),
        cancel("after_turn"),
      ),
      {},
      { do: "wait" },
    ],
    [
      "2: after_turn, it is woken; beside it one that was not begun, and one of a dead isolate",
      runOf(acting(callOf("a", { attempts: 1 }), callOf("b"), running("c", 2)), cancel("after_turn")),
      { held: { until: null } },
      { do: "act", calls: ["a"] },
    ],
    [
      "2: after_turn, only a person could go on",
      runOf(acting(parked("a", 2_000)), cancel("after_turn")),
      {},
      { do: "finish", state: "cancelled" },
    ],
    [
      "2: stopped, nothing live",
      runOf(acting(callOf("a")), stop),
      {},
      { do: "finish", state: "failed", reason: "internal" },
    ],
    [
      "2: stopped, a call is live: nothing else starts",
      runOf(acting(running("a"), callOf("b")), stop),
      {},
      { do: "none" },
    ],
    [
      "2 before 3",
      runOf({ at: "ready" }, { ...cancel("now"), deadline: now }),
      {},
      { do: "finish", state: "cancelled" },
    ],
    [
      "3: the deadline has passed",
      runOf(thinking(), { deadline: now }),
      {},
      { do: "finish", reason: "deadline_exceeded" },
    ],
    [
      "3: the deadline has passed, but it is stopped by an interrupt",
      runOf(thinking(), { ...cancel("now"), deadline: now }),
      {},
      { do: "none" },
    ],
    ["3: not yet", runOf(thinking(), { deadline: now + 1 }), {}, { do: "none" }],
    ["4: an attempt of an older epoch", runOf(thinking(2)), {}, { do: "recover" }],
    ["4: a call of an older epoch", runOf(acting(running("a", 2), callOf("b"))), {}, { do: "recover" }],
    ["5: planned calls start", runOf(acting(callOf("a"), callOf("b"))), {}, { do: "act", calls: ["a", "b"] }],
    ["6: an attempt of this epoch", runOf(thinking()), {}, { do: "none" }],
    ["6: a call of this epoch", runOf(acting(running("a"))), {}, { do: "none" }],
    ["7: waiting, not due", runOf(waiting(now + 1)), {}, { do: "wait" }],
    [
      "8: all parked: the earliest deadline",
      runOf(acting(parked("a", 9_000), parked("b", 5_000))),
      {},
      { do: "wait" },
    ],
    [
      "8: held back by a parked writer",
      runOf(acting({ ...parked("a", 9_000), plan: callOf("x", { workspace: "write" }).plan }, callOf("b"))),
      {},
      { do: "wait" },
    ],
    [
      "9: a limit is reached",
      runOf({ at: "ready" }),
      { limit: () => reached },
      { do: "limit", reached: { kind: "tokens" } },
    ],
    ["9: for an attempt that waited, too", runOf(waiting(now)), { limit: () => reached }, { do: "limit" }],
    [
      "9: calls under way keep back what is left",
      runOf({ at: "ready" }),
      { limit: () => "wait" },
      { do: "queue" },
    ],
    [
      "9: room is looked for at once, whatever the wait",
      runOf(waiting(now + 9, "budget")),
      {},
      { do: "think" },
    ],
    [
      "9: a person is asked",
      runOf({ at: "ready" }),
      { held: { until: 7_000 }, limit: () => reached },
      { do: "wait" },
    ],
    [
      "9: a person is asked, calls wait",
      runOf(acting(callOf("a"))),
      { held: { until: 7_000 } },
      { do: "wait" },
    ],
    [
      "9: a person is asked, a call runs",
      runOf(acting(running("a"), callOf("b"))),
      { held: { until: 7_000 } },
      { do: "none" },
    ],
    [
      "9: a person is asked, a turn is over",
      runOf(acting(callOf("a", { status: "done" }))),
      { held: { until: 7_000 } },
      { do: "close" },
    ],
    [
      "9: a person is asked, an effect's wait is over",
      runOf(preparing(now)),
      { held: { until: 7_000 } },
      { do: "wait" },
    ],
    [
      "9: the run above ends, an effect waits",
      runOf(preparing(now)),
      { held: { until: null } },
      { do: "none" },
    ],
    [
      "9: a person is asked about the plan",
      runOf({ at: "ready" }, { plan: asked }),
      { limit: () => reached },
      { do: "wait" },
    ],
    ["9: the plan is to be made", runOf({ at: "ready" }, { plan: newPlan }), {}, { do: "think" }],
    [
      "9: edits are checked before a limit counts",
      runOf({ at: "ready" }, { verification: edited }),
      { limit: () => reached },
      { do: "verify" },
    ],
    [
      "9: edits are checked once a slot is free",
      runOf({ at: "ready" }, { verification: edited }),
      { slot: () => false },
      { do: "queue", for: "slot" },
    ],
    [
      "9: a run that used up its turns is checked before it ends",
      runOf({ at: "ready" }, usedUp),
      {},
      { do: "verify" },
    ],
    [
      "9: and only once its children were stopped",
      runOf({ at: "ready" }, usedUp),
      { children: "working" },
      { do: "stop_children" },
    ],
    ["9: it goes on with its check", runOf(checking(), usedUp), {}, { do: "none" }],
    ["4: the check of a dead isolate", runOf(checking(2), usedUp), {}, { do: "recover" }],
    [
      "3: its deadline passes during the check",
      runOf(checking(), { ...usedUp, deadline: now }),
      {},
      { do: "finish", reason: "deadline_exceeded" },
    ],
    [
      "2: its check died again and again",
      runOf(checking(2), { ...usedUp, stop: { reason: "poisoned", error: "x" } }),
      {},
      { do: "finish", state: "failed", reason: "poisoned" },
    ],
    [
      "2: its check is over",
      runOf({ at: "ready" }, { ...usedUp, verification: { of: "breach", outcome: "failed" } }),
      {},
      { do: "finish", state: "failed", reason: "max_iterations" },
    ],
    ["10: an effect's wait is over", runOf(preparing(now)), {}, { do: "prepare" }],
    ["10: ready", runOf({ at: "ready" }), {}, { do: "think" }],
    ["10: waiting and due", runOf(waiting(now)), {}, { do: "think" }],
    ["10: no free slot", runOf({ at: "ready" }), { slot: () => false }, { do: "queue", for: "slot" }],
    ["11: acting, nothing open", runOf(acting(callOf("a", { status: "done" }))), {}, { do: "close" }],
  ])("SE-9 row %s", (_, run, more, expected) => {
    expect(step(run, more)).toMatchObject(expected);
  });
});

describe("SE-9: every combination", () => {
  const statuses = ["planned", "running", "parked", "done"] as const;
  const callArbitrary = (id: string): fc.Arbitrary<Call> =>
    fc
      .record({
        status: fc.constantFrom(...statuses),
        epoch: fc.constantFrom(2, 3),
        workspace: fc.constantFrom("none" as const, "read" as const, "write" as const),
        refused: fc.boolean(),
        wait: fc.constantFrom<Call["wait"]>(
          null,
          { on: "ask", ask: "ask_1", until: null },
          { on: "exec", until: 500 },
          { on: "exec", until: 2_000 },
          { on: "thread", children: null, until: 2_000 },
        ),
        attempts: fc.nat(4),
      })
      .map((more) => callOf(id, more));
  const phases: fc.Arbitrary<Phase> = fc.oneof(
    fc.constantFrom<Phase>(
      { at: "ready" },
      thinking(2),
      thinking(3),
      waiting(2_000, "budget"),
      waiting(500),
      waiting(1_000),
      waiting(2_000),
      checking(2),
      checking(),
    ),
    fc.tuple(...["a", "b", "c", "d"].map(callArbitrary)).map((calls) => acting(...calls)),
  );
  const runs = fc.record({
    phase: phases,
    cancel: fc.constantFrom(
      null,
      cancel("now").cancel,
      cancel("now", now).cancel,
      cancel("after_turn").cancel,
    ),
    stop: fc.constantFrom(null, stop.stop, usedUp.stop),
    verification: fc.constantFrom(null, edited, { ...edited, next: null }, usedUp.verification ?? null, {
      of: "nothing" as const,
    }),
    deadline: fc.constantFrom(null, 500, 1_000, 5_000),
    repair: fc.boolean(),
    turn: fc.nat(3),
    plan: fc.constantFrom(newPlan, asked, { ...newPlan, stage: { at: "done" as const } }),
  });
  const given = fc.record({
    slot: fc.constantFrom<ThreadFacts["slot"]>(
      () => true,
      () => false,
    ),
    held: fc.constantFrom(null, { until: 1_500 }, { until: null }),
    limit: fc.constantFrom<ThreadFacts["limit"]>(
      () => null,
      () => "wait",
      () => reached,
    ),
  });

  test("SE-9: a step for each, never an exception, the same state the same step, nothing changed", () => {
    fc.assert(
      fc.property(runs, given, ({ phase, ...more }, extra) => {
        const thread = threadOf(runOf(phase, more));
        const before = JSON.stringify(thread);
        const first = next(thread, facts(extra));
        expect(next(structuredClone(thread), facts(extra))).toEqual(first);
        expect(JSON.stringify(thread)).toBe(before);
      }),
      { numRuns: 20_000, seed: 3 },
    );
  });

  test("SE-9 SE-31: once an end is on record nothing starts, and a finished run leaves no live attempt unheard", () => {
    fc.assert(
      fc.property(runs, given, ({ phase, ...more }, extra) => {
        const taken = next(threadOf(runOf(phase, more)), facts(extra));
        const { do: what } = taken;
        const isGraceful = more.cancel?.mode === "after_turn" && more.stop === null;
        const isChecked = more.verification?.of === "breach" && more.stop?.reason === "max_iterations";
        const open = isChecked && more.cancel === null ? ["verify", "queue", "recover", "wait"] : [];
        if (more.cancel !== null || more.stop !== null)
          expect(["none", "finish", ...(isGraceful ? ["act", "wait"] : []), ...open]).toContain(what);
        if (isGraceful && taken.do === "act" && phase.at === "acting")
          expect(
            phase.calls.every(({ call, attempts }) => attempts > 0 || !taken.calls.includes(call.id)),
          ).toBe(true);
        if (what === "think") expect(["ready", "waiting"]).toContain(phase.at);
        if (what === "close")
          expect(phase.at === "acting" && phase.calls.every(({ status }) => status === "done")).toBe(true);
      }),
      { numRuns: 20_000, seed: 4 },
    );
  });

  test("SE-17: what may start is planned, at most eight run, and no writer has company", () => {
    const many = fc
      .array(fc.nat(), { minLength: 1, maxLength: 20 })
      .chain((list) =>
        fc.tuple(...list.map((_, index) => callArbitrary(`c${index}`).map((call) => ({ ...call, epoch })))),
      );
    fc.assert(
      fc.property(many, (calls) => {
        const taken = step(runOf(acting(...calls)));
        const starts = new Set(taken.do === "act" ? taken.calls : []);
        const runs = calls.filter(({ call, plan }) => starts.has(call.id) && plan.refusal === undefined);
        expect(
          calls.filter(({ call }) => starts.has(call.id)).every(({ status }) => status === "planned"),
        ).toBe(true);
        const live = calls.filter(({ status }) => status === "running");
        if (runs.length > 0) expect(live.length + runs.length).toBeLessThanOrEqual(8);
        for (const [index, call] of calls.entries()) {
          if (!runs.includes(call)) continue;
          const earlier = calls
            .slice(0, index)
            .filter(({ status, plan }) => status !== "done" && plan.refusal === undefined);
          if (call.plan.workspace === "write") expect(earlier).toEqual([]);
          expect(earlier.some(({ plan }) => plan.workspace === "write")).toBe(false);
        }
      }),
      { numRuns: 5_000, seed: 5 },
    );
  });
});
