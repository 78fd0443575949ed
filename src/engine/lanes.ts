import type { Lane } from "../agent/agent.ts";
import type { Problem } from "../agent/problem.ts";
import type { Agent as AgentConfig, Provider, Team } from "../config/team.ts";
import { judgeWindow, resolveWindow } from "../config/window.ts";
import { describeModel, priceOf } from "../model/catalogue.ts";
import type { Completer } from "../model/completer.ts";
import { costOf } from "../model/prices.ts";
import { isLimited } from "../model/gate.ts";

/** Which providers and models an agent's turns may go to, in order (MO-27, MO-38). */

export interface Target {
  readonly provider: Provider;
  readonly model: string;
}

export type MakeCompleter = (target: Target) => Completer;

const providerOf = (team: Team, name: string): Provider | undefined =>
  team.providers.find((each) => each.name === name);

/** Tokens of the context window for a provider's model (CF-22); 0 = unknown. */
export const windowOf = (team: Team, { provider, model }: Target, agent?: AgentConfig): number =>
  resolveWindow({
    provider,
    model,
    agentWindow: agent?.options.context_window,
    models: team.models,
    default_context_windows: team.default_context_windows,
    catalogue: (kind, id) => describeModel(kind, id).window,
  }).tokens;

/** An override `provider`, `provider/model`, a model id or an alias (MO-38); null if it names nothing that is allowed. */
export const resolveModel = (team: Team, text: string): Target | null => {
  const whole = providerOf(team, text);
  if (whole !== undefined) return { provider: whole, model: whole.model };
  const slash = text.indexOf("/");
  const named = slash < 0 ? undefined : providerOf(team, text.slice(0, slash));
  const wanted = named === undefined ? text : text.slice(slash + 1);
  const alias = Object.entries(team.models).find(
    ([id, { alias: other }]) => id === wanted || other === wanted,
  )?.[0];
  const own = team.providers.find((each) => each.model === wanted);
  if (named !== undefined) {
    const listed = named.model === wanted || alias !== undefined;
    return listed || team.sessions.model_override === "any"
      ? { provider: named, model: alias ?? wanted }
      : null;
  }
  const first = team.providers[0];
  if (own !== undefined) return { provider: own, model: wanted };
  return alias === undefined || first === undefined ? null : { provider: first, model: alias };
};

/** Why a session may not use a model; null if it may. */
export const modelProblem = (team: Team, text: string, agent: AgentConfig): Problem | null => {
  if (team.sessions.model_override === "off")
    return { code: "unknown_model", detail: "/model: this team does not let sessions choose a model" };
  const target = resolveModel(team, text);
  if (target === null) {
    const known = team.providers.map(({ name }) => name).join(", ");
    return {
      code: "unknown_model",
      detail: `/model: no model ${JSON.stringify(text)}; known providers: ${known}`,
    };
  }
  const window = windowOf(team, target, agent);
  if (judgeWindow(window, agent.guards.context_window) === "too_small")
    return {
      code: "context_window_too_small",
      detail: `/model: its window of ${window} tokens is below ${agent.guards.context_window.minimum}`,
    };
  return null;
};

const targetsOf = (team: Team, agent: AgentConfig, override: string | null): readonly Target[] => {
  const overridden = override === null ? null : resolveModel(team, override);
  if (overridden !== null) return [overridden];
  const provider = providerOf(team, agent.provider);
  if (provider === undefined) return [];
  const fallbacks = (agent.fallbacks ?? provider.fallbacks).flatMap(({ provider: name, model }) => {
    const found = providerOf(team, name);
    return found === undefined ? [] : [{ provider: found, model: model ?? found.model }];
  });
  return [{ provider, model: agent.model ?? provider.model }, ...fallbacks];
};

const laneOf = (team: Team, agent: AgentConfig, target: Target, make: MakeCompleter): Lane => {
  const { provider, model } = target;
  const known = describeModel(provider.kind, model, team.models[model]);
  const effort = agent.options.reasoning_effort;
  const reasoning =
    agent.reasoning ??
    (effort === undefined ? provider.reasoning : { summary: "auto" as const, ...provider.reasoning, effort });
  const temperature = agent.temperature ?? provider.temperature;
  const topP = agent.top_p ?? provider.top_p;
  const window = windowOf(team, target, agent);
  const limits = { ...provider.rate_limit, cacheReadsCount: provider.kind !== "anthropic" };
  return {
    provider: provider.name,
    model,
    window,
    maxOutput: Math.min(agent.max_tokens ?? provider.max_tokens, known.max_output),
    completer: make(target),
    cost: (usage) => costOf(usage, 0, priceOf(provider.kind, model, team.models[model])),
    retry: {
      maxRetries: provider.rate_limit.max_retries,
      baseDelay: provider.rate_limit.base_delay,
      maxWait: provider.retry.max_wait,
    },
    sampling: {
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { topP }),
      ...(reasoning === undefined ? {} : { reasoning: reasoningOf(reasoning) }),
    },
    cache: provider.cache,
    gate: isLimited(limits)
      ? { limits, maxWait: provider.retry.max_wait, total: provider.timeouts.total }
      : null,
  };
};

const reasoningOf = (
  reasoning: NonNullable<Provider["reasoning"]>,
): NonNullable<Lane["sampling"]["reasoning"]> => ({
  ...(reasoning.effort === undefined ? {} : { effort: reasoning.effort }),
  ...(reasoning.budget_tokens === undefined ? {} : { budgetTokens: reasoning.budget_tokens }),
  summary: reasoning.summary,
});

/** The lanes of an agent; an override has no fallbacks. */
export const lanesOf = (
  team: Team,
  agent: AgentConfig,
  override: string | null,
  make: MakeCompleter,
): readonly Lane[] => targetsOf(team, agent, override).map((target) => laneOf(team, agent, target, make));
