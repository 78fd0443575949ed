import { expect, test } from "vitest";
import { dataOf, ends } from "../loop/play.ts";
import type { Stage } from "./gate-play.ts";
import { openStage, settled, teamOf } from "./gate-play.ts";

/** A session that waits for a slot which another keeps (MO-29). */

const limits = { max_concurrent: 1 };

const provider = "context_window: 128000\n    retry: { max_wait: 30s }";

const crowded = async (others = "", agent = "effects: []"): Promise<Stage> => {
  const stage = await openStage(teamOf({ limits, provider, others, agent }), limits);
  stage.other("that stays");
  stage.bench.send("Go");
  return stage;
};

test("MO-29 MO-26: who waited max_wait for a slot is not queued again: the run fails and says when to retry", async () => {
  const { bench } = await crowded();
  const began = bench.now();
  await settled(bench);
  expect(ends(bench)).toEqual(["failed:provider_rate_limited"]);
  const waited = bench.now() - began;
  expect(waited).toBeGreaterThanOrEqual(15_000);
  expect(waited).toBeLessThanOrEqual(30_000);
  expect(dataOf(bench, "attempt_aborted").length).toBeLessThanOrEqual(1);
  expect(bench.requests).toEqual([]);
});

test("MO-29 MO-27: with a fallback it goes there after that wait", async () => {
  const others = `  - name: spare
    kind: scripted
    model: play
    context_window: 128000
    script: { script: 1, replies: [{ reply: [{ text: Spare. }] }] }`;
  const { bench } = await crowded(others, "effects: []\n    fallbacks: [{ provider: spare }]");
  const began = bench.now();
  await settled(bench);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(bench.now() - began).toBeLessThanOrEqual(30_000);
  expect(dataOf(bench, "provider_failover")).toMatchObject([{ code: "rate_limited" }]);
});

test("MO-30: the rate headers of a refusal hold the calls of all sessions back", async () => {
  const at = 1_700_000_000_000;
  let calls = 0;
  const stage = await openStage(
    `
providers:
  - name: script
    kind: openai-compatible
    base_url: "https://near.example/v1"
    api_key: k
    allow_literal_secrets: true
    model: small
    context_window: 128000
    rate_limit: { rpm: 100 }
agents:
  - { name: tester, effects: [] }`,
    { rpm: 100 },
    {
      extras: {
        now: () => at,
        fetch: async () => {
          calls += 1;
          const headers = { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "30s" };
          return new Response("{}", { status: 429, headers: { ...headers, "retry-after": "1" } });
        },
      },
    },
  );
  stage.bench.send("Go");
  await stage.bench.idle();
  expect(calls).toBe(1);
  expect(stage.other("behind").startAt).toBe(at + 30_000);
  await stage.bench.pass(2_000);
  expect(calls).toBe(1);
});
