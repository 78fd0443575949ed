import type { Json, ToolResultPart } from "../../chat/message.ts";
import { recordCall } from "../context/history.ts";
import { checkAfterGuardResult, normalizeState } from "../definition/checks.ts";
import type { AfterGuardResult, BoundGuard, DetectedLoop, GuardStop } from "../definition/guard.ts";
import type { Call } from "../state/call.ts";
import type { CallRecord } from "../state/records.ts";
import type { Thread } from "../state/thread.ts";
import type { ThreadDraft } from "../transaction/draft.ts";
import { agentOf, emit, runOf, runHook } from "../transaction/draft.ts";

/** After-guards add notes to a call's result once it is in the history, and may end the run. */

const runAfterGuard = (
  draft: ThreadDraft,
  bound: BoundGuard,
  record: CallRecord,
  window: readonly CallRecord[],
): AfterGuardResult => {
  const { guard, params } = bound;
  const state: Json = guardState(draft.thread, bound);
  const context = { params, state, now: draft.context.now };
  const judged = runHook(draft, guard.kind, () =>
    checkAfterGuardResult(guard.after?.(record, recordsForGuard(bound, window), context)),
  );
  if ("given" in judged) return judged.given;
  failRunByGuard(draft, bound, judged.thrown);
  return {};
};

const appendGuardNotes = (result: ToolResultPart, notes: readonly string[]): ToolResultPart => {
  if (notes.length === 0) return result;
  const text = notes.join("\n");
  const last = result.content.at(-1);
  const content =
    last?.type === "text"
      ? result.content.with(result.content.length - 1, { ...last, text: `${last.text}\n\n${text}` })
      : [...result.content, { type: "text" as const, text }];
  return { ...result, content };
};

const stopAfterCall = (draft: ThreadDraft, id: string, tool: string, stop: GuardStop): void => {
  reportLoop(draft, { id, tool }, "critical", stop.loop);
  if (runOf(draft).stop === null) stopRunByGuard(draft, stop);
};

/** Records an ended call and returns its result with the notes of guards at its end. */
export const runAfterGuards = (
  draft: ThreadDraft,
  call: Call,
  settlement: Parameters<typeof recordCall>[2],
): ToolResultPart => {
  const window = recordsSinceInput(draft.thread);
  const record = recordCall(draft, call, settlement);
  const notes = call.note === null ? [] : [call.note];
  if (record === null) return appendGuardNotes(settlement.result, notes);
  for (const bound of agentOf(draft).guards) {
    if (bound.guard.after === undefined) continue;
    const { note, state, stop } = runAfterGuard(draft, bound, record, window);
    putGuardState(draft, bound, state);
    if (note !== undefined) notes.push(note);
    if (stop !== undefined) stopAfterCall(draft, call.call.id, record.tool, stop);
  }
  return appendGuardNotes(settlement.result, notes);
};

export const guardState = ({ guards }: Thread, { guard }: BoundGuard): Json =>
  guards[guard.kind] ?? guard.state?.initial ?? null;

/** Ends the run with an error that names the guard. */
export const failRunByGuard = (draft: ThreadDraft, { guard }: BoundGuard, message: string): void => {
  runOf(draft).stop = { reason: "effect_failed", error: `${guard.kind}: ${message}` };
};

/** Emits `loop_detected` if the guard names a loop. */
export const reportLoop = (
  draft: ThreadDraft,
  { id, tool }: { readonly id: string; readonly tool: string },
  level: "warning" | "critical",
  loop: DetectedLoop | undefined,
): void => {
  if (loop === undefined) return;
  const { detector, count, message } = loop;
  emit(draft, "loop_detected", { detector, count, message, level, tool }, { call: id });
};

/** Fails the run as a guard says. */
export const stopRunByGuard = (
  draft: ThreadDraft,
  { end = "tool_loop", reason, exhausted }: GuardStop,
): void => {
  runOf(draft).stop = {
    reason: end,
    error: reason,
    ...(exhausted === undefined ? {} : { exhausted }),
  };
};

/** Stores a guard's new state; returns false if it is too large or not JSON, which ends the run. */
export const putGuardState = (draft: ThreadDraft, bound: BoundGuard, state: Json | undefined): boolean => {
  if (state === undefined) return true;
  const { thread } = draft;
  const { guards } = thread;
  if (guards[bound.guard.kind] === state) return true;
  const remembered = normalizeState(state);
  if ("problem" in remembered) {
    failRunByGuard(draft, bound, remembered.problem);
    return false;
  }
  thread.guards = { ...guards, [bound.guard.kind]: remembered.state };
  return true;
};

/** Returns the records since the last human input: only that is a new intent, while an agent's message is not. */
export const recordsSinceInput = ({ history, recordMarks }: Thread): readonly CallRecord[] => {
  const first = history[0];
  return first === undefined || first.n >= recordMarks.input
    ? history
    : history.filter(({ n }) => n >= recordMarks.input);
};

/** Returns the records of the window that one guard sees. */
export const recordsForGuard = (
  { guard, params }: BoundGuard,
  window: readonly CallRecord[],
): readonly CallRecord[] => {
  const size = guard.history(params);
  return window.length > size ? window.slice(window.length - size) : window;
};

/** Resets the state of guards that lasts for one input or for one run. */
export const resetGuards = (draft: ThreadDraft, by: "input" | "run"): void => {
  const { thread } = draft;
  const gone = new Set<string>(
    agentOf(draft).guards.flatMap(({ guard }) => (guard.state?.reset === by ? guard.kind : [])),
  );
  const kept = Object.entries(thread.guards).filter(([kind]) => !gone.has(kind));
  if (kept.length < Object.keys(thread.guards).length) thread.guards = Object.fromEntries(kept);
  if (by === "run") return;
  const { recordMarks } = thread;
  thread.recordMarks = { ...recordMarks, input: recordMarks.next, compaction: null };
};

/** Marks a compaction, so that identical calls after it count as a loop of their own. */
export const markCompaction = (draft: ThreadDraft): void => {
  const { thread } = draft;
  const { recordMarks } = thread;
  const compaction = recordMarks.compaction ?? recordMarks.next;
  thread.recordMarks = { ...recordMarks, compaction };
};
