import type { Json } from "../../chat/message.ts";
import type { GraphState } from "../state/events.ts";
import type { Draft } from "../transaction/draft.ts";
import { readEntry, writeEntry } from "../transaction/entries.ts";
import { ownEntry } from "../../chat/json.ts";
import { countCharacters, firstCharacters } from "../../chat/text.ts";
import type { GraphTask } from "../../tools/task-graph.ts";
import { ancestorsOf, outputReference } from "../../tools/task-graph.ts";

/** A running task graph has two rows of its own: its tasks as they were dispatched, and the state of each. */

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
  /** The thread and the call that dispatched the graph. */
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
  readonly start: readonly GraphTask[];
  readonly cancel: readonly GraphTask[];
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
    start: ready.slice(0, Math.max(0, slots)),
    cancel: doomed,
    done: !running && pending.length === doomed.length,
  };
};

/** Fills in the references of a text; inserted outputs are not examined again. */
export const interpolateOutputs = (text: string, outcomeOf: (id: string) => GraphOutcome | null): string =>
  text.replaceAll(outputReference, (written, id: string) => {
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
