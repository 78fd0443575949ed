import { errorMessageOf } from "../tools/errors.ts";
import { allowedOutput, estimateCost } from "../agent/budgets/bounds.ts";
import { loseModelCall } from "../agent/calls/model-call.ts";
import { originOf } from "../agent/context/request.ts";
import type { Agent, ModelTarget } from "../agent/definition/agent.ts";
import { effectTargetOf } from "../agent/definition/agent.ts";
import { checkEffectResult } from "../agent/definition/checks.ts";
import type { BoundEffect, EffectCall, EffectQuestion, EffectResult } from "../agent/definition/effect.ts";
import { createEffectContext, failEffect, effectState } from "../agent/hooks/effects.ts";
import { isPreparing, preparingPhaseOf, forceOf } from "../agent/hooks/preparing.ts";
import type {
  ModelCall,
  EffectMemo,
  EffectReply,
  PreparingPhase,
  PreparedWork,
} from "../agent/state/phase.ts";
import type { Run } from "../agent/state/run.ts";
import type { Thread } from "../agent/state/thread.ts";
import type { ThreadDraft } from "../agent/transaction/draft.ts";
import { selectThread } from "../agent/transaction/draft.ts";
import { askForEffect } from "../agent/turn/ask-answers.ts";
import {
  failEffectCall,
  handleUncoveredEffectCall,
  startEffectCall,
  storeEffectReply,
} from "../agent/turn/attempts.ts";
import { finishEffect } from "../agent/turn/turns.ts";
import type { Json } from "../chat/message.ts";
import { estimateText } from "../chat/tokens.ts";
import type { ModelRequest } from "../model/completer.ts";
import { sha256Hex } from "../sandbox/sha256.ts";
import { makeModelCall } from "./model-call.ts";
import type { WorkContext } from "./host.ts";
import { createLock } from "./host.ts";

/** Runs one effect that needs a model or a person, from the stored `preparing` to its stored edits. */

/** An effect at work, as the state had it when the effect began. */
interface EffectWork {
  readonly thread: Thread;
  readonly run: Run;
  readonly phase: PreparingPhase;
  readonly agent: Agent;
  readonly bound: BoundEffect;
}

/** Changes the state if this very start of the effect is still at work. */
const settleIfCurrent = (
  { settle }: WorkContext,
  work: EffectWork,
  change: (draft: ThreadDraft) => void,
): void =>
  settle((draft) => {
    if (isPreparing(draft.state, work.thread.id, work.phase)) change(selectThread(draft, work.thread.id));
  });

/** Returns the stored outcome of an earlier call or question, or undefined if it is new. */
const memoOf = ({ host }: WorkContext, { thread }: EffectWork, key: string): EffectMemo | undefined =>
  preparingPhaseOf(host.read().threads[thread.id]?.run ?? null)?.memo[key];

/** Tokens for reasoning, which many models count to their output and few can switch off. */
const reasoningRoom = 4_096;

/** Returns the output tokens to ask for, so that a text of `wanted` tokens fits beside some reasoning. */
const outputFor = (target: ModelTarget, input: number, wanted: number): number => {
  const roomy = allowedOutput(target, input, wanted + reasoningRoom);
  return Math.min(target.maxOutput, Math.max(wanted, roomy));
};

const digest = (...parts: readonly Json[]): string => sha256Hex(JSON.stringify(parts)).slice(0, 32);

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
      tokens: estimateText(prompt),
    },
  ],
  tools: [],
  toolChoice: "none",
  maxTokens: call.reservation.output,
  ...sampling,
  reasoning: { effort: "none", summary: "none" },
  cache: { ...cache, mode: "off" },
  media: (blob) => host.media(blob),
  context: originOf(host.read(), agent, thread, run, call),
});

/** Makes a model call of an effect, unless its reply is stored; returns null if it has to wait, and the effect runs again later. */
const runEffectCall = async (
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
  const estimate = estimateCost(target, input, outputFor(target, input, maxTokens));
  settleIfCurrent(context, work, (draft) => startEffectCall(draft, key, target, estimate));
  if (!isPreparing(context.host.read(), thread, work.phase)) return null;
  await makeModelCall(context, {
    thread,
    target,
    estimate,
    request: (now) => requestOf(context, work, call, target, now),
    uncovered: (draft, now, how) => handleUncoveredEffectCall(draft, { key, target, call: now }, how),
    fail: (draft, now, failure) => failEffectCall(draft, { key, target, call: now }, failure),
    reply: (draft, now, reply) => storeEffectReply(draft, { key, target, call: now }, reply, call.refuse),
  });
  const reply = memoOf(context, work, key);
  return typeof reply === "object" ? reply : null;
};

/** Milliseconds that an effect may take besides its calls and questions. */
const ownTimeMs = 5_000;

const boundEffectOf = ({ effects }: Agent, work: PreparedWork): BoundEffect | null => {
  if (work.kind === "compaction") return effects.compaction;
  return work.kind === "effect" ? (effects.before[work.index] ?? null) : null;
};

const findEffectWork = ({ host }: WorkContext, threadId: string): EffectWork | null => {
  const thread = host.read().threads[threadId];
  const run = thread?.run ?? null;
  const phase = preparingPhaseOf(run);
  if (thread === undefined || run === null || phase === null) return null;
  const agent = host.agent(threadId);
  const bound = boundEffectOf(agent, phase.work);
  return bound === null ? null : { thread, run, phase, agent, bound };
};

/** Returns a person's answer, or null if it has not come yet. */
const askPerson = (context: WorkContext, work: EffectWork, question: EffectQuestion): string | null => {
  const { text, options, timeoutMs } = question;
  const key = digest("ask", text, options, work.run.turn);
  const known = memoOf(context, work, key);
  if (typeof known === "string") return known;
  if (!context.host.read().interactive) return question.default;
  settleIfCurrent(context, work, (draft) => askForEffect(draft, key, question, timeoutMs));
  return null;
};

interface OwnTimer {
  readonly pause: () => void;
  readonly go: () => void;
  /** Ends the effect's time: a model call that ends later does not let it go on. */
  readonly end: () => void;
}

/** Measures an effect's own time, which stands still while the effect waits for a model. */
const createOwnTimer = ({ host }: WorkContext, late: () => void): OwnTimer => {
  let timer: { cancel(): void } | null = null;
  let isOver = false;
  const pause = (): void => timer?.cancel();
  return {
    pause,
    go: () => {
      pause();
      if (!isOver) timer = host.after(ownTimeMs, late);
    },
    end: () => {
      isOver = true;
      pause();
    },
  };
};

type EffectEnd =
  | { readonly kind: "result"; readonly result: EffectResult<Json> }
  | { readonly kind: "failed"; readonly error: string }
  /** The effect goes on when the state says so. */
  | { readonly kind: "paused" };

const runEffect = async (outside: WorkContext, work: EffectWork): Promise<EffectEnd> => {
  const { host, stop } = outside;
  const { thread, agent, bound, phase } = work;
  const end = Promise.withResolvers<EffectEnd>();
  const watch = createOwnTimer(outside, () =>
    end.resolve({ kind: "failed", error: `it took longer than ${ownTimeMs / 1_000} s` }),
  );
  /** Gives back a value; without one the effect stays here for ever, and runs again from its start with the stored replies. */
  const pausing = async <T>(value: T | null): Promise<T> => {
    if (value !== null) return value;
    end.resolve({ kind: "paused" });
    return new Promise<T>(() => {});
  };
  // Calls run one at a time, because a call that has to wait pauses them all.
  const inTurn = createLock();
  const completed = async (call: EffectCall): Promise<EffectReply> => {
    if (stop.asked()) return pausing<EffectReply>(null);
    watch.pause();
    const reply = await runEffectCall(outside, work, call);
    watch.go();
    return pausing(reply);
  };
  const place = { agent, target: bound.target };
  const context = createEffectContext(host.read(), thread.id, place, {
    phase: "before_complete",
    force: forceOf(phase.work),
    now: host.now(),
    signal: stop.signal(),
    complete: (call) => inTurn(() => completed(call)),
    ask: (question) => inTurn(() => pausing(askPerson(outside, work, question))),
  });
  stop.whenAsked(() => end.resolve({ kind: "paused" }));
  watch.go();
  void Promise.try(() => bound.effect.run(context, bound.params, effectState(thread, bound)))
    .then((result) => checkEffectResult(result, bound.custom))
    .then(
      (result) => end.resolve({ kind: "result", result }),
      (error: unknown) => {
        host.logThrown({ thread: thread.id, hook: bound.effect.kind }, error);
        end.resolve({ kind: "failed", error: errorMessageOf(error) });
      },
    );
  const ended = await end.promise;
  watch.end();
  return ended;
};

/** Runs the effect that is at work and stores its result; a call that the effect did not await is aborted. */
export const runPreparedEffect = async (context: WorkContext, threadId: string): Promise<void> => {
  const work = findEffectWork(context, threadId);
  if (work === null) return;
  const end = await runEffect(context, work);
  if (end.kind === "paused") return;
  settleIfCurrent(context, work, (draft) => {
    const { bound, thread } = work;
    loseModelCall(draft, "cancelled");
    if (end.kind === "result") finishEffect(draft, bound, thread.chat, end.result);
    else if (!failEffect(draft, bound, end.error)) finishEffect(draft, bound, thread.chat, {});
  });
  context.stop.ask();
};
