import { expect, test } from "vitest";
import { dataOf, lastResult, play, run } from "../loop/play.ts";

/** What a run's end says of its failure (AP-10, AP-27). */

test("AP-10: run_end holds the problem of a run that failed; result tells it as a sentence", async () => {
  const { bench } = await run("replies: [{ reply: [{ text: No. }], finish: refusal }]");
  expect(dataOf(bench, "run_end")[0]).toMatchObject({ state: "failed", reason: "refusal" });
  expect(dataOf(bench, "run_end")[0]?.error).toEqual({
    type: "urn:limpet:problem:refusal",
    title: "Refused by the model",
    status: 422,
    detail: "the model refused",
    code: "refusal",
    retryable: false,
  });
  expect(lastResult(bench).error).toBe("the model refused");
  expect(bench.ok("run", { run: "run_1" })).toMatchObject({ reason: "refusal", error: "the model refused" });
});

test.each([
  ["429", "provider_rate_limited", 429, true],
  ["529", "provider_overloaded", 503, true],
  ["401", "provider_auth", 502, false],
  ["400", "provider_error", 502, false],
  ["500", "provider_error", 502, true],
])("AP-10: a provider's %s ends as the problem %s", async (status, code, answer, retryable) => {
  const { bench } = await run(
    `replies: [{ fail: [{ status: ${status}, times: 50 }], reply: [{ text: Ok. }] }]`,
  );
  for (let round = 0; round < 8; round++) await bench.pass(120_000);
  const [end] = dataOf(bench, "run_end");
  expect(end?.error).toMatchObject({
    type: `urn:limpet:problem:${code}`,
    code,
    status: answer,
    retryable,
    detail: lastResult(bench).error,
  });
  expect(dataOf(bench, "error").at(-1)).toMatchObject({ code, retryable, message: end?.error?.detail });
});

test("AP-10 AP-27: a run that completed or was cancelled has none", async () => {
  const { bench } = await run("replies: [{ reply: [{ text: Hi. }] }]");
  expect(dataOf(bench, "run_end")[0]?.error).toBeNull();
  const cancelled = await play("replies: [{ reply: [{ text: Hi. }] }]");
  cancelled.bench.hold = true;
  cancelled.bench.send("Go");
  await cancelled.bench.steps();
  cancelled.bench.ok("cancel");
  await cancelled.bench.steps();
  expect(dataOf(cancelled.bench, "run_end")[0]).toMatchObject({ state: "cancelled", error: null });
});
