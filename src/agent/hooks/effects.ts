import type { Outcome } from "../../tools/errors.ts";
import type { Json } from "../../chat/message.ts";
import { estimateText } from "../../chat/tokens.ts";
import { markCompaction } from "../calls/after-guards.ts";
import { unfinishedReplyIndex } from "../context/reports.ts";
import { applyEdits } from "../context/edits.ts";
import type { Agent, ModelTarget } from "../definition/agent.ts";
import { effectTargetOf, targetAt } from "../definition/agent.ts";
import { checkEffectResult } from "../definition/checks.ts";
import type { BoundEffect, Effect, EffectContext, EffectPhase, EffectResult } from "../definition/effect.ts";
import { openTaskLines } from "../state/board.ts";
import type { ForceReason } from "../state/phase.ts";
import type { Run } from "../state/run.ts";
import { mergeFiles } from "../state/files.ts";
import { findTaskMessage } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Thread } from "../state/thread.ts";
import type { ThreadDraft } from "../transaction/draft.ts";
import { agentOf, emit, recordEffects, runOf, runHook } from "../transaction/draft.ts";
import { remainingContextTokens, requestTokens } from "../transaction/next-request.ts";

/** Effects run inside a transition: their edits, state and events share the commit of the step. */

/** Returns the index of the first message that no model call has seen, or of the first piece of an unfinished reply. */
const firstUnreadIndex = ({ chat, seen, run }: Thread): number => {
  let at = chat.length;
  while (at > 0) {
    const message = chat[at - 1];
    if (message === undefined || message.summary !== undefined || message.pos <= seen) break;
    at -= 1;
  }
  return Math.min(at, unfinishedReplyIndex({ chat, run }));
};

/** Returns a line for each running called agent of a thread. */
const runningChildLines = ({ threads }: Session, threadId: string): readonly string[] =>
  Object.values(threads).flatMap(({ id, agent, parent, child, run }) =>
    parent?.thread === threadId && child !== null && run !== null ? [`${agent} (${id}): ${child.task}`] : [],
  );

/** Inputs of an effect that are not stored. */
type LiveEffectInputs = Pick<EffectContext, "now" | "signal" | "complete" | "ask"> & {
  readonly phase: EffectPhase;
  readonly force: ForceReason | null;
};

/** Creates the context of an effect, which holds all that it sees. */
export const createEffectContext = (
  session: Session,
  threadId: string,
  { agent, target }: { readonly agent: Agent; readonly target: ModelTarget | null },
  live: LiveEffectInputs,
): EffectContext => {
  const thread = session.threads[threadId] as Thread;
  const run = thread.run as Run;
  const estimate = requestTokens(agent, thread, run);
  return {
    ...live,
    iteration: Math.max(0, run.turn - 1),
    turn: run.turn,
    run: run.id,
    agent: agent.name,
    view: thread.chat,
    calls: thread.history,
    estimate,
    size: Math.max(estimate, remainingContextTokens(agent, thread, run)),
    window: targetAt(agent, 0).window,
    maxOutput: agent.targets[0]?.maxOutput ?? 0,
    lastUsage: thread.lastUsage,
    get callWindow() {
      return effectTargetOf(agent, run, target)?.window ?? 0;
    },
    get tools() {
      return agent.specs.flatMap(({ name }) => (Object.hasOwn(run.hidden, name) ? [] : [name]));
    },
    get unread() {
      return firstUnreadIndex(thread);
    },
    get task() {
      return findTaskMessage(thread, run);
    },
    get records() {
      return {
        files: mergeFiles(thread.files, run.counters.files),
        children: runningChildLines(session, threadId),
        tasks: openTaskLines(session.tasks),
      };
    },
    tokens: estimateText,
  };
};

const waitForever = async (): Promise<never> => new Promise(() => {});

const idleSignal = new AbortController().signal;

/** View that effects with the same model target share until one of them changes something. */
interface EffectView {
  readonly target: ModelTarget | null;
  readonly context: EffectContext;
}

const effectViewFor = (
  draft: ThreadDraft,
  phase: EffectPhase,
  target: ModelTarget | null,
  last: EffectView | null,
): EffectView => {
  if (last?.target === target) return last;
  const agent = agentOf(draft);
  const live = {
    phase,
    force: null,
    now: draft.context.now,
    signal: idleSignal,
    complete: waitForever,
    ask: waitForever,
  };
  return { target, context: createEffectContext(draft.state, draft.thread.id, { agent, target }, live) };
};

/** The stored state of an effect. */
export const effectState = ({ effects }: Thread, { key, effect }: BoundEffect): Json =>
  effects[key] ?? effect.state?.initial ?? null;

/** Ends the run, naming the effect, and returns true; a failed built-in shrinker is only skipped and reported. */
export const failEffect = (
  draft: ThreadDraft,
  { effect, custom }: Pick<BoundEffect, "effect" | "custom">,
  message: string,
): boolean => {
  const error = `${effect.kind}: ${message}`;
  if (!custom && effect.order === "shrink") {
    emit(draft, "error", { code: "effect_skipped", message: error, retryable: true });
    return false;
  }
  const run = runOf(draft);
  run.phase = { at: "ready" };
  run.stop = { reason: "effect_failed", error };
  return true;
};

const isCompactionStrategy = (draft: ThreadDraft, effect: Effect): boolean =>
  effect === agentOf(draft).effects.compaction?.effect;

const emitNotices = (
  draft: ThreadDraft,
  { effect }: BoundEffect,
  force: ForceReason | null,
  { notify = [] }: EffectResult<Json>,
): void => {
  for (const notice of notify) {
    if (notice.event === "status_update") emit(draft, "status_update", notice.data);
    else emit(draft, "compaction", { ...notice.data, effect: force?.why ?? effect.kind });
  }
  const stages = notify.flatMap((notice) => (notice.event === "compaction" ? [notice.data] : []));
  const shrunk = stages.filter(
    ({ stage, tokens_before, tokens_after }) => stage !== "failed" && tokens_after < tokens_before,
  ).length;
  const run = runOf(draft);
  const { counters } = run;
  if (shrunk > 0) counters.compactions += shrunk;
  if (stages.some(({ retired }) => retired !== null)) markCompaction(draft);
  if (stages.length > 0 && isCompactionStrategy(draft, effect)) run.compacted = true;
};

/** Returns the reason for an effect's edit: what forced it, the stage it reached, or its phase. */
const reasonOf = (
  { phase, force }: Pick<EffectContext, "phase" | "force">,
  { notify = [] }: EffectResult<Json>,
): string => force?.why ?? notify.findLast((notice) => notice.event === "compaction")?.data.stage ?? phase;

/** Stores the state of an effect; one that lasts beyond a run is also logged, so that a rewind finds it. */
const putEffectState = (draft: ThreadDraft, { effect, key }: BoundEffect, state: Json): void => {
  const { thread } = draft;
  if (thread.effects[key] === state) return;
  thread.effects = { ...thread.effects, [key]: state };
  if (effect.state?.reset !== "never") return;
  const { before, after } = agentOf(draft).effects;
  const brief = new Set(
    [...before, ...after].flatMap((each) => (each.effect.state?.reset === "run" ? each.key : [])),
  );
  const lasting = Object.entries(thread.effects).filter(([name]) => !brief.has(name));
  recordEffects(draft, Object.fromEntries(lasting));
};

/** Applies the checked result of an effect, which may stop the run. */
export const applyEffectResult = (
  draft: ThreadDraft,
  bound: BoundEffect,
  context: Pick<EffectContext, "phase" | "view" | "force">,
  result: EffectResult<Json>,
): void => {
  const { effect } = bound;
  const { edits = [], state, tools, stop } = result;
  const before = tokensOf(draft);
  const { phase, view } = context;
  const reason = reasonOf(context, result);
  const editor = { kind: effect.kind, reason, seen: view, later: phase === "after_complete" };
  const counts = applyEdits(draft, editor, edits);
  if (state !== undefined) putEffectState(draft, bound, state);
  const hides = tools !== undefined && phase === "before_complete";
  const hidden = hides ? hideTools(draft, effect.kind, tools.hide) : 0;
  const run = runOf(draft);
  const stopped = stop !== undefined && run.stop === null;
  if (hidden > 0 || stopped || counts.injected + counts.overlaid + counts.retired > 0)
    emit(draft, "effect_applied", {
      kind: effect.kind,
      phase,
      ...counts,
      hidden,
      stopped,
      tokens_before: before,
      tokens_after: tokensOf(draft),
    });
  emitNotices(draft, bound, context.force, result);
  if (stopped) run.stop = { reason: stop.reason, error: stop.message };
};

const tokensOf = (draft: ThreadDraft): number => requestTokens(agentOf(draft), draft.thread, runOf(draft));

/** Hides tools from the turn; returns the number of those that were declared so far. */
const hideTools = (draft: ThreadDraft, kind: string, hide: readonly string[]): number => {
  const run = runOf(draft);
  const fresh = new Set(hide.filter((name) => !Object.hasOwn(run.hidden, name)));
  if (fresh.size === 0) return 0;
  run.hidden = { ...run.hidden, ...Object.fromEntries([...fresh].map((name) => [name, kind])) };
  return agentOf(draft).specs.filter(({ name }) => fresh.has(name)).length;
};

const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof value === "object" && value !== null && "then" in value;

/** Runs one effect; a null result means a promise, which must be awaited outside the transition. */
const tryEffect = (
  draft: ThreadDraft,
  context: EffectContext,
  bound: BoundEffect,
): Outcome<EffectResult<Json> | null> =>
  runHook(draft, bound.effect.kind, () => {
    const { effect, params, custom } = bound;
    const result = effect.run(context, params, effectState(draft.thread, bound));
    if (!isPromise(result)) return checkEffectResult(result, custom);
    result.catch(() => {});
    return null;
  });

const isEmpty = (result: EffectResult<Json>): boolean => Object.keys(result).length === 0;

type PhaseEnd = "done" | "ended" | { readonly pending: number };

/** Runs the effects of a phase until its end, until one must be awaited, or until the run ends. */
const runEffectPhase = (
  draft: ThreadDraft,
  phase: EffectPhase,
  effects: readonly BoundEffect[],
  from: number,
): PhaseEnd => {
  let snapshot: EffectView | null = null;
  for (const [at, bound] of effects.entries()) {
    if (at < from) continue;
    // A turn runs the compaction strategy at most once.
    if (runOf(draft).compacted && isCompactionStrategy(draft, bound.effect)) continue;
    snapshot = effectViewFor(draft, phase, bound.target, snapshot);
    const { context } = snapshot;
    const outcome = tryEffect(draft, context, bound);
    if ("thrown" in outcome) {
      if (failEffect(draft, bound, outcome.thrown)) return "ended";
      continue;
    }
    const { given } = outcome;
    if (given === null) return { pending: at };
    if (isEmpty(given)) continue;
    applyEffectResult(draft, bound, context, given);
    snapshot = null;
  }
  return runOf(draft).stop === null ? "done" : "ended";
};

/** Runs the before-effects of the open turn from `from` on. */
export const runBeforeEffects = (draft: ThreadDraft, from: number): PhaseEnd =>
  runEffectPhase(draft, "before_complete", agentOf(draft).effects.before, from);

/** Runs the after-effects on a reply that was just stored; they answer at once, and each may stop the run. */
export const runAfterEffects = (draft: ThreadDraft): void => {
  const { after } = agentOf(draft).effects;
  const end = runEffectPhase(draft, "after_complete", after, 0);
  const late = typeof end === "string" ? undefined : after[end.pending];
  if (late !== undefined)
    failEffect(draft, late, "an after_complete effect must answer at once, not with a promise");
};

/** Resets effect state that lasts for one run only. */
export const resetEffects = (draft: ThreadDraft): void => {
  const { before, after } = agentOf(draft).effects;
  const gone = [...before, ...after].filter(({ effect }) => effect.state?.reset === "run");
  const { thread } = draft;
  const { effects } = thread;
  if (!gone.some(({ key }) => key in effects)) return;
  const kept = Object.entries(effects).filter(([key]) => !gone.some((bound) => bound.key === key));
  thread.effects = Object.fromEntries(kept);
};
