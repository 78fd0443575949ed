import type { ContentPart } from "../../chat/message.ts";
import { isStoredText } from "../../chat/message.ts";
import type { TeamAgent as AgentConfig, Provider, Team } from "../../config/team.ts";
import { judgeWindow, resolveWindow } from "../../config/window.ts";
import type { ModelEntry } from "../../model/catalogue.ts";
import { describeModel } from "../../model/catalogue.ts";
import { describeProviderModel } from "../../providers/entry.ts";
import type { Problem } from "../../session/problems.ts";
import { fieldProblem } from "../../session/problems.ts";
import type { Bindings } from "../secrets/secrets.ts";
import { findUnsetSecret } from "../secrets/secrets.ts";

/** Resolves the models of a team and those that a session may choose. */

export interface ProviderModel {
  readonly provider: Provider;
  readonly model: string;
}

export const providerOf = (team: Team, name: string): Provider | undefined =>
  team.providers.find((each) => each.name === name);

/** Returns `models.<id>` of the team file. */
export const teamOverrideOf = (team: Team, model: string): Team["models"][string] | undefined =>
  Object.hasOwn(team.models, model) ? team.models[model] : undefined;

/** Returns the known data of a provider's model, with the team's overrides. */
export const modelEntryOf = (team: Team, { provider, model }: ProviderModel): ModelEntry =>
  describeProviderModel(provider, model, teamOverrideOf(team, model));

/** Returns the context window of a provider's model in tokens; 0 means unknown. */
export const modelWindowOf = (team: Team, { provider, model }: ProviderModel, agent?: AgentConfig): number =>
  resolveWindow({
    provider,
    model,
    agentWindow: agent?.options.context_window,
    defaultWindow: team.default_context_window,
    models: team.models,
    default_context_windows: team.default_context_windows,
  }).tokens;

/** Returns the id of a `models` key or alias, or null if the text is neither. */
const findListedId = (team: Team, text: string): string | null =>
  Object.entries(team.models).find(([id, { alias }]) => id === text || alias === text)?.[0] ?? null;

/** Finds the first provider, the agent's own first, whose catalogue has a model that no provider is configured with. */
const findHomeProvider = (team: Team, model: string, agent: AgentConfig): Provider | undefined => {
  const own = providerOf(team, agent.provider);
  const order = own === undefined ? team.providers : [own, ...team.providers];
  return order.find(({ kind }) => describeModel(kind, model).window !== null) ?? order[0];
};

/** Lists what a text may name: a model of the provider before its slash, then the model that it is as a whole. */
const readingsOf = (team: Team, text: string, agent: AgentConfig): readonly ProviderModel[] => {
  const slash = text.indexOf("/");
  const named = slash < 0 ? undefined : providerOf(team, text.slice(0, slash));
  const owner = team.providers.find(({ model }) => model === text);
  const home = owner ?? findHomeProvider(team, findListedId(team, text) ?? text, agent);
  return [
    ...(named === undefined ? [] : [{ provider: named, model: text.slice(slash + 1) }]),
    ...(home === undefined ? [] : [{ provider: home, model: text }]),
  ];
};

/**
 * Resolves `provider`, `provider/model`, a model id or an alias; returns null if it names no permitted model. The id of
 * a router's model may begin with a vendor that is a provider here, too.
 */
export const resolveModel = (team: Team, text: string, agent: AgentConfig): ProviderModel | null => {
  const whole = providerOf(team, text);
  if (whole !== undefined) return { provider: whole, model: whole.model };
  const readings = readingsOf(team, text, agent);
  for (const { provider, model } of readings) {
    const known = findListedId(team, model) ?? (provider.model === model ? model : null);
    if (known !== null) return { provider, model: known };
  }
  const [first] = readings;
  return team.sessions.model_override === "any" && first?.model !== "" ? (first ?? null) : null;
};

const knownModels = (team: Team): string => {
  const names = team.providers.flatMap(({ name, model }) => [name, `${name}/${model}`]);
  const listed = Object.entries(team.models).map(([id, { alias }]) => alias ?? id);
  return [...new Set([...names, ...listed])].slice(0, 24).join(", ");
};

/** Returns why a session may not use a model; null if it may. */
export const modelProblem = (team: Team, env: Bindings, text: string, agent: AgentConfig): Problem | null => {
  if (team.sessions.model_override === "off")
    return fieldProblem("unknown_model", "/model", "this team does not let sessions choose a model");
  const target = resolveModel(team, text, agent);
  if (target === null)
    return fieldProblem(
      "unknown_model",
      "/model",
      `no model ${JSON.stringify(text)}; known: ${knownModels(team)}`,
    );
  const unset = findUnsetSecret(team, env, target);
  if (unset !== null) return unset;
  const window = modelWindowOf(team, target, agent);
  if (judgeWindow(window, agent.guards.context_window) !== "too_small") return null;
  const { minimum } = agent.guards.context_window;
  const message = `its window of ${window} tokens is below ${minimum}`;
  return fieldProblem("context_window_too_small", "/model", message);
};

/** Returns the provider and model of an agent's turns, apart from its fallbacks. */
export const firstProviderModel = (
  team: Team,
  agent: AgentConfig,
  override: string | null,
): ProviderModel | null => {
  const overridden = override === null ? null : resolveModel(team, override, agent);
  if (overridden !== null) return overridden;
  const provider = providerOf(team, agent.provider);
  return provider === undefined ? null : { provider, model: agent.model ?? provider.model };
};

/** Returns the problem with media of a new input that the model cannot accept; null if it accepts all. */
export const mediaProblem = (
  team: Team,
  agent: AgentConfig,
  override: string | null,
  parts: readonly ContentPart[],
): Problem | null => {
  const target = firstProviderModel(team, agent, override);
  if (target === null) return null;
  const { images, documents } = modelEntryOf(team, target).capabilities;
  const index = parts.findIndex(
    (part) =>
      (part.type === "image" && !images) || (part.type === "document" && !documents && !isStoredText(part)),
  );
  if (index < 0) return null;
  const what = parts[index]?.type;
  const pointer = `/content/${index}`;
  const fault = `the model ${target.model} takes no ${what}s`;
  // Whoever configures a compatible server knows what it takes, and may not have said so.
  const { kind, name } = target.provider;
  const way =
    what === "image"
      ? `the provider ${name} says compat.images: true`
      : `models.${target.model}.capabilities.documents is true`;
  const more = kind === "openai-compatible" ? { adminDetail: `${pointer}: ${fault}, unless ${way}` } : {};
  const message = `${fault}; send text, or choose another model`;
  return fieldProblem("unsupported_media_type", pointer, message, { rule: "unsupported", ...more });
};
