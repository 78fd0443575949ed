import type { Agent, Lane } from "../agent/definition/agent.ts";
import type { BoundEffect, Effect } from "../agent/definition/effect.ts";
import type { Agent as AgentConfig } from "../config/team.ts";
import { compact } from "../effects/compact.ts";
import { effects as builtIns } from "../effects/index.ts";
import { inOrder } from "../effects/order.ts";
import { isOf } from "../effects/schema.ts";

/** Effects of an agent as its configuration says. */

export interface EffectParts {
  /** Effects of the team's extensions. */
  readonly custom: readonly Effect[];
  /** Where model calls go that are to be made by a provider. */
  readonly lane: (provider: string) => Lane | null;
}

type EffectConfig = AgentConfig["effects"][number];

const find = (custom: readonly Effect[], kind: string): Effect | undefined =>
  builtIns.find((each) => each.kind === kind) ?? custom.find((each) => each.kind === kind);

/** Kinds of effects that an agent needs and that are neither built in nor the team's. */
export const unknownEffects = (custom: readonly Effect[], { effects }: AgentConfig): readonly string[] =>
  effects.map(({ kind }) => kind).filter((kind) => find(custom, kind) === undefined);

const laneOf = ({ lane }: EffectParts, config: EffectConfig): Lane | null =>
  isOf("compact")(config) && config.params.summary_provider !== undefined
    ? lane(config.params.summary_provider)
    : null;

/** Each with the key of its state: its kind, from the second of a kind on with its number among them. */
const bound = (parts: EffectParts, configs: readonly EffectConfig[]): readonly BoundEffect[] => {
  const seen = new Map<string, number>();
  return configs.flatMap((config): BoundEffect[] => {
    const { kind, params } = config;
    const effect = find(parts.custom, kind);
    if (effect === undefined) return [];
    const number = (seen.get(kind) ?? 0) + 1;
    seen.set(kind, number);
    const key = number === 1 ? kind : `${kind}#${number}`;
    return [{ effect, params, key, custom: parts.custom.includes(effect), lane: laneOf(parts, config) }];
  });
};

/** What an overflow or the API forces on an agent that does not compact. */
const plainLadder: BoundEffect = {
  effect: compact,
  params: compact.params.parse({}),
  key: compact.kind,
  custom: false,
  lane: null,
};

/** Binds the effects of an agent in the order in which they run. */
export const bindEffects = (parts: EffectParts, { effects }: AgentConfig): Agent["effects"] => {
  const all = inOrder(bound(parts, effects), ({ effect }) => effect);
  return {
    before: all.filter(({ effect }) => effect.phase === "before_complete"),
    after: all.filter(({ effect }) => effect.phase === "after_complete"),
    ladder: all.find(({ effect }) => effect === compact) ?? plainLadder,
  };
};

/** Most calls of one reply: an effect looks at the records of each turn. */
const callsOfReply = 64;

/** Records of finished calls that the effects need to see. */
export const effectHistory = ({ before, after }: Agent["effects"]): number =>
  [...before, ...after].some(({ effect, custom }) => custom || effect.kind === "stall_detect")
    ? callsOfReply
    : 0;
