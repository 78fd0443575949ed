import { createLock } from "./work.ts";
import { loseModelCall } from "../agent/calls/model-call.ts";
import type { Agent } from "../agent/definition/agent.ts";
import { checkEffectResult } from "../agent/definition/checks.ts";
import type { BoundEffect, EffectCall, EffectQuestion, EffectResult } from "../agent/definition/effect.ts";
import { createEffectContext, failEffect, effectState } from "../agent/hooks/effects.ts";
import { forceOf, preparingPhaseOf } from "../agent/hooks/preparing.ts";
import type { EffectReply, PreparedWork } from "../agent/state/phase.ts";
import { askForEffect } from "../agent/turn/ask-answers.ts";
import { finishEffect } from "../agent/turn/turns.ts";
import type { Json } from "../chat/message.ts";
import { fetchBriefing } from "./briefing.ts";
import type { EffectWork } from "./effect-call.ts";
import { runEffectCall, digest, memoOf, settleIfCurrent } from "./effect-call.ts";
import { runVerification } from "./verification.ts";
import type { WorkContext } from "./work.ts";

/** Runs one effect that needs a model or a person, from the stored `preparing` to its stored edits. */

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
  settleIfCurrent(context, work, (draft) => askForEffect(draft, work.thread.id, key, question, timeoutMs));
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
  const { host, signal } = outside;
  const { thread, agent, bound, phase } = work;
  const end = Promise.withResolvers<EffectEnd>();
  const watch = createOwnTimer(outside, () =>
    end.resolve({ kind: "failed", error: `it took longer than ${ownTimeMs / 1_000} s` }),
  );
  const pausing = async <T>(value: T | null): Promise<T> => {
    if (value !== null) return value;
    end.resolve({ kind: "paused" });
    return new Promise<T>(() => {});
  };
  // Calls run one at a time, because a call that has to wait pauses them all.
  const inTurn = createLock();
  const completed = async (call: EffectCall): Promise<EffectReply> => {
    if (signal.aborted) return pausing<EffectReply>(null);
    watch.pause();
    const reply = await runEffectCall(outside, work, call);
    watch.go();
    return pausing(reply);
  };
  const asking = { agent, target: bound.target };
  const context = createEffectContext(host.read(), thread.id, asking, {
    phase: "before_complete",
    force: forceOf(phase.work),
    now: host.now(),
    signal,
    complete: (call) => inTurn(() => completed(call)),
    ask: (question) => inTurn(() => pausing(askPerson(outside, work, question))),
  });
  signal.addEventListener("abort", () => end.resolve({ kind: "paused" }), { once: true });
  watch.go();
  void Promise.try(() => bound.effect.run(context, bound.params, effectState(thread, bound)))
    .then((result) => checkEffectResult(result, bound.custom))
    .then(
      (result) => end.resolve({ kind: "result", result }),
      (error: unknown) =>
        end.resolve({ kind: "failed", error: error instanceof Error ? error.message : String(error) }),
    );
  const ended = await end.promise;
  watch.end();
  return ended;
};

/**
 * Carries out the effect, briefing or check that the state says is at work, and stores its result unless that
 * comes too late. A call that the effect did not await is aborted.
 */
export const runPreparation = async (context: WorkContext, threadId: string): Promise<void> => {
  const phase = preparingPhaseOf(context.host.read().threads[threadId]?.run ?? null);
  if (phase?.work.kind === "briefing") return fetchBriefing(context, threadId);
  if (phase?.work.kind === "verification") return runVerification(context, threadId);
  const work = findEffectWork(context, threadId);
  if (work === null) return;
  const end = await runEffect(context, work);
  if (end.kind === "paused") return;
  settleIfCurrent(context, work, (draft) => {
    const { bound, thread } = work;
    loseModelCall(draft, threadId, "cancelled");
    if (end.kind === "result") finishEffect(draft, threadId, bound, thread.chat, end.result);
    else if (!failEffect(draft, threadId, bound, end.error))
      finishEffect(draft, threadId, bound, thread.chat, {});
  });
  context.stop.ask();
};
