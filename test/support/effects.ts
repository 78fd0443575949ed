import type { Agent } from "../../src/agent/agent.ts";
import type { BoundEffect, Effect } from "../../src/agent/effect.ts";
import type { Engine } from "../../src/engine/engine.ts";

/** Effects of a test's own, put into every agent of an engine. */

const bind = (effects: readonly Effect[]): readonly BoundEffect[] =>
  effects.map((effect, index) => ({
    effect,
    params: {},
    key: `${effect.kind}#${index}`,
    custom: true,
    lane: null,
  }));

export interface TestEffects {
  readonly effects?: readonly Effect[];
  /** What an overflow or the API forces. */
  readonly ladder?: Effect;
}

export const withEffects = (engine: Engine, { effects = [], ladder }: TestEffects): Engine => {
  const known = new Map<Agent, Agent>();
  const own: Agent["effects"] = {
    before: bind(effects.filter(({ phase }) => phase === "before_complete")),
    after: bind(effects.filter(({ phase }) => phase === "after_complete")),
    ladder: ladder === undefined ? null : (bind([ladder])[0] ?? null),
  };
  return {
    ...engine,
    agent: (name, session, standing) => {
      const agent = engine.agent(name, session, standing);
      const mine = known.get(agent) ?? { ...agent, effects: own };
      known.set(agent, mine);
      return mine;
    },
  };
};
