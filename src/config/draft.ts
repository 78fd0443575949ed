import type * as z from "zod";
import type { Effect } from "../agent/definition/effect.ts";
import type { Tool } from "../tools/define-tool.ts";
import type { DiagnosticCode, Path, SourcePlace } from "./document/diagnostics.ts";
import type { Located } from "./document/document.ts";
import type { TeamSchemas } from "./schema.ts";
import type { Skill } from "./team.ts";

/** A draft: a team file whose shape was checked, as the checks across sections see it. */

type TeamShape = z.output<TeamSchemas["team"]>;
export type ProviderShape = TeamShape["providers"][number];
export type AgentShape = TeamShape["agents"][number];
type McpServerShape = TeamShape["mcp_servers"][number];
type Sections = z.output<TeamSchemas["sections"]>;

/** Entry with its index in the list as written; unusable entries are absent. */
export interface ListEntry<T> {
  readonly index: number;
  readonly value: T;
}

interface ReportOptions {
  /** Text to point at: the value (default), its key, or the position where something is missing. */
  readonly which?: "key" | "value" | "missing";
  readonly hint?: string | undefined;
}

/** Reports a finding at a path of the team file. */
export type Report = (code: DiagnosticCode, path: Path, message: string, options?: ReportOptions) => void;

export interface TeamDraft {
  /** The team's name. */
  readonly name: string;
  /** Text of the author, with `defaults` merged into the agents. */
  readonly root: Located;
  /** Text of the author, without that merge. */
  readonly written: Located;
  /** Reports at a path of the values below, whose lists lack the entries of wrong shape. */
  readonly report: Report;
  /** Reports at a path of `root` or `written`. */
  readonly reportWritten: Report;
  /** Converts a path of the values below to the path in `root`. */
  readonly writtenPath: (path: Path) => Path;
  /** Path of the team's keys in the file: `["config"]` inside the wrapper `config:`. */
  readonly prefix: Path;
  /** Returns the line and column of an offset of the team file. */
  readonly place: (offset: number) => SourcePlace;
  readonly sections: Sections;
  readonly providers: readonly ListEntry<ProviderShape>[];
  readonly agents: readonly ListEntry<AgentShape>[];
  readonly servers: readonly ListEntry<McpServerShape>[];
  readonly skills: readonly Skill[];
  /** Toolboxes with their tools: built-in ones and those of extensions, but no MCP servers. */
  readonly toolboxes: ReadonlyMap<string, readonly string[]>;
  /** All tools that a script or option may name. */
  readonly tools: ReadonlySet<string>;
  /** Tools with a known definition, by name; an extension's takes precedence over a built-in one. */
  readonly definitions: ReadonlyMap<string, Tool>;
  readonly providerKinds: readonly string[];
  /** Effects of the extensions. */
  readonly effects: readonly Effect[];
  /** Names of the extensions' answer checks. */
  readonly checks: readonly string[];
  /** Schemas of the file, including the kinds of the extensions. */
  readonly schemas: TeamSchemas;
}

/** Returns the entry `models.<id>` of the file. */
export const modelOverrideOf = (
  { sections: { models } }: TeamDraft,
  model: string,
): Sections["models"][string] | undefined => (Object.hasOwn(models, model) ? models[model] : undefined);

/** Model target (provider and model) that an agent may call. */
export interface TargetShape {
  readonly provider: ListEntry<ProviderShape>;
  readonly model: string;
}

const findProvider = (draft: TeamDraft, name: string | undefined): ListEntry<ProviderShape> | undefined =>
  name === undefined
    ? draft.providers.find(({ index }) => index === 0)
    : draft.providers.find(({ value }) => value.name === name);

/** Returns the model targets of an agent, in the order in which they are tried. */
export const targetShapesOf = (
  draft: TeamDraft,
  agent: Pick<AgentShape, "provider" | "model" | "fallbacks">,
): TargetShape[] => {
  const first = findProvider(draft, agent.provider);
  if (first === undefined) return [];
  const fallbacks = (agent.fallbacks ?? first.value.fallbacks).flatMap((fallback) => {
    const provider = findProvider(draft, fallback.provider);
    return provider === undefined ? [] : [{ provider, model: fallback.model ?? provider.value.model }];
  });
  return [{ provider: first, model: agent.model ?? first.value.model }, ...fallbacks];
};
