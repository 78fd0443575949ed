import { expect, test } from "vitest";
import type { ModelCallFacts, Transcript, TurnFacts } from "../../src/client/transcript.ts";
import { describeOutcome, findSteps } from "../../src/console/context/calls.ts";
import type { SeenCall } from "../../src/console/context/calls.ts";

/** AP-54: what the context view says of one call, and where one steps to from it. */

const seenCall = (call: number, fields: Partial<SeenCall> = {}): SeenCall => ({
  call,
  purpose: "turn",
  outcome: "ok",
  at: call * 1_000,
  usage: null,
  cost_usd: null,
  estimated: false,
  ...fields,
});

const factsOf = (calls: readonly (readonly [string, number, number])[]): TurnFacts =>
  ({
    turn: 1,
    model_calls: calls.map(([purpose, started_at, ended_at]) => ({ purpose, started_at, ended_at })),
  }) as unknown as TurnFacts & { readonly model_calls: readonly ModelCallFacts[] };

const usage = { input: 100, output: 20, cacheRead: 900, cacheWrite: 0, total: 1_020 };

/** As the scene `retry`: two overloads, one break-off, then an answer. */
const retried = factsOf([
  ["turn", 990, 1_000],
  ["turn", 1_997, 2_000],
  ["compaction", 2_000, 3_000],
  ["turn", 2_974, 3_000],
  ["turn", 3_814, 4_000],
]);

test.each([
  [seenCall(1, { outcome: "overloaded" }), "Failed", "after 10 ms: overloaded", null],
  [seenCall(3, { outcome: "truncated_stream" }), "Broke off", "after 26 ms", null],
  [seenCall(4, { usage, cost_usd: 0.0207 }), "Answered", "in 186 ms, $0.02", "900 of 1,000"],
  [seenCall(4, { usage, cost_usd: null }), "Answered", "in 186 ms, no price", "900 of 1,000"],
  [seenCall(9, { outcome: "in_flight" }), "Answer", "under way", null],
  [
    seenCall(9, { outcome: "cancelled", usage, cost_usd: 0.02, estimated: true }),
    "Stopped",
    "about $0.02",
    null,
  ],
  [seenCall(9, { outcome: "context_overflow" }), "Failed", "context overflow", null],
  [seenCall(9, { outcome: "interrupted" }), "Broke off", "", null],
])("AP-54: each call says its own outcome: %j", (call, name, words, cached) => {
  expect(describeOutcome(call, retried)).toEqual({ name, words, cached });
  expect(describeOutcome({ ...call, at: 0 }, undefined).name).toBe(name);
});

const runOf = (id: string, turns: readonly number[]) =>
  ({
    id,
    thread: "main",
    timeline: turns.map((turn) => ({ turn })),
  }) as unknown as Transcript["runs"][number];

test("AP-54: one steps from turn to turn, and not into what was no turn", () => {
  const runs = [runOf("run_1", [1, 2]), runOf("run_2", [0]), runOf("run_3", [1])];
  const placeOf = (run: string, turn: number) => ({ run, turn, call: null });
  const one = findSteps(runs, placeOf("run_3", 1), null);
  expect(one).toEqual({ before: placeOf("run_1", 2), after: null, words: "Turn 1", more: " of 1" });
  const calls = [seenCall(1), seenCall(2)];
  expect(findSteps(runs, placeOf("run_1", 1), { calls, call: 2 })).toEqual({
    before: { run: "run_1", turn: 1, call: 1 },
    after: placeOf("run_1", 2),
    words: "Turn 1",
    more: ", call 2 of 2",
  });
  const missing = { before: placeOf("run_1", 2), after: null, words: "Turn 7", more: "" };
  expect(findSteps(runs, placeOf("run_1", 7), null)).toEqual(missing);
  expect(findSteps(runs, placeOf("run_9", 7), null)).toEqual({ ...missing, before: null });
});
