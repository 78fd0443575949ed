import type { Json } from "../chat/message.ts";
import { sha256Hex } from "../sandbox/sha256.ts";
import type { Agent } from "./agent.ts";
import type { Draft } from "./draft.ts";
import type { BoundEffect } from "./effect.ts";
import type { Outside } from "./outside.ts";
import { preparingOf } from "./preparing.ts";
import type { EffectMemo, Preparing, Run, Session, Thread } from "./state.ts";

/** An effect that needs the outside: whether it is still at work, and what it was told already (EF-20). */

/** An effect at work, as the state had it when it began. */
export interface Work {
  readonly thread: Thread;
  readonly run: Run;
  readonly phase: Preparing;
  readonly agent: Agent;
  readonly bound: BoundEffect;
}

/** Whether the state still says that this very start of the effect is at work. */
export const isCurrent = (session: Session, { thread, run, phase }: Work): boolean => {
  const now = session.threads[thread.id]?.run ?? null;
  const at = preparingOf(now);
  return (
    now?.id === run.id &&
    now.turn === run.turn &&
    at?.effect === phase.effect &&
    at.round === phase.round &&
    at.until === null
  );
};

/** Changes the state if this very start of the effect is still at work. */
export const settled = ({ settle }: Outside, work: Work, change: (draft: Draft) => void): void =>
  settle((draft) => {
    if (isCurrent(draft.state, work)) change(draft);
  });

/** What came of a call or question before; undefined if it is new. */
export const memoOf = ({ host }: Outside, { thread }: Work, key: string): EffectMemo | undefined =>
  preparingOf(host.read().threads[thread.id]?.run ?? null)?.memo[key];

export const digest = (...parts: readonly Json[]): string => sha256Hex(JSON.stringify(parts)).slice(0, 32);
