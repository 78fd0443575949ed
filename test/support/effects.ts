import type { Agent } from "../../src/agent/definition/agent.ts";
import type { BoundEffect, Effect } from "../../src/agent/definition/effect.ts";
import type { Engine } from "../../src/engine/engine.ts";

/** Effects of a test's own, put into every agent of an engine. */

const bind = (effects: readonly Effect[], custom: boolean): readonly BoundEffect[] =>
  effects.map((effect, index) => ({
    effect,
    params: {},
    key: `${effect.kind}#${index}`,
    custom,
    target: null,
  }));

export interface TestEffects {
  readonly effects?: readonly Effect[];
  /** What an overflow or the API forces. */
  readonly compaction?: Effect;
  /** They count as built-in, not as a team's own. */
  readonly builtIn?: boolean;
}

export const withEffects = (
  engine: Engine,
  { effects = [], compaction, builtIn = false }: TestEffects,
): Engine => {
  const known = new Map<Agent, Agent>();
  const own: Agent["effects"] = {
    before: bind(
      effects.filter(({ phase }) => phase === "before_complete"),
      !builtIn,
    ),
    after: bind(
      effects.filter(({ phase }) => phase === "after_complete"),
      !builtIn,
    ),
    compaction: compaction === undefined ? null : (bind([compaction], !builtIn)[0] ?? null),
  };
  return {
    ...engine,
    agent: (name, session, callerConstraints) => {
      const agent = engine.agent(name, session, callerConstraints);
      const mine = known.get(agent) ?? { ...agent, effects: own };
      known.set(agent, mine);
      return mine;
    },
  };
};
