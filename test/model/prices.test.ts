import { expect, test } from "vitest";
import { costOf } from "../../src/model/usage.ts";
import type { Price } from "../../src/model/schema.ts";

const usage = (input: number, output = 0, cacheRead = 0, cacheWrite = 0) => ({
  input,
  output,
  cacheRead,
  cacheWrite,
  total: input + output + cacheRead + cacheWrite,
});

test("MO-36: cached tokens are charged once: 100 000 prompt with 90 000 cached costs 10 000 and 90 000 cached", () => {
  expect(costOf(usage(10_000, 0, 90_000), 0, { input: 2, output: 10, cache_read: 0.2 })).toBe(38_000_000);
});

test("MO-36: an unknown price is null, never 0", () => {
  expect(costOf(usage(1, 1), 0, null)).toBeNull();
  expect(costOf(usage(1, 1), 0, { input: 0, output: 0 })).toBe(0);
});

test("MO-36: unlisted cache prices are a tenth for reads and the input's for writes", () => {
  expect(costOf(usage(0, 0, 1000), 0, { input: 2, output: 10 })).toBe(200_000);
  expect(costOf(usage(0, 0, 0, 1000), 0, { input: 2, output: 10 })).toBe(2_000_000);
});

test("MO-36: writes kept for 5 minutes and for an hour are charged apart", () => {
  const price = { input: 4, output: 20, cache_write: 5, cache_write_1h: 8 };
  expect(costOf(usage(0, 0, 0, 1000), 400, price)).toBe(600 * 5000 + 400 * 8000);
  expect(costOf(usage(0, 0, 0, 1000), 5000, price)).toBe(8_000_000);
});

test("MO-36: above its threshold the whole call costs the higher price, at it not yet", () => {
  const price: Price = {
    input: 2,
    output: 6,
    cache_read: 0.5,
    above: { tokens: 200_000, input: 4, output: 12, cache_read: 1 },
  };
  expect(costOf(usage(100_000, 10, 100_000), 0, price)).toBe(250_060_000);
  expect(costOf(usage(100_001, 10, 100_000), 0, price)).toBe(500_124_000);
});

test("MO-36: a million random costs add up to the last digit", () => {
  let seed = 1;
  const random = (most: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % most;
  };
  let sum = 0;
  let exact = 0n;
  for (let i = 0; i < 1_000_000; i++) {
    const price = { input: random(1000) / 100, output: random(5000) / 100, cache_read: random(1000) / 1000 };
    const used = usage(random(200_000), random(8000), random(100_000));
    const cost = costOf(used, 0, price) ?? Number.NaN;
    const micro = (usd: number) => BigInt(Math.round(usd * 1e6));
    const total =
      BigInt(used.input) * micro(price.input) +
      BigInt(used.output) * micro(price.output) +
      BigInt(used.cacheRead) * micro(price.cache_read);
    if (BigInt(cost) !== (total + 500n) / 1000n)
      throw new Error(`cost ${cost} of ${JSON.stringify({ price, used })}`);
    sum += cost;
    exact += BigInt(cost);
  }
  expect(Number.isSafeInteger(sum)).toBe(true);
  expect(BigInt(sum)).toBe(exact);
});
