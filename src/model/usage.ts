import { isJsonObject } from "../chat/json.ts";
import type { Json } from "../chat/message.ts";
import type { Usage } from "./completer.ts";
import type { Price } from "./schema.ts";

/** Providers' names for token counts: the first name present wins, a dot means nesting. */
const usageNames = {
  input:
    "input_tokens inputTokens prompt_tokens promptTokens promptTokenCount input prompt_n timings.prompt_n",
  output:
    "output_tokens outputTokens completion_tokens completionTokens candidatesTokenCount output predicted_n timings.predicted_n",
  cacheRead:
    "cache_read_input_tokens cacheReadInputTokens prompt_tokens_details.cached_tokens input_tokens_details.cached_tokens cached_tokens cachedTokens cachedContentTokenCount prompt_cache_hit_tokens cached_input_tokens cache_read cacheRead cached",
  cacheWrite:
    "cache_creation_input_tokens cacheCreationInputTokens cache_write_input_tokens prompt_tokens_details.cache_write_tokens input_tokens_details.cache_write_tokens prompt_tokens_details.cache_creation_input_tokens cache_write cacheWrite",
  reasoning:
    "output_tokens_details.thinking_tokens completion_tokens_details.reasoning_tokens output_tokens_details.reasoning_tokens thoughtsTokenCount",
  total: "total_tokens totalTokens totalTokenCount total",
  hourly: "cache_creation.ephemeral_1h_input_tokens",
} as const;
type UsageField = keyof typeof usageNames;

const usagePaths = Object.fromEntries(
  Object.entries(usageNames).map(([field, list]) => [field, list.split(" ").map((name) => name.split("."))]),
) as Record<UsageField, string[][]>;

/** Highest plausible figures. */
const mostInput = 20_000_000;
const mostOutput = 10_000_000;

/** Usage as a provider reported it, in the five fields of usage, with further details. */
export interface UsageReport {
  readonly usage: Usage;
  /** Whether any figure had to be estimated. */
  readonly estimated: boolean;
  /** Reasoning part of `usage.output`, 0 if not reported. */
  readonly reasoning: number;
  /** Part of `usage.cacheWrite` that is kept an hour. */
  readonly cacheWrite1h: number;
}

interface FoundFigure {
  readonly name: string;
  /** Null if the figure is implausible or not a number. */
  readonly value: number | null;
}

const figureAt = (raw: Json, path: readonly string[]): Json | undefined => {
  let value: Json | undefined = raw;
  for (const key of path) {
    if (!isJsonObject(value)) return undefined;
    value = value[key];
  }
  return value;
};

const findFigure = (raw: Json, field: UsageField, most: number): FoundFigure | undefined => {
  for (const path of usagePaths[field]) {
    const value = figureAt(raw, path);
    if (value === undefined || value === null) continue;
    const valid = typeof value === "number" && Number.isFinite(value) && value <= most;
    return { name: path.join("."), value: valid ? Math.max(0, Math.round(value)) : null };
  }
  return undefined;
};

/**
 * Merges a later, cumulative report into an earlier one: its fields replace the earlier ones, except for null and 0,
 * with which servers fill what they have reported before.
 */
export const mergeUsage = (earlier: Json | undefined, later: Json): Json => {
  if (!isJsonObject(earlier)) return later;
  if (!isJsonObject(later)) return earlier;
  return {
    ...earlier,
    ...Object.fromEntries(Object.entries(later).filter(([, value]) => value !== null && value !== 0)),
  };
};

interface UsageFigures {
  readonly inputName: string;
  readonly outputName: string;
  /** Reported figure, null if the estimate must replace it. */
  readonly prompt: number | null;
  readonly output: number | null;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly thoughts: number;
  readonly total: number;
  readonly hourly: number;
  /** Whether an implausible cache figure was reported. */
  readonly doubtful: boolean;
}

const readFigures = (report: Json): UsageFigures => {
  const get = (field: UsageField, most: number) =>
    findFigure(report, field, most) ?? { name: "", value: undefined };
  const [input, output] = [get("input", mostInput), get("output", mostOutput)];
  const [cacheRead, cacheWrite] = [get("cacheRead", mostInput), get("cacheWrite", mostInput)];
  return {
    inputName: input.name,
    outputName: output.name,
    prompt: input.value ?? null,
    output: output.value ?? null,
    cacheRead: cacheRead.value ?? 0,
    cacheWrite: cacheWrite.value ?? 0,
    thoughts: get("reasoning", mostOutput).value ?? 0,
    total: get("total", mostInput + mostOutput).value ?? 0,
    hourly: get("hourly", mostInput).value ?? 0,
    doubtful: cacheRead.value === null || cacheWrite.value === null,
  };
};

/** Returns whether the prompt figure includes the cached tokens. */
const isInclusive = (report: Json, { inputName }: UsageFigures): boolean =>
  inputName.startsWith("prompt") ||
  (inputName === "input_tokens" && figureAt(report, ["input_tokens_details"]) !== undefined);

/** Returns the output with reasoning: Google reports it separately, others (Grok) only include it in the total. */
const outputOf = (figures: UsageFigures, inclusive: boolean): number | null => {
  const { prompt, thoughts, total } = figures;
  if (figures.output === null) return null;
  const output = figures.outputName === "candidatesTokenCount" ? figures.output + thoughts : figures.output;
  if (!inclusive || prompt === null) return output;
  const rest = total - prompt;
  return rest > output && rest <= mostOutput ? rest : output;
};

/** Reads a provider's report; missing or implausible figures become the estimate. All figures are tokens. */
export const readUsage = (
  raw: Json | undefined,
  estimate: { readonly input: number; readonly output: number },
): UsageReport => {
  const report = raw ?? null;
  const figures = readFigures(report);
  const { prompt, cacheRead, cacheWrite } = figures;
  const cached = cacheRead + cacheWrite;
  const inclusive = isInclusive(report, figures);
  const reported = outputOf(figures, inclusive);
  const own = prompt ?? Math.max(0, estimate.input - cached);
  const input = inclusive && prompt !== null && cached <= own ? own - cached : own;
  const output = reported ?? estimate.output;
  return {
    usage: { input, output, cacheRead, cacheWrite, total: Math.max(figures.total, input + output + cached) },
    estimated: prompt === null || reported === null || figures.doubtful,
    reasoning: Math.min(figures.thoughts, output),
    cacheWrite1h: Math.min(figures.hourly, cacheWrite),
  };
};

/**
 * Returns whether a server seems to have cut the input silently: it reports less than half of an estimate over 4
 * 000.
 */
export const inputSeemsTruncated = (usage: Usage, estimate: number): boolean =>
  estimate > 4000 && usage.input + usage.cacheRead + usage.cacheWrite < estimate / 2;

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
