import type { Json } from "../../chat/message.ts";
import type { GraphState } from "../state/events.ts";
import type { Draft } from "../transaction/draft.ts";
import { readEntry, writeEntry } from "../transaction/entries.ts";
import { fieldsOf, isJsonObject, ownEntry } from "../../chat/json.ts";
import { countCharacters, firstCharacters } from "../../chat/text.ts";
import { describeIssue } from "../../schema.ts";
import type { ToolErrorCode } from "../../tools/errors.ts";
import { graphIdPattern, graphTaskSchema, mostGraphTasks } from "../../tools/task-graph.ts";

/** A running task graph has two rows of its own: its tasks as they were dispatched, and the state of each. */

export interface GraphTask {
  readonly id: string;
  readonly agent: string;
  readonly message: string;
  readonly context: string;
  readonly depends_on: readonly string[];
  /** Whether a failure cancels whatever depends on the task. */
  readonly blocking: boolean;
  readonly timeout_seconds?: number | undefined;
  /** Whether `{{id.output}}` in message and context stands for that task's output. */
  readonly interpolate: boolean;
}

export interface GraphNode {
  readonly state: GraphState;
  /** The thread that does the task, or did. */
  readonly child: string | null;
  readonly startedAt: number;
  /** Milliseconds from its start to its end. */
  readonly ms: number;
  /** Says why the task failed without a thread that could say so. */
  readonly reason: string | null;
}

export interface GraphRun {
  readonly id: string;
  /** The thread that and call dispatched the graph. */
  readonly thread: string;
  readonly call: string;
  /** Whether no call waits for the graph, so that its report is a message. */
  readonly background: boolean;
  /** Run of `main` in whose tree the threads of the graph count. */
  readonly root: string;
  /** Whether the caller was stopped: nothing more is started. */
  readonly stopped: boolean;
  readonly nodes: Readonly<Record<string, GraphNode>>;
  /** Progress that is unreported, and the time of the last progress report. */
  readonly news: readonly string[];
  readonly saidAt: number;
}

const tasksKey = (id: string): string => `${id}/tasks`;

export const startGraph = (draft: Draft, run: GraphRun, tasks: readonly GraphTask[]): void => {
  writeEntry(draft, "graph", tasksKey(run.id), tasks as unknown as Json);
  saveGraph(draft, run);
};

export const saveGraph = (draft: Draft, run: GraphRun): void =>
  writeEntry(draft, "graph", run.id, run as unknown as Json);

export const forgetGraph = (draft: Draft, id: string): void => {
  for (const key of [tasksKey(id), id]) writeEntry(draft, "graph", key, undefined);
};

/** Returns the graph and its tasks; null if it is over. */
export const findGraph = (
  draft: Draft,
  id: string,
): { readonly run: GraphRun; readonly tasks: readonly GraphTask[] } | null => {
  const run = readEntry(draft, "graph", id)?.value;
  const tasks = readEntry(draft, "graph", tasksKey(id))?.value;
  if (run === undefined || tasks === undefined) return null;
  return { run: run as unknown as GraphRun, tasks: tasks as unknown as readonly GraphTask[] };
};

/** Stops a graph with its caller: what was not started never will be. */
export const stopGraph = (draft: Draft, id: string): void => {
  const found = findGraph(draft, id);
  if (found !== null && !found.run.stopped) saveGraph(draft, { ...found.run, stopped: true });
};

/** Schedules task graphs, in pure functions: what starts, what a task reads and what is reported. */

type GraphStates = Readonly<Record<string, GraphState>>;

/** What to do now; `done` means that nothing is running or will start. */
interface GraphStep {
  readonly start: readonly string[];
  readonly cancel: readonly string[];
  readonly done: boolean;
}

/** Outcome of a settled task. */
export interface GraphOutcome {
  readonly state: GraphState;
  /** The agent that did it in the end, if any began it. */
  readonly agent?: string;
  /** The output of a success, otherwise the reason. */
  readonly text: string;
  readonly ms: number;
}

const mostInterpolated = 4_000;

const mostReported = 2_000;

const reference = /\{\{\s*([\w-]{1,64})\.output\s*\}\}/g;

/** Returns the tasks that a task waits for, directly or not; it is its own ancestor only in a cycle. */
export const ancestorsOf = (
  tasks: readonly Pick<GraphTask, "id" | "depends_on">[],
  id: string,
): ReadonlySet<string> => {
  const known = new Map(tasks.map((task) => [task.id, task.depends_on]));
  const found = new Set<string>();
  const open = [...(known.get(id) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    open.push(...(known.get(next) ?? []));
  }
  return found;
};

export const isOpenState = (state: GraphState): boolean => state === "pending" || state === "running";

/**
 * Decides which tasks start: those whose dependencies have settled. A task that depends, directly or not, on
 * a blocking task that did not succeed is cancelled, and no other. `slots` is how many more may run.
 */
export const scheduleGraph = (tasks: readonly GraphTask[], states: GraphStates, slots: number): GraphStep => {
  const stateOf = (id: string): GraphState => ownEntry(states, id) ?? "pending";
  const broken = new Set(
    tasks
      .filter(({ id, blocking }) => blocking && !isOpenState(stateOf(id)) && stateOf(id) !== "success")
      .map(({ id }) => id),
  );
  const pending = tasks.filter(({ id }) => stateOf(id) === "pending");
  const doomed = pending.filter(({ id }) => !ancestorsOf(tasks, id).isDisjointFrom(broken));
  const ready = pending.filter(
    (task) => !doomed.includes(task) && task.depends_on.every((id) => !isOpenState(stateOf(id))),
  );
  const running = tasks.some(({ id }) => stateOf(id) === "running");
  return {
    start: ready.slice(0, Math.max(0, slots)).map(({ id }) => id),
    cancel: doomed.map(({ id }) => id),
    done: !running && pending.length === doomed.length,
  };
};

/** Returns the ids that a text refers to by `{{id.output}}`, each once. */
const referencesIn = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(reference)].map(([, id]) => id ?? "")),
];

/** Fills in the references of a text; inserted outputs are not examined again. */
export const interpolateOutputs = (text: string, outcomeOf: (id: string) => GraphOutcome | null): string =>
  text.replaceAll(reference, (written, id: string) => {
    const outcome = outcomeOf(id);
    if (outcome === null) return written;
    return outcome.state === "success"
      ? shortenText(outcome.text, mostInterpolated)
      : `[task ${id} failed: ${shortenText(outcome.text, mostInterpolated)}]`;
  });

/** Cuts a text to `most` characters; one that was cut says how much of it is shown. */
export const shortenText = (text: string, most: number): string => {
  const total = countCharacters(text);
  if (total <= most) return text;
  const marker = (shown: number): string => `… [${shown} of ${total} characters shown]`;
  const shown = most - countCharacters(marker(most));
  return `${firstCharacters(text, shown)}${marker(shown)}`;
};

const settledStates: readonly GraphState[] = ["success", "failed", "timeout", "cancelled"];

/** Formats the report for the dispatching agent: counts, then each task as it was given. */
export const formatGraphReport = (
  tasks: readonly GraphTask[],
  outcomes: Readonly<Record<string, GraphOutcome>>,
): { readonly text: string; readonly isError: boolean } => {
  const stateOf = (id: string): GraphState => ownEntry(outcomes, id)?.state ?? "cancelled";
  const counts = settledStates.flatMap((state) => {
    const count = tasks.filter(({ id }) => stateOf(id) === state).length;
    return count === 0 ? [] : [`${count} ${state}`];
  });
  const parts = tasks.map(({ id, agent }) => {
    const { agent: by = agent, ms = 0, text = "" } = ownEntry(outcomes, id) ?? {};
    return `## ${id} (${by}) ${stateOf(id)} ${(ms / 1_000).toFixed(1)}s\n${shortenText(text, mostReported)}`;
  });
  const isError = tasks.some(({ id, blocking }) => blocking && ["failed", "timeout"].includes(stateOf(id)));
  return { text: [`${tasks.length} tasks: ${counts.join(", ")}`, ...parts].join("\n\n"), isError };
};

/** A task graph is checked before anything starts, and every mistake is named at once. */

/** Returns the agent for a task, or says why there is none. */
export type ResolveAgent = (
  agent: string,
  message: string,
) => { readonly agent: string } | { readonly problem: string; readonly code?: ToolErrorCode };

export type CheckedGraph =
  | { readonly ok: true; readonly tasks: readonly GraphTask[]; readonly async: boolean }
  | { readonly ok: false; readonly code: ToolErrorCode; readonly problems: readonly string[] };

/** Reads `agent_id` as another name of `agent`. */
const normalizeAgentKey = (task: unknown): unknown => {
  if (!isJsonObject(task) || !("agent_id" in task) || "agent" in task) return task;
  const { agent_id: agent, ...rest } = task;
  return { ...rest, agent };
};

const taskListOf = (args: unknown): unknown => {
  const { task_graph: graph, tasks } = fieldsOf(args);
  return isJsonObject(graph) ? graph["tasks"] : tasks;
};

const shapeProblems = (args: unknown): readonly string[] => {
  const { async = false, tasks: _, task_graph: graph = {}, ...others } = fieldsOf(args);
  const { tasks: __, ...inner } = fieldsOf(graph);
  return [
    ...[...Object.keys(others), ...Object.keys(inner)].map((key) => `"${key}" is not known here`),
    ...(typeof async === "boolean" ? [] : ["async: must be true or false"]),
  ];
};

/** What can be compared with other tasks, whatever else is wrong with the task. */
interface Link {
  readonly at: number;
  readonly id: string;
  readonly depends_on: readonly string[];
  readonly texts: readonly string[];
}

const linkOf = (task: unknown, at: number): Link => {
  const { id, depends_on, message, context, interpolate } = fieldsOf(task);
  const texts = interpolate === false ? [] : [message, context];
  return {
    at,
    id: typeof id === "string" ? id : "",
    depends_on: Array.isArray(depends_on) ? depends_on.filter((each) => typeof each === "string") : [],
    texts: texts.filter((each) => typeof each === "string"),
  };
};

const nameOf = ({ at, id }: Link): string => (graphIdPattern.test(id) ? `task ${id}` : `tasks.${at}`);

const linkProblems = (links: readonly Link[]): readonly string[] => {
  const ids = new Set(links.map(({ id }) => id));
  return links.flatMap((link): string[] => {
    const twice = links.find(({ id }) => id === link.id && id !== "")?.at !== link.at && link.id !== "";
    const unknown = link.depends_on.filter((id) => !ids.has(id));
    const ancestors = ancestorsOf(links, link.id);
    const foreign = link.texts.flatMap(referencesIn).filter((id) => !ancestors.has(id));
    return [
      ...(twice ? [`${nameOf(link)}: the id is used twice`] : []),
      ...unknown.map((id) => `${nameOf(link)}: depends_on names ${id}, which is not a task of this graph`),
      ...[...new Set(foreign)].map(
        (id) => `${nameOf(link)}: {{${id}.output}} needs ${id} in depends_on, directly or not`,
      ),
    ];
  });
};

/** Finds one shortest cycle in order, with the first task again at the end; null if there is none. */
const findCycle = (links: readonly Link[]): readonly string[] | null => {
  const depends = new Map(links.map(({ id, depends_on }) => [id, depends_on]));
  const start = links.find(({ id }) => ancestorsOf(links, id).has(id))?.id;
  if (start === undefined) return null;
  const paths: (readonly string[])[] = [[start]];
  const seen = new Set<string>();
  for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
    for (const next of depends.get(path.at(-1) ?? "") ?? []) {
      if (next === start) return [...path, next];
      if (!seen.has(next)) paths.push([...path, next]);
      seen.add(next);
    }
  }
  return null;
};

/** Says why a task cannot go to its agent, as far as that is known of a task with other mistakes. */
const agentProblems = (
  task: unknown,
  wrong: ReadonlySet<unknown>,
  resolve: ResolveAgent,
): readonly string[] => {
  const { agent, message } = fieldsOf(task);
  if (typeof agent !== "string" || wrong.has("agent") || (agent === "auto" && wrong.has("message")))
    return [];
  const found = resolve(agent, typeof message === "string" ? message : "");
  return "problem" in found ? [`agent: ${found.problem}`] : [];
};

/** Number of tasks above which a graph is not checked at all: the checks grow faster than the tasks. */
const mostChecked = 4 * mostGraphTasks;

const countProblems = (count: number): readonly string[] =>
  count >= 1 && count <= mostGraphTasks
    ? []
    : [`tasks: a graph has 1 to ${mostGraphTasks} tasks, not ${count}`];

/** Checks the arguments of `dispatch_tasks`, resolves their agents, and names every mistake at once. */
export const checkGraph = (args: unknown, resolve: ResolveAgent): CheckedGraph => {
  const list = taskListOf(args);
  let code: ToolErrorCode = "invalid_arguments";
  const asked: ResolveAgent = (agent, message) => {
    const found = resolve(agent, message);
    if ("problem" in found && found.code === "self_delegation") ({ code } = found);
    return found;
  };
  const shape = shapeProblems(args);
  if (!Array.isArray(list))
    return { ok: false, code, problems: [...shape, "tasks: a list of tasks is required"] };
  const count = countProblems(list.length);
  if (list.length > mostChecked) return { ok: false, code, problems: [...shape, ...count] };
  const raw = list.map(normalizeAgentKey);
  const parsed = raw.map((task) => graphTaskSchema.safeParse(task, { error: describeIssue }));
  const links = raw.map(linkOf);
  const tasks: GraphTask[] = [];
  const problems = parsed.flatMap(({ data, error }, at): string[] => {
    const name = nameOf(links[at] ?? { at, id: "", depends_on: [], texts: [] });
    if (data === undefined) {
      const issues = error?.issues ?? [];
      const said = issues.map(({ path, message }) => [path.join("."), message].filter(Boolean).join(": "));
      const more = agentProblems(raw[at], new Set(issues.map(({ path }) => path[0])), asked);
      return [...said, ...more].map((problem) => `${name}: ${problem}`);
    }
    const found = asked(data.agent, data.message);
    if ("problem" in found) return [`${name}: agent: ${found.problem}`];
    tasks.push({ ...data, agent: found.agent });
    return [];
  });
  const cycle = findCycle(links);
  const all = [
    ...shape,
    ...count,
    ...problems,
    ...linkProblems(links),
    ...(cycle === null ? [] : [`tasks wait for each other: ${cycle.join(" → ")}`]),
  ];
  return all.length === 0
    ? { ok: true, tasks, async: fieldsOf(args)["async"] === true }
    : { ok: false, code, problems: all };
};
