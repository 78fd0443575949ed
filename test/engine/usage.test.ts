import { expect, test } from "vitest";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { engineOf } from "../support/teams.ts";
import { benchOf, lastEvent, say as said } from "./harness.ts";

/** What sessions, runs and agents used, from one row per attempt (MO-33, AP-40). */

const usage = (input: number, cached = 0): string =>
  `usage: { input: ${input}, cacheRead: ${cached}, output: 10 }`;
const yaml = `
providers:
  - name: p
    kind: scripted
    model: m
    rate_limit: { base_delay: 1ms }
    script:
      script: 1
      replies:
        - { reply: [{ call: delegate_to_agent, args: { agent: scout, task: Look around, context: "" } }], ${usage(100)} }
        - { reply: [{ text: done }], ${usage(150, 40)} }
        - { reply: [{ text: again }], ${usage(200)} }
  - name: q
    kind: scripted
    model: n
    rate_limit: { base_delay: 1ms }
    script: { script: 1, replies: [{ fail: [{ status: 529, times: 1 }], reply: [{ text: seen }], ${usage(7000)} }] }
models: { m: { price: { input: 1, output: 10 } }, n: { price: { input: 1, output: 10 } } }
agents:
  - { name: lead, delegation: {}, effects: [] }
  - { name: scout, provider: q, effects: [] }
`;

interface Totals {
  readonly input: number;
  readonly cacheRead: number;
  readonly total: number;
  readonly cost_usd: number | null;
}
interface Shown {
  readonly cumulative: Totals;
  readonly calls: number;
  readonly lifetime: Totals & { readonly calls: number };
  readonly by: readonly { readonly agent: string; readonly calls: number; readonly usage: Totals }[];
}
/** Says something and lets the time of a retry pass. */
const say = async (bench: Bench, text = "Hi"): Promise<Record<string, unknown>> => {
  await said(bench, text);
  await bench.pass(10_000);
  return lastEvent(bench, "run_end");
};
const shown = (bench: Bench): Shown => bench.ok("usage") as unknown as Shown;

test("MO-33 AP-40: a row per attempt, failed ones too; session, run and agents are its sums, children included", async () => {
  const bench = await benchOf(yaml, {}, {});
  const end = await say(bench);
  const rows = bench.ledger();
  expect(
    rows.map(({ purpose, provider, model, attempt, outcome }) => [
      purpose,
      provider,
      model,
      attempt,
      outcome,
    ]),
  ).toEqual([
    ["turn", "p", "m", 1, "ok"],
    ["turn", "q", "n", 1, "overloaded"],
    ["turn", "q", "n", 2, "ok"],
    ["turn", "p", "m", 1, "ok"],
  ]);
  const { cumulative, calls, lifetime, by } = shown(bench);
  expect(calls).toBe(4);
  expect(cumulative).toMatchObject({ input: 100 + 7_000 + 150, cacheRead: 40, total: 7_320 });
  expect(cumulative.cost_usd).toBeCloseTo((7_250 + 4 + 30 * 10) / 1e6, 9);
  expect(lifetime).toEqual({ ...cumulative, calls: 4 });
  expect(by.map((each) => [each.agent, each.calls, each.usage.total])).toEqual([
    ["lead", 2, 310],
    ["scout", 2, 7_010],
  ]);
  expect(end).toMatchObject({ result: { usage: { total: 7_320 }, cost_usd: cumulative.cost_usd } });
});

test("★ MO-33: the context of a thread is that of its own last completed call", async () => {
  const bench = await benchOf(yaml, {}, {});
  await say(bench);
  expect(bench.state().threads["main"]?.lastUsage).toMatchObject({ input: 150, cacheRead: 40 });
  expect(lastEvent(bench, "turn_metrics")).toMatchObject({ utilization: 190 / 128_000 });
});

test("MO-33: clearing begins a new period; what was used in all stays", async () => {
  const bench = await benchOf(yaml, {}, {});
  await say(bench);
  bench.ok("clear");
  expect(shown(bench)).toMatchObject({
    cumulative: { total: 0, cost_usd: 0 },
    calls: 0,
    lifetime: { total: 7_320, calls: 4 },
  });
  await say(bench, "Again");
  bench.crash();
  expect(shown(bench)).toMatchObject({
    cumulative: { total: 210 },
    calls: 1,
    lifetime: { total: 7_530, calls: 5 },
  });
});

test("★ MO-33: two sessions of one provider count apart", async () => {
  const engine = await engineOf(yaml);
  const [one, other] = [openBench({ engine }), openBench({ engine })];
  for (const bench of [one, other]) bench.ok("create");
  await say(one);
  expect(shown(other)).toMatchObject({ cumulative: { total: 0 }, calls: 0, lifetime: { calls: 0 }, by: [] });
});
