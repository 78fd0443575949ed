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
  announce: null,
  lastRun: null,
  ...called,
});

/** The children of a thread that have a run. */
export const workingChildren = ({ threads }: Session, threadId: string): readonly Thread[] =>
  Object.values(threads).filter(({ parent, run }) => parent?.thread === threadId && run !== null);

/** Whether a thread waits for its caller's answer. */
export const isAsking = ({ child, run }: Thread): boolean =>
  run !== null && (child?.question ?? null) !== null;
