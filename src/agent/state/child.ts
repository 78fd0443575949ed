import type { Usage } from "../../model/completer.ts";
import type { WorkReport } from "../../tools/session-request.ts";
import type { EndReason, RunState } from "./events.ts";

/** A called agent's thread: what it knows of its task, and the row that stays of it when it has ended. */

/** A question to the caller that is open. */
export interface ChildQuestion {
  readonly id: string;
  /** The child's call that waits for the answer. */
  readonly call: string;
  readonly text: string;
  readonly options: readonly string[];
}

/** What work on a task came to so far: files that were seen to change, sorted, and usage. */
export interface ChildWork {
  readonly files: readonly string[];
  readonly usage: Usage;
}

/** Facts of a called thread; they are fixed anew at each start. */
export interface Child {
  /** For people: it enters no prompt. */
  readonly label: string;
  readonly standing: CallerConstraints;
  /** Run of `main` in whose tree it counts. */
  readonly root: string;
  /** Call of the parent that waits for it; null = its end is told by a message. */
  readonly awaitedBy: string | null;
  /** The thread stays after its end, for the next task. */
  readonly persistent: boolean;
  /** It ended, its caller was told, and it waits for its next task. */
  readonly idle: boolean;
  /** First 200 characters of the task. */
  readonly task: string;
  readonly taskId: string | null;
  /** When the time of its task is over, whoever does it; absent or null: never. */
  readonly deadline?: number | null;
  /** Task of a graph that it does. */
  readonly node: { readonly dispatch: string; readonly task: string } | null;
  readonly completion: WorkReport | null;
  /** It ends, and a peer takes over. */
  readonly handover: { readonly agent: string; readonly reason: string; readonly context: string } | null;
  /** Hand-overs before it. */
  readonly handoffs: number;
  /** What those before it did; absent: there were none. */
  readonly before?: ChildWork & { readonly first: string };
  readonly question: ChildQuestion | null;
  /** Why it was stopped from above; `told` = its caller knows. */
  readonly stopped: { readonly why: string; readonly told: boolean } | null;
  /** What people did to it, and what else its caller should know. */
  readonly warning: string | null;
}

/** How a called thread ended. */
export interface ChildEnd {
  readonly state: RunState;
  readonly reason: EndReason;
  readonly error: string | null;
  /** Result text, at most `max_result_length` characters. */
  readonly result: string | null;
  /** How long it was before it was cut; absent: it is whole. */
  readonly length?: number;
  /** The whole of a result, or of a report, that was cut. */
  readonly recall: string | null;
  readonly completion: WorkReport | null;
  readonly files_modified: readonly string[];
  readonly usage: Usage;
  readonly turns: number;
  /** Last text of its agent, at most 200 characters. */
  readonly last_text: string;
  readonly handoffs: number;
  /** The thread that had the task first, and the one that has it now; absent: it stayed here. */
  readonly first?: string;
  readonly successor?: string;
  readonly warning: string | null;
  readonly run: string;
  readonly ended_at: number;
}

/** The row of a called thread, written at its start and at its end. */
export interface ChildRecord {
  readonly id: string;
  readonly agent: string;
  readonly label: string;
  readonly parent: { readonly thread: string; readonly call: string };
  readonly depth: number;
  readonly task: string;
  readonly context: string;
  readonly started_at: number;
  /** Null while it runs. */
  readonly end: ChildEnd | null;
}

export type EndedChild = ChildRecord & { readonly end: ChildEnd };

/** What a caller reads of one task. */
export interface ChildItem {
  readonly agent: string;
  /** Absent: it was never started. */
  readonly child?: string;
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
  /** The one child's text, a list of items, or the one child's item. */
  readonly answer: "text" | "items" | "item";
  readonly on_error: "cancel" | "collect";
  /** In input order: a child's id, or the item of a task that was not started. */
  readonly slots: readonly (string | ChildItem)[];
}

/** How a called thread's agent differs from the same agent in `main`; fixed anew at each start. */
export interface CallerConstraints {
  /** Agents of the threads above, from `main` down to the caller. */
  readonly chain: readonly string[];
  /** Its caller takes its questions. */
  readonly interactive: boolean;
  /** The caller's choice of a provider. */
  readonly provider: string | null;
  /** Globs that narrow what it may write; null: the agent's own alone. */
  readonly writablePaths: readonly string[] | null;
  /** A nameless agent: the caller's, but for this. */
  readonly adHoc: { readonly system: string; readonly maxTurns: number } | null;
}

/** Where the standing of a called agent's run is kept: its thread gets another one with its next task. */
export const constraintsBlobId = (run: string): string => `standing:${run}`;
