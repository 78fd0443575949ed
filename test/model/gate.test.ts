import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  emptyGate,
  isLimited,
  readHealth,
  release,
  reportOutcome,
  reserve,
  settle,
} from "../../src/model/gate.ts";
import type { GateLimits, GateState, ReserveRequest, GateSettlement } from "../../src/model/gate.ts";

const none: GateLimits = { input_tpm: 0, output_tpm: 0, rpm: 0, max_concurrent: 0, cacheReadsCount: true };
const ask = (
  id: string,
  limits: Partial<GateLimits>,
  more: Partial<ReserveRequest> = {},
): ReserveRequest => ({
  id,
  input: 100,
  maxOutput: 1000,
  limits: { ...none, ...limits },
  maxWait: 600_000,
  total: 600_000,
  ...more,
});
const ok = (input: number, output: number, more: Partial<GateSettlement> = {}): GateSettlement => ({
  model: "m",
  code: "ok",
  exhausted: false,
  usage: { input, output, cacheRead: 0, cacheWrite: 0, total: input + output },
  ...more,
});

/** Books one after the other; answers are the start times. */
const bookAll = (requests: readonly ReserveRequest[], now = 0, from: GateState = emptyGate) => {
  let state = from;
  const starts = requests.map((request) => {
    const next = reserve(state, request, now);
    state = next.state;
    return next.answer.startAt;
  });
  return { state, starts };
};

test("MO-29: 5 calls at once at rpm 1 start after 0, 60, 120, 180 and 240 seconds", () => {
  const { starts } = bookAll(["a", "b", "c", "d", "e"].map((id) => ask(id, { rpm: 1 })));
  expect(starts).toEqual([0, 60_000, 120_000, 180_000, 240_000]);
});

test("MO-29: without a limit nothing waits", () => {
  expect(bookAll(["a", "b", "c", "d"].map((id) => ask(id, {}))).starts).toEqual([0, 0, 0, 0]);
  expect([isLimited(none), isLimited({ ...none, rpm: 1 })]).toEqual([false, true]);
});

test("MO-29: two sessions at input_tpm share it, whatever is left is given out", () => {
  const limits = { input_tpm: 1000 };
  const requests = [600, 600, 400, 400].map((input, i) => ask(`c${i}`, limits, { input }));
  expect(bookAll(requests).starts).toEqual([0, 60_000, 0, 60_000]);
});

test("MO-29: a call larger than the limit goes when the window is empty, and fills it", () => {
  const limits = { input_tpm: 1000 };
  const sizes = [10, 5000, 10];
  expect(bookAll(sizes.map((input, i) => ask(`c${i}`, limits, { input }))).starts).toEqual([0, 60_000, 0]);
  const { state } = bookAll([ask("big", limits, { input: 5000 })]);
  expect(reserve(state, ask("next", limits), 1).answer.startAt).toBe(60_000);
});

test("MO-29: output is booked as the cap, 4 096 without experience, else 1.5 times the mean of the last 20", () => {
  const limits = { output_tpm: 100_000 };
  const booked = (state: GateState, maxOutput: number) =>
    reserve(state, ask("x", limits, { maxOutput }), 0).state.bookings.at(-1)?.output;
  expect([booked(emptyGate, 16_384), booked(emptyGate, 500)]).toEqual([4096, 500]);
  const after = (outputs: readonly number[]) => booked({ ...emptyGate, outputs }, 16_384);
  expect([after([2000, 4000]), after([10, 20]), after([90_000])]).toEqual([4500, 1024, 16_384]);
});

test("MO-29: only the last 20 outputs of successes count", () => {
  let state = emptyGate;
  for (let i = 0; i < 25; i++) {
    state = reserve(state, ask(`c${i}`, {}), i).state;
    state = settle(state, `c${i}`, ok(1, i), i);
  }
  state = reserve(state, ask("failed", {}), 30).state;
  state = settle(state, "failed", ok(1, 999, { code: "network" }), 30);
  expect(state.outputs).toEqual(Array.from({ length: 20 }, (_, i) => i + 5));
});

test("MO-29: a start beyond max_wait is rate_limited and books nothing", () => {
  const { state } = bookAll([ask("a", { rpm: 1 }), ask("b", { rpm: 1 })]);
  const { answer, state: after } = reserve(state, ask("c", { rpm: 1 }, { maxWait: 119_999 }), 0);
  expect(answer).toEqual({ status: "rate_limited", startAt: 120_000 });
  expect(after.bookings).toHaveLength(2);
});

test("MO-29: reserve, settle and release are idempotent", () => {
  const first = reserve(emptyGate, ask("a", { rpm: 1 }), 0);
  const again = reserve(first.state, ask("a", { rpm: 1 }), 5000);
  expect(again.answer).toEqual({ status: "booked", startAt: 0 });
  expect(again.state.bookings).toHaveLength(1);
  const settled = settle(first.state, "a", ok(7, 8), 1000);
  expect(settle(settled, "a", ok(500, 500, { code: "network" }), 2000)).toBe(settled);
  expect(release(settled, "a")).toBe(settled);
  expect(release(release(first.state, "a"), "a")).toEqual(emptyGate);
  expect(settle(emptyGate, "unknown", ok(1, 1), 0)).toBe(emptyGate);
});

test("MO-29: settle puts in the truth; cache reads count unless the vendor leaves them out", () => {
  const usage = { input: 10, output: 30, cacheRead: 500, cacheWrite: 5, total: 545 };
  const inputAfter = (cacheReadsCount: boolean) => {
    const { state } = reserve(emptyGate, ask("a", { input_tpm: 1000, cacheReadsCount }), 0);
    return settle(state, "a", ok(0, 0, { usage }), 1).bookings[0]?.input;
  };
  expect([inputAfter(true), inputAfter(false)]).toEqual([515, 15]);
});

test("MO-29: a released place is used by the next, the others stay", () => {
  const { state } = bookAll(["a", "b", "c"].map((id) => ask(id, { rpm: 1 })));
  const { starts, state: after } = bookAll([ask("d", { rpm: 1 })], 0, release(state, "b"));
  expect(starts).toEqual([60_000]);
  expect(reserve(after, ask("c", { rpm: 1 }), 0).answer.startAt).toBe(120_000);
});

test("MO-29: max_concurrent bounds leases, waiting calls keep their order, a settled one frees a slot", () => {
  const limits = { max_concurrent: 1 };
  let { state } = reserve(emptyGate, ask("a", limits), 0);
  const second = reserve(state, ask("b", limits), 10);
  expect(second.answer).toEqual({ status: "queued", startAt: 2010 });
  const third = reserve(second.state, ask("c", limits), 20);
  expect(third.answer.status).toBe("queued");
  state = settle(third.state, "a", ok(1, 1), 500);
  const early = reserve(state, ask("c", limits), 600);
  expect(early.answer.status).toBe("queued");
  const turn = reserve(early.state, ask("b", limits), 700);
  expect(turn.answer).toEqual({ status: "booked", startAt: 700 });
  expect(reserve(turn.state, ask("c", limits), 800).answer.status).toBe("queued");
});

test("MO-29: the lease of a dead session ends total and 60 s after its start", () => {
  const limits = { max_concurrent: 1 };
  const { state } = reserve(emptyGate, ask("dead", limits, { total: 1000 }), 0);
  expect(reserve(state, ask("b", limits), 60_999).answer.status).toBe("queued");
  expect(reserve(state, ask("b", limits), 61_000).answer).toEqual({ status: "booked", startAt: 61_000 });
});

test("MO-29: a dead session's place in the queue is lost, a wait over max_wait is rate_limited", () => {
  const limits = { max_concurrent: 1 };
  let { state } = reserve(emptyGate, ask("a", limits), 0);
  state = reserve(state, ask("dead", limits), 0).state;
  state = reserve(state, ask("c", limits), 1).state;
  state = settle(state, "a", ok(1, 1), 5000);
  expect(reserve(state, ask("c", limits), 5000).answer.status).toBe("queued");
  expect(reserve(state, ask("c", limits), 18_001).answer.status).toBe("booked");
  const busy = reserve(emptyGate, ask("a", limits), 0).state;
  expect(reserve(busy, ask("b", limits, { maxWait: 100 }), 0).answer.status).toBe("rate_limited");
});

test("MO-30: rate headers hold later bookings and never those in hand", () => {
  const { state } = bookAll([ask("a", { rpm: 10 }), ask("b", { rpm: 10 })]);
  const held = settle(state, "a", ok(1, 1, { holdUntil: 9000 }), 1000);
  expect(reserve(held, ask("b", { rpm: 10 }), 1000).answer.startAt).toBe(0);
  expect(reserve(held, ask("c", { rpm: 10 }), 1000).answer.startAt).toBe(9000);
  expect(reserve(held, ask("c", { rpm: 10 }), 10_000).answer.startAt).toBe(10_000);
});

test("MO-29: a gate written out and read back goes on as before", () => {
  const { state } = bookAll(["a", "b"].map((id) => ask(id, { rpm: 1 })));
  const revived = JSON.parse(JSON.stringify(state)) as GateState;
  expect(reserve(revived, ask("c", { rpm: 1 }), 0).answer.startAt).toBe(120_000);
  expect(settle(revived, "a", ok(1, 1), 1)).toEqual(settle(state, "a", ok(1, 1), 1));
});

test("MO-28: failures cool a model for 1, 5, 25, 60 minutes, a success clears it", () => {
  let state = emptyGate;
  const minutes: number[] = [];
  let now = 0;
  for (let i = 0; i < 5; i++) {
    state = reportOutcome(state, "m", "overloaded", false, now);
    const again = reportOutcome(state, "m", "overloaded", true, now + 1);
    expect(again).toBe(state);
    const until = readHealth(state, "p", null, now).rows[0]?.until ?? 0;
    minutes.push((until - now) / 60_000);
    now = until;
  }
  expect(minutes).toEqual([1, 5, 25, 60, 60]);
  expect(reportOutcome(state, "m", "ok", false, now)).toEqual(emptyGate);
});

test("MO-28: after the cooldown the first caller gets the trial while others still see it cooling", () => {
  const state = reportOutcome(emptyGate, "m", "server_error", false, 0);
  expect(readHealth(state, "p", "m", 59_999).rows).toEqual([
    { provider: "p", model: "m", available: false, reason: "server_error", until: 60_000 },
  ]);
  const trial = readHealth(state, "p", "m", 60_000);
  expect(trial.rows[0]).toMatchObject({ available: true, until: null });
  expect(readHealth(trial.state, "p", "m", 60_001).rows[0]).toMatchObject({
    available: false,
    until: 180_000,
  });
  const failed = reportOutcome(trial.state, "m", "server_error", false, 61_000);
  expect(readHealth(failed, "p", null, 61_000).rows[0]).toMatchObject({ until: 361_000 });
  expect(readHealth(state, "p", null, 60_000).state).toBe(state);
});

test("MO-28: a trial that says nothing of the model's health ends, and the next caller gets the trial", () => {
  const state = reportOutcome(emptyGate, "m", "server_error", false, 0);
  const trial = readHealth(state, "p", "m", 60_000);
  const refused = reportOutcome(trial.state, "m", "context_overflow", false, 61_000);
  const next = readHealth(refused, "p", "m", 61_000);
  expect(next.rows[0]).toMatchObject({ available: true, until: null });
  expect(readHealth(next.state, "p", "m", 61_001).rows[0]).toMatchObject({
    available: false,
    until: 181_000,
  });
});

test("MO-28: 429 cools only with its retries used up, quota for ten minutes, auth and cut streams never", () => {
  const until = (code: Parameters<typeof reportOutcome>[2], exhausted: boolean) =>
    readHealth(reportOutcome(emptyGate, "m", code, exhausted, 0), "p", null, 0).rows[0]?.until ?? 0;
  expect([until("rate_limited", false), until("rate_limited", true)]).toEqual([0, 60_000]);
  expect(until("quota_exceeded", false)).toBe(600_000);
  expect([until("auth", true), until("truncated_stream", true), until("cancelled", true)]).toEqual([0, 0, 0]);
});

const requests = fc.array(
  fc.record({
    after: fc.integer({ min: 0, max: 20_000 }),
    input: fc.integer({ min: 1, max: 1500 }),
    maxOutput: fc.integer({ min: 1, max: 600 }),
    end: fc.constantFrom("settle", "release", "nothing"),
  }),
  { minLength: 1, maxLength: 40 },
);

test("MO-29: whatever is booked, settled and released, no window of 60 s ever exceeds a limit", () => {
  const limits = { rpm: 5, input_tpm: 3000, output_tpm: 1000 };
  fc.assert(
    fc.property(requests, (steps) => {
      let state = emptyGate;
      let now = 0;
      const called: { at: number; input: number; output: number }[] = [];
      for (const [i, { after, input, maxOutput, end }] of steps.entries()) {
        now += after;
        const result = reserve(state, ask(`c${i}`, limits, { input, maxOutput, maxWait: 1e9 }), now);
        state = result.state;
        const at = result.answer.startAt;
        expect(at).toBeGreaterThanOrEqual(now);
        const output = state.bookings.at(-1)?.output ?? 0;
        if (end === "release") state = release(state, `c${i}`);
        else called.push({ at, input, output });
        if (end === "settle") state = settle(state, `c${i}`, ok(input, output), now);
      }
      for (const { at: last } of called) {
        const window = called.filter(({ at }) => at > last - 60_000 && at <= last);
        const sum = (key: "input" | "output") => window.reduce((total, entry) => total + entry[key], 0);
        expect(window.length).toBeLessThanOrEqual(5);
        expect(sum("input")).toBeLessThanOrEqual(3000);
        expect(sum("output")).toBeLessThanOrEqual(1000);
      }
    }),
    { numRuns: 500 },
  );
});

test("MO-29: equal calls start in the order in which they asked, and nobody later moves them", () => {
  const steps = fc.array(fc.integer({ min: 0, max: 30_000 }), { maxLength: 30 });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 4 }), (gaps, rpm) => {
      let state = emptyGate;
      let now = 0;
      let last = 0;
      for (const [i, gap] of gaps.entries()) {
        now += gap;
        const { state: next, answer } = reserve(state, ask(`c${i}`, { rpm }, { maxWait: 1e9 }), now);
        expect(answer.startAt).toBeGreaterThanOrEqual(last);
        expect(next.bookings.slice(0, -1)).toEqual(state.bookings.slice(-(next.bookings.length - 1) || 1e9));
        last = answer.startAt;
        state = next;
      }
    }),
  );
});

test("MO-29: at every moment at most max_concurrent leases are open, and a live waiter always gets its turn", () => {
  const script = fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.boolean()), { maxLength: 60 });
  fc.assert(
    fc.property(script, fc.integer({ min: 1, max: 3 }), (steps, max_concurrent) => {
      let state = emptyGate;
      const open = new Set<string>();
      for (const [i, [call, done]] of steps.entries()) {
        const id = `c${call}`;
        if (done && open.delete(id)) state = release(state, id);
        else {
          const { state: next, answer } = reserve(state, ask(id, { max_concurrent }), i);
          state = next;
          if (answer.status === "booked") open.add(id);
        }
        expect(open.size).toBeLessThanOrEqual(max_concurrent);
      }
    }),
  );
});
