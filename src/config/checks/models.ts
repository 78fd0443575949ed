import { findGuessedFamily, findNearestPriced, priceOf } from "../../model/catalogue.ts";
import { isOfKind } from "../../effects/schema.ts";
import type { Price } from "../../model/schema.ts";
import type { Path } from "../document/diagnostics.ts";
import type { AgentShape, TeamDraft, TargetShape, ListEntry } from "../draft.ts";
import { targetShapesOf, modelOverrideOf } from "../draft.ts";
import { nodeAt } from "../document/located.ts";
import type { Window } from "../window.ts";
import { judgeWindow, resolveWindow } from "../window.ts";
import { mayCall } from "./usage.ts";

/** Checks windows, prices and budgets of the models that agents call. */

export const windowOfTarget = (draft: TeamDraft, agent: AgentShape, target: TargetShape): Window =>
  resolveWindow({
    provider: target.provider.value,
    model: target.model,
    agentWindow: agent.options.context_window,
    defaultWindow: draft.sections.defaults?.options?.context_window ?? null,
    models: draft.sections.models,
    default_context_windows: draft.sections.default_context_windows,
  });

const windowPath = (draft: TeamDraft, index: number, target: TargetShape, window: Window): Path => {
  const { provider, model } = target;
  const candidates: Partial<Record<Window["origin"], Path>> = {
    provider: ["providers", provider.index, "context_window"],
    model: ["models", model, "context_window"],
    team: ["default_context_windows", provider.value.kind],
    agent: ["agents", index, "options", "context_window"],
    defaults: ["agents", index, "options", "context_window"],
  };
  const path = candidates[window.origin] ?? ["providers", provider.index, "model"];
  return nodeAt(draft.root, path) === undefined ? ["agents", index, "name"] : path;
};

const checkWindow = (draft: TeamDraft, { index, value: agent }: ListEntry<AgentShape>): void => {
  const target = targetShapesOf(draft, agent)[0];
  if (target === undefined) return;
  const window = windowOfTarget(draft, agent, target);
  const guard = agent.guards.context_window;
  const verdict = judgeWindow(window.tokens, guard);
  if (verdict === "fits") return;
  const path = windowPath(draft, index, target, window);
  const what = `the context window of ${target.model} for ${agent.name} has ${window.tokens} tokens`;
  if (verdict === "small") {
    draft.report("context_window_small", path, `${what}, fewer than ${guard.warning}`);
    return;
  }
  draft.report("context_window_too_small", path, `${what}, at least ${guard.minimum} are needed`, {
    hint: "use a larger model, or set guards.context_window.minimum",
  });
};

/** Returns the price of a target's model: the team's, else the catalogue's; null if unknown. */
export const priceOfTarget = (draft: TeamDraft, { provider, model }: TargetShape): Price | null =>
  priceOf(provider.value.kind, model, modelOverrideOf(draft, model));

/** Returns whether the author limits the team's cost; default limits count only tokens if a price is unknown. */
export const limitsTeamCost = (draft: TeamDraft): boolean =>
  ["run", "session", "tenant"].some((section) => {
    const limit = nodeAt(draft.written, ["budgets", section, "max_cost_usd"]);
    return limit !== undefined && !(limit.kind === "scalar" && limit.value === "off");
  });

/** Returns where the model of a target is named: at the agent itself, or at the provider. */
const modelPathOf = (agent: AgentShape, index: number, { provider, model }: TargetShape): Path =>
  agent.model === model ? ["agents", index, "model"] : ["providers", provider.index, "model"];

/** Asks whether a known model is meant; otherwise its price has to be set. */
const meantText = (near: string | null): string =>
  near === null ? "" : `did you mean "${near}"? Otherwise `;

/** Returns the targets that write the summaries of an agent's chat. */
const summaryTargets = (draft: TeamDraft, { effects = [] }: AgentShape): readonly TargetShape[] =>
  effects.filter(isOfKind("compact")).flatMap(({ params }) => {
    const provider = draft.providers.find(({ value }) => value.name === params.summary_provider);
    return provider === undefined ? [] : [{ provider, model: provider.value.model }];
  });

/** Returns whether an agent may come to work for another, over others in between, too. */
const mayWorkFor = (draft: TeamDraft, called: string, first: AgentShape): boolean => {
  // Of the callers at each level: how deep calls may go, by the smallest limit along the chain.
  let callers = new Map([[first, first.options.max_delegation_depth]]);
  for (let level = 1; callers.size > 0; level += 1) {
    const next: typeof callers = new Map();
    for (const [caller, limit] of callers) {
      if (level > limit) continue;
      for (const { value } of draft.agents) {
        if (!mayCall(caller.delegation.may_call, value.name)) continue;
        if (value.name === called) return true;
        const deepest = Math.min(limit, value.options.max_delegation_depth);
        next.set(value, Math.max(next.get(value) ?? 0, deepest));
      }
    }
    callers = next;
  }
  return false;
};

/** Returns whether an agent's own cost limit covers what another agent spends for it. */
const limitsCostOf = (draft: TeamDraft, called: string): boolean =>
  draft.agents.some(
    ({ value }) => value.guards.budget.max_cost_usd !== null && mayWorkFor(draft, called, value),
  );

/** Returns what becomes of the calls of a model whose price is not known; null if nothing limits their cost. */
const unpricedText = (draft: TeamDraft, agent: AgentShape): string | null => {
  if (draft.sections.budgets.unknown_price === "refuse")
    return "so its calls are refused (budgets.unknown_price)";
  return limitsTeamCost(draft) || limitsCostOf(draft, agent.name) ? countedText : null;
};

/** Warns of a version whose price is not known, where that of its family stands for it. */
const checkGuesses = (draft: TeamDraft, { index, value: agent }: ListEntry<AgentShape>): void => {
  for (const target of [...targetShapesOf(draft, agent), ...summaryTargets(draft, agent)]) {
    const { provider, model } = target;
    const family = findGuessedFamily(provider.value.kind, model);
    if (family === null || modelOverrideOf(draft, model)?.price !== undefined) continue;
    const message = `the price of ${model} is not known, so that of ${family} is taken for it`;
    const hint = `set models.${model}.price`;
    draft.report("unpriced_model", modelPathOf(agent, index, target), message, { hint });
  }
};

const countedText = "so its calls count in tokens only";

const checkPrices = (draft: TeamDraft, { index, value: agent }: ListEntry<AgentShape>): void => {
  const targets = [...targetShapesOf(draft, agent), ...summaryTargets(draft, agent)];
  const unpriced = targets.filter((target) => priceOfTarget(draft, target) === null);
  const first = unpriced[0];
  if (first === undefined) return;
  for (const { provider, model } of unpriced) {
    const near = findNearestPriced(provider.value.kind, model);
    const outcome = unpricedText(draft, agent) ?? (near === null ? null : countedText);
    if (outcome !== null) {
      const path = modelPathOf(agent, index, { provider, model });
      const message = `the price of ${model} is not known, ${outcome}`;
      draft.report("unpriced_model", path, message, { hint: `${meantText(near)}set models.${model}.price` });
    }
  }
  if (agent.guards.budget.max_cost_usd === null) return;
  draft.report(
    "budget_without_price",
    ["agents", index, "guards", "budget", "max_cost_usd"],
    `a cost limit cannot hold: the price of ${first.model} is not known`,
    {
      hint: `${meantText(findNearestPriced(first.provider.value.kind, first.model))}set models.${first.model}.price, or max_tokens instead`,
    },
  );
};

const checkBounds = (draft: TeamDraft, { index, value: agent }: ListEntry<AgentShape>): void => {
  const { max_tokens, max_cost_usd, max_duration, max_tool_calls } = agent.guards.budget;
  const asEffect =
    agent.effects?.some(({ kind }) => kind === "token_budget" || kind === "time_budget") ?? false;
  const bounded =
    asEffect || [max_tokens, max_cost_usd, max_duration, max_tool_calls].some((limit) => limit !== null);
  if (agent.options.max_iterations !== 0 || bounded) return;
  draft.report(
    "unbounded_agent",
    ["agents", index, "options", "max_iterations"],
    `${agent.name} has neither a turn limit nor a budget`,
    { hint: "set a limit in guards.budget, or max_iterations above 0" },
  );
};

/** Checks windows and costs of every agent's models. */
export const checkModels = (draft: TeamDraft): void => {
  for (const agent of draft.agents) {
    checkWindow(draft, agent);
    checkPrices(draft, agent);
    checkGuesses(draft, agent);
    checkBounds(draft, agent);
  }
};
