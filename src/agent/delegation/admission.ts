import { narrowOptionalPaths, writableFrom } from "../../sandbox/writable.ts";
import type { Refusal } from "../../tools/errors.ts";
import { errorText, refuse } from "../../tools/errors.ts";
import type { ChildTask } from "../../tools/session-request.ts";
import { findNearestName } from "../../tools/suggest.ts";
import { checkTurnBudget } from "../budgets/bounds.ts";
import { describeLimit } from "../budgets/spend.ts";
import { unstartedItem } from "../context/reports.ts";
import type { Delegation } from "../definition/delegation.ts";
import { depthLimitText, matchCapabilities } from "../definition/delegation.ts";
import type { ChildItem, CallerConstraints } from "../state/child.ts";
import { freshRun } from "../state/run.ts";
import type { Thread } from "../state/thread.ts";
import { assignmentProblem } from "../stores/tasks.ts";
import type { ThreadDraft } from "../transaction/draft.ts";
import { agentOf, runOf } from "../transaction/draft.ts";
import { firstCharacters } from "../../chat/text.ts";
import type { Call } from "../state/call.ts";
import type { ToolCallPart } from "../../chat/message.ts";
import type { ChildStart } from "./start.ts";
import { childId, taskDeadlineOf } from "./start.ts";

/** Decides which tasks of a call may start, before anything does. */

type ChildPlan = { readonly ok: true; readonly slots: readonly (ChildStart | ChildItem)[] } | Refusal;

/** Returns the run of `main` in whose tree a thread counts. */
export const rootOf = ({ child, run }: Thread): string => child?.root ?? run?.id ?? "";

const callableNames = ({ callable }: Delegation): string =>
  callable.length === 0 ? "nobody" : callable.map(({ name }) => name).join(", ");

const selfRefusal = (delegation: Delegation): Refusal =>
  refuse(
    "self_delegation",
    `an agent cannot call itself; do the task, or call another: ${callableNames(delegation)}`,
  );

/** Says why an agent may not be called; otherwise it returns the agent's configured name. */
export const resolveCallableName = (
  delegation: Delegation,
  caller: string,
  written: string,
): string | Refusal => {
  const same = (name: string): boolean => name.toLowerCase() === written.toLowerCase();
  const card = delegation.callable.find(({ name }) => same(name));
  if (card !== undefined) return card.name;
  if (same(caller)) return selfRefusal(delegation);
  const others = `you may call ${callableNames(delegation)}`;
  const known = delegation.names.find(same);
  if (known !== undefined) return refuse("not_callable", `${caller} may not call ${known}; ${others}`);
  const near = findNearestName(written, delegation.names);
  const hint = near === null ? others : `did you mean "${near}"?`;
  return refuse("unknown_agent", `there is no agent "${firstCharacters(written, 64)}"; ${hint}`);
};

/** Resolves "auto" or a name to an agent, or says why there is none; `what` is the task's text. */
export const resolveAgentName = (
  delegation: Delegation,
  caller: string,
  written: string,
  [what, text]: readonly ["task" | "message", string],
): string | Refusal => {
  if (written.toLowerCase() !== "auto") return resolveCallableName(delegation, caller, written);
  const [best] = matchCapabilities(delegation.callable, text);
  const none = `no agent's capabilities fit the ${what}; name one: ${callableNames(delegation)}`;
  return best?.agentId ?? refuse("no_match", none);
};

/** Says why a thread may not start so many more: because of its depth, or the size of its tree. */
export const callRefusal = (draft: ThreadDraft, count: number): Refusal | null => {
  const { thread } = draft;
  const { allowed, maxThreads } = agentOf(draft).delegation;
  if (!allowed) return refuse("depth_exceeded", depthLimitText(thread.depth));
  const started = draft.state.trees[rootOf(thread)] ?? 0;
  return started + count <= maxThreads
    ? null
    : refuse("too_many_children", `${started} of ${maxThreads} agents of this run were started already`);
};

/** Says why no budget is left for a child's first model call; a limit that a person may raise is no reason. */
export const budgetRefusal = (
  draft: ThreadDraft,
  { agent: name, task, context, child }: ChildStart,
): Refusal | null => {
  const agent = draft.context.agents({ agent: name, child });
  const { tokens } = agent.system({ depth: draft.thread.depth + 1, light: false });
  const taskTokens = draft.context.estimate([{ type: "text", text: context + task }]);
  const check = checkTurnBudget(draft, agent, 0, tokens + taskTokens);
  return check.is !== "reached" || check.reached.ask
    ? null
    : refuse("budget_exceeded", `${describeLimit(check.reached)}; finish with what you have`);
};

/** Refuses the whole call for its depth, its count, or a call to itself. */
const wholeRefusal = (draft: ThreadDraft, tasks: readonly ChildTask[]): Refusal | null => {
  const { delegation } = agentOf(draft);
  const { allowed, maxChildrenPerCall } = delegation;
  if (allowed && tasks.length > maxChildrenPerCall)
    return refuse("too_many_children", `a call may start ${maxChildrenPerCall} agents, not ${tasks.length}`);
  const problem = callRefusal(draft, tasks.length);
  if (problem !== null) return problem;
  const name = draft.thread.agent.toLowerCase();
  const self = tasks.some(({ agent }) => agent?.toLowerCase() === name);
  return self ? selfRefusal(delegation) : null;
};

/** Finds the thread of an earlier call that goes on with a task; null if a new one does it. */
const findKeptThread = (
  { state, thread: caller }: ThreadDraft,
  agent: string,
  { persistent }: ChildTask,
): Thread | null => {
  const isKept = ({ parent, child, agent: name }: Thread): boolean =>
    parent?.thread === caller.id && child?.persistent === true && name === agent;
  return persistent === true ? (Object.values(state.threads).find(isKept) ?? null) : null;
};

/** Returns whether the child runs in the background, by its agent's rule or its caller's choice. */
const isBackground = ({ callable }: Delegation, name: string, task: ChildTask): boolean =>
  task.async === true || (task.agent !== null && callable.find((card) => card.name === name)?.async === true);

const taskRefusal = (delegation: Delegation, name: string, task: ChildTask): Refusal | null => {
  const always = isBackground(delegation, name, { ...task, async: false });
  if (task.async === true && !always && !delegation.async)
    return refuse("not_permitted", `async: you may not leave ${name} in the background; omit async`);
  if (task.mode === "interactive" && !delegation.manages)
    return refuse("not_permitted", "mode: your children cannot ask you; leave mode out");
  const { provider } = task;
  if (provider === undefined || delegation.providers.includes(provider)) return null;
  const allowed = delegation.providers.join(", ");
  const way = allowed === "" ? "leave it out" : `choose among ${allowed}, or leave it out`;
  return refuse("not_permitted", `provider: you may not choose ${provider}; ${way}`);
};

/** Returns the paths that both the caller's bounds for children and the task allow. */
const pathsFor = (
  caller: Thread,
  { workingDir }: Delegation,
  { writable_paths: given }: ChildTask,
): CallerConstraints["writablePaths"] => {
  const above = caller.child?.callerConstraints.writablePaths ?? null;
  return narrowOptionalPaths(above, given === undefined ? null : writableFrom(workingDir, given));
};

/** What `main` is bound by, which nobody called. */
const uncalled: Pick<CallerConstraints, "chain" | "hidden" | "provider"> = {
  chain: [],
  hidden: [],
  provider: null,
};

/** Derives the caller constraints of a child from its caller and its task. */
export const callerConstraintsFor = (draft: ThreadDraft, task: ChildTask): CallerConstraints => {
  const { thread: caller } = draft;
  const { delegation } = agentOf(draft);
  const above = caller.child?.callerConstraints ?? uncalled;
  const { hidden } = caller.run ?? freshRun;
  return {
    chain: [...above.chain, caller.agent],
    hidden: [...above.hidden, Object.keys(hidden)],
    interactive:
      delegation.manages && (task.mode === undefined ? delegation.interactive : task.mode === "interactive"),
    provider: task.provider ?? (task.agent === null ? above.provider : null),
    writablePaths: pathsFor(caller, delegation, task),
    adHoc: task.agent === null ? { system: task.system_prompt ?? "", maxTurns: task.max_turns ?? 10 } : null,
  };
};

const errorItem = ({ agent }: ChildTask, { code, sentence }: Refusal): ChildItem =>
  unstartedItem(agent ?? "", code, errorText(code, sentence));

/** Says why the board's task cannot be assigned. */
const boardRefusal = (
  draft: ThreadDraft,
  earlier: readonly ChildTask[],
  { task_id: id }: ChildTask,
): Refusal | null => {
  if (id === undefined) return null;
  const twice = earlier.some((task) => task.task_id === id);
  const problem = twice
    ? refuse("conflict", `${id} is named twice in this call`)
    : assignmentProblem(draft, id);
  return problem === null ? null : refuse(problem.code, `task_id: ${problem.sentence}`);
};

const busyRefusal = (
  agent: string,
  { persistent }: ChildTask,
  busy: ReadonlySet<string>,
  kept: Thread | null,
): Refusal | null => {
  if (persistent !== true || (!busy.has(agent) && kept?.run == null)) return null;
  const sentence = `${agent} is still at work on an earlier task; wait for it, or leave persistent out`;
  return refuse("child_busy", sentence);
};

/** Plans the start of an agent for a task of a call. */
const planStart = (
  draft: ThreadDraft,
  call: ToolCallPart,
  task: ChildTask,
  { id, agent }: Pick<ChildStart, "id" | "agent">,
): ChildStart => {
  const { thread: caller } = draft;
  return {
    id,
    agent,
    call: call.id,
    task: task.task,
    context: task.context,
    child: {
      callerConstraints: callerConstraintsFor(draft, task),
      root: rootOf(caller),
      awaitedBy: isBackground(agentOf(draft).delegation, agent, task) ? null : call.id,
      taskId: task.task_id ?? null,
      persistent: task.persistent === true,
      deadline: taskDeadlineOf(draft, task.timeout_seconds),
    },
  };
};

/** Plans each task of a call in input order; nothing is started yet. */
export const planChildren = (draft: ThreadDraft, { call }: Call, tasks: readonly ChildTask[]): ChildPlan => {
  const caller = draft.thread;
  const { delegation } = agentOf(draft);
  const whole = wholeRefusal(draft, tasks);
  if (whole !== null) return whole;
  const { id: run } = runOf(draft);
  const busy = new Set<string>();
  const slots = tasks.map((task, index): ChildStart | ChildItem => {
    if (task.invalid !== undefined) return errorItem(task, refuse("invalid_arguments", task.invalid));
    const agent =
      task.agent === null
        ? caller.agent
        : resolveAgentName(delegation, caller.agent, task.agent, ["task", task.task]);
    if (typeof agent !== "string") return errorItem(task, agent);
    const kept = findKeptThread(draft, agent, task);
    const id = kept?.id ?? childId(caller.id, run, call.id, String(index));
    const start = planStart(draft, call, task, { id, agent });
    const problem =
      taskRefusal(delegation, agent, task) ??
      boardRefusal(draft, tasks.slice(0, index), task) ??
      busyRefusal(agent, task, busy, kept) ??
      budgetRefusal(draft, start);
    if (problem !== null) return errorItem({ ...task, agent }, problem);
    if (task.persistent === true) busy.add(agent);
    return start;
  });
  return { ok: true, slots };
};
