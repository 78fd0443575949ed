import type { Json } from "../../chat/message.ts";
import type { GraphState } from "../state/events.ts";
import type { Draft } from "../transaction/draft.ts";
import { readEntry, writeEntry } from "../transaction/entries.ts";

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
