import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Json } from "../../src/chat/message.ts";
import { inputSeemsTruncated, mergeUsage, readUsage } from "../../src/model/usage.ts";

const estimate = { input: 111, output: 22 };
const read = (raw: Json | undefined) => readUsage(raw, estimate);
const five = (raw: Json | undefined) => {
  const { input, output, cacheRead, cacheWrite, total } = read(raw).usage;
  return [input, output, cacheRead, cacheWrite, total];
};

test("MO-31: OpenAI's cached tokens leave the input, so that they are counted once", () => {
  const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 };
  expect(five(usage)).toEqual([100, 50, 0, 0, 150]);
  expect(five({ ...usage, prompt_tokens_details: { cached_tokens: 40 } })).toEqual([60, 50, 40, 0, 150]);
});

test("MO-31: Anthropic reports cache apart; the derived total holds all four", () => {
  const usage = {
    input_tokens: 200,
    output_tokens: 80,
    cache_read_input_tokens: 50,
    cache_creation_input_tokens: 10,
  };
  expect(five(usage)).toEqual([200, 80, 50, 10, 340]);
});

test("MO-31: Google's thoughts are output", () => {
  expect(five({ promptTokenCount: 300, candidatesTokenCount: 120, totalTokenCount: 420 })).toEqual([
    300, 120, 0, 0, 420,
  ]);
  const thinking = {
    promptTokenCount: 300,
    candidatesTokenCount: 100,
    thoughtsTokenCount: 20,
    cachedContentTokenCount: 40,
  };
  expect(five(thinking)).toEqual([260, 120, 40, 0, 420]);
  expect(read(thinking).reasoning).toBe(20);
});

test("MO-31: Grok's reasoning stands only in the total", () => {
  const usage = {
    prompt_tokens: 663,
    completion_tokens: 50,
    total_tokens: 837,
    prompt_tokens_details: { cached_tokens: 654 },
    completion_tokens_details: { reasoning_tokens: 124 },
  };
  expect(five(usage)).toEqual([9, 174, 654, 0, 837]);
  expect(read(usage)).toMatchObject({ reasoning: 124, estimated: false });
});

test("MO-31: input_tokens beside its details is inclusive (OpenAI responses), alone it is not", () => {
  const usage = { input_tokens: 100, output_tokens: 5, input_tokens_details: { cached_tokens: 60 } };
  expect(five(usage)).toEqual([40, 5, 60, 0, 105]);
  expect(five({ input_tokens: 100, output_tokens: 5, cached_tokens: 60 })).toEqual([100, 5, 60, 0, 165]);
});

test("MO-31: cache beyond the prompt is not subtracted", () => {
  expect(five({ prompt_tokens: 10, completion_tokens: 1, cached_tokens: 20 })).toEqual([10, 1, 20, 0, 31]);
});

test.each([
  ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "totalTokens"],
  ["input", "output", "cacheRead", "cacheWrite", "total"],
  ["input", "output", "cached", "cache_write", "total_tokens"],
  ["input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens", "total"],
])("MO-31: %s, %s, %s, %s and %s are understood", (input, output, cacheRead, cacheWrite, total) => {
  const usage = { [input]: 1, [output]: 2, [cacheRead]: 3, [cacheWrite]: 4, [total]: 50 };
  expect(five(usage)).toEqual([1, 2, 3, 4, 50]);
});

test("MO-31: nested timings count, and the first name present wins", () => {
  expect(five({ timings: { prompt_n: 7, predicted_n: 8 } })).toEqual([7, 8, 0, 0, 15]);
  expect(five({ input_tokens: 1, prompt_tokens: 9, output_tokens: 2, completion_tokens: 9 })).toEqual([
    1, 2, 0, 0, 3,
  ]);
  expect(five({ input_tokens: null, inputTokens: 9, output_tokens: 2 })).toEqual([9, 2, 0, 0, 11]);
});

test("MO-31: hourly cache writes are told apart", () => {
  const usage = {
    input_tokens: 1,
    output_tokens: 1,
    cache_creation_input_tokens: 30,
    cache_creation: { ephemeral_1h_input_tokens: 20 },
  };
  expect(read(usage).cacheWrite1h).toBe(20);
});

test("MO-32 RE-F14: negative is 0, missing and absurd figures become the estimate", () => {
  expect(five({ input_tokens: -50, output_tokens: 3 })).toEqual([0, 3, 0, 0, 3]);
  expect(read({ input_tokens: -50, output_tokens: 3 }).estimated).toBe(false);
  expect(five(undefined)).toEqual([111, 22, 0, 0, 133]);
  expect(five("nonsense")).toEqual([111, 22, 0, 0, 133]);
  expect(five({ input_tokens: "100", output_tokens: 1 })).toEqual([111, 1, 0, 0, 112]);
  expect(five({ input_tokens: 20_000_001, output_tokens: 10_000_001 })).toEqual([111, 22, 0, 0, 133]);
  expect(five({ input_tokens: 20_000_000, output_tokens: 10_000_000 })).toEqual([2e7, 1e7, 0, 0, 3e7]);
  for (const raw of [
    undefined,
    { input_tokens: "x", output_tokens: 1 },
    { input: 1, output: 1, cached: 1e9 },
  ])
    expect(read(raw).estimated).toBe(true);
});

test("MO-13: later reports replace field by field, nulls do not", () => {
  const merged = mergeUsage(
    { input_tokens: 200, output_tokens: 1, a: 1 },
    { input_tokens: null, output_tokens: 80 },
  );
  expect(merged).toEqual({ input_tokens: 200, output_tokens: 80, a: 1 });
  expect(mergeUsage(undefined, { a: 1 })).toEqual({ a: 1 });
  expect(mergeUsage({ a: 1 }, null)).toEqual({ a: 1 });
});

test("MO-31: any JSON gives whole, non-negative figures whose total covers their sum", () => {
  const names = [
    "input_tokens",
    "prompt_tokens",
    "output_tokens",
    "total_tokens",
    "cached_tokens",
    "cache_write",
  ];
  const report = fc.dictionary(
    fc.constantFrom(...names),
    fc.oneof(fc.integer(), fc.double(), fc.jsonValue()),
  );
  fc.assert(
    fc.property(fc.oneof(report, fc.jsonValue()), (raw) => {
      const { usage } = read(raw as Json);
      const { input, output, cacheRead, cacheWrite, total } = usage;
      for (const figure of Object.values(usage))
        expect(Number.isSafeInteger(figure) && figure >= 0).toBe(true);
      expect(total).toBeGreaterThanOrEqual(input + output + cacheRead + cacheWrite);
    }),
    { numRuns: 2000 },
  );
});

test("MO-35: less than half of an estimate over 4 000 looks truncated", () => {
  const usage = { input: 1000, output: 1, cacheRead: 900, cacheWrite: 99, total: 2000 };
  expect([3999, 3998, 4001].map((sum) => inputSeemsTruncated(usage, sum))).toEqual([false, false, true]);
  expect(inputSeemsTruncated({ ...usage, input: 1, cacheRead: 0, cacheWrite: 0 }, 4000)).toBe(false);
});
