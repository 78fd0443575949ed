import { ownEntry } from "../../chat/json.ts";
import { escapeTags } from "../../chat/render.ts";
import { syntheticResult } from "../../chat/results.ts";
import { truncateText } from "../../chat/truncate.ts";
import { hashName } from "../../sandbox/id.ts";
import type { Refusal } from "../../tools/errors.ts";
import { errorText, refuse } from "../../tools/errors.ts";
import { answerCall, endCall, createCallResult, elapsedOf, findCall } from "../calls/tool-calls.ts";
import { childOutput } from "../context/reports.ts";
import type { ChildStart } from "./start.ts";
import {
  leaveMessage,
  notifyThread,
  childId,
  stripIds,
  startChild,
  findChildRecord,
  taskDeadlineOf,
} from "./start.ts";
import type { ChildEnd, EndedChild } from "../state/child.ts";
import type { GraphState } from "../state/events.ts";
import type { GraphNode, GraphRun, GraphOutcome } from "../stores/graphs.ts";
import type { GraphTask } from "../../tools/task-graph.ts";
import { checkGraph } from "../../tools/task-graph.ts";
import {
  startGraph,
  forgetGraph,
  findGraph,
  saveGraph,
  interpolateOutputs,
  formatGraphReport,
  scheduleGraph,
  isOpenState,
} from "../stores/graphs.ts";
import type { Draft, DraftCall, ThreadDraft } from "../transaction/draft.ts";
import { agentOf, appendMessage, emit, keepForRecall } from "../transaction/draft.ts";
import { resolveAgentName, budgetRefusal, callRefusal, rootOf, callerConstraintsFor } from "./admission.ts";
import { isCutOff, parkCallOnChildren } from "./wait.ts";

/** Each task of a graph starts in the commit in which the last of its dependencies settles. */

const longestReport = 32_000;

const progressPause = 5_000;

const pendingNode: GraphNode = { state: "pending", child: null, startedAt: 0, ms: 0, reason: null };

/**
 * Checks a graph as a whole and starts its first tasks; the call waits for all, or only learns that it runs. Returns why
 * the graph is refused; null if it runs.
 */
export const dispatchGraph = (draft: ThreadDraft, call: DraftCall, args: unknown): Refusal | null => {
  const { thread: caller } = draft;
  const { delegation } = agentOf(draft);
  const checked = checkGraph(args, (agent, message) =>
    resolveAgentName(delegation, caller.agent, agent, ["message", message]),
  );
  const refusal = callRefusal(draft, checked.ok ? checked.tasks.length : 1);
  if (refusal !== null) return refusal;
  if (!checked.ok)
    return refuse(
      checked.code,
      `${checked.problems.join("; ")}. Nothing was started; correct the graph and send it again.`,
    );
  const { tasks, async: background } = checked;
  if (background && !delegation.async)
    return refuse("not_permitted", "async: you may not run a graph in the background; omit async");
  const root = rootOf(caller);
  const id = `d_${hashName(caller.id, caller.run?.id ?? "", call.call.id, "graph").slice(0, 26)}`;
  const nodes = Object.fromEntries(tasks.map((task) => [task.id, pendingNode]));
  const place = { id, thread: caller.id, call: call.call.id, background, root };
  const run: GraphRun = { ...place, stopped: false, nodes, news: [], saidAt: 0 };
  startGraph(draft, run, tasks);
  if (background) answerCall(draft, call, JSON.stringify({ dispatch: id, tasks: tasks.length }));
  else parkCallOnChildren(draft, call, { answer: "items", on_error: "collect", slots: [] });
  advanceGraph(draft, run, tasks);
  return null;
};

const nodeOf = ({ nodes }: GraphRun, id: string): GraphNode => ownEntry(nodes, id) ?? pendingNode;

const withNode = (run: GraphRun, id: string, change: Partial<GraphNode>): GraphRun => ({
  ...run,
  nodes: { ...run.nodes, [id]: { ...nodeOf(run, id), ...change } },
});

/** Reports an ended task to the stream and, if the team is configured so, to the chat. */
const settleNode = (
  draft: ThreadDraft,
  run: GraphRun,
  { id, agent }: GraphTask,
  change: Partial<GraphNode>,
): GraphRun => {
  const next = withNode(run, id, change);
  const all = Object.values(next.nodes);
  const done = all.filter(({ state }) => !isOpenState(state)).length;
  const task = { id, agent, state: nodeOf(next, id).state };
  emit(draft, "dispatch_progress", { done, total: all.length, task }, { call: run.call });
  return addProgress(draft, next, `${id} (${agent}) ${task.state}: ${done} of ${all.length} tasks are over`);
};

/** Reports progress at most every 5 s; what is held back follows with the next report or at the end. */
const addProgress = (draft: ThreadDraft, run: GraphRun, line: string): GraphRun => {
  if (!agentOf(draft).delegation.progressUpdates) return run;
  const { now } = draft.context;
  const news = [...run.news, line];
  return now - run.saidAt < progressPause ? { ...run, news } : reportProgress(draft, { ...run, news });
};

/** Reports held-back progress; while a call is open or the model works, it is a status instead of a message. */
const reportProgress = (draft: ThreadDraft, run: GraphRun): GraphRun => {
  const text = run.news.join("\n");
  if (text === "") return run;
  if (draft.thread.run === null)
    appendMessage(draft, { role: "assistant", origin: "agent", parts: [{ type: "text", text }] });
  else emit(draft, "status_update", { text }, { call: run.call });
  return { ...run, news: [], saidAt: draft.context.now };
};

const graphStateOf = ({ state, reason }: ChildEnd): GraphState => {
  if (state === "completed") return "success";
  if (state === "cancelled") return "cancelled";
  return reason === "deadline_exceeded" ? "timeout" : "failed";
};

/** Returns the outcome of a settled task; null while it is open. */
const outcomeOf = (draft: Draft, run: GraphRun, id: string): GraphOutcome | null => {
  const { state, child, ms, reason } = nodeOf(run, id);
  if (isOpenState(state)) return null;
  const record = child === null ? null : findChildRecord(draft, child);
  if (record?.end == null) return { state, ms, text: reason ?? "its record is lost" };
  const { agent, end } = record;
  return { state, ms, agent, text: state === "success" ? childOutput(end) : (end.error ?? end.reason) };
};

/** Starts a task with the outputs of others filled in; where the run may start no more threads, it fails. */
const startNode = (draft: ThreadDraft, run: GraphRun, task: GraphTask): GraphRun => {
  const { maxThreads } = agentOf(draft).delegation;
  const { now } = draft.context;
  if ((draft.state.trees[run.root] ?? 0) >= maxThreads) {
    const reason = `too_many_children: this run may start ${maxThreads} agents`;
    return settleNode(draft, run, task, { state: "failed", reason });
  }
  const filled = (text: string): string =>
    task.interpolate ? interpolateOutputs(text, (id) => outcomeOf(draft, run, id)) : text;
  const given = { agent: task.agent, task: filled(task.message), context: filled(task.context) };
  const callerConstraints = { ...callerConstraintsFor(draft, given), interactive: false };
  const child = childId(run.thread, run.id, run.call, task.id);
  const start: ChildStart = {
    ...given,
    id: child,
    call: run.call,
    child: {
      callerConstraints,
      root: run.root,
      awaitedBy: run.background ? null : run.call,
      node: { dispatch: run.id, task: task.id },
      deadline: taskDeadlineOf(draft, task.timeout_seconds),
    },
  };
  const broke = budgetRefusal(draft, start);
  if (broke !== null)
    return settleNode(draft, run, task, { state: "failed", reason: errorText(broke.code, broke.sentence) });
  startChild(draft, start);
  return withNode(run, task.id, { state: "running", child, startedAt: now });
};

/** Returns whether the dispatcher of the graph is being stopped itself. */
const isGraphStopped = ({ thread: { run } }: ThreadDraft, { stopped, background }: GraphRun): boolean =>
  stopped || (!background && (run === null || run.cancel !== null || run.stop !== null));

/** Takes every step that is possible now and stores the resulting graph. */
const advanceGraph = (draft: ThreadDraft, begun: GraphRun, tasks: readonly GraphTask[]): void => {
  let run = begun;
  const { maxConcurrent } = agentOf(draft).delegation;
  const halted = isGraphStopped(draft, run);
  const why = halted ? "its caller was stopped" : "a task it depends on did not succeed";
  const reason = `cancelled, since ${why}`;
  for (;;) {
    const states = Object.fromEntries(tasks.map(({ id }) => [id, nodeOf(run, id).state]));
    const open = tasks.filter(({ id }) => states[id] === "pending");
    const running = tasks.filter(({ id }) => states[id] === "running").length;
    const step = scheduleGraph(tasks, states, maxConcurrent - running);
    for (const task of halted ? open : step.cancel)
      run = settleNode(draft, run, task, { state: "cancelled", reason });
    if (halted ? running === 0 : step.done) return endGraph(draft, run, tasks, halted);
    if (halted || step.start.length === 0) break;
    for (const task of step.start) run = startNode(draft, run, task);
  }
  saveGraph(draft, run);
  if (!run.background) updateGraphWait(draft, run);
};

/** Lets the call wait for the threads that are at work for it now. */
const updateGraphWait = (draft: ThreadDraft, { id, call }: GraphRun): void => {
  const slots = Object.values(draft.state.threads)
    .filter(({ child, run }) => child?.node?.dispatch === id && run !== null)
    .map((each) => each.id);
  const children = { answer: "items", on_error: "collect", slots } as const;
  const waiting = findCall(draft.thread.run, call);
  if (waiting !== null) waiting.wait = { on: "thread", children, until: null };
};

/** Ends a graph whose tasks have all settled: the report is the call's result, or a message. */
const endGraph = (draft: ThreadDraft, run: GraphRun, tasks: readonly GraphTask[], halted: boolean): void => {
  forgetGraph(draft, run.id);
  if (!halted) reportProgress(draft, run);
  const outcomes = tasks.flatMap(({ id }) => {
    const outcome = outcomeOf(draft, run, id);
    return outcome === null ? [] : [[id, outcome] as const];
  });
  const report = formatGraphReport(tasks, Object.fromEntries(outcomes));
  const completed = outcomes.some(([, { state }]) => state === "success");
  if (!run.background) return answerGraphCall(draft, run, report, completed);
  if (halted && !completed) return;
  const { text } = report;
  const recall = text.length > longestReport ? keepForRecall(draft, text) : null;
  const said = `The task graph ${run.id}, which ran in the background, has ended.\n${truncateText(text, longestReport, recall)}`;
  const notify = halted ? leaveMessage : notifyThread;
  notify(draft, `in_${run.id}`, escapeTags(said));
};

/** Removes the seconds from a report that loop detectors compare. */
const stripSeconds = (report: string): string => report.replace(/^(## .*) [\d.]+s$/gm, "$1");

const answerGraphCall = (
  draft: ThreadDraft,
  { call: id }: GraphRun,
  { text, isError }: ReturnType<typeof formatGraphReport>,
  completed: boolean,
): void => {
  const { run } = draft.thread;
  const call = findCall(run, id);
  if (run === null || call === null) return;
  const result = isCutOff(run, completed)
    ? syntheticResult(call.call, "cancelledRunning")
    : createCallResult(draft, call, isError ? "error" : "ok", text);
  endCall(draft, call, {
    result,
    durationMs: elapsedOf(draft, call),
    cached: false,
    compared: stripIds(stripSeconds(text)),
  });
};

/** Settles the task of a thread that has ended: what waited for it starts, or the graph is over. */
export const endGraphTask = (
  draft: ThreadDraft,
  node: { readonly dispatch: string; readonly task: string },
  record: EndedChild,
): void => {
  const found = findGraph(draft, node.dispatch);
  const task = found?.tasks.find(({ id }) => id === node.task);
  if (found === null || task === undefined) return;
  const { startedAt } = nodeOf(found.run, node.task);
  const ms = Math.max(0, record.end.ended_at - startedAt);
  const change = { state: graphStateOf(record.end), child: record.id, ms };
  advanceGraph(draft, settleNode(draft, found.run, task, change), found.tasks);
};
