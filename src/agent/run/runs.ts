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
import type { Draft, DraftRun, DraftThread } from "../transaction/draft.ts";
import {
  agentOf,
  appendMessage,
  emit,
  giveNotice,
  retireMessages,
  runOf,
  threadOf,
} from "../transaction/draft.ts";
import { turnFallbackChain, utilizationOf } from "../transaction/next-request.ts";
import { appendResults, closeTurn } from "../turn/turns.ts";
import { dropPreparing } from "./cancel.ts";
import { mustMigrateFirst } from "./migrate.ts";
import type { EndReason } from "../state/events.ts";
import { toUsd } from "../state/records.ts";

/** Starts and finishes runs. */

const longestSummary = 2_000;

/** Starts a run with an input, after the texts of `before`. A message of the runtime is announced to the person. */
export const startRun = (draft: Draft, input: Input, before: readonly string[] = []): void => {
  const { light = false, output_schema: schema = null } = input;
  openRun(draft, input.thread, {
    inputs: [input.id],
    light,
    outputSchema: schema,
    announces: isAgentMessage(input),
  });
  for (const text of before)
    appendMessage(draft, input.thread, { role: "user", origin: "agent", parts: [{ type: "text", text }] });
  applyInput(draft, input, false);
  recordRunTask(draft, input.thread);
  guardContextWindow(draft, input.thread);
};

/** Tries a failed announcement once more; what a person asked meanwhile stands in the chat. */
const retryAnnouncement = (draft: Draft, threadId: string): void => {
  const { inputs = [] } = threadOf(draft, threadId).announce ?? {};
  openRun(draft, threadId, { ...plainBegin, inputs, announces: true });
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

const createRun = (draft: Draft, thread: Thread, agent: Agent, begin: RunBegin): DraftRun => {
  const { now } = draft.context;
  return {
    ...freshRun,
    ...begin,
    counters: { ...freshCounters },
    id: `run_${draft.state.nextRun}`,
    startedAt: now,
    deadline: deadlineOf(agent, now, begin.announces),
    clock: startClock(agent.limits.activeMs, now),
    outputSchema: begin.outputSchema ?? (thread.depth === 0 ? draft.state.outputSchema : null),
    target: noTarget,
  };
};

/** Gives a run what its agent decides at its start: a model, topics, a plan, and effects and guards that begin anew. */
const equipRun = (draft: Draft, threadId: string): void => {
  const thread = threadOf(draft, threadId);
  const agent = agentOf(draft, threadId);
  const run = runOf(draft, threadId);
  run.briefingTopics = briefingTopicsOf(draft, thread, agent, run);
  run.plan = isPlanWanted(agent, run) ? newPlan : null;
  if (agent.missing === null) run.target = targetAt(agent, turnFallbackChain(draft, threadId).current);
  resetEffects(draft, threadId);
  resetGuards(draft, threadId, "run");
};

/** Equips a run before its first turn that began while the deployment lacked its agent. */
export const equipLateRun = (draft: Draft, threadId: string): void => {
  const { inputs, target } = runOf(draft, threadId);
  if (target.model !== noTarget.model) return;
  equipRun(draft, threadId);
  for (const input of inputs.flatMap((id) => findInput(draft, id) ?? [])) takeNoteOfInput(draft, input);
  guardContextWindow(draft, threadId);
};

/**
 * Starts a run for what waits for a thread at rest: an input, a compaction, or an announcement that is due.
 * Nothing starts before a due migration of the session. Returns whether a run started.
 */
export const startNextRun = (draft: Draft, threadId: string): boolean => {
  const thread = threadOf(draft, threadId);
  if (!hasWork(thread, draft.context.now) || mustMigrateFirst(draft)) return false;
  const [first] = thread.inbox;
  if (first !== undefined) startRun(draft, first);
  else if (thread.compact !== null) openRun(draft, threadId, plainBegin);
  else retryAnnouncement(draft, threadId);
  return true;
};

const openRun = (draft: Draft, threadId: string, begin: RunBegin): void => {
  const thread = threadOf(draft, threadId);
  const agent = agentOf(draft, thread.id);
  const run = createRun(draft, thread, agent, begin);
  draft.state.nextRun += 1;
  if (thread.child !== null)
    draft.blobs.push({ id: constraintsBlobId(run.id), text: JSON.stringify(thread.child.callerConstraints) });
  thread.run = run;
  if (run.announces) thread.announce = announcementOf(thread, run);
  equipRun(draft, thread.id);
  emit(draft, thread.id, "run_start", {
    inputs: run.inputs,
    revision: draft.state.revision,
    budget: toApiLimits(runBounds(draft, thread, run)),
  });
  emit(draft, thread.id, "agent_start", {
    prefix: agent.prefix,
    depth: thread.depth,
    parent: thread.parent,
    ...(thread.child === null ? {} : { label: thread.child.label, task: thread.child.task }),
  });
};

/** Reports the problem of a failed run as an error event, too; null if it did not fail. */
const reportFailure = (
  draft: Draft,
  threadId: string,
  { state, reason, error, isFinal = false }: RunEnding,
): RunProblem | null => {
  if (state !== "failed") return null;
  const known = draft.context.problemOf(reason, error);
  const problem = { ...known, retryable: known.retryable && !isFinal };
  const { code, detail: message, retryable } = problem;
  emit(draft, threadId, "error", { code, message, retryable });
  return problem;
};

/** Ends a run with everything that belongs to it; the next queued input starts. */
export const finishRun = (draft: Draft, threadId: string, end: RunEnding): void => {
  stopCommands(draft, threadId);
  inheritCommands(draft, threadId);
  passForeignContent(draft, threadId);
  closeOpenWork(draft, threadId);
  const { cancel } = runOf(draft, threadId);
  const problem = reportFailure(draft, threadId, end);
  closeTurn(draft, threadId, end.state !== "completed");
  if (cancel !== null) returnInputs(draft, threadId, cancel.returns);
  const thread = threadOf(draft, threadId);
  const run = runOf(draft, threadId);
  const result = runResultOf(draft, thread, run, end);
  const message = lastAnswerId(thread, run);
  if (end.reason === "rolled_back") rollBackRun(draft, thread, run);
  const prefix = agentOf(draft, threadId).prefix;
  const summary = thread.child === null ? null : (completionOf(draft, thread, end)?.summary ?? null);
  rememberRun(draft, threadId, end.state === "completed", [summary, result.text]);
  emit(draft, threadId, "agent_end", {
    prefix,
    parent: thread.parent,
    state: end.state,
    reason: end.reason,
    ...(summary === null ? {} : { summary: truncateText(summary, longestSummary) }),
    usage: run.spent.usage,
  });
  emit(draft, threadId, "run_end", {
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
  else settleAnnouncement(draft, threadId, run, end);
  draft.state.updatedAt = draft.context.now;
  returnLeftInputs(draft, threadId, run);
  dropCompaction(thread, run, end);
  startNextRun(draft, threadId);
  if (!hasRun(draft.state)) closeLease(draft);
};

/** Returns the inputs that begin no run: for want of budget, or of a called thread, which has one task. */
const returnLeftInputs = (draft: Draft, threadId: string, { cancel }: Run): void => {
  for (const input of threadOf(draft, threadId).inbox)
    if (cancel?.returns.includes(input.id) === true) appendAgentResult(draft, input);
  const { inbox, child } = threadOf(draft, threadId);
  if (inbox.length === 0) return;
  if (child !== null) for (const input of inbox) returnInput(draft, input, "cancelled");
  else if (findExhaustedBudget(draft, threadId) !== null) emptyInbox(draft, threadId, "no_budget");
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

const closeOpenWork = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  if (run.phase.at === "thinking") loseModelCall(draft, threadId, "cancelled");
  if (run.phase.at === "preparing") dropPreparing(draft, threadId);
  if (run.budget.ask !== null) cancelAsk(draft, threadId, run.budget.ask);
  closePlan(draft, threadId);
  if (run.phase.at !== "acting") return;
  endOpenCalls(draft, threadId, "cancelled", "all");
  appendResults(draft, threadId);
};

const rollBackRun = (draft: Draft, thread: DraftThread, run: Run): void => {
  // A summary covers messages of earlier runs, too; results of other agents reach the person only once.
  const isOwn = ({ run: of, summary, role, origin, memories }: Message): boolean =>
    of === run.id &&
    summary === undefined &&
    (role !== "user" || origin !== "agent" || memories !== undefined);
  const retired = thread.chat.filter(isOwn);
  const firstInput = retired.some(({ id }) => id === thread.firstInput?.id) ? null : thread.firstInput;
  removeMessages(draft, thread.id, retired);
  thread.firstInput = firstInput;
  retireMessages(draft, thread.id, retired, { reason: "rollback" });
  emit(draft, thread.id, "messages_retired", { messages: retired.map(({ id }) => id), by: "rollback" });
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
const recordRunTask = (draft: Draft, threadId: string): void => {
  const task = threadOf(draft, threadId).chat.at(-1)?.id;
  if (task !== undefined) runOf(draft, threadId).task = task;
};

/** Returns `run_end.result`, which has every field on every path, errors included. */
const runResultOf = (
  draft: Draft,
  thread: Thread,
  run: Run,
  end: { readonly reason: EndReason; readonly error: string | null },
): RunResult => ({
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
  cost_exceeded: hasExceededCost(draft, thread.id),
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
  context_utilization: utilizationOf(thread, run.target.window),
  tool_cache_hits: run.counters.cacheHits,
  tool_cache_misses: run.counters.cacheMisses,
  tool_timings: run.counters.timings,
  compactions_applied: run.counters.compactions,
  longest_turn_ms: run.counters.longestTurnMs,
  episode_summary: summarizeRun(draft, run),
  error: end.error,
  text: isUnanswered(run) ? "" : answerText(thread, run),
});

/** Checks the model's window: one below `minimum` ends the run, one below `warning` is reported once in a session. */
const guardContextWindow = (draft: Draft, threadId: string): void => {
  const [target] = agentOf(draft, threadId).targets;
  if (target === undefined || target.fit === "fits") return;
  const { provider, model, window } = target;
  if (target.fit === "too_small") {
    const error = `the context window of ${provider}/${model} has ${window} tokens, fewer than guards.context_window.minimum; use a larger model`;
    runOf(draft, threadId).stop = { reason: "context_window_too_small", error };
    return;
  }
  if (giveNotice(draft.state, "small_window"))
    emit(draft, threadId, "context_window_warning", { kind: "small_window", window });
};
