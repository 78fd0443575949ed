import { checkedResult } from "../agent/definition/checks.ts";
import type { EffectCall, EffectQuestion, EffectResult } from "../agent/definition/effect.ts";
import { briefing } from "../agent/hooks/briefing.ts";
import { contextOf, effectFailed, effectState } from "../agent/hooks/effects.ts";
import { callLost, preparingOf } from "../agent/hooks/preparing.ts";
import type { EffectReply } from "../agent/state/run.ts";
import { preparingAsked } from "../agent/turn/answers.ts";
import { effectAnswered } from "../agent/turn/turns.ts";
import type { Json } from "../chat/message.ts";
import { brief } from "./briefing.ts";
import type { Work } from "./effect-call.ts";
import { called, digest, memoOf, settled } from "./effect-call.ts";
import type { Outside } from "./work.ts";

/** One effect that needs a model or a person, from the stored `preparing` to its stored edits. */

/** Milliseconds an effect may take beside its calls and questions. */
const ownTime = 5_000;

const workAt = ({ host }: Outside, threadId: string): Work | null => {
  const thread = host.read().threads[threadId];
  const run = thread?.run ?? null;
  const phase = preparingOf(run);
  if (thread === undefined || run === null || phase === null) return null;
  const agent = host.agent(threadId);
  const bound = phase.effect < 0 ? agent.effects.ladder : agent.effects.before[phase.effect];
  return bound === undefined || bound === null ? null : { thread, run, phase, agent, bound };
};

/** The answer of a person; null: it has not come yet. */
const asked = (outside: Outside, work: Work, question: EffectQuestion): string | null => {
  const { text, options, timeoutMs } = question;
  const key = digest("ask", text, options, work.run.turn);
  const known = memoOf(outside, work, key);
  if (typeof known === "string") return known;
  if (!outside.host.read().interactive) return question.default;
  settled(outside, work, (draft) => preparingAsked(draft, work.thread.id, key, question, timeoutMs));
  return null;
};

/** An effect's own time runs while it does not wait for a model. */
const createWatch = (
  { host }: Outside,
  late: () => void,
): { readonly pause: () => void; readonly go: () => void } => {
  let timer: { cancel(): void } | null = null;
  return {
    pause: () => timer?.cancel(),
    go: () => {
      timer?.cancel();
      timer = host.after(ownTime, late);
    },
  };
};

type End =
  | { readonly kind: "result"; readonly result: EffectResult<Json> }
  | { readonly kind: "failed"; readonly error: string }
  /** It goes on when the state says so. */
  | { readonly kind: "paused" };

const runEffect = async (outside: Outside, work: Work): Promise<End> => {
  const { host, signal } = outside;
  const { thread, agent, bound, phase } = work;
  const end = Promise.withResolvers<End>();
  const watch = createWatch(outside, () =>
    end.resolve({ kind: "failed", error: `it took longer than ${ownTime / 1_000} s` }),
  );
  const pausing = async <T>(value: T | null): Promise<T> => {
    if (value !== null) return value;
    end.resolve({ kind: "paused" });
    return new Promise<T>(() => {});
  };
  let last: Promise<unknown> = Promise.resolve();
  /** One at a time: a wait of one pauses them all. */
  const inTurn = <T>(run: () => Promise<T>): Promise<T> => {
    const next = last.then(run);
    last = next.catch(() => {});
    return next;
  };
  const completed = async (call: EffectCall): Promise<EffectReply> => {
    if (signal.aborted) return pausing<EffectReply>(null);
    watch.pause();
    const reply = await called(outside, work, call);
    watch.go();
    return pausing(reply);
  };
  const asking = { agent, lane: bound.lane };
  const context = contextOf(host.read(), thread.id, asking, {
    phase: "before_complete",
    force: phase.force,
    now: host.now(),
    signal,
    complete: (call) => inTurn(() => completed(call)),
    ask: (question) => inTurn(() => pausing(asked(outside, work, question))),
  });
  signal.addEventListener("abort", () => end.resolve({ kind: "paused" }), { once: true });
  watch.go();
  void Promise.try(() => bound.effect.run(context, bound.params, effectState(thread, bound)))
    .then((result) => checkedResult(result, bound.custom))
    .then(
      (result) => end.resolve({ kind: "result", result }),
      (error: unknown) =>
        end.resolve({ kind: "failed", error: error instanceof Error ? error.message : String(error) }),
    );
  const ended = await end.promise;
  watch.pause();
  return ended;
};

/**
 * Runs the effect, or fetches the briefing, that the state says is at work, and stores what it gives back unless it came
 * too late. A call that it did not wait for is broken off.
 */
export const prepare = async (outside: Outside, threadId: string): Promise<void> => {
  if (preparingOf(outside.host.read().threads[threadId]?.run ?? null)?.effect === briefing)
    return brief(outside, threadId);
  const work = workAt(outside, threadId);
  if (work === null) return;
  const end = await runEffect(outside, work);
  if (end.kind === "paused") return;
  settled(outside, work, (draft) => {
    const { bound, thread } = work;
    callLost(draft, threadId, "cancelled");
    if (end.kind === "result") effectAnswered(draft, threadId, bound, thread.chat, end.result);
    else if (!effectFailed(draft, threadId, bound, end.error))
      effectAnswered(draft, threadId, bound, thread.chat, {});
  });
  outside.stop.ask();
};
