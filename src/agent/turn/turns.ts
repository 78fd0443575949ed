import type { Json, Message } from "../../chat/message.ts";
import { callsOf } from "../../chat/view.ts";
import { appendPendingNotes } from "../context/edits.ts";
import type { BoundEffect, EffectResult } from "../definition/effect.ts";
import { startBriefing } from "../hooks/briefing.ts";
import { runBeforeEffects } from "../hooks/effects.ts";
import {
  forceOf,
  applyPreparedResult,
  prepareEffect,
  mostOverflows,
  failContextOverflow,
  startOverflowCompaction,
  startPreparing,
  preparingPhaseOf,
} from "../hooks/preparing.ts";
import { startMiddleware } from "../hooks/middleware.ts";
import { tellPlanDecision } from "../hooks/plan.ts";
import { repeatAgentMessages, joinSteeringInputs } from "../inputs/inputs.ts";
import { isPlanning, isRepairing } from "../state/phase.ts";
import { toUsd } from "../state/records.ts";
import { callsOfRun, freshRun, hasProgress, noTurnWork } from "../state/run.ts";
import type { ThreadDraft } from "../transaction/draft.ts";
import {
  agentOf,
  appendResult,
  emit,
  giveNotice,
  runOf,
  appendNote,
  nextMessageId,
} from "../transaction/draft.ts";
import { utilizationOf } from "../transaction/next-request.ts";
import { startAttempt } from "./attempts.ts";
import { beginAnswer } from "../context/reports.ts";
import { turnLimit } from "../budgets/limits.ts";
import type { Call } from "../state/call.ts";

/** Starts and closes a turn, and adds the notes of the runtime between turns. */

const openTurn = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  run.turn += 1;
  run.turnSince = draft.context.now;
  run.reply = null;
  emit(draft, "turn_start", {});
};

/**
 * Starts the next turn, or what comes before it: the briefing, a plan, a compaction. Its effects and the intent to ask
 * the model share one commit.
 */
export const startTurn = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  if (startBriefing(draft)) return;
  if (run.inputs.length === 0) {
    startCompaction(draft);
    return;
  }
  if (!startMiddleware(draft)) return;
  tellPlanDecision(draft);
  appendPendingNotes(draft);
  appendLostFiles(draft);
  joinSteeringInputs(draft);
  if (isPlanning(run.plan)) {
    run.overflows = 0;
    startAttempt(draft);
    return;
  }
  if (!run.repair) {
    appendCheckpoints(draft);
    appendWrapUpNote(draft);
    openTurn(draft);
  }
  run.hidden = freshRun.hidden;
  run.overflows = 0;
  run.compacted = false;
  run.turnWork = { ...noTurnWork, edited: run.turnWork.edited };
  if (!startCompaction(draft)) continueEffects(draft, 0);
};

/** Begins the compaction that the API asked for; false if there is none to do. */
const startCompaction = (draft: ThreadDraft): boolean => {
  const { thread } = draft;
  const { compact } = thread;
  if (compact === null) return false;
  thread.compact = null;
  if (agentOf(draft).effects.compaction === null) return false;
  startPreparing(draft, { kind: "compaction", force: { why: "api", ...compact } });
  return true;
};

/** Runs the turn's before-effects from one on; the request follows the last, unless one must wait or ends the run. */
const continueEffects = (draft: ThreadDraft, from: number): void => {
  const end = runBeforeEffects(draft, from);
  if (end === "done") {
    repeatAgentMessages(draft);
    startAttempt(draft);
  } else if (end === "ended") runOf(draft).phase = { at: "ready" };
  else prepareEffect(draft, end.pending);
};

/** Applies the result of an awaited effect; the turn goes on after it, unless the run is being ended. */
export const finishEffect = (
  draft: ThreadDraft,
  bound: BoundEffect,
  view: readonly Message[],
  result: EffectResult<Json>,
): void => {
  const run = runOf(draft);
  const phase = preparingPhaseOf(run);
  if (phase === null) return;
  const { work, attempt } = phase;
  const before = draft.thread.chat;
  const goesOn = applyPreparedResult(draft, bound, { phase, view }, result);
  const shrunk = draft.thread.chat !== before;
  if (!goesOn) run.phase = { at: "ready" };
  else if (work.kind === "effect") continueEffects(draft, work.index + 1);
  else if (forceOf(work)?.why === "api") continueEffects(draft, 0);
  else if (shrunk) startAttempt(draft);
  // The same request would be refused again.
  else if (run.overflows < mostOverflows) startOverflowCompaction(draft, mostOverflows, attempt);
  else failContextOverflow(draft);
};

/** Appends the results of a reply in call order once every call is done; repeats have no effect. */
export const appendResults = (draft: ThreadDraft): void => {
  const calls = callsOfRun(runOf(draft));
  // Notes, or what stands in the answer's place, may follow the results already.
  const isOfCalls = (message: Message): boolean => message.role === "tool" || callsOf(message).length > 0;
  const newest = draft.thread.chat.findLast(isOfCalls)?.parts[0];
  if (newest?.type === "tool_result" && newest.call === calls.at(-1)?.call.id) return;
  const agent = agentOf(draft);
  for (const { outcome } of calls) {
    if (outcome === null) continue;
    const { result } = outcome;
    const pinned = agent.tools.get(result.name)?.tool.pinned === true && result.status === "ok";
    const marks = pinned ? { marks: ["pinned"] as const } : {};
    appendResult(draft, result, marks);
  }
  appendPendingNotes(draft);
};

/** Makes the next turn a repair, which is not counted as a turn; the run numbers repairs, whoever asks for them. */
export const startRepair = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  run.repair = true;
  run.counters.repairs += 1;
  beginAnswer(draft);
};

/** Ends the open turn, with the metrics of its reply unless the run was broken off. A repair turn has no events. */
export const closeTurn = (draft: ThreadDraft, brokenOff = false): void => {
  const { thread } = draft;
  const run = runOf(draft);
  if (run.turnSince === null) {
    if (run.repair) run.phase = { at: "ready" };
    // A repair whose reply was cut goes on in another repair turn.
    run.repair = run.repair && isRepairing(run);
    if (run.repair) run.counters.repairs += 1;
    return;
  }
  const duration = Math.max(0, draft.context.now - run.turnSince);
  const calls = callsOfRun(run);
  if (run.reply !== null && !brokenOff) {
    emit(draft, "turn_metrics", {
      provider: run.reply.provider,
      model: run.reply.model,
      usage: run.reply.usage,
      cost_usd: toUsd(run.reply.cost),
      estimated: run.reply.estimated,
      utilization: utilizationOf(thread, run.target.window),
      cache_hits: calls.filter(({ outcome }) => outcome?.cached === true).length,
      cache_misses: calls.filter(({ outcome }) => outcome?.missed === true).length,
      duration_ms: duration,
    });
  }
  emit(draft, "turn_end", { calls: calls.length });
  // An empty reply says nothing of the run's progress.
  if (run.counters.empty === 0) run.counters.idleTurns = hasProgress(run) ? 0 : run.counters.idleTurns + 1;
  run.turnSince = null;
  run.repair = false;
  run.phase = { at: "ready" };
  run.counters.longestTurnMs = Math.max(run.counters.longestTurnMs, duration);
};

/** Adds one note in a run that its turns run out, before the first turn from `warn_iterations` on. */
const appendWrapUpNote = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  const { turn } = run;
  const { warnIterations, limits, tools } = agentOf(draft);
  if (warnIterations === 0 || turn < warnIterations || !giveNotice(run, "turns_run_out")) return;
  const limit = turnLimit(limits, run);
  const most = limit === 0 ? "" : ` of at most ${limit}`;
  const end = tools.has("task_complete") ? "end with task_complete" : "give your final answer";
  const text = `This is turn ${turn + 1}${most}. Begin nothing new: finish what is under way, and ${end}.`;
  appendNote(draft, text);
};

/** Returns the turn of a checkpoint: 0.07 of 100 is 7, and not the 8 that binary fractions make of it. */
const turnOfCheckpoint = (fraction: number, limit: number): number =>
  Math.max(1, Math.ceil(Math.round(fraction * limit * 1e9) / 1e9));

/** Adds every checkpoint that the next turn reaches, once in a run; a run without a limit of turns has none. */
const appendCheckpoints = (draft: ThreadDraft): void => {
  const { checkpoints, limits } = agentOf(draft);
  if (checkpoints.length === 0) return;
  const run = runOf(draft);
  const turn = run.turn + 1;
  const limit = turnLimit(limits, run);
  const due = [...checkpoints.entries()]
    .filter(
      ([at, { fraction }]) =>
        limit > 0 && turn >= turnOfCheckpoint(fraction, limit) && giveNotice(run, `checkpoint ${at}`),
    )
    .sort(([, one], [, other]) => one.fraction - other.fraction);
  for (const [, { fraction, message: text }] of due) {
    const message = nextMessageId(draft.thread);
    emit(draft, "checkpoint", { fraction, message, text }, { turn });
    appendNote(draft, text, "checkpoint");
  }
};

const mostReflections = 3;

const reflectionText = [
  "A call of your last reply failed. Before the next call, answer these questions:",
  "1. What exactly went wrong?",
  "2. What is its root cause?",
  "3. What will you do differently?",
].join("\n");

/** Returns whether a call failed; a command that ended by itself did not: its exit code is its result. */
const isFailed = ({ outcome }: Call): boolean =>
  outcome?.result.status === "error" && outcome.result.exit_code === undefined;

const isClean = ({ outcome }: Call): boolean =>
  outcome?.result.status === "ok" || outcome?.result.exit_code !== undefined;

/** Asks about the failed calls of a reply in a note after its results, three times in a row at most. */
export const reflectOnErrors = (draft: ThreadDraft, calls: readonly Call[]): void => {
  if (!agentOf(draft).reflectOnError) return;
  const { counters, cancel, stop } = runOf(draft);
  const failed = calls.some(isFailed);
  if (!failed && calls.some(isClean)) counters.reflections = 0;
  if (!failed || cancel !== null || stop !== null || counters.reflections >= mostReflections) return;
  counters.reflections += 1;
  appendNote(draft, reflectionText, "reflect_on_error");
};

/** Tells the agent of `main` once which files of the session's creation are not in the workspace. */
const appendLostFiles = (draft: ThreadDraft): void => {
  const { lostFiles } = draft.state;
  if (lostFiles.length === 0 || draft.thread.id !== "main") return;
  const lines = lostFiles.map(({ path, reason }) => `- ${path}: ${reason}`);
  appendNote(draft, ["These files could not be put into the workspace:", ...lines].join("\n"));
  draft.state.lostFiles = [];
};
