import type { Usage } from "./completer.ts";
import type { Price } from "./schema.ts";

/**
 * Returns the cost of a call in 10⁻⁹ USD, an integer; null without price. `cacheWrite1h` is the part of
 * `cacheWrite` kept 1 h.
 */
export const costOf = (usage: Usage, cacheWrite1h: number, price: Price | null): number | null => {
  if (price === null) return null;
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  const { above } = price;
  const rates: Omit<Price, "above"> =
    above !== undefined && prompt > above.tokens
      ? { ...price, ...above, input: above.input ?? price.input, output: above.output ?? price.output }
      : price;
  const read = rates.cache_read ?? rates.input * 0.1;
  const write = rates.cache_write ?? rates.input;
  const hourly = Math.min(cacheWrite1h, usage.cacheWrite);
  const millionths =
    usage.input * toRate(rates.input) +
    usage.output * toRate(rates.output) +
    usage.cacheRead * toRate(read) +
    (usage.cacheWrite - hourly) * toRate(write) +
    hourly * toRate(rates.cache_write_1h ?? write);
  return Math.round(millionths / 1000);
};

/** Converts USD per million tokens to whole 10⁻¹² USD per token, so that products and sums stay exact integers. */
const toRate = (usdPerMillion: number): number => Math.round(usdPerMillion * 1e6);
