import type { Json, ToolResultPart } from "../chat/message.ts";
import type { Call } from "./call.ts";
import { agentOf, runOf, threadOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import type { CallRecord } from "./effect.ts";
import { checkedAfterword } from "./guard-result.ts";
import type { Afterword, BoundGuard, Stop } from "./guard.ts";
import {
  guardFailed,
  guardState,
  guardStatePut,
  guardStopped,
  loopSaid,
  seenBy,
  windowOf,
} from "./guard-state.ts";
import { recorded } from "./history.ts";

/** What guards add to a result, once its call is in the history (EF-33, EF-35), and whether they end the run (EF-36). */

const spoken = (
  draft: Draft,
  threadId: string,
  bound: BoundGuard,
  record: CallRecord,
  window: readonly CallRecord[],
): Afterword => {
  const { guard, params } = bound;
  const state: Json = guardState(threadOf(draft, threadId), bound);
  const context = { params, state, now: draft.moment.now };
  try {
    return checkedAfterword(guard.after?.(record, seenBy(bound, window), context));
  } catch (error) {
    guardFailed(draft, threadId, bound, error instanceof Error ? error.message : String(error));
    return {};
  }
};

const ended = (result: ToolResultPart, notes: readonly string[]): ToolResultPart => {
  if (notes.length === 0) return result;
  const text = notes.join("\n");
  const last = result.content.at(-1);
  const content =
    last?.type === "text"
      ? result.content.with(result.content.length - 1, { ...last, text: `${last.text}\n\n${text}` })
      : [...result.content, { type: "text" as const, text }];
  return { ...result, content };
};

const stopped = (draft: Draft, threadId: string, id: string, tool: string, stop: Stop): void => {
  loopSaid(draft, threadId, { id, tool }, "critical", stop.loop);
  if (runOf(draft, threadId).stop === null) guardStopped(draft, threadId, stop);
};

/** Records an ended call, and gives its result with the notes of the guards at its end. */
export const resultNoted = (
  draft: Draft,
  threadId: string,
  call: Call,
  settlement: Parameters<typeof recorded>[3],
): ToolResultPart => {
  const window = windowOf(threadOf(draft, threadId));
  const record = recorded(draft, threadId, call, settlement);
  const notes = call.note === undefined ? [] : [call.note];
  for (const bound of record === null ? [] : agentOf(draft, threadId).guards) {
    if (record === null || bound.guard.after === undefined) continue;
    const { note, state, stop } = spoken(draft, threadId, bound, record, window);
    guardStatePut(draft, threadId, bound, state);
    if (note !== undefined) notes.push(note);
    if (stop !== undefined) stopped(draft, threadId, call.call.id, record.tool, stop);
  }
  return ended(settlement.result, notes);
};
