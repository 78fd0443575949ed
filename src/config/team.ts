import type * as z from "zod";
import type { Json } from "../chat/message.ts";
import type { EffectConfig } from "../effects/schema.ts";
import type { ProviderConfig } from "../providers/schema.ts";
import type { DeepReadonly } from "../schema.ts";
import type { TeamSchemas } from "./schema.ts";

/**
 * A compiled team, which the generated worker imports. Every default is filled in, durations are milliseconds,
 * sizes are bytes, `off` is null; `${NAME}` references stay texts and are resolved at use.
 */

/** Skill. Without a `description` its body is part of the system prompt; with one it is loaded on demand. */
export interface Skill {
  readonly name: string;
  readonly description: string | null;
  readonly body: string;
  /** Files beside SKILL.md by their path in the skill's folder. */
  readonly files: Readonly<Record<string, string>>;
}

type CompiledTeamShape = z.output<TeamSchemas["team"]>;
type CompiledAgentShape = CompiledTeamShape["agents"][number];
type OptionsShape = CompiledAgentShape["options"];

/** Agent whose provider, skills and effects are all explicit. */
export type TeamAgent = DeepReadonly<
  Omit<CompiledAgentShape, "provider" | "skills" | "effects" | "options"> & {
    provider: string;
    /** Names of its skills. */
    skills: string[];
    /** Effects as written, or those generated from `options`. */
    effects: EffectConfig[];
    options: Omit<OptionsShape, "response_schema"> & { response_schema?: Json };
  }
>;

export type Provider = DeepReadonly<ProviderConfig>;
export type McpServer = DeepReadonly<CompiledTeamShape["mcp_servers"][number]>;

type TeamSections = Omit<
  CompiledTeamShape,
  "providers" | "agents" | "mcp_servers" | "defaults" | "entry_agent"
>;

export interface Team extends DeepReadonly<TeamSections> {
  /** Format of this object; a stored revision of an older format is upgraded when it is read. */
  readonly format: 1;
  /** Name of the team folder. */
  readonly name: string;
  /** Name of the revision: `r_` and 20 hex digits over the definition. */
  readonly revision: string;
  readonly entry_agent: string;
  /** `defaults.options.context_window`, which agents do not have among their own options; null if absent. */
  readonly default_context_window: number | null;
  /** Providers; the first is the default of agents that name none. */
  readonly providers: readonly Provider[];
  readonly agents: readonly TeamAgent[];
  /** Whether `budgets` has a cost limit; default limits ignore models without a price. */
  readonly cost_limited: boolean;
  readonly mcp_servers: readonly McpServer[];
  /** Hashes of `mcp.lock.json`, by server and tool. */
  readonly mcp_lock: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly skills: readonly Skill[];
  /** `context/*.md` in name order, joined by blank lines. */
  readonly context_text: string;
  /** `context/HEARTBEAT.md`, for light inputs. */
  readonly heartbeat_text: string;
  /** Names of references that an agent can reach, sorted. */
  readonly secrets: readonly string[];
}
