import { expect, test } from "vitest";
import { describeModel, findGuessedFamily, priceOf } from "../../src/model/catalogue.ts";
import { modelRows } from "../../src/model/model-rows.ts";
import { priceRows } from "../../src/model/price-rows.ts";
import { costOf } from "../../src/model/usage.ts";

test("MO-7: the longest prefix wins, in any case, vendor stripped, dated ids included", () => {
  const sonnet = describeModel("anthropic", "claude-sonnet-5-5");
  expect(sonnet).toMatchObject({ window: 1_000_000, max_output: 128_000 });
  for (const id of ["Claude-Sonnet-5-5-20261001", "anthropic/claude-sonnet-5-5", "CLAUDE-SONNET-5-5"])
    expect(describeModel("anthropic", id)).toEqual(sonnet);
  expect(describeModel("anthropic", "claude-haiku-4-5-20251001").capabilities.reasoning).toBe("budget");
  expect(describeModel("openai", "gpt-5.2-2025-12-11").capabilities.reasoning_off).toBe(true);
  expect(describeModel("openai", "gpt-5-mini").capabilities.reasoning_off).toBe(false);
  expect(describeModel("gemini", "models/gemini-2.5-flash").capabilities.reasoning_off).toBe(true);
});

test("MO-7: what newer models refuse is known: sampling, budgets, no reasoning, forced calls, efforts", () => {
  for (const id of ["claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5"])
    expect(describeModel("anthropic", id).capabilities).toMatchObject({
      reasoning: "adaptive",
      reasoning_off: false,
      sampling: false,
      forced_tool_with_reasoning: false,
    });
  expect(describeModel("openai", "gpt-6.1-sol")).toMatchObject({
    capabilities: {
      reasoning: "effort",
      reasoning_off: false,
      sampling: false,
    },
    protocol: "openai-responses",
    efforts: ["low", "medium", "high", "xhigh"],
  });
  expect(describeModel("openai", "gpt-6-astra").capabilities.reasoning_off).toBe(false);
  expect(describeModel("grok", "grok-4.6").efforts).toContain("xhigh");
  expect(describeModel("grok", "grok-4.3").capabilities).toMatchObject({
    reasoning: "effort",
    reasoning_off: true,
  });
});

test.each([
  "gpt-5",
  "gpt-5-mini-2025-08-07",
  "gpt-5.1",
  "gpt-5.2-codex",
  "gpt-5-pro",
  "o3-pro-2025-06-10",
  "o4-mini",
])("MO-7: %s, which reasons, is asked over the Responses API", (id) => {
  expect(describeModel("openai", id).protocol).toBe("openai-responses");
});

test.each([
  ["openai", "gpt-5-pro-2025-10-06", ["high"]],
  ["openai", "gpt-5.2-pro", ["medium", "high", "xhigh"]],
  ["openai", "gpt-5.4-pro", ["medium", "high", "xhigh"]],
  ["openai", "gpt-5.1-codex-max", ["low", "medium", "high"]],
  ["openai", "gpt-5.1-codex-mini", ["medium", "high"]],
  ["openai", "gpt-5.3-codex", ["low", "medium", "high"]],
  ["grok", "grok-4.20-0309-reasoning", []],
  ["grok", "grok-4-1-fast-reasoning", []],
  ["grok", "grok-build-0.1", []],
  ["grok", "grok-code-fast-1", []],
])("MO-7: %s's %s cannot stop reasoning, and takes the efforts %j alone", (kind, id, efforts) => {
  const { capabilities, efforts: taken } = describeModel(kind, id);
  expect([capabilities.reasoning, capabilities.reasoning_off]).toEqual(["effort", false]);
  expect(taken).toEqual(efforts);
});

test("MO-7: models of ChatGPT are not asked for reasoning, or not for another effort than theirs", () => {
  expect(describeModel("openai", "gpt-5-chat-latest").capabilities.reasoning).toBe("none");
  for (const id of ["gpt-5.1-chat-latest", "gpt-5.2-chat-latest", "gpt-5.3-chat-latest"])
    expect(describeModel("openai", id).efforts).toEqual(["medium"]);
});

test("MO-7: a tuned model can do what its base can, at a price that is not known", () => {
  expect(describeModel("openai", "ft:gpt-4.1-2025-04-14:acme::a1b2")).toEqual(
    describeModel("openai", "gpt-4.1"),
  );
  expect(priceOf("openai", "ft:gpt-6.1-sol:acme::a1b2")).toBeNull();
});

test("MO-7: an unknown model is like the newest of its kind, with no window claimed", () => {
  const unknown = describeModel("anthropic", "claude-next-9");
  expect(unknown).toEqual({ ...describeModel("anthropic", "claude-sonnet-5-5"), window: null });
  expect(describeModel("openai", "my-finetune").capabilities.sampling).toBe(false);
});

test("MO-7: openai-compatible has no media, reasoning or schema; a known family keeps its sizes", () => {
  const none = { images: false, documents: false, reasoning: "none", strict_schema: false };
  expect(describeModel("openai-compatible", "llama-5-70b")).toMatchObject({
    window: null,
    capabilities: none,
  });
  expect(describeModel("openai-compatible", "anthropic/claude-opus-5-5")).toMatchObject({
    window: 1_000_000,
    max_output: 128_000,
    capabilities: { ...none, sampling: false },
  });
  expect(priceOf("openai-compatible", "gpt-6.1-sol")).toBeNull();
});

test("MO-7: models.<id> overrides key by key", () => {
  const override = { max_output: 5000, capabilities: { images: true, reasoning: undefined } };
  const entry = describeModel("openai-compatible", "x", override);
  expect(entry).toMatchObject({ max_output: 5000, capabilities: { images: true, reasoning: "none" } });
});

test("MO-36: the price follows the family of the model that answered, within its kind, unless the team names one", () => {
  expect(priceOf("anthropic", "claude-opus-5-5-20260922")).toMatchObject({ input: 4, output: 20 });
  expect(priceOf("anthropic", "claude-opus-5-20260724")).toMatchObject({ input: 5, output: 25 });
  expect(priceOf("openai", "claude-opus-5-5")).toBeNull();
  expect(priceOf("openai", "gpt-9")).toBeNull();
  expect(priceOf("openai", "gpt-9", { price: { input: 1, output: 2 } })).toEqual({ input: 1, output: 2 });
  expect(
    costOf({ input: 9, output: 9, cacheRead: 0, cacheWrite: 0, total: 18 }, 0, priceOf("scripted", "any")),
  ).toBe(0);
});

test.each([
  ["anthropic", "claude-fable-5-1", 10, 50],
  ["anthropic", "claude-opus-5-5", 4, 20],
  ["anthropic", "claude-sonnet-5-5", 2, 10],
  ["anthropic", "claude-haiku-4-5", 1, 5],
  ["openai", "gpt-6.1-sol", 2, 10],
  ["grok", "grok-4.7", 2, 6],
  ["gemini", "gemini-4-argon", 4, 20],
])("MO-37: %s %s is listed at %d and %d", (kind, model, input, output) => {
  expect(priceOf(kind, model)).toMatchObject({ input, output });
});

test.each([
  ["anthropic", "claude-fable-5-2", "claude-fable-5"],
  ["anthropic", "vendor/Claude-Opus-5-6-20261201", "claude-opus-5"],
  ["anthropic", "claude-opus-5-5-20260922", null],
  ["anthropic", "claude-sonnet-4-0", null],
  ["anthropic", "claude-sonnet-4-5", null],
  ["openai", "gpt-6-sol-2026-11-01", null],
  ["openai", "gpt-9", null],
  ["scripted", "5", null],
])("MO-37: the price of %s %s is guessed from %s", (kind, model, family) => {
  expect(findGuessedFamily(kind, model)).toBe(family);
});

test("MO-37: Claude's writes cost 1.25 and 2 times the input, Grok doubles above 200 000", () => {
  expect(priceOf("anthropic", "claude-sonnet-5-5")).toMatchObject({ cache_write: 2.5, cache_write_1h: 4 });
  expect(priceOf("grok", "grok-4.7")).toMatchObject({
    cache_read: 0.5,
    above: { tokens: 200_000, input: 4, output: 12, cache_read: 1 },
  });
});

test("MO-37: every price row names its page and date, its prefix once, and a family of the catalogue", () => {
  for (const { kind, prefix, source, checked } of priceRows.filter((row) => row.kind !== "scripted")) {
    expect(URL.canParse(source)).toBe(true);
    expect(checked).toMatch(/^2026-\d\d-\d\d$/);
    expect(modelRows.some((row) => row.kind === kind && prefix.startsWith(row.prefix))).toBe(true);
  }
  const names = priceRows.map(({ kind, prefix }) => `${kind} ${prefix}`);
  expect(new Set(names).size).toBe(names.length);
});
