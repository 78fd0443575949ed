import { afterAll, beforeAll, expect, test } from "vitest";
import type { Bench } from "../support/bench.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { createProbe } from "../support/probe.ts";
import { benchOf, eventsOf, say, wireEnv } from "./harness.ts";

/** Models whose price nobody knows, under limits of cost (RE-5). */

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const usage = (tokens: number) => ({ prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens });
const looks = (tokens: number) => ({
  speech: { pieces: [{ call: "look", args: {} }], usage: usage(tokens) },
});
const says = (text: string) => ({ speech: { pieces: [{ text }], usage: usage(100) } });

const session = async (top: string, more = "", effects = "[]"): Promise<Bench> => {
  const probe = createProbe();
  const provider = (name: string, model: string, rest = ""): string =>
    `{ name: ${name}, kind: openai, base_url: "${fake.url("openai")}", api_key: "\${KEY}", model: ${model}${rest} }`;
  const yaml = `
providers: [${provider("p", "mystery", more)}, ${provider("q", "riddle")}]
agents: [{ name: helper, effects: ${effects}, toolboxes: [probe], permissions: { preset: open } }]
${top}`;
  return benchOf(yaml, { env: wireEnv(fake), toolboxes: [probe.toolbox] }, {});
};

const unpriced = (bench: Bench) => eventsOf(bench, "error").filter(({ code }) => code === "unpriced_model");

test("RE-5: a cost limit that somebody wrote says once that a model cannot be counted; its tokens count", async () => {
  fake.play(() => looks(4_000));
  const bench = await session("budgets: { run: { max_cost_usd: 1, max_tokens: 9000 } }");
  const end = await say(bench);
  expect(unpriced(bench)).toEqual([
    {
      code: "unpriced_model",
      message:
        "the price of mystery is not known, so its calls count in tokens only; set models.mystery.price",
      retryable: false,
    },
  ]);
  expect(end).toMatchObject({ reason: "budget_exceeded", result: { cost_usd: null, cost_exceeded: false } });
  expect(end["error"]).toMatchObject({ detail: expect.stringContaining("max_tokens: 8000 of 9000 tokens") });
  await say(bench);
  expect(unpriced(bench)).toHaveLength(1);
});

test("RE-5: limits that only a default implies say nothing", async () => {
  fake.play(() => says("Ok."));
  const bench = await session("");
  expect(await say(bench)).toMatchObject({ state: "completed" });
  expect(unpriced(bench)).toEqual([]);
});

test("RE-5 MO-36: a model that only writes summaries is told of, too, once", async () => {
  fake.play(() => says("Ok."));
  const bench = await session(
    "models: { mystery: { price: { input: 1, output: 1 } } }\nbudgets: { run: { max_cost_usd: 1 } }",
    "",
    "[{ kind: compact, params: { summary_provider: q } }]",
  );
  await say(bench, "word ".repeat(8_000));
  expect(unpriced(bench)).toEqual([]);
  for (let round = 0; round < 2; round++) {
    bench.ok("compact");
    await bench.idle();
    await say(bench, "word ".repeat(8_000));
  }
  const summaries = bench.ledger().filter(({ provider }) => provider === "q");
  expect(summaries.length).toBeGreaterThan(1);
  expect(unpriced(bench)).toMatchObject([{ message: expect.stringContaining("riddle") }]);
});

test("RE-5 AP-16: a session's own cost limit is one that somebody wrote", async () => {
  fake.play(() => says("Ok."));
  const bench = await session("");
  bench.ok("patch", { budget: { max_cost_usd: 3 } });
  await say(bench);
  expect(unpriced(bench)).toHaveLength(1);
});

test("RE-5: with unknown_price refuse the run ends before anything is asked, and says what to set", async () => {
  const asked = fake.requests.length;
  fake.play(() => says("Ok."));
  const bench = await session("budgets: { unknown_price: refuse }");
  expect(await say(bench)).toMatchObject({
    reason: "budget_exceeded",
    error: {
      detail:
        "max_cost_usd: the price of mystery is not known, and budgets.unknown_price is refuse; set models.mystery.price",
    },
  });
  expect(fake.requests).toHaveLength(asked);
  const price = "models: { mystery: { price: { input: 1, output: 1 } } }";
  const known = await session(`budgets: { unknown_price: refuse }\n${price}`);
  expect(await say(known)).toMatchObject({ state: "completed" });
  const off =
    "budgets: { unknown_price: refuse, run: { max_cost_usd: 'off' }, tenant: { max_cost_usd: 'off' } }";
  expect(await say(await session(off))).toMatchObject({ state: "completed" });
});

test("RE-5 ★: a call of an unpriced fallback does not switch the cost limit off", async () => {
  let count = 0;
  fake.play(() => (count++ === 0 ? { status: 401, body: {} } : looks(count === 2 ? 500 : 600_000)));
  const bench = await session(
    "budgets: { run: { max_cost_usd: 1 } }\nmodels: { mystery: { price: { input: 1, output: 1 } } }",
    ", fallbacks: [q]",
  );
  const end = await say(bench);
  expect(end).toMatchObject({ reason: "budget_exceeded", result: { cost_usd: null, cost_exceeded: true } });
  expect(bench.requests.map(({ model }) => model)).toEqual(["mystery", "riddle", "mystery", "mystery"]);
  expect(bench.state().spent.cost).toBe(1_200_000_000);
});
