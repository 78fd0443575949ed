import type { Json } from "../chat/message.ts";
import { agentOf, changeRun, changeThread, emit, threadOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import type { CallRecord } from "./effect.ts";
import { rememberedState } from "./effect-result.ts";
import type { BoundGuard, Loop, Stop } from "./guard.ts";
import type { Thread } from "./state.ts";

/** What guards remember (EF-34), rows of the thread, begun anew as their definitions say; and how they end a run. */

export const guardState = ({ guards }: Thread, { guard }: BoundGuard): Json =>
  guards[guard.kind] ?? guard.state?.initial ?? null;

/** The run ends, naming the guard (EF-44). */
export const guardFailed = (draft: Draft, threadId: string, { guard }: BoundGuard, message: string): void =>
  changeRun(draft, threadId, { stop: { reason: "effect_failed", error: `${guard.kind}: ${message}` } });

/** `loop_detected` (EF-33), if the guard names a loop. */
export const loopSaid = (
  draft: Draft,
  threadId: string,
  { id, tool }: { readonly id: string; readonly tool: string },
  level: "warning" | "critical",
  loop: Loop | undefined,
): void => {
  if (loop === undefined) return;
  const { detector, count, message } = loop;
  emit(draft, threadId, "loop_detected", { detector, count, message, level, tool }, { call: id });
};

/** The run fails, as a guard says. */
export const guardStopped = (
  draft: Draft,
  threadId: string,
  { end = "tool_loop", reason, exhausted }: Stop,
): void =>
  changeRun(draft, threadId, {
    stop: { reason: end, error: reason, ...(exhausted === undefined ? {} : { exhausted }) },
  });

/** Stores what a guard remembers from now on; false if that is too much or no JSON, which ends the run. */
export const guardStatePut = (
  draft: Draft,
  threadId: string,
  bound: BoundGuard,
  state: Json | undefined,
): boolean => {
  if (state === undefined) return true;
  const { guards } = threadOf(draft, threadId);
  if (guards[bound.guard.kind] === state) return true;
  const remembered = rememberedState(state);
  if ("problem" in remembered) {
    guardFailed(draft, threadId, bound, remembered.problem);
    return false;
  }
  changeThread(draft, threadId, { guards: { ...guards, [bound.guard.kind]: remembered.state } });
  return true;
};

/** Records since the last human input: that is a new intent, an agent's is not (EF-31). */
export const windowOf = ({ history, recordMarks }: Thread): readonly CallRecord[] => {
  const first = history[0];
  return first === undefined || first.n >= recordMarks.input
    ? history
    : history.filter(({ n }) => n >= recordMarks.input);
};

/** What one guard sees of the window. */
export const seenBy = (
  { guard, params }: BoundGuard,
  window: readonly CallRecord[],
): readonly CallRecord[] => {
  const size = guard.history(params);
  return window.length > size ? window.slice(window.length - size) : window;
};

/** Forgets what guards remember of one input, or of one run. */
export const guardsReset = (draft: Draft, threadId: string, by: "input" | "run"): void => {
  const gone = agentOf(draft, threadId).guards.filter(({ guard }) => guard.state?.reset === by);
  const { guards, recordMarks } = threadOf(draft, threadId);
  const kept = Object.entries(guards).filter(([kind]) => !gone.some(({ guard }) => guard.kind === kind));
  changeThread(draft, threadId, {
    guards: Object.fromEntries(kept),
    ...(by === "run" ? {} : { recordMarks: { ...recordMarks, input: recordMarks.next, compaction: null } }),
  });
};

/** The chat was compacted: a few identical calls from here on are a loop of their own, however often it is compacted again (EF-33). */
export const compacted = (draft: Draft, threadId: string): void => {
  const { recordMarks } = threadOf(draft, threadId);
  const compaction = recordMarks.compaction ?? recordMarks.next;
  changeThread(draft, threadId, { recordMarks: { ...recordMarks, compaction } });
};
