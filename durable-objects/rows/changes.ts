import type { Call } from "../../src/agent/state/call.ts";
import type { Run } from "../../src/agent/state/run.ts";
import type { Session } from "../../src/agent/state/session.ts";
import type { Thread } from "../../src/agent/state/thread.ts";

/**
 * Compares the entities of two states. A draft copies them all, so each is compared field by field; the value
 * of a field is replaced when it changes.
 */

type Comparison<T> = (before: T, after: T) => boolean;

/** Returns whether two entities agree in every field; fields that are entities themselves have their own comparison. */
const compareFields =
  <T extends object>(inner: { readonly [field in keyof T]?: Comparison<T[field]> } = {}): Comparison<T> =>
  (before, after) => {
    if (before === after) return true;
    for (const field in after) {
      if (before[field] === after[field]) continue;
      const compare = inner[field];
      if (compare?.(before[field], after[field]) !== true) return false;
    }
    return true;
  };

const orBothNull =
  <T extends object>(compare: Comparison<T>): Comparison<T | null> =>
  (before, after) =>
    before === after || (before !== null && after !== null && compare(before, after));

const isSameCall = compareFields<Call>();

const isSamePhase: Comparison<Run["phase"]> = (before, after) =>
  before === after ||
  (before.at === "acting" &&
    after.at === "acting" &&
    before.calls.length === after.calls.length &&
    after.calls.every((call, index) => isSameCall(before.calls[index] ?? call, call)));

export const isSameRun = orBothNull(
  compareFields<Run>({ counters: compareFields<Run["counters"]>(), phase: isSamePhase }),
);

const isSameThread = compareFields<Thread>({ run: isSameRun });

const isSameThreads: Comparison<Session["threads"]> = (before, after) => {
  const ids = Object.keys(after);
  return ids.length === Object.keys(before).length && ids.every((id) => before[id] === after[id]);
};

const isSameSession = compareFields<Session>({ threads: isSameThreads });

/** Returns the state after a draft with the threads that did not change as they were before; `before` if nothing did. */
export const keepUnchanged = (before: Session, after: Session): Session => {
  const threads: Record<string, Thread> = {};
  for (const [id, thread] of Object.entries(after.threads)) {
    const known = before.threads[id];
    threads[id] = known !== undefined && isSameThread(known, thread) ? known : thread;
  }
  const kept = { ...after, threads };
  return isSameSession(before, kept) ? before : kept;
};
