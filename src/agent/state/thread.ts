import type { Json, Message } from "../../chat/message.ts";
import type { Usage } from "../../model/completer.ts";
import type { Child } from "./child.ts";
import type { Input } from "./input.ts";
import type { CallRecord } from "./records.ts";
import type { RunCounters, Run } from "./run.ts";
import { noFiles } from "./run.ts";
import type { Session } from "./session.ts";

/** Threads of a session, and who is below whom. */

/** A thread that has not begun. */
export const newThread = (
  id: string,
  agent: string,
  called: Pick<Thread, "parent" | "child" | "depth"> = { parent: null, child: null, depth: 0 },
): Thread => ({
  id,
  agent,
  chat: [],
  tokens: 0,
  removed: 0,
  seen: -1,
  nextPos: 0,
  inbox: [],
  run: null,
  calls: 0,
  lastUsage: null,
  previousNewest: null,
  firstInput: null,
  warnedUtilization: false,
  effects: {},
  history: [],
  recordMarks: { next: 1, input: 1, compaction: null },
  guards: {},
  files: noFiles,
  announce: null,
  lastRun: null,
  ...called,
});

/** Whether a called thread is at work, or has an end that its caller was not told yet. */
export const isChildOpen = ({ child }: Thread): boolean => child !== null && !child.idle;

/** The children of a thread whose end it has not been told. */
export const openChildren = ({ threads }: Session, threadId: string): readonly Thread[] =>
  Object.values(threads).filter((thread) => thread.parent?.thread === threadId && isChildOpen(thread));

/** Forgets how many threads a run's tree has had, once nothing of it is alive. */
export const pruneTree = (session: Session, root: string): Session => {
  const { [root]: count, ...trees } = session.trees;
  const isAlive = Object.values(session.threads).some(
    ({ child, run }) => run?.id === root || (child?.root === root && !child.idle),
  );
  return count === undefined || isAlive ? session : { ...session, trees };
};

/** Whether a thread waits for its caller's answer. */
export const isAskingCaller = ({ child, run }: Thread): boolean =>
  run !== null && (child?.question ?? null) !== null;

export interface Thread {
  readonly id: string;
  readonly agent: string;
  /** Messages that are not retired, in the order of the view. */
  readonly chat: readonly Message[];
  /** Sum of the chat's tokens as a model sees it. */
  readonly tokens: number;
  /** Tokens that edits took out of the view since the last call. */
  readonly removed: number;
  /** Tools that effects took out of the last call; absent: none. */
  readonly lastHidden?: readonly string[];
  /** `pos` of the newest message that a call has seen; -1 before the first. */
  readonly seen: number;
  readonly nextPos: number;
  readonly inbox: readonly Input[];
  readonly run: Run | null;
  /** Completed model calls. */
  readonly calls: number;
  readonly lastUsage: Usage | null;
  /** Newest message of the previous request. */
  readonly previousNewest: string | null;
  readonly firstInput: Message | null;
  readonly warnedUtilization: boolean;
  /** State of the effects by their keys. */
  readonly effects: Readonly<Record<string, Json>>;
  /** Newest finished calls, oldest first. */
  readonly history: readonly CallRecord[];
  /** Numbers of records: the next one, the first after the last human input, the first after the first compaction since then. */
  readonly recordMarks: {
    readonly next: number;
    readonly input: number;
    readonly compaction: number | null;
  };
  /** State of the guards by their kinds. */
  readonly guards: Readonly<Record<string, Json>>;
  /** What its ended runs changed, since the chat was cleared. */
  readonly files: RunCounters["files"];
  readonly parent: { readonly thread: string; readonly call: string } | null;
  /** Of a called agent; null in `main`. */
  readonly child: Child | null;
  readonly depth: number;
  /** Results that are being told to the person: the runs that tried since the newest came, the inputs, and when the next one does. */
  readonly announce: {
    readonly runs: readonly string[];
    readonly inputs: readonly string[];
    readonly at: number | null;
  } | null;
  readonly lastRun: string | null;
}
