import type { Effort } from "./completer.ts";
import type { Capabilities } from "./schema.ts";

/** Model family of a provider kind. Sizes are tokens. */
export interface ModelRow {
  readonly kind: string;
  /** Beginning of the model's id, in lower case and without a vendor. */
  readonly prefix: string;
  readonly window: number;
  readonly max_output: number;
  readonly capabilities: Capabilities;
  /** Name of the protocol over which the family is asked; absent = the provider's. */
  readonly protocol?: string;
  /** Efforts that the family accepts, lowest first, none if it decides itself how hard it reasons; absent = the provider's. */
  readonly efforts?: readonly Effort[];
}

const able: Capabilities = {
  images: true,
  documents: true,
  strict_schema: true,
  reasoning: "none",
  reasoning_off: true,
  sampling: true,
  forced_tool_with_reasoning: true,
};

type ModelFamily = Omit<ModelRow, "kind" | "prefix">;
const modelRowsOf = (kind: string, families: Readonly<Record<string, ModelFamily>>): ModelRow[] =>
  Object.entries(families).map(([prefix, family]) => ({ kind, prefix, ...family }));

const adaptive: Capabilities = {
  ...able,
  reasoning: "adaptive",
  sampling: false,
  forced_tool_with_reasoning: false,
};
const alwaysAdaptive: Capabilities = { ...adaptive, reasoning_off: false };
const budget: Capabilities = { ...able, reasoning: "budget", forced_tool_with_reasoning: false };
const million = { window: 1_000_000, max_output: 128_000 } as const;

/** Claude 4.6 takes an effort of `max`, but knows no `xhigh` yet. */
const claude46: ModelFamily = {
  ...million,
  capabilities: { ...adaptive, sampling: true },
  efforts: ["low", "medium", "high", "max"],
};

const anthropic = modelRowsOf("anthropic", {
  "claude-sonnet-5-5": { ...million, capabilities: alwaysAdaptive },
  "claude-opus-5-5": { ...million, capabilities: alwaysAdaptive },
  "claude-haiku-5-5": { ...million, capabilities: adaptive },
  "claude-fable-5": { ...million, capabilities: alwaysAdaptive },
  "claude-mythos-5": { ...million, capabilities: alwaysAdaptive },
  "claude-opus-5": { ...million, capabilities: adaptive },
  "claude-sonnet-5": { ...million, capabilities: adaptive },
  "claude-opus-4-8": { ...million, capabilities: adaptive },
  "claude-opus-4-7": { ...million, capabilities: adaptive },
  "claude-opus-4-6": claude46,
  "claude-sonnet-4-6": { ...claude46, max_output: 64_000 },
  "claude-haiku-4-5": { window: 200_000, max_output: 64_000, capabilities: budget },
  "claude-opus-4-5": { window: 200_000, max_output: 64_000, capabilities: budget },
  "claude-sonnet-4-5": { window: 200_000, max_output: 64_000, capabilities: budget },
  "claude-opus-4": {
    window: 200_000,
    max_output: 32_000,
    capabilities: { ...budget, strict_schema: false },
  },
  "claude-sonnet-4": {
    window: 200_000,
    max_output: 64_000,
    capabilities: { ...budget, strict_schema: false },
  },
});

const effort: Capabilities = { ...able, reasoning: "effort", sampling: false };
const alwaysEffort: Capabilities = { ...effort, reasoning_off: false };
const upToXhigh: readonly Effort[] = ["low", "medium", "high", "xhigh"];
const upToHigh: readonly Effort[] = ["low", "medium", "high"];
const fromMedium: readonly Effort[] = ["medium", "high", "xhigh"];

/**
 * The vendor is asked for models that reason over the Responses API: it takes their reasoning back, shows that they still think,
 * and is the only one over which the newest take tools.
 */
const reasoningGpt = {
  window: 400_000,
  max_output: 128_000,
  capabilities: effort,
  protocol: "openai-responses",
  efforts: upToHigh,
} as const;
const alwaysReasoningGpt = { ...reasoningGpt, capabilities: alwaysEffort } as const;
const longGpt = { ...reasoningGpt, window: 1_050_000, efforts: upToXhigh } as const;
const alwaysReasoningLongGpt = { ...longGpt, capabilities: alwaysEffort } as const;
const o3 = { ...alwaysReasoningGpt, window: 200_000, max_output: 100_000 } as const;

/** Models of ChatGPT: those before 5.1 do not reason, later ones decide themselves how much. */
const chatGpt = { window: 128_000, max_output: 16_384, capabilities: able } as const;
const reasoningChatGpt = { ...chatGpt, capabilities: alwaysEffort, efforts: ["medium"] } as const;

const openai = modelRowsOf("openai", {
  "gpt-6.1-sol": alwaysReasoningLongGpt,
  "gpt-6.1-terra": longGpt,
  "gpt-6-astra": alwaysReasoningLongGpt,
  "gpt-6": longGpt,
  "gpt-5.6": longGpt,
  "gpt-5.5-pro": { ...alwaysReasoningLongGpt, efforts: fromMedium },
  "gpt-5.5": longGpt,
  "gpt-5.4-pro": { ...alwaysReasoningLongGpt, efforts: fromMedium },
  "gpt-5.4": longGpt,
  "gpt-5.3-codex": alwaysReasoningGpt,
  "gpt-5.3-chat": reasoningChatGpt,
  "gpt-5.2-codex": alwaysReasoningGpt,
  "gpt-5.2-chat": reasoningChatGpt,
  "gpt-5.2-pro": { ...alwaysReasoningGpt, efforts: fromMedium },
  "gpt-5.1-codex-mini": { ...alwaysReasoningGpt, efforts: ["medium", "high"] },
  "gpt-5.1-codex": alwaysReasoningGpt,
  "gpt-5.1-chat": reasoningChatGpt,
  "gpt-5.": reasoningGpt,
  "gpt-5-chat": chatGpt,
  "gpt-5-codex": alwaysReasoningGpt,
  "gpt-5-pro": { ...alwaysReasoningGpt, efforts: ["high"] },
  "gpt-5": { ...alwaysReasoningGpt, efforts: ["minimal", "low", "medium", "high"] },
  "gpt-4.1": { window: 1_047_576, max_output: 32_768, capabilities: able },
  "gpt-4o": { window: 128_000, max_output: 16_384, capabilities: able },
  o3,
  "o4-mini": o3,
});

/** Assumed output limit, since the vendor names none. */
const grokOutput = 128_000;
const grokPlain: Capabilities = { ...able, documents: false };
const grokEffort: Capabilities = { ...grokPlain, reasoning: "effort", reasoning_off: false };

/** Models that reason, but refuse to be told how hard. */
const grokOwnEffort = { max_output: grokOutput, capabilities: grokEffort, efforts: [] } as const;

const grok = modelRowsOf("grok", {
  "grok-4.7": { window: 500_000, max_output: grokOutput, capabilities: grokEffort, efforts: upToXhigh },
  "grok-4.6": { window: 500_000, max_output: grokOutput, capabilities: grokEffort, efforts: upToXhigh },
  "grok-4.5": { window: 500_000, max_output: grokOutput, capabilities: grokEffort, efforts: upToHigh },
  "grok-4.3": {
    window: 1_000_000,
    max_output: grokOutput,
    capabilities: { ...grokEffort, reasoning_off: true },
    efforts: upToHigh,
  },
  "grok-4.20": { ...grokOwnEffort, window: 1_000_000 },
  "grok-4": { ...grokOwnEffort, window: 256_000 },
  "grok-build": { ...grokOwnEffort, window: 256_000 },
  "grok-code": { ...grokOwnEffort, window: 256_000 },
  "grok-3": { window: 131_072, max_output: grokOutput, capabilities: { ...grokPlain, images: false } },
});

/** Capabilities of Gemini, whose chat endpoint accepts images, but is not documented to accept files. */
const geminiEffort: Capabilities = {
  ...able,
  documents: false,
  reasoning: "effort",
  reasoning_off: false,
};
const mebi = { window: 1_048_576, max_output: 65_536 } as const;

const gemini = modelRowsOf("gemini", {
  "gemini-4": { ...mebi, capabilities: geminiEffort, efforts: upToHigh },
  "gemini-3.8": { ...mebi, capabilities: geminiEffort, efforts: upToHigh },
  "gemini-3.7": { ...mebi, capabilities: geminiEffort, efforts: upToHigh },
  "gemini-3.5": { ...mebi, capabilities: geminiEffort },
  "gemini-3": { ...mebi, capabilities: geminiEffort, efforts: upToHigh },
  "gemini-2.5-pro": { ...mebi, capabilities: geminiEffort, efforts: upToHigh },
  "gemini-2.5": { ...mebi, capabilities: { ...geminiEffort, reasoning_off: true }, efforts: upToHigh },
});

/** All known families; the first of a kind is its newest generation and describes its unknown models. */
export const modelRows: readonly ModelRow[] = [...anthropic, ...openai, ...grok, ...gemini];

/** Assumed capabilities of an unknown server: text and tools. */
export const plainCapabilities: Capabilities = {
  ...able,
  images: false,
  documents: false,
  strict_schema: false,
};

/** Capabilities of a scripted model, which accepts everything. */
export const scriptedCapabilities: Capabilities = { ...able, reasoning: "effort" };
