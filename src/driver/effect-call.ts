import { estimateCost } from "../agent/budgets/estimate-cost.ts";
import { originOf } from "../agent/context/request.ts";
import type { Agent, ModelTarget } from "../agent/definition/agent.ts";
import { effectTargetOf } from "../agent/definition/agent.ts";
import type { BoundEffect, EffectCall } from "../agent/definition/effect.ts";
import { isPreparing, preparingPhaseOf } from "../agent/hooks/preparing.ts";
import type { ModelCall } from "../agent/state/model-call.ts";
import type { EffectMemo, EffectReply, PreparingPhase } from "../agent/state/phase.ts";
import type { Run } from "../agent/state/run.ts";
import type { Thread } from "../agent/state/thread.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import {
  failEffectCall,
  handleUncoveredEffectCall,
  startEffectCall,
  storeEffectReply,
} from "../agent/turn/effect-calls.ts";
import type { Json } from "../chat/message.ts";
import { estimateText } from "../chat/tokens.ts";
import type { ModelRequest } from "../model/completer.ts";
import { sha256Hex } from "../sandbox/sha256.ts";
import { makeModelCall } from "./model-call.ts";
import type { WorkContext } from "./work.ts";

/** Makes the model calls of an effect: a call whose reply is stored is never made again. */

const requestOf = (
  { host }: WorkContext,
  { thread, run, agent }: EffectWork,
  { system, prompt }: EffectCall,
  { model, sampling, cache }: ModelTarget,
  call: ModelCall,
): ModelRequest => ({
  model,
  system,
  messages: [
    {
      id: `msg_${thread.id}_prompt`,
      pos: 0,
      role: "user",
      origin: "system",
      parts: [{ type: "text", text: prompt }],
      at: host.now(),
      tokens: 0,
    },
  ],
  tools: [],
  toolChoice: "none",
  maxTokens: call.reservation.output,
  ...sampling,
  cache: { ...cache, mode: "off" },
  media: (blob) => host.media(blob),
  context: originOf(host.read(), agent, thread, run, call),
});

/** Makes one model call; returns null if it has to wait, and the effect runs again later. */
export const runEffectCall = async (
  context: WorkContext,
  work: EffectWork,
  call: EffectCall,
): Promise<EffectReply | null> => {
  const { system, prompt, maxTokens } = call;
  const key = digest(system, prompt, maxTokens);
  const known = memoOf(context, work, key);
  if (typeof known === "object") return known;
  const target = effectTargetOf(work.agent, work.run, work.bound.target);
  if (target === undefined) return { ok: false, error: "the agent has no model", attempts: 0 };
  const { id: thread } = work.thread;
  const input = estimateText(system) + estimateText(prompt);
  const estimate = estimateCost(target, input, Math.min(maxTokens, target.maxOutput));
  settleIfCurrent(context, work, (draft) => startEffectCall(draft, thread, key, target, estimate));
  if (!isPreparing(context.host.read(), thread, work.phase)) return null;
  await makeModelCall(context, {
    thread,
    target,
    estimate,
    request: (now) => requestOf(context, work, call, target, now),
    uncovered: (draft, now, how) => handleUncoveredEffectCall(draft, thread, { key, target, call: now }, how),
    fail: (draft, now, failure) => failEffectCall(draft, thread, { key, target, call: now }, failure),
    reply: (draft, now, reply) =>
      storeEffectReply(draft, thread, { key, target, call: now }, reply, call.refuse),
  });
  const reply = memoOf(context, work, key);
  return typeof reply === "object" ? reply : null;
};

/** An effect at work, as the state had it when the effect began. */
export interface EffectWork {
  readonly thread: Thread;
  readonly run: Run;
  readonly phase: PreparingPhase;
  readonly agent: Agent;
  readonly bound: BoundEffect;
}

/** Changes the state if this very start of the effect is still at work. */
export const settleIfCurrent = (
  { settle }: WorkContext,
  work: EffectWork,
  change: (draft: Draft) => void,
): void =>
  settle((draft) => {
    if (isPreparing(draft.state, work.thread.id, work.phase)) change(draft);
  });

/** Returns the stored outcome of an earlier call or question, or undefined if it is new. */
export const memoOf = ({ host }: WorkContext, { thread }: EffectWork, key: string): EffectMemo | undefined =>
  preparingPhaseOf(host.read().threads[thread.id]?.run ?? null)?.memo[key];

export const digest = (...parts: readonly Json[]): string => sha256Hex(JSON.stringify(parts)).slice(0, 32);
