import type { FallbackChain } from "../../model/retry.ts";
import { startFallbackChain } from "../../model/retry.ts";
import type { Agent, ModelTarget } from "../definition/agent.ts";
import { allTargets } from "../definition/agent.ts";
import type { Phase } from "../state/phase.ts";
import { isPlanning } from "../state/plan.ts";
import type { Run } from "../state/run.ts";
import type { Draft } from "./draft.ts";
import { agentOf, threadOf } from "./draft.ts";

/** Finds the model target of a thread's call, even after a model change; undefined if it no longer exists. */
export const findTarget = (
  draft: Draft,
  threadId: string,
  { provider, model }: { readonly provider: string; readonly model: string },
): ModelTarget | undefined => {
  for (const chosen of [undefined, null, `${provider}/${model}`]) {
    const targets = allTargets(draft.context.agents(threadOf(draft, threadId), chosen));
    const found = targets.find((target) => target.provider === provider && target.model === model);
    if (found !== undefined) return found;
  }
  return undefined;
};

export type ThinkingPhase = Extract<Phase, { at: "thinking" }>;

export type WaitingPhase = Extract<Phase, { at: "waiting" }>;

/** Returns the fallback chain of a turn that begins now. */
export const turnFallbackChain = (draft: Draft, threadId: string): FallbackChain => {
  const { health, now } = draft.context;
  const { targets } = agentOf(draft, threadId);
  return startFallbackChain(
    targets.map(({ provider, model }) => ({ provider, model, ...health(provider, model) })),
    now,
  );
};

/** Returns whether the fallback chain of a wait is still the agent's: a model override changes it. */
const hasSameTargets = ({ list }: FallbackChain, targets: Agent["targets"]): boolean =>
  list.length === targets.length &&
  list.every(({ provider, model }, at) => provider === targets[at]?.provider && model === targets[at].model);

/** Returns the chain and the ticket of a turn's next attempt, from its wait. */
export const nextAttempt = (
  draft: Draft,
  threadId: string,
  { phase, plan }: Run,
): Pick<WaitingPhase, "attempt" | "chain" | "ticket"> => {
  if (phase.at === "waiting" && hasSameTargets(phase.chain, agentOf(draft, threadId).targets)) return phase;
  const first = isPlanning(plan) ? (plan?.attempts ?? 0) + 1 : 1;
  const attempt = phase.at === "waiting" || phase.at === "preparing" ? phase.attempt : first;
  return { attempt, chain: turnFallbackChain(draft, threadId), ticket: null };
};
