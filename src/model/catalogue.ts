import { findNearestName } from "../tools/suggest.ts";
import type { Effort } from "./completer.ts";
import { modelRows, plainCapabilities, scriptedCapabilities } from "./model-rows.ts";
import type { ModelRow } from "./model-rows.ts";
import { priceRows } from "./price-rows.ts";
import type { Capabilities, ModelOverride, Price } from "./schema.ts";

/** Known properties of a model. Sizes are tokens. */
export interface ModelEntry {
  /** Context window; null if unknown. */
  readonly window: number | null;
  readonly max_output: number;
  readonly capabilities: Capabilities;
  /** Name of the protocol over which its vendor is asked for the model; null = the provider's. */
  readonly protocol: string | null;
  /** Efforts that the model accepts, lowest first, none if it decides itself how hard it reasons; null = the provider's. */
  readonly efforts: readonly Effort[] | null;
}

/** Output limit of models whose real limit is unknown. */
const unboundedOutput = 1_000_000;

/** Returns a model id in the form that the rows use: lower case, without `vendor/`. */
const familyName = (model: string): string => model.slice(model.lastIndexOf("/") + 1).toLowerCase();

const findLongestPrefix = <Row extends { readonly kind: string; readonly prefix: string }>(
  rows: readonly Row[],
  kind: string | null,
  model: string,
): Row | undefined => {
  const name = familyName(model);
  let best: Row | undefined;
  for (const row of rows) {
    if ((kind !== null && row.kind !== kind) || !name.startsWith(row.prefix)) continue;
    if (best === undefined || row.prefix.length > best.prefix.length) best = row;
  }
  return best;
};

/** Finds a family by its name, wherever it is served: its sizes apply, but nothing that the server may refuse. */
const entryByFamily = (model: string): ModelEntry => {
  const row = findLongestPrefix(modelRows, null, model);
  const sampling = row?.capabilities.sampling ?? true;
  return {
    window: row?.window ?? null,
    max_output: row?.max_output ?? unboundedOutput,
    capabilities: { ...plainCapabilities, sampling },
    protocol: null,
    efforts: null,
  };
};

const scriptedEntry: ModelEntry = {
  window: null,
  max_output: unboundedOutput,
  capabilities: scriptedCapabilities,
  protocol: null,
  efforts: null,
};

const knownEntryOf = ({ window, max_output, capabilities, protocol, efforts }: ModelRow): ModelEntry => ({
  window,
  max_output,
  capabilities,
  protocol: protocol ?? null,
  efforts: efforts ?? null,
});

/**
 * Returns the entry of an unknown model of a known vendor, often a deployment's name: it can do what the newest
 * generation can, but its window is unknown, and it is asked as the provider's plain models are.
 */
const unknownEntryOf = (newest: ModelRow): ModelEntry => ({
  ...knownEntryOf(newest),
  window: null,
  protocol: null,
});

const entryOf = (kind: string, model: string): ModelEntry => {
  if (kind === "scripted") return scriptedEntry;
  const newest = modelRows.find((row) => row.kind === kind);
  if (newest === undefined) return entryByFamily(model);
  // OpenAI names a model that was tuned by its base, as `ft:gpt-4.1-2025-04-14:acme::a1b2`; it has another price.
  const row = findLongestPrefix(modelRows, kind, model.replace(/^ft:/i, ""));
  return row === undefined ? unknownEntryOf(newest) : knownEntryOf(row);
};

/** Describes a model of a provider kind: its family's row, else its vendor's newest, with the team's overrides. */
export const describeModel = (kind: string, model: string, override: ModelOverride = {}): ModelEntry => {
  const { window, max_output, capabilities, protocol, efforts } = entryOf(kind, model);
  const given = Object.entries(override.capabilities ?? {}).filter(([, value]) => value !== undefined);
  return {
    window,
    max_output: override.max_output ?? max_output,
    capabilities: { ...capabilities, ...(Object.fromEntries(given) as Partial<Capabilities>) },
    protocol,
    efforts,
  };
};

/**
 * Returns the price of a model by the id in the answer: the team's, else its family's within the kind; null if
 * unknown.
 */
export const priceOf = (kind: string, model: string, override: ModelOverride = {}): Price | null =>
  override.price ?? findLongestPrefix(priceRows, kind, model) ?? null;

/** Matches what follows the name of a family in the name of another version; a date has more digits. */
const anotherVersion = /^[-.]?[1-9]\d?(?!\d)/;

/** Returns the family whose price is taken for a version of it that no row names; null if there is none. */
export const findGuessedFamily = (kind: string, model: string): string | null => {
  const prefix = findLongestPrefix(priceRows, kind, model)?.prefix ?? "";
  return prefix !== "" && anotherVersion.test(familyName(model).slice(prefix.length)) ? prefix : null;
};

/**
 * Returns the priced family of a kind whose name is nearest to a model's; null if none is near, or if the model is
 * known.
 */
export const findNearestPriced = (kind: string, model: string): string | null => {
  if (findLongestPrefix(modelRows, kind, model) !== undefined) return null;
  const priced = priceRows.flatMap((row) => (row.kind === kind ? [row.prefix] : []));
  return findNearestName(familyName(model), priced);
};
