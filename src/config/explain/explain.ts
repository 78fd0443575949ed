import { isJsonObject } from "../../chat/json.ts";
import { effects } from "../../effects/index.ts";
import { providerKinds } from "../../providers/schema.ts";
import { priceOfTarget, windowOfTarget } from "../checks/models.ts";
import type { ContextFile } from "../build/context.ts";
import type { Path } from "../document/diagnostics.ts";
import { nodeAt, offsetOf } from "../document/located.ts";
import type { AgentShape, TeamDraft, ListEntry } from "../draft.ts";
import { targetShapesOf } from "../draft.ts";
import { extensionOffset } from "../extension-agents.ts";
import { builtInToolboxes } from "../known.ts";
import { middlewareKinds } from "../sections/agent.ts";
import { guardKeys } from "../sections/agents.ts";
import type { Team } from "../team.ts";
import { effectRows } from "./explain-effects.ts";
import type { EffectiveTool } from "./explain-tools.ts";
import { serverRows, toolRows, withoutQuery } from "./explain-tools.ts";

/** Explains the compiled values of a team, each with its origin. */

/** Value of the compiled team and its origin, as one line. */
export interface ExplainedValue {
  readonly section: string;
  readonly key: string;
  readonly value: unknown;
  readonly origin: string;
}

/** Returns the origin of a value of the compiled team. */
export type OriginOf = (draft: TeamDraft, path: Path) => string;

/** Returns where the value at `path` of an agent was written: its line, `defaults`, or nowhere. */
const originOf: OriginOf = (draft, path) => {
  const own = nodeAt(draft.written, path) !== undefined;
  const [section, , ...rest] = path;
  const shared = section === "agents" && nodeAt(draft.written, ["defaults", ...rest]) !== undefined;
  if (!own && !shared) return "default";
  const offset = offsetOf(draft.root, path, "value");
  if (offset === extensionOffset) return "extensions.ts";
  const { line } = draft.place(offset);
  return own ? `line ${line}` : `defaults, line ${line}`;
};

/** Returns the leaves of a value; lists and empty maps are leaves. */
const leavesOf = (value: unknown, path: Path): { readonly path: Path; readonly value: unknown }[] =>
  isJsonObject(value) && Object.keys(value).length > 0
    ? Object.entries(value).flatMap(([key, item]) =>
        item === undefined ? [] : leavesOf(item, [...path, key]),
      )
    : [{ path, value }];

const sectionRows = (draft: TeamDraft, base: Path, section: string, value: unknown): ExplainedValue[] =>
  leavesOf(value, []).map((leaf) => ({
    section,
    key: leaf.path.join("."),
    value: leaf.value,
    origin: originOf(draft, [...base, ...leaf.path]),
  }));

const modelRows = (draft: TeamDraft, { index, value }: ListEntry<AgentShape>): ExplainedValue[] => {
  const base: Path = ["agents", index];
  return targetShapesOf(draft, value).flatMap((target, place) => {
    const section = place === 0 ? "model" : `fallback ${place}`;
    const window = windowOfTarget(draft, value, target);
    const price = priceOfTarget(draft, target);
    const own = nodeAt(draft.written, ["models", target.model, "price"]) !== undefined;
    const first = place === 0;
    return [
      {
        section,
        key: "provider",
        value: `${target.provider.value.name} (${target.provider.value.kind})`,
        origin: first
          ? value.provider === undefined
            ? "first provider"
            : originOf(draft, [...base, "provider"])
          : "fallbacks",
      },
      {
        section,
        key: "model",
        value: target.model,
        origin: first && value.model !== undefined ? originOf(draft, [...base, "model"]) : "provider",
      },
      { section, key: "window", value: window.tokens, origin: window.origin },
      {
        section,
        key: "price",
        value: price === null ? null : { input: price.input, output: price.output },
        origin:
          price === null
            ? "not known"
            : own
              ? originOf(draft, ["models", target.model, "price"])
              : "catalogue",
      },
    ];
  });
};

const plainKeys = [
  "description",
  "instructions",
  "starters",
  "prefix",
  "skills",
  "skills_tags",
  "capabilities",
  "estimated_cost",
  "middleware",
  "max_tokens",
  "temperature",
  "top_p",
  "async",
  "max_concurrency",
] as const;

const agentSections = ["guards", "options", "delegation", "permissions", "reasoning", "memory"] as const;

/** Another agent that this one may call, with the tools that it has then. */
interface CalledAgent {
  readonly agent: string;
  readonly inherit: string;
  readonly tools: readonly string[];
}

const callRows = (calls: readonly CalledAgent[]): ExplainedValue[] =>
  calls.map(({ agent, inherit, tools }) => ({
    section: "calls",
    key: agent,
    value: tools.length === 0 ? "no tools" : tools.join(" "),
    origin: `inherit ${inherit}`,
  }));

/** Explains which files of `context/` stand in the prompt of every agent. */
export const explainContext = (files: readonly ContextFile[]): ExplainedValue[] =>
  files.map(({ path, length }) => ({
    section: "prompt",
    key: path,
    value: `${length} characters`,
    origin: "every agent",
  }));

/** Explains everything about one agent. */
export const explainAgent = (
  draft: TeamDraft,
  team: Team,
  name: string,
  tools: readonly EffectiveTool[],
  now: number,
  calls: readonly CalledAgent[] = [],
): ExplainedValue[] => {
  const listed = draft.agents.find(({ value }) => value.name === name);
  const agent = team.agents.find((one) => one.name === name);
  if (listed === undefined || agent === undefined) return [];
  const base: Path = ["agents", listed.index];
  const plain = plainKeys.flatMap((key): ExplainedValue[] =>
    agent[key] === undefined
      ? []
      : [{ section: "agent", key, value: agent[key], origin: originOf(draft, [...base, key]) }],
  );
  return [
    ...modelRows(draft, listed),
    ...plain,
    ...serverRows(draft, team, agent, originOf),
    ...toolRows(draft, team, agent, tools, now),
    ...callRows(calls),
    ...effectRows(draft, listed, agent, originOf),
    ...agentSections.flatMap((key) => sectionRows(draft, [...base, key], key, agent[key] ?? {})),
  ].filter(({ key }) => key !== "");
};

const teamSections = [
  "permissions",
  "egress",
  "sandbox",
  "sessions",
  "limits",
  "access",
  "context",
  "retention",
  "budgets",
  "observability",
  "redaction",
  "filesystem",
  "git",
  "http",
  "browser",
  "tasks",
  "notes",
  "reflections",
  "debug",
  "models",
  "default_context_windows",
] as const;

const shownValue = ({ key, value }: ExplainedValue): unknown =>
  /(^|\.)(base_url|url|endpoint)$/.test(key) && typeof value === "string" ? withoutQuery(value) : value;

const hiddenKeys = /(^|\.)(api_key|secret|client_secret|private_key)$|(^|\.)(headers|env)(\.|$)/;

/** Explains what applies to the whole team; values of keys, headers and environments are not shown. */
export const explainTeam = (draft: TeamDraft, team: Team): ExplainedValue[] =>
  [
    {
      section: "team",
      key: "entry_agent",
      value: team.entry_agent,
      origin: draft.sections.entry_agent === undefined ? "first agent" : originOf(draft, ["entry_agent"]),
    },
    ...draft.providers.flatMap(({ index, value }) => {
      const { script: _, name, ...provider } = value;
      return sectionRows(draft, ["providers", index], `provider ${name}`, provider);
    }),
    ...team.mcp_servers.flatMap(({ name, ...server }, index) =>
      sectionRows(draft, ["mcp_servers", index], `server ${name}`, server),
    ),
    ...teamSections.flatMap((section) => sectionRows(draft, [section], section, team[section] ?? "off")),
  ].map((row) =>
    hiddenKeys.test(row.key) ? { ...row, value: "(not shown)" } : { ...row, value: shownValue(row) },
  );

/** Names of a list with what belongs to each: the parameters of an effect, the tools of a toolbox. */
type KindList = Readonly<Record<string, readonly string[]>>;

const withoutDetails = (names: readonly string[]): KindList =>
  Object.fromEntries(names.map((name) => [name, []]));

/** Lists known kinds, effects with their parameters, and built-in toolboxes with their tools. */
export const explainKinds = (): Readonly<Record<string, KindList>> => ({
  providers: withoutDetails(providerKinds),
  effects: Object.fromEntries(effects.map(({ kind, params }) => [kind, Object.keys(params.shape)])),
  guards: withoutDetails(guardKeys),
  middleware: withoutDetails(middlewareKinds),
  toolboxes: builtInToolboxes,
});
