import type { Price } from "./schema.ts";

/** List price of a model family, with its source and date. */
export interface PriceRow extends Price {
  readonly kind: string;
  readonly prefix: string;
  readonly source: string;
  readonly checked: string;
}

type PricesByPrefix = Readonly<Record<string, Price>>;
const priceRowsOf = (kind: string, source: string, checked: string, prices: PricesByPrefix): PriceRow[] =>
  Object.entries(prices).map(([prefix, price]) => ({ kind, prefix, source, checked, ...price }));

/** Returns Claude's prices: cache writes cost 1.25 × input for five minutes, 2 × for an hour. */
const claudePrice = (input: number, output: number, cache_read: number): Price => ({
  input,
  output,
  cache_read,
  cache_write: input * 1.25,
  cache_write_1h: input * 2,
});

const anthropic = priceRowsOf(
  "anthropic",
  "https://platform.claude.com/docs/en/about-claude/pricing",
  "2026-11-21",
  {
    "claude-fable-5-1": claudePrice(10, 50, 0.25),
    "claude-mythos-5-1": claudePrice(10, 50, 0.25),
    "claude-fable-5": claudePrice(10, 50, 1),
    "claude-opus-5-5": claudePrice(4, 20, 0.2),
    "claude-opus-5": claudePrice(5, 25, 0.5),
    "claude-opus-4-8": claudePrice(5, 25, 0.5),
    "claude-opus-4-7": claudePrice(5, 25, 0.5),
    "claude-opus-4-6": claudePrice(5, 25, 0.5),
    "claude-opus-4-5": claudePrice(5, 25, 0.5),
    "claude-opus-4-1": claudePrice(15, 75, 1.5),
    "claude-opus-4": claudePrice(15, 75, 1.5),
    "claude-sonnet-5-5": claudePrice(2, 10, 0.1),
    "claude-sonnet-5": claudePrice(2, 10, 0.2),
    "claude-sonnet-4-6": claudePrice(3, 15, 0.3),
    "claude-sonnet-4-5": claudePrice(3, 15, 0.3),
    "claude-sonnet-4": claudePrice(3, 15, 0.3),
    "claude-haiku-5-5": {
      ...claudePrice(0.1, 0.5, 0.01),
      above: { tokens: 100_000, ...claudePrice(0.5, 2.5, 0.05) },
    },
    "claude-haiku-4-5": claudePrice(1, 5, 0.1),
  },
);

/**
 * Returns the prices from GPT 5.4 on: prompts over 272 000 tokens pay twice for input and cache, and one and a half
 * times for output.
 */
const gptPrice = (input: number, output: number, cache_read: number): Price => {
  const cache_write = input * 1.25;
  const above = {
    tokens: 272_000,
    input: input * 2,
    output: output * 1.5,
    cache_read: cache_read * 2,
    cache_write: cache_write * 2,
  };
  return { input, output, cache_read, cache_write, above };
};

const openai = priceRowsOf("openai", "https://developers.openai.com/api/docs/pricing", "2026-11-21", {
  "gpt-6.1-sol": gptPrice(2, 10, 0.1),
  "gpt-6.1-terra": gptPrice(1, 5, 0.05),
  "gpt-6-astra": gptPrice(10, 50, 1),
  "gpt-6-sol": gptPrice(2, 10, 0.2),
  "gpt-6-luna": gptPrice(0.1, 0.5, 0.01),
  "gpt-5.6-sol": gptPrice(4, 20, 0.4),
  "gpt-5.6-terra": gptPrice(2, 12, 0.2),
  "gpt-5.6-luna": gptPrice(0.2, 1.2, 0.02),
});

const grok = priceRowsOf("grok", "https://docs.x.ai/developers/models", "2026-11-21", {
  "grok-4.7": {
    input: 2,
    output: 6,
    cache_read: 0.5,
    above: { tokens: 200_000, input: 4, output: 12, cache_read: 1 },
  },
  "grok-4.6": {
    input: 2,
    output: 6,
    cache_read: 0.5,
    above: { tokens: 200_000, input: 4, output: 12, cache_read: 1 },
  },
});

/** Gemini's prices without introductory ones: a row holds the price that the vendor announces for afterwards. */
const gemini = priceRowsOf("gemini", "https://ai.google.dev/gemini-api/docs/pricing", "2026-11-21", {
  "gemini-4-argon": { input: 4, output: 20, cache_read: 0.2 },
  "gemini-3.8-flash": { input: 1.5, output: 7.5, cache_read: 0.15 },
  "gemini-3.5-flash": { input: 1.5, output: 9, cache_read: 0.15 },
  "gemini-3.1-pro": {
    input: 2,
    output: 12,
    cache_read: 0.2,
    above: { tokens: 200_000, input: 4, output: 18, cache_read: 0.4 },
  },
  "gemini-3-flash": { input: 0.5, output: 3, cache_read: 0.05 },
});

const scripted = priceRowsOf("scripted", "no vendor: a script costs nothing", "2026-11-21", {
  "": { input: 0, output: 0 },
});

export const priceRows: readonly PriceRow[] = [...anthropic, ...openai, ...grok, ...gemini, ...scripted];
