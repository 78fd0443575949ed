import type { ModelTarget } from "../../agent/definition/agent.ts";
import type { TeamAgent as AgentConfig, Provider, Team } from "../../config/team.ts";
import { judgeWindow } from "../../config/window.ts";
import { priceOf } from "../../model/catalogue.ts";
import type { Completer } from "../../model/completer.ts";
import { isLimited } from "../../model/gate.ts";
import { costOf } from "../../model/usage.ts";
import { budgetOf } from "../../protocols/reasoning.ts";
import type { ProviderModel } from "./models.ts";
import {
  firstProviderModel,
  modelEntryOf,
  modelWindowOf,
  providerOf,
  resolveModel,
  teamOverrideOf,
} from "./models.ts";

/** Lists the providers and models that an agent's turns may go to, in order. */

export type MakeCompleter = (target: ProviderModel) => Completer;

/**
 * Lists the provider and model of an agent, then its fallbacks, or else those of the provider; an override has no
 * fallbacks.
 */
const providerModelsOf = (
  team: Team,
  agent: AgentConfig,
  override: string | null,
): readonly ProviderModel[] => {
  const first = firstProviderModel(team, agent, override);
  if (first === null) return [];
  if (override !== null && resolveModel(team, override, agent) !== null) return [first];
  const fallbacks = (agent.fallbacks ?? first.provider.fallbacks).flatMap(({ provider: name, model }) => {
    const provider = providerOf(team, name);
    return provider === undefined ? [] : [{ provider, model: model ?? provider.model }];
  });
  const isFirst = (target: ProviderModel): boolean =>
    target.provider.name === first.provider.name && target.model === first.model;
  return [first, ...fallbacks.filter((target) => !isFirst(target))];
};

type Reasoning = NonNullable<Provider["reasoning"]>;

/**
 * Returns the agent's own reasoning, or else the provider's; `options.reasoning_effort` replaces its effort or
 * budget.
 */
const reasoningOf = (agent: AgentConfig, provider: Provider): ModelTarget["sampling"]["reasoning"] => {
  const effort = agent.options.reasoning_effort;
  const written: Reasoning | undefined = agent.reasoning ?? provider.reasoning;
  const summary = written?.summary === undefined ? {} : { summary: written.summary };
  if (effort !== undefined && agent.reasoning === undefined) return { effort, ...summary };
  if (written === undefined) return undefined;
  return {
    ...(written.effort === undefined ? {} : { effort: written.effort }),
    ...(written.budget_tokens === undefined ? {} : { budgetTokens: written.budget_tokens }),
    ...summary,
  };
};

const samplingOf = (agent: AgentConfig, provider: Provider): ModelTarget["sampling"] => {
  const reasoning = reasoningOf(agent, provider);
  const temperature = agent.temperature ?? provider.temperature;
  const topP = agent.top_p ?? provider.top_p;
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(reasoning === undefined ? {} : { reasoning }),
  };
};

/** Returns the terms of calls at a provider's gate, or null if the provider has no limits. */
export const gateTermsOf = (
  { kind, rate_limit }: Provider,
  times: Pick<NonNullable<ModelTarget["gate"]>, "maxWait" | "total">,
): ModelTarget["gate"] => {
  const limits = { ...rate_limit, cacheReadsCount: kind !== "anthropic" };
  return isLimited(limits) ? { limits, ...times } : null;
};

const buildModelTarget = (
  team: Team,
  agent: AgentConfig,
  target: ProviderModel,
  make: MakeCompleter,
): ModelTarget => {
  const { provider, model } = target;
  const { max_output, capabilities } = modelEntryOf(team, target);
  const window = modelWindowOf(team, target, agent);
  const price = priceOf(provider.kind, model, teamOverrideOf(team, model));
  const sampling = samplingOf(agent, provider);
  return {
    provider: provider.name,
    model,
    window,
    fit: judgeWindow(window, agent.guards.context_window),
    maxOutput: Math.min(agent.max_tokens ?? provider.max_tokens, max_output),
    media: { images: capabilities.images, documents: capabilities.documents },
    completer: make(target),
    cost: (usage, hourly = 0) => costOf(usage, hourly, price),
    thinking: capabilities.reasoning === "budget" ? (budgetOf(sampling) ?? 0) : 0,
    retry: {
      maxRetries: provider.rate_limit.max_retries,
      baseDelay: provider.rate_limit.base_delay,
      maxWait: provider.retry.max_wait,
    },
    timeout: provider.timeouts.total,
    sampling,
    cache: provider.cache,
    gate: gateTermsOf(provider, { maxWait: provider.retry.max_wait, total: provider.timeouts.total }),
  };
};

/** Lists the model targets of an agent, each with its own window, prices and sampling. */
export const modelTargetsOf = (
  team: Team,
  agent: AgentConfig,
  override: string | null,
  make: MakeCompleter,
): readonly ModelTarget[] =>
  providerModelsOf(team, agent, override).map((target) => buildModelTarget(team, agent, target, make));

/**
 * Returns the target of a provider's own model, for calls besides the agent's turns; null if there is no such
 * provider.
 */
export const modelTargetTo = (
  team: Team,
  agent: AgentConfig,
  name: string,
  make: MakeCompleter,
): ModelTarget | null => {
  const provider = providerOf(team, name);
  return provider === undefined
    ? null
    : buildModelTarget(team, agent, { provider, model: provider.model }, make);
};
