import type { Json, ToolResultPart } from "../../chat/message.ts";
import { recordCall } from "../context/history.ts";
import { checkAfterGuardResult, normalizeState } from "../definition/checks.ts";
import type { AfterGuardResult, BoundGuard, DetectedLoop, GuardStop } from "../definition/guard.ts";
import type { Call } from "../state/call.ts";
import type { CallRecord } from "../state/records.ts";
import type { Thread } from "../state/thread.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, emit, runOf, threadOf, runHook } from "../transaction/draft.ts";

/** After-guards add notes to a call's result once it is in the history, and may end the run. */

const runAfterGuard = (
  draft: Draft,
  threadId: string,
  bound: BoundGuard,
  record: CallRecord,
  window: readonly CallRecord[],
): AfterGuardResult => {
  const { guard, params } = bound;
  const state: Json = guardState(threadOf(draft, threadId), bound);
  const context = { params, state, now: draft.context.now };
  const judged = runHook(draft, threadId, guard.kind, () =>
    checkAfterGuardResult(guard.after?.(record, recordsForGuard(bound, window), context)),
  );
  if ("given" in judged) return judged.given;
  failRunByGuard(draft, threadId, bound, judged.thrown);
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

const stopAfterCall = (draft: Draft, threadId: string, id: string, tool: string, stop: GuardStop): void => {
  reportLoop(draft, threadId, { id, tool }, "critical", stop.loop);
  if (runOf(draft, threadId).stop === null) stopRunByGuard(draft, threadId, stop);
};

/** Records an ended call and returns its result with the notes of guards at its end. */
export const runAfterGuards = (
  draft: Draft,
  threadId: string,
  call: Call,
  settlement: Parameters<typeof recordCall>[3],
): ToolResultPart => {
  const window = recordsSinceInput(threadOf(draft, threadId));
  const record = recordCall(draft, threadId, call, settlement);
  const notes = call.note === null ? [] : [call.note];
  if (record === null) return appendGuardNotes(settlement.result, notes);
  for (const bound of agentOf(draft, threadId).guards) {
    if (bound.guard.after === undefined) continue;
    const { note, state, stop } = runAfterGuard(draft, threadId, bound, record, window);
    putGuardState(draft, threadId, bound, state);
    if (note !== undefined) notes.push(note);
    if (stop !== undefined) stopAfterCall(draft, threadId, call.call.id, record.tool, stop);
  }
  return appendGuardNotes(settlement.result, notes);
};

export const guardState = ({ guards }: Thread, { guard }: BoundGuard): Json =>
  guards[guard.kind] ?? guard.state?.initial ?? null;

/** Ends the run with an error that names the guard. */
export const failRunByGuard = (
  draft: Draft,
  threadId: string,
  { guard }: BoundGuard,
  message: string,
): void => {
  runOf(draft, threadId).stop = { reason: "effect_failed", error: `${guard.kind}: ${message}` };
};

/** Emits `loop_detected` if the guard names a loop. */
export const reportLoop = (
  draft: Draft,
  threadId: string,
  { id, tool }: { readonly id: string; readonly tool: string },
  level: "warning" | "critical",
  loop: DetectedLoop | undefined,
): void => {
  if (loop === undefined) return;
  const { detector, count, message } = loop;
  emit(draft, threadId, "loop_detected", { detector, count, message, level, tool }, { call: id });
};

/** Fails the run as a guard says. */
export const stopRunByGuard = (
  draft: Draft,
  threadId: string,
  { end = "tool_loop", reason, exhausted }: GuardStop,
): void => {
  runOf(draft, threadId).stop = {
    reason: end,
    error: reason,
    ...(exhausted === undefined ? {} : { exhausted }),
  };
};

/** Stores a guard's new state; returns false if it is too large or not JSON, which ends the run. */
export const putGuardState = (
  draft: Draft,
  threadId: string,
  bound: BoundGuard,
  state: Json | undefined,
): boolean => {
  if (state === undefined) return true;
  const thread = threadOf(draft, threadId);
  const { guards } = thread;
  if (guards[bound.guard.kind] === state) return true;
  const remembered = normalizeState(state);
  if ("problem" in remembered) {
    failRunByGuard(draft, threadId, bound, remembered.problem);
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
export const resetGuards = (draft: Draft, threadId: string, by: "input" | "run"): void => {
  const thread = threadOf(draft, threadId);
  const gone = new Set<string>(
    agentOf(draft, threadId).guards.flatMap(({ guard }) => (guard.state?.reset === by ? guard.kind : [])),
  );
  const kept = Object.entries(thread.guards).filter(([kind]) => !gone.has(kind));
  if (kept.length < Object.keys(thread.guards).length) thread.guards = Object.fromEntries(kept);
  if (by === "run") return;
  const { recordMarks } = thread;
  thread.recordMarks = { ...recordMarks, input: recordMarks.next, compaction: null };
};

/** Marks a compaction, so that identical calls after it count as a loop of their own. */
export const markCompaction = (draft: Draft, threadId: string): void => {
  const thread = threadOf(draft, threadId);
  const { recordMarks } = thread;
  const compaction = recordMarks.compaction ?? recordMarks.next;
  thread.recordMarks = { ...recordMarks, compaction };
};
