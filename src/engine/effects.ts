import { mostCallsPerReply } from "../agent/context/history.ts";
import type { Agent, ModelTarget } from "../agent/definition/agent.ts";
import type { BoundEffect, Effect } from "../agent/definition/effect.ts";
import type { TeamAgent as AgentConfig } from "../config/team.ts";
import { compact } from "../effects/compact.ts";
import { effects as builtIns } from "../effects/index.ts";
import { sortByRank } from "../effects/order.ts";
import { isOfKind } from "../effects/schema.ts";

/** Binds an agent's effects as its configuration says. */

export interface EffectParts {
  /** Effects of the team's extensions. */
  readonly custom: readonly Effect[];
  /** Returns the target of model calls at a named provider. */
  readonly target: (provider: string) => ModelTarget | null;
}

type AgentEffect = AgentConfig["effects"][number];

const findEffect = (custom: readonly Effect[], kind: string): Effect | undefined =>
  builtIns.find((each) => each.kind === kind) ?? custom.find((each) => each.kind === kind);

/** Lists the kinds of an agent's effects that are neither built in nor the team's. */
export const findUnknownEffects = (custom: readonly Effect[], { effects }: AgentConfig): readonly string[] =>
  effects.map(({ kind }) => kind).filter((kind) => findEffect(custom, kind) === undefined);

const summaryTargetOf = ({ target }: EffectParts, config: AgentEffect): ModelTarget | null =>
  isOfKind("compact")(config) && config.params.summary_provider !== undefined
    ? target(config.params.summary_provider)
    : null;

/** Binds each effect with the key of its state: its kind, with a number from the second effect of that kind on. */
const bindEach = (parts: EffectParts, configs: readonly AgentEffect[]): readonly BoundEffect[] => {
  const seen = new Map<string, number>();
  return configs.flatMap((config): BoundEffect[] => {
    const { kind, params } = config;
    const effect = findEffect(parts.custom, kind);
    if (effect === undefined) return [];
    const number = (seen.get(kind) ?? 0) + 1;
    seen.set(kind, number);
    const key = number === 1 ? kind : `${kind}#${number}`;
    return [
      { effect, params, key, custom: parts.custom.includes(effect), target: summaryTargetOf(parts, config) },
    ];
  });
};

/** Compacts on an overflow or an API request for an agent that has no compaction of its own. */
const defaultCompaction: BoundEffect = {
  effect: compact,
  params: compact.params.parse({}),
  key: compact.kind,
  custom: false,
  target: null,
};

/** Binds the effects of an agent in the order in which they run. */
export const bindEffects = (parts: EffectParts, { effects }: AgentConfig): Agent["effects"] => {
  const all = sortByRank(bindEach(parts, effects), ({ effect }) => effect);
  return {
    before: all.filter(({ effect }) => effect.phase === "before_complete"),
    after: all.filter(({ effect }) => effect.phase === "after_complete"),
    compaction: all.find(({ effect }) => effect === compact) ?? defaultCompaction,
  };
};

/** Returns how many records of finished calls the effects need to see. */
export const effectHistory = ({ before, after }: Agent["effects"]): number =>
  [...before, ...after].some(({ effect, custom }) => custom || effect.readsCalls === true)
    ? mostCallsPerReply
    : 0;
