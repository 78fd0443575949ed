import type { EffectConfig, EffectKind } from "../../effects/schema.ts";
import { effectSchemaOf } from "../../effects/schema.ts";
import type { Script } from "../../model/scripted/schema.ts";
import { referencesInDraft } from "../checks/addresses.ts";
import { responseSchemaOf } from "../checks/answers.ts";
import { limitsTeamCost, windowOfTarget } from "../checks/models.ts";
import { reachableProviders, skillsOf } from "../checks/usage.ts";
import type { Path } from "../document/diagnostics.ts";
import { nodeAt } from "../document/located.ts";
import type { AgentShape, TeamDraft, ListEntry, ProviderShape } from "../draft.ts";
import { targetShapesOf } from "../draft.ts";
import { definitionOf, revisionOf } from "../revision.ts";
import type { TeamAgent, Provider, Skill, Team } from "../team.ts";
import type { ContextText } from "./context.ts";

/** Builds the compiled team from a draft without errors. */

const builtInSchema = effectSchemaOf([]);

const generateEffect = (kind: EffectKind, params: object): EffectConfig =>
  builtInSchema.parse({ kind, params });

/** Generates the effects of an agent that lists none. */
const generateEffects = (draft: TeamDraft, agent: AgentShape): readonly EffectConfig[] => {
  const target = targetShapesOf(draft, agent)[0];
  if (target === undefined || windowOfTarget(draft, agent, target).tokens === 0) return [];
  const threshold = agent.options.context_threshold;
  const trim = generateEffect("trim_tool_results", {});
  return threshold === 0 ? [trim] : [trim, generateEffect("compact", { threshold })];
};

/** Number of turns that `context_compaction: auto` keeps whole. */
const recentTurns = 5;

/** Returns the effects of an agent, written or generated, with the mask that an option adds. */
const effectsOf = (draft: TeamDraft, agent: AgentShape): readonly EffectConfig[] => {
  const { context_compaction: mode, compaction_threshold: threshold } = agent.options;
  const effects = agent.effects ?? generateEffects(draft, agent);
  if (mode === "none") return effects;
  const mask = { threshold, style: "digest", recent_turns: recentTurns };
  return [generateEffect("observation_mask", mask), ...effects];
};

const optionsOf = (
  draft: TeamDraft,
  { index, value: agent }: ListEntry<AgentShape>,
): TeamAgent["options"] => {
  const { response_schema: given, ...options } = agent.options;
  const path: Path = ["agents", index, "options", "reflect_on_error"];
  const reflects = agent.effects?.some(({ kind }) => kind === "reflection") ?? false;
  const reflect_on_error = nodeAt(draft.root, path) === undefined ? !reflects : options.reflect_on_error;
  const response_schema = given === undefined ? undefined : responseSchemaOf(given);
  return { ...options, reflect_on_error, ...(response_schema !== undefined && { response_schema }) };
};

const buildAgent = (draft: TeamDraft, listed: ListEntry<AgentShape>, provider: string): TeamAgent => {
  const agent = listed.value;
  const all = draft.skills.map(({ name }) => name);
  const asks = agent.toolboxes.some(({ name }) => name === "ask");
  return {
    ...agent,
    provider: agent.provider ?? provider,
    prefix: agent.prefix.trim() === "" ? "🤖" : agent.prefix,
    toolboxes: asks ? agent.toolboxes : [{ name: "ask" }, ...agent.toolboxes],
    skills: [...skillsOf(agent.skills, all)],
    effects: [...effectsOf(draft, agent)],
    options: optionsOf(draft, listed),
  };
};

const buildProvider = (
  { index, value }: ListEntry<ProviderShape>,
  scripts: ReadonlyMap<number, Script>,
): Provider => {
  const { script: _, ...provider } = value;
  const script = scripts.get(index);
  return script === undefined ? provider : { ...provider, script };
};

/** Returns whether something that an agent can reach needs the text at `path`. */
const isReachable = (draft: TeamDraft, providers: ReadonlySet<string>, path: Path): boolean => {
  const [section, index] = path;
  if (section === "providers") {
    const found = draft.providers.find((provider) => provider.index === index);
    return found !== undefined && providers.has(found.value.name);
  }
  if (section === "mcp_servers") {
    const found = draft.servers.find((server) => server.index === index);
    return draft.agents.some(({ value }) => value.toolboxes.some(({ name }) => name === found?.value.name));
  }
  return true;
};

/** Returns the names of references that an agent can reach, with the fields that use them. */
export const reachableSecrets = (draft: TeamDraft): ReadonlyMap<string, readonly Path[]> => {
  const providers = reachableProviders(draft);
  const uses = [...referencesInDraft(draft)].map(
    ([name, paths]) => [name, paths.filter((path) => isReachable(draft, providers, path))] as const,
  );
  return new Map(uses.filter(([, paths]) => paths.length > 0).toSorted(([a], [b]) => (a < b ? -1 : 1)));
};

interface BuildParts {
  readonly name: string;
  readonly scripts: ReadonlyMap<number, Script>;
  readonly context: ContextText;
  readonly lock: Team["mcp_lock"];
}

const deepFreeze = <T>(value: T): T => {
  if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) deepFreeze(item);
    Object.freeze(value);
  }
  return value;
};

/** Builds the compiled, frozen team. */
export const buildTeam = (draft: TeamDraft, parts: BuildParts): Team => {
  const providers = draft.providers.map((provider) => buildProvider(provider, parts.scripts));
  const first = providers[0]?.name ?? "";
  const agents = draft.agents.map((agent) => buildAgent(draft, agent, first));
  const { defaults, entry_agent, ...sections } = draft.sections;
  const skills = draft.skills.map(({ name, description, body, files }): Skill => ({
    name,
    description,
    body,
    files,
  }));
  const definable = {
    format: 1 as const,
    ...sections,
    entry_agent: entry_agent ?? agents[0]?.name ?? "",
    default_context_window: defaults?.options?.context_window ?? null,
    providers,
    agents,
    mcp_servers: draft.servers.map(({ value }) => value),
    mcp_lock: parts.lock,
    skills,
    cost_limited: limitsTeamCost(draft),
    ...parts.context,
  };
  const revision = revisionOf(definitionOf(definable));
  const secrets = [...reachableSecrets(draft).keys()];
  return deepFreeze({ ...definable, name: parts.name, revision, secrets });
};
