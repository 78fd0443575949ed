import { describeModel } from "../model/catalogue.ts";

/** Decides the context window of a provider and model. */

/** Built-in windows of provider kinds. */
const kindWindows: Readonly<Record<string, number>> = {
  anthropic: 200_000,
  openai: 128_000,
  grok: 131_072,
  gemini: 1_048_576,
};

const lastResortWindow = 128_000;

export interface WindowQuestion {
  readonly provider: {
    readonly kind: string;
    readonly model: string;
    readonly context_window?: number | "auto" | undefined;
  };
  readonly model: string;
  /** The agent's own `options.context_window`. */
  readonly agentWindow?: number | undefined;
  /** `defaults.options.context_window`. */
  readonly defaultWindow: number | null;
  readonly models: Readonly<Record<string, { readonly context_window?: number | "auto" | undefined }>>;
  readonly default_context_windows: Readonly<Record<string, number>>;
}

export interface Window {
  /** Window in tokens; 0 means unknown, so that nothing is compacted. */
  readonly tokens: number;
  readonly origin:
    | "agent"
    | "provider"
    | "model"
    | "catalogue"
    | "team"
    | "kind"
    | "defaults"
    | "last resort";
}

const findExplicitWindow = (question: WindowQuestion): Window | null => {
  const { provider, model, models } = question;
  const own = model === provider.model ? provider.context_window : undefined;
  const written = own ?? (Object.hasOwn(models, model) ? models[model]?.context_window : undefined);
  if (written === undefined) return null;
  if (written !== "auto") return { tokens: written, origin: own === undefined ? "model" : "provider" };
  const known = describeModel(provider.kind, model).window;
  return known === null ? null : { tokens: known, origin: "catalogue" };
};

const findKindWindow = (question: WindowQuestion): Window | null => {
  const { provider, model, default_context_windows: windows } = question;
  const known = describeModel(provider.kind, model).window;
  const of = (table: Readonly<Record<string, number>>): number | undefined =>
    Object.hasOwn(table, provider.kind) ? table[provider.kind] : undefined;
  const team = of(windows);
  const tokens = team ?? of(kindWindows);
  if (tokens === undefined) return known === null ? null : { tokens: known, origin: "catalogue" };
  if (known !== null && known < tokens) return { tokens: known, origin: "catalogue" };
  return { tokens, origin: team === undefined ? "kind" : "team" };
};

/** Returns the true window of a model as far as the team file or the catalogue knows it; null if neither does. */
const trueWindowOf = ({ provider, model, models }: WindowQuestion): number | null => {
  const listed = Object.hasOwn(models, model) ? models[model]?.context_window : undefined;
  const written = model === provider.model ? provider.context_window : undefined;
  const known = [listed, describeModel(provider.kind, model).window, written];
  return known.find((each): each is number => typeof each === "number" && each > 0) ?? null;
};

/** Returns the first window that is set: the agent's own, per model, model default, `defaults`, 128 000. */
export const resolveWindow = (question: WindowQuestion): Window => {
  const { agentWindow, defaultWindow } = question;
  if (agentWindow !== undefined) {
    return { tokens: Math.min(agentWindow, trueWindowOf(question) ?? agentWindow), origin: "agent" };
  }
  const found = findExplicitWindow(question) ?? findKindWindow(question);
  if (found !== null) return found;
  return defaultWindow === null
    ? { tokens: lastResortWindow, origin: "last resort" }
    : { tokens: defaultWindow, origin: "defaults" };
};

/** Judges a window by the window guard; 0 always passes. */
export const judgeWindow = (
  tokens: number,
  guard: { readonly minimum: number; readonly warning: number },
): "fits" | "small" | "too_small" => {
  if (tokens === 0) return "fits";
  if (tokens < guard.minimum) return "too_small";
  return tokens < guard.warning ? "small" : "fits";
};
