import { own } from "../../chat/json.ts";
import { escapeTags } from "../../chat/render.ts";
import { synthesised, textResult } from "../../chat/results.ts";
import { headAndTail } from "../../chat/truncate.ts";
import { hashedName } from "../../sandbox/id.ts";
import { errorText } from "../../tools/errors.ts";
import { callAnswered, callEnded, callRefused, callResult, elapsedOf, findCall } from "../calls/finish.ts";
import { messageTold } from "../run/announce.ts";
import type { Call } from "../state/call.ts";
import type { ChildEnd, EndedChild } from "../state/child.ts";
import type { GraphOutcome, GraphState, GraphTask } from "../state/graph.ts";
import type { GraphNode, GraphRun } from "../stores/graphs.ts";
import { graphBegun, graphForgotten, graphOf, graphSaved } from "../stores/graphs.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, append, changeCall, emit, keptForRecall, threadOf } from "../transaction/draft.ts";
import { childId, withoutIds } from "../transaction/ids.ts";
import type { ResolveAgent } from "./graph.ts";
import { checkGraph, interpolated, reportOf, scheduled } from "./graph.ts";
import { agentFor, budgetRefusal, callRefusal, rootOf, standingOf } from "./plan.ts";
import { childStarted, recordOf } from "./start.ts";
import { callWaits } from "./wait.ts";

/** A graph of tasks for called agents: each starts when what it depends on has settled, in the commit of that end. */

const longestReport = 32_000;

const progressPause = 5_000;

const resolverOf = (draft: Draft, threadId: string): ResolveAgent => {
  const { agent: caller } = threadOf(draft, threadId);
  const { delegation } = agentOf(draft, threadId);
  return (written, message) => {
    const name = agentFor(delegation, caller, written, ["message", message]);
    return typeof name === "string" ? { agent: name } : { problem: name.sentence, code: name.code };
  };
};

const pendingNode: GraphNode = { state: "pending", child: null, startedAt: 0, ms: 0, reason: null };

/** Checks a graph whole, then starts what depends on nothing; the call waits for all, or only learns that it runs. */
export const graphRequested = (draft: Draft, threadId: string, call: Call, args: unknown): void => {
  const caller = threadOf(draft, threadId);
  const { delegation } = agentOf(draft, threadId);
  const checked = checkGraph(args, resolverOf(draft, threadId));
  const refusal = callRefusal(draft, caller, checked.ok ? checked.tasks.length : 1);
  if (refusal !== null) return callRefused(draft, threadId, call, refusal.code, refusal.sentence);
  if (!checked.ok) {
    const sentence = `${checked.problems.join("; ")}. Nothing was started; correct the graph and send it again.`;
    return callRefused(draft, threadId, call, checked.code, sentence);
  }
  const { tasks, async: background } = checked;
  if (background && !delegation.async) {
    const sentence = "async: you may not leave a graph in the background; leave async out";
    return callRefused(draft, threadId, call, "not_permitted", sentence);
  }
  const root = rootOf(caller);
  const id = `d_${hashedName(threadId, caller.run?.id ?? "", call.call.id, "graph").slice(0, 26)}`;
  const nodes = Object.fromEntries(tasks.map((task) => [task.id, pendingNode]));
  const place = { id, thread: threadId, call: call.call.id, background, root };
  const run: GraphRun = { ...place, stopped: false, nodes, news: [], saidAt: 0 };
  graphBegun(draft, run, tasks);
  if (background) callAnswered(draft, threadId, call, JSON.stringify({ dispatch: id, tasks: tasks.length }));
  else callWaits(draft, threadId, call, { answer: "items", on_error: "collect", slots: [] });
  advanced(draft, run, tasks);
};

const withNode = (run: GraphRun, id: string, change: Partial<GraphNode>): GraphRun => ({
  ...run,
  nodes: { ...run.nodes, [id]: { ...(own(run.nodes, id) ?? pendingNode), ...change } },
});

const isOpen = ({ state }: GraphNode): boolean => state === "pending" || state === "running";

const stateOf = (run: GraphRun, id: string): GraphState => own(run.nodes, id)?.state ?? "pending";

/** A task came to its end: the stream is told, and if the team wants it so, the chat. */
const settled = (
  draft: Draft,
  run: GraphRun,
  { id, agent }: GraphTask,
  change: Partial<GraphNode>,
): GraphRun => {
  const next = withNode(run, id, change);
  const all = Object.values(next.nodes);
  const done = all.filter((node) => !isOpen(node)).length;
  const task = { id, agent, state: stateOf(next, id) };
  emit(draft, run.thread, "dispatch_progress", { done, total: all.length, task }, { call: run.call });
  return progressSaid(draft, next, `${id} (${agent}) ${task.state}: ${done} of ${all.length} tasks are over`);
};

/** Says progress at most every 5 s; what is held back is said with the next, or at the end (AG table, `progress_updates`). */
const progressSaid = (draft: Draft, run: GraphRun, line: string): GraphRun => {
  if (!agentOf(draft, run.thread).delegation.progressUpdates) return run;
  const { now } = draft.moment;
  const news = [...run.news, line];
  return now - run.saidAt < progressPause ? { ...run, news } : newsSaid(draft, { ...run, news });
};

/** Says all that is held back; while a call is open or the model is at work the chat takes nothing, so then it is a status. */
const newsSaid = (draft: Draft, run: GraphRun): GraphRun => {
  const text = run.news.join("\n");
  if (text === "") return run;
  if (threadOf(draft, run.thread).run === null)
    append(draft, run.thread, { role: "assistant", origin: "agent", parts: [{ type: "text", text }] });
  else emit(draft, run.thread, "status_update", { text }, { call: run.call });
  return { ...run, news: [], saidAt: draft.moment.now };
};

const endState = ({ state, reason }: ChildEnd): GraphState => {
  if (state === "completed") return "success";
  if (state === "cancelled") return "cancelled";
  return reason === "deadline_exceeded" ? "timeout" : "failed";
};

/** Its run succeeded, so that nothing is cancelled; who reads its output must know all the same. */
const judgedFailed = "[the agent reports that it failed]";

const outputOf = ({ completion, result }: ChildEnd): string =>
  [...(completion?.status === "failed" ? [judgedFailed] : []), result ?? ""].join(" ");

/** What a settled task came to; null while it is open. */
const outcomeOf = (draft: Draft, run: GraphRun, id: string): GraphOutcome | null => {
  const node = own(run.nodes, id);
  if (node === undefined || isOpen(node)) return null;
  const record = node.child === null ? null : recordOf(draft, node.child);
  const { state, ms } = node;
  if (record?.end == null) return { state, ms, text: node.reason ?? "its record is lost" };
  const { agent, end } = record;
  return { state, ms, agent, text: state === "success" ? outputOf(end) : (end.error ?? end.reason) };
};

/** Starts a task, with the outputs of others in its place; where the run may start no more threads, it fails. */
const started = (draft: Draft, run: GraphRun, task: GraphTask): GraphRun => {
  const caller = threadOf(draft, run.thread);
  const { delegation } = agentOf(draft, run.thread);
  const { now } = draft.moment;
  if ((draft.state.trees[run.root] ?? 0) >= delegation.maxThreads) {
    const reason = `too_many_children: this run may start ${delegation.maxThreads} agents`;
    return settled(draft, run, task, { state: "failed", reason });
  }
  const { agent, timeout_seconds: seconds } = task;
  const filled = (text: string): string =>
    task.interpolate ? interpolated(text, (id) => outcomeOf(draft, run, id)) : text;
  const told = { agent, task: filled(task.message), context: filled(task.context) };
  const standing = { ...standingOf(caller, delegation, told), interactive: false };
  const broke = budgetRefusal(draft, caller, { agent, standing, task: told });
  if (broke !== null)
    return settled(draft, run, task, { state: "failed", reason: errorText(broke.code, broke.sentence) });
  const child = childId(run.thread, run.id, run.call, task.id);
  childStarted(draft, {
    id: child,
    agent,
    parent: { thread: run.thread, call: run.call },
    root: run.root,
    standing,
    awaitedBy: run.background ? null : run.call,
    task: told.task,
    context: told.context,
    node: { dispatch: run.id, task: task.id },
    timeoutMs: seconds === undefined ? null : seconds * 1_000,
  });
  return withNode(run, task.id, { state: "running", child, startedAt: now });
};

/** Whether whoever dispatched the graph is being stopped itself. */
const isHalted = (draft: Draft, { stopped, thread, background }: GraphRun): boolean => {
  const { run } = threadOf(draft, thread);
  return stopped || (!background && (run === null || run.cancel !== null || run.stop !== null));
};

const cancelledText = (halted: boolean): string =>
  halted
    ? "cancelled, since its caller was stopped"
    : "cancelled, since a task it depends on did not succeed";

/** Takes every step that is possible now; the graph is stored as it then is. */
const advanced = (draft: Draft, begun: GraphRun, tasks: readonly GraphTask[]): void => {
  let run = begun;
  const known = new Map(tasks.map((task) => [task.id, task]));
  const each = (ids: readonly string[], step: (task: GraphTask) => GraphRun): void => {
    for (const id of ids) run = step(known.get(id) as GraphTask);
  };
  const { maxConcurrent } = agentOf(draft, run.thread).delegation;
  const halted = isHalted(draft, run);
  const reason = cancelledText(halted);
  for (;;) {
    const states = Object.fromEntries(tasks.map(({ id }) => [id, stateOf(run, id)]));
    const open = tasks.filter(({ id }) => states[id] === "pending").map(({ id }) => id);
    const running = tasks.filter(({ id }) => states[id] === "running").length;
    const step = scheduled(tasks, states, maxConcurrent - running);
    each(halted ? open : step.cancel, (task) => settled(draft, run, task, { state: "cancelled", reason }));
    if (halted ? running === 0 : step.done) return graphEnded(draft, run, tasks, halted);
    if (halted || step.start.length === 0) break;
    each(step.start, (task) => started(draft, run, task));
  }
  graphSaved(draft, run);
  if (!run.background) waitsKept(draft, run);
};

/** The call waits for the threads that are at work for it now. */
const waitsKept = (draft: Draft, { id, thread, call }: GraphRun): void => {
  const slots = Object.values(draft.state.threads)
    .filter(({ child, run }) => child?.node?.dispatch === id && run !== null)
    .map((each) => each.id);
  changeCall(draft, thread, call, { waits: { answer: "items", on_error: "collect", slots } });
};

/** All tasks have settled: the report is the call's result, or a message. */
const graphEnded = (draft: Draft, run: GraphRun, tasks: readonly GraphTask[], halted: boolean): void => {
  graphForgotten(draft, run.id);
  if (!halted) newsSaid(draft, run);
  const outcomes = tasks.flatMap(({ id }) => {
    const outcome = outcomeOf(draft, run, id);
    return outcome === null ? [] : [[id, outcome] as const];
  });
  const report = reportOf(tasks, Object.fromEntries(outcomes));
  if (!run.background) return callReported(draft, run, report);
  if (halted) return;
  const { text } = report;
  const recall = text.length > longestReport ? keptForRecall(draft, text) : null;
  const said = `The task graph ${run.id}, which you left in the background, has ended.\n${headAndTail(text, longestReport, recall)}`;
  messageTold(draft, run.thread, `in_${run.id}`, escapeTags(said));
};

/** A report as loop detectors compare it. */
const withoutSeconds = (report: string): string => report.replace(/^(## .*) [\d.]+s$/gm, "$1");

const callReported = (
  draft: Draft,
  { thread, call: id }: GraphRun,
  { text, isError }: ReturnType<typeof reportOf>,
): void => {
  const { run } = threadOf(draft, thread);
  const call = findCall(run, id);
  if (call === null) return;
  const result =
    run?.cancel === null
      ? callResult(draft, thread, call, isError ? "error" : "ok", text)
      : textResult(call.call, "cancelled", synthesised.cancelledRunning);
  callEnded(draft, thread, id, {
    result,
    durationMs: elapsedOf(draft, call),
    cached: false,
    compared: withoutIds(withoutSeconds(text)),
  });
};

/** The thread of a task has ended: what waited for it starts, or the graph is over. */
export const graphTaskEnded = (
  draft: Draft,
  node: { readonly dispatch: string; readonly task: string },
  record: EndedChild,
): void => {
  const found = graphOf(draft, node.dispatch);
  const task = found?.tasks.find(({ id }) => id === node.task);
  if (found === null || task === undefined) return;
  const { startedAt } = own(found.run.nodes, node.task) ?? pendingNode;
  const ms = Math.max(0, record.end.ended_at - startedAt);
  const change = { state: endState(record.end), child: record.id, ms };
  advanced(draft, settled(draft, found.run, task, change), found.tasks);
};
