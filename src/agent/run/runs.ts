import type { Message } from "../../chat/message.ts";
import { textOf } from "../../chat/text.ts";
import { truncateText } from "../../chat/truncate.ts";
import { cancelAsk } from "../asks/asks.ts";
import { runBounds, hasExceededCost } from "../budgets/bounds.ts";
import { startClock, deadlineOf, findExhaustedBudget } from "../budgets/limits.ts";
import { closeLease } from "../budgets/lease.ts";
import { resetGuards } from "../calls/after-guards.ts";
import { inheritCommands, stopCommands } from "../calls/background-commands.ts";
import { passForeignContent } from "../calls/grants.ts";
import { loseModelCall } from "../calls/model-call.ts";
import { endOpenCalls } from "../calls/tool-calls.ts";
import { answerOf, isUnanswered, answerText, completionOf, summarizeRun } from "../context/reports.ts";
import { removeMessages } from "../context/edits.ts";
import type { Agent } from "../definition/agent.ts";
import { targetAt } from "../definition/agent.ts";
import { briefingTopicsOf } from "../hooks/briefing.ts";
import { resetEffects } from "../hooks/effects.ts";
import { closePlan } from "../hooks/plan.ts";
import {
  announcementOf,
  settleAnnouncement,
  hasAnnounced,
  applyInput,
  findInput,
  returnInput,
  appendAgentResult,
  isLeftMessage,
  returnInputs,
  emptyInbox,
  takeNoteOfInput,
} from "../inputs/inputs.ts";
import { rememberInput, rememberRun } from "../memory/memories.ts";
import { toApiLimits, costOf } from "../state/budget.ts";
import { constraintsBlobId } from "../state/child.ts";
import type { Input, Thread } from "../state/thread.ts";
import { newPlan } from "../state/phase.ts";
import type { RunRecord } from "../state/records.ts";
import type { Run, RunEnding, RunProblem, RunResult } from "../state/run.ts";
import { mergeFiles } from "../state/files.ts";
import { freshCounters, freshRun } from "../state/run.ts";
import { hasRun, hasWork, isAgentMessage } from "../state/thread.ts";
import type { Draft, DraftRun, DraftThread, ThreadDraft } from "../transaction/draft.ts";
import {
  agentOf,
  appendMessage,
  emit,
  giveNotice,
  retireMessages,
  runOf,
  selectThread,
} from "../transaction/draft.ts";
import { turnFallbackChain, utilizationOf } from "../transaction/next-request.ts";
import { appendResults, closeTurn } from "../turn/turns.ts";
import { dropPreparing } from "./cancel.ts";
import { mustMigrateFirst } from "./migrate.ts";
import { toUsd } from "../state/records.ts";

/** Starts and finishes runs. */

const longestSummary = 2_000;

/** Starts a run with an input, after the texts of `before`. A message of the runtime is announced to the person. */
export const startRun = (draft: Draft, input: Input, before: readonly string[] = []): void => {
  const { light = false, output_schema: schema = null } = input;
  const starting = selectThread(draft, input.thread);
  openRun(starting, {
    inputs: [input.id],
    light,
    outputSchema: schema,
    announces: isAgentMessage(input),
  });
  for (const text of before)
    appendMessage(starting, { role: "user", origin: "agent", parts: [{ type: "text", text }] });
  applyInput(draft, input, false);
  recordRunTask(starting);
  guardContextWindow(starting);
};

/** Tries a failed announcement once more; what a person asked meanwhile stands in the chat. */
const retryAnnouncement = (draft: ThreadDraft): void => {
  const { inputs = [] } = draft.thread.announce ?? {};
  openRun(draft, { ...plainBegin, inputs, announces: true });
  for (const id of inputs) {
    const input = findInput(draft, id);
    if (input !== undefined) rememberInput(draft, input);
  }
};

type RunBegin = Pick<Run, "inputs" | "light" | "outputSchema" | "announces">;

/** Begin of a run without input, which compacts the chat, and ends. */
const plainBegin: RunBegin = { inputs: [], light: false, outputSchema: null, announces: false };

/** Returns whether a run needs a plan; a light run, a report and a compaction do not. */
const isPlanWanted = ({ planBeforeExecute }: Agent, { inputs, light, announces }: RunBegin): boolean =>
  planBeforeExecute !== false && inputs.length > 0 && !light && !announces;

/** The target of a run whose agent the deployment lacks, so that it could give the run nothing yet. */
const noTarget: Run["target"] = { provider: "", model: "", window: 0 };

const createRun = (draft: ThreadDraft, begin: RunBegin): DraftRun => {
  const agent = agentOf(draft);
  const { now } = draft.context;
  return {
    ...freshRun,
    ...begin,
    counters: { ...freshCounters },
    id: `run_${draft.state.nextRun}`,
    startedAt: now,
    deadline: deadlineOf(agent, now, begin.announces),
    clock: startClock(agent.limits.activeMs, now),
    outputSchema: begin.outputSchema ?? (draft.thread.depth === 0 ? draft.state.outputSchema : null),
    target: noTarget,
  };
};

/** Gives a run what its agent decides at its start: a model, topics, a plan, and effects and guards that begin anew. */
const equipRun = (draft: ThreadDraft): void => {
  const agent = agentOf(draft);
  const run = runOf(draft);
  run.briefingTopics = briefingTopicsOf(draft);
  run.plan = isPlanWanted(agent, run) ? newPlan : null;
  if (agent.missing === null) run.target = targetAt(agent, turnFallbackChain(draft).current);
  resetEffects(draft);
  resetGuards(draft, "run");
};

/** Equips a run before its first turn that began while the deployment lacked its agent. */
export const equipLateRun = (draft: ThreadDraft): void => {
  const { inputs, target } = runOf(draft);
  if (target.model !== noTarget.model) return;
  equipRun(draft);
  for (const input of inputs.flatMap((id) => findInput(draft, id) ?? [])) takeNoteOfInput(draft, input);
  guardContextWindow(draft);
};

/**
 * Starts a run for what waits for a thread at rest: an input, a compaction, or an announcement that is due.
 * Nothing starts before a due migration of the session. Returns whether a run started.
 */
export const startNextRun = (draft: ThreadDraft): boolean => {
  const { thread } = draft;
  if (!hasWork(thread, draft.context.now) || mustMigrateFirst(draft)) return false;
  const [first] = thread.inbox;
  if (first !== undefined) startRun(draft, first);
  else if (thread.compact !== null) openRun(draft, plainBegin);
  else retryAnnouncement(draft);
  return true;
};

const openRun = (draft: ThreadDraft, begin: RunBegin): void => {
  const { thread } = draft;
  const run = createRun(draft, begin);
  draft.state.nextRun += 1;
  if (thread.child !== null)
    draft.blobs.push({ id: constraintsBlobId(run.id), text: JSON.stringify(thread.child.callerConstraints) });
  thread.run = run;
  if (run.announces) thread.announce = announcementOf(thread, run);
  equipRun(draft);
  emit(draft, "run_start", {
    inputs: run.inputs,
    revision: draft.state.revision,
    budget: toApiLimits(runBounds(draft, thread, run)),
  });
  emit(draft, "agent_start", {
    prefix: agentOf(draft).prefix,
    depth: thread.depth,
    parent: thread.parent,
    ...(thread.child === null ? {} : { label: thread.child.label, task: thread.child.task }),
  });
};

/** Reports the problem of a failed run as an error event, too; null if it did not fail. */
const reportFailure = (
  draft: ThreadDraft,
  { state, reason, error, isFinal = false }: RunEnding,
): RunProblem | null => {
  if (state !== "failed") return null;
  const known = draft.context.problemOf(reason, error);
  const problem = { ...known, retryable: known.retryable && !isFinal };
  const { code, detail: message, retryable } = problem;
  emit(draft, "error", { code, message, retryable });
  return problem;
};

/** Ends a run with everything that belongs to it; the next queued input starts. */
export const finishRun = (draft: ThreadDraft, end: RunEnding): void => {
  stopCommands(draft);
  inheritCommands(draft);
  passForeignContent(draft);
  closeOpenWork(draft);
  const { cancel } = runOf(draft);
  const problem = reportFailure(draft, end);
  closeTurn(draft, end.state !== "completed");
  if (cancel !== null) returnInputs(draft, cancel.returns);
  const { thread } = draft;
  const run = runOf(draft);
  const result = runResultOf(draft, run, end);
  const message = lastAnswerId(thread, run);
  if (end.reason === "rolled_back") rollBackRun(draft, run);
  const summary = thread.child === null ? null : (completionOf(draft, end)?.summary ?? null);
  rememberRun(draft, end.state === "completed", [summary, result.text]);
  emit(draft, "agent_end", {
    prefix: agentOf(draft).prefix,
    parent: thread.parent,
    state: end.state,
    reason: end.reason,
    ...(summary === null ? {} : { summary: truncateText(summary, longestSummary) }),
    usage: run.spent.usage,
  });
  emit(draft, "run_end", {
    state: end.state,
    reason: end.reason,
    error: problem,
    message,
    result,
  });
  draft.runs.push({
    ...runRecordOf(thread, run),
    state: end.state,
    reason: end.reason,
    error: end.error,
    ended_at: draft.context.now,
    result,
  });
  thread.run = null;
  // A run that only compacts answers nothing.
  if (run.inputs.length > 0) {
    thread.lastRun = run.id;
    thread.lastEnd = { state: end.state, reason: end.reason };
  }
  thread.files = mergeFiles(thread.files, run.counters.files);
  if (hasAnnounced(run, end.state)) thread.announce = null;
  else settleAnnouncement(draft, run, end);
  draft.state.updatedAt = draft.context.now;
  returnLeftInputs(draft, run);
  dropCompaction(thread, run, end);
  startNextRun(draft);
  if (!hasRun(draft.state)) closeLease(draft);
};

/** Returns the inputs that begin no run: for want of budget, or of a called thread, which has one task. */
const returnLeftInputs = (draft: ThreadDraft, { cancel }: Run): void => {
  for (const input of draft.thread.inbox)
    if (isLeftMessage(input) || cancel?.returns.includes(input.id) === true) appendAgentResult(draft, input);
  const { inbox, child } = draft.thread;
  if (inbox.length === 0) return;
  if (child !== null) for (const input of inbox) returnInput(draft, input, "cancelled");
  else if (findExhaustedBudget(draft) !== null) emptyInbox(draft, "no_budget");
};

/** Drops a requested compaction that no later run of the thread is to do, or that its own run could not. */
const dropCompaction = (thread: DraftThread, { cancel, inputs }: Run, { state }: RunEnding): void => {
  const failed = inputs.length === 0 && state === "failed";
  if (failed || cancel !== null || thread.child !== null || thread.chat.length === 0) thread.compact = null;
};

const lastAnswerId = (thread: Thread, run: Run): string | null => {
  const answer = isUnanswered(run) ? undefined : answerOf(thread.chat, run).at(-1);
  return answer === undefined || textOf(answer.parts) === "" ? null : answer.id;
};

const closeOpenWork = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  if (run.phase.at === "thinking") loseModelCall(draft, "cancelled");
  if (run.phase.at === "preparing") dropPreparing(draft);
  if (run.budget.ask !== null) cancelAsk(draft, run.budget.ask);
  closePlan(draft);
  if (run.phase.at !== "acting") return;
  endOpenCalls(draft, "cancelled", "all");
  appendResults(draft);
};

const rollBackRun = (draft: ThreadDraft, run: Run): void => {
  const { thread } = draft;
  // A summary covers messages of earlier runs, too; results of other agents reach the person only once.
  const isOwn = ({ run: of, summary, role, origin, memories }: Message): boolean =>
    of === run.id &&
    summary === undefined &&
    (role !== "user" || origin !== "agent" || memories !== undefined);
  const retired = thread.chat.filter(isOwn);
  const firstInput = retired.some(({ id }) => id === thread.firstInput?.id) ? null : thread.firstInput;
  removeMessages(draft, retired);
  thread.firstInput = firstInput;
  retireMessages(draft, retired, { reason: "rollback" });
  emit(draft, "messages_retired", { messages: retired.map(({ id }) => id), by: "rollback" });
};

/** Returns an active run in the form that the API shows. */
export const runRecordOf = (thread: Thread, run: Run): RunRecord => ({
  id: run.id,
  thread: thread.id,
  agent: thread.agent,
  inputs: run.inputs,
  state: run.waitingShown ? "waiting" : "running",
  reason: null,
  error: null,
  started_at: run.startedAt,
  ended_at: null,
  turns: run.turn,
  result: null,
});

/** Ends the runs of a session whose drives all died before they stored anything, instead of trying for ever. */
export const poisonRuns = (draft: Draft, drives: number): void => {
  const error = `${drives} drives died before anything was stored`;
  for (const { run } of Object.values(draft.state.threads))
    if (run !== null) run.stop = { reason: "poisoned", error };
};

/** Records what a run is about, which summaries quote: the newest message of its thread. */
const recordRunTask = (draft: ThreadDraft): void => {
  const task = draft.thread.chat.at(-1)?.id;
  if (task !== undefined) runOf(draft).task = task;
};

/** Returns `run_end.result`, which has every field on every path, errors included. */
const runResultOf = (draft: ThreadDraft, run: Run, end: Pick<RunEnding, "reason" | "error">): RunResult => ({
  session_id: draft.state.id,
  run_id: run.id,
  provider: run.target.provider,
  model: run.target.model,
  reason: end.reason,
  duration_ms: Math.max(0, draft.context.now - run.startedAt),
  turns: run.turn,
  max_turns_used: end.reason === "max_iterations" || run.stop?.exhausted === true,
  loop_detected: end.reason === "tool_loop",
  no_progress_detected: end.reason === "no_progress",
  cost_exceeded: hasExceededCost(draft),
  truncated: run.counters.truncated,
  breach_verify: (run.verification?.of === "breach" ? run.verification.outcome : null) ?? "not_run",
  tool_calls: run.spent.toolCalls,
  tool_counts: run.counters.toolCounts,
  files_modified: run.counters.files.modified,
  files_created: run.counters.files.created,
  files_deleted: run.counters.files.deleted,
  usage: run.spent.usage,
  cost_usd: toUsd(costOf(run.spent)),
  estimated: run.spent.estimated > 0,
  context_utilization: utilizationOf(draft.thread, run.target.window),
  tool_cache_hits: run.counters.cacheHits,
  tool_cache_misses: run.counters.cacheMisses,
  tool_timings: run.counters.timings,
  compactions_applied: run.counters.compactions,
  longest_turn_ms: run.counters.longestTurnMs,
  episode_summary: summarizeRun(draft, run),
  error: end.error,
  text: isUnanswered(run) ? "" : answerText(draft.thread, run),
});

/** Checks the model's window: one below `minimum` ends the run, one below `warning` is reported once in a session. */
const guardContextWindow = (draft: ThreadDraft): void => {
  const [target] = agentOf(draft).targets;
  if (target === undefined || target.fit === "fits") return;
  const { provider, model, window } = target;
  if (target.fit === "too_small") {
    const error = `the context window of ${provider}/${model} has ${window} tokens, fewer than guards.context_window.minimum; use a larger model`;
    runOf(draft).stop = { reason: "context_window_too_small", error };
    return;
  }
  if (giveNotice(draft.state, "small_window"))
    emit(draft, "context_window_warning", { kind: "small_window", window });
};
