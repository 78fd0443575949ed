import type { FallbackChain } from "../../model/retry.ts";
import { startFallbackChain } from "../../model/retry.ts";
import type { Agent, ModelTarget } from "../definition/agent.ts";
import { allTargets } from "../definition/agent.ts";
import type { Phase, Run } from "../state/run.ts";
import type { Draft } from "./draft.ts";
import { agentOf, threadOf } from "./draft.ts";

/** The lane that a thread's call went to, also if the session has another model since; undefined if it is gone. */
export const findTarget = (
  draft: Draft,
  threadId: string,
  { provider, model }: { readonly provider: string; readonly model: string },
): ModelTarget | undefined => {
  for (const chosen of [undefined, null, `${provider}/${model}`]) {
    const targets = allTargets(draft.moment.agents(threadOf(draft, threadId), chosen));
    const found = targets.find((target) => target.provider === provider && target.model === model);
    if (found !== undefined) return found;
  }
  return undefined;
};

export type ThinkingPhase = Extract<Phase, { at: "thinking" }>;

/** The lanes that a turn begins with now. */
export const turnFallbackChain = (draft: Draft, threadId: string): FallbackChain => {
  const { health, now } = draft.moment;
  const { lanes } = agentOf(draft, threadId);
  return startFallbackChain(
    lanes.map(({ provider, model }) => ({ provider, model, ...health(provider, model) })),
    now,
  );
};

/** Whether the lanes that a wait was begun with are still the agent's: a model override takes others. */
const hasSameTargets = ({ list }: FallbackChain, targets: Agent["lanes"]): boolean =>
  list.length === targets.length &&
  list.every(({ provider, model }, at) => provider === targets[at]?.provider && model === targets[at].model);

export const nextAttempt = (
  draft: Draft,
  threadId: string,
  { phase }: Run,
): Pick<ThinkingPhase, "attempt" | "lanes" | "booked"> => {
  if (phase.at === "waiting" && hasSameTargets(phase.lanes, agentOf(draft, threadId).lanes)) return phase;
  const attempt = phase.at === "waiting" || phase.at === "preparing" ? phase.attempt : 1;
  return { attempt, lanes: turnFallbackChain(draft, threadId), booked: false };
};
