import type { Usage } from "../../model/completer.ts";
import type { WorkReport } from "../../tools/session-request.ts";
import type { EndReason, RunState } from "./events.ts";

/** Describes a called agent, which runs in a child thread: its task, its end and its row. */

/** Open question of a child to its caller. */
export interface ChildQuestion {
  readonly id: string;
  /** The call of the child that waits for the answer. */
  readonly call: string;
  readonly text: string;
  readonly options: readonly string[];
}

/** The work on a task so far: the files seen to change, sorted, and usage. */
export interface ChildWork {
  readonly files: readonly string[];
  readonly usage: Usage;
}

/** The facts of a called thread that are set anew at each start. */
export interface Child {
  /** Label for people, which enters no prompt. */
  readonly label: string;
  readonly callerConstraints: CallerConstraints;
  /** Run of `main` in whose tree the child counts. */
  readonly root: string;
  /** The call of the parent that waits for it; if null, a message reports its end. */
  readonly awaitedBy: string | null;
  /** Whether the thread stays after its end, for the next task. */
  readonly persistent: boolean;
  /** Is true if it ended, its caller was notified, and it waits for its next task. */
  readonly idle: boolean;
  /** The first 200 characters of the task. */
  readonly task: string;
  readonly taskId: string | null;
  /** When the time for its task, hand-overs included, is over; null: never. */
  readonly deadline: number | null;
  /** Task of a task graph that the child does. */
  readonly node: { readonly dispatch: string; readonly task: string } | null;
  readonly completion: WorkReport | null;
  /** Set if it ends and a peer takes over, with this context. */
  readonly handover: { readonly agent: string; readonly reason: string; readonly context: string } | null;
  /** Number of hand-overs before this thread. */
  readonly handoffs: number;
  /** Work that earlier agents did on the task; absent if there were none. */
  readonly before?: ChildWork & { readonly first: string };
  readonly question: ChildQuestion | null;
  /** Why it was stopped from above; `told` means that its caller knows. */
  readonly stopped: { readonly why: string; readonly told: boolean } | null;
  /** Says what people did to it and what else its caller should know. */
  readonly warning: string | null;
}

/** Values of fields with which a task begins, unless its start sets them. */
export const freshChild = {
  persistent: false,
  idle: false,
  taskId: null,
  deadline: null,
  node: null,
  completion: null,
  handover: null,
  handoffs: 0,
  question: null,
  stopped: null,
  warning: null,
} satisfies Partial<Child>;

/** End of a called thread. */
export interface ChildEnd {
  readonly state: RunState;
  readonly reason: EndReason;
  readonly error: string | null;
  /** Result text of at most `max_result_length` characters. */
  readonly result: string | null;
  /** Length of the result before it was cut; absent if it is whole. */
  readonly length?: number;
  /** Id under which the whole of a cut result or report is read. */
  readonly recall: string | null;
  readonly completion: WorkReport | null;
  readonly files_modified: readonly string[];
  readonly usage: Usage;
  readonly turns: number;
  /** The last text of its agent, at most 200 characters. */
  readonly last_text: string;
  readonly handoffs: number;
  /** The threads that had the task first and that have it now; absent if it was not handed over. */
  readonly first?: string;
  readonly successor?: string;
  readonly warning: string | null;
  readonly run: string;
  readonly ended_at: number;
}

/** Row of a called thread, written at its start and at its end. */
export interface ChildRecord {
  readonly id: string;
  readonly agent: string;
  readonly label: string;
  readonly parent: { readonly thread: string; readonly call: string };
  readonly depth: number;
  readonly task: string;
  readonly context: string;
  readonly started_at: number;
  /** Null while the thread runs. */
  readonly end: ChildEnd | null;
}

export type EndedChild = ChildRecord & { readonly end: ChildEnd };

export const isEnded = (record: ChildRecord): record is EndedChild => record.end !== null;

/** What a caller reads about one task. */
export interface ChildItem {
  readonly agent: string;
  /** Null if the task was never started. */
  readonly child: string | null;
  readonly state: RunState | "running" | "waiting";
  readonly reason?: string;
  readonly result?: string;
  readonly error?: string;
  readonly completion?: WorkReport;
  readonly question?: { readonly id: string; readonly text: string; readonly options: readonly string[] };
  readonly files_modified?: readonly string[];
  readonly usage?: Usage;
  readonly handoffs?: number;
  readonly warning?: string;
}

/** Children that a parked call waits for. */
export interface ChildWait {
  /** The answer is the one child's text, a list of items, or the one child's item. */
  readonly answer: "text" | "items" | "item";
  readonly on_error: "cancel" | "collect";
  /** Slots are in input order: a child's id, or the item of a task that was not started. */
  readonly slots: readonly (string | ChildItem)[];
}

/** Constraints that a caller puts on a called thread's agent, set anew at each start. */
export interface CallerConstraints {
  /** Lists the agents of the threads above, from `main` down to the caller. */
  readonly chain: readonly string[];
  /** Lists, for each of the chain, the tools that effects had taken out of its turn when it called. */
  readonly hidden: readonly (readonly string[])[];
  /** Whether the caller takes questions. */
  readonly interactive: boolean;
  /** Provider that the caller chose. */
  readonly provider: string | null;
  /** Globs that narrow what it may write; null: only the agent's own apply. */
  readonly writablePaths: readonly string[] | null;
  /** Changes that make a nameless agent of the caller's own; null for a named one. */
  readonly adHoc: { readonly system: string; readonly maxTurns: number } | null;
}

/** Returns the id under which the caller constraints of a called run are stored, since each task brings its own. */
export const constraintsBlobId = (run: string): string => `constraints:${run}`;
