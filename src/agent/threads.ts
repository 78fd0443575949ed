import { noFiles } from "./run-files.ts";
import type { Session, Thread } from "./state.ts";

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
export const isOpen = ({ child }: Thread): boolean => child !== null && !child.idle;

/** The children of a thread whose end it has not been told. */
export const openChildren = ({ threads }: Session, threadId: string): readonly Thread[] =>
  Object.values(threads).filter((thread) => thread.parent?.thread === threadId && isOpen(thread));

/** Forgets how many threads a run's tree has had, once nothing of it is alive. */
export const treePruned = (session: Session, root: string): Session => {
  const { [root]: count, ...trees } = session.trees;
  const isAlive = Object.values(session.threads).some(
    ({ child, run }) => run?.id === root || (child?.root === root && !child.idle),
  );
  return count === undefined || isAlive ? session : { ...session, trees };
};

/** Whether a thread waits for its caller's answer. */
export const isAsking = ({ child, run }: Thread): boolean =>
  run !== null && (child?.question ?? null) !== null;
