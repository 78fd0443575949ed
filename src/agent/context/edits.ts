import { blockEnd, blockStart, isBlockPinned } from "../../chat/blocks.ts";
import type { Message, Part, MessageOverlay as Shown } from "../../chat/message.ts";
import { shownTokens, sumShownTokens, viewPlaceOf } from "../../chat/message.ts";
import { shownParts } from "../../chat/render.ts";
import { cleanText, textOf } from "../../chat/text.ts";
import { callsOf } from "../../chat/view.ts";
import type { Thread } from "../state/thread.ts";
import { unfinishedReplyIndex } from "./reports.ts";
import type { ChatEdit, Inject, OverlayEdit, Retire } from "../definition/effect.ts";
import type { Draft, NewMessage, ThreadDraft } from "../transaction/draft.ts";
import {
  appendMessage,
  emit,
  keepForRecall,
  createMessage,
  retireMessages,
  runOf,
  takeEditNumber,
} from "../transaction/draft.ts";

/** An effect changes what the model sees only through these edits. Originals stay stored. */

interface EditCounts {
  readonly injected: number;
  readonly overlaid: number;
  readonly retired: number;
}

/** Who edits, why, and what it saw: a range that changed since is not retired. */
interface Editor {
  readonly kind: string;
  readonly reason: string;
  readonly seen: readonly Message[];
  /** Whether its notes wait for the results of the reply, if that has calls. */
  readonly later: boolean;
}

/** Replaces the chat with the sum of its tokens and what left it since the last call. */
const putChat = (draft: ThreadDraft, chat: readonly Message[], delta: number): void => {
  const { thread } = draft;
  thread.chat = chat;
  thread.tokens += delta;
  thread.removed += Math.max(0, -delta);
};

/** Removes messages from the chat; those that the last call had seen also leave its context. */
export const removeMessages = (draft: ThreadDraft, gone: readonly Message[]): void => {
  const { thread } = draft;
  const left = new Set(gone);
  thread.chat = thread.chat.filter((message) => !left.has(message));
  thread.tokens -= sumShownTokens(gone);
  thread.removed += sumShownTokens(gone.filter(({ pos }) => pos <= thread.seen));
};

/** Returns the id under which `recall` reads a part: that of a cut result, otherwise that of a copy made now. */
const recallIdOf = (draft: Draft, part: Part): string => {
  if (part.type === "tool_result" && part.recall !== undefined) return part.recall;
  return keepForRecall(draft, partText(part));
};

const partText = (part: Part): string => {
  if (part.type === "text") return part.text;
  return part.type === "tool_result" ? textOf(part.content) : "";
};

const isOverlayable = ({ type }: Part): boolean => type !== "tool_call" && type !== "reasoning";

/** Returns whether the second way to show a message is shorter than the first. */
const isShorter = (
  shown: Message,
  tokens: number,
  overlay: Pick<Shown, "texts" | "media">,
  at: number,
): boolean => {
  const now = shownTokens(shown);
  if (tokens !== now) return tokens < now;
  const part = shownParts(shown)[at];
  return part !== undefined && (overlay.texts[at]?.length ?? 0) < partText(part).length;
};

const applyOverlay = (
  draft: ThreadDraft,
  edit: number,
  { kind, reason }: Editor,
  { overlay }: OverlayEdit,
): boolean => {
  const { message: id, part: at, text } = overlay;
  const media = overlay.media === true;
  const { chat, run } = draft.thread;
  const index = chat.findIndex((each) => each.id === id);
  const message = chat[index];
  const part = message?.parts[at];
  if (message === undefined || part === undefined || !isOverlayable(part) || isBlockPinned(chat, index))
    return false;
  const shownText = cleanText(typeof text === "function" ? text("b0000") : text);
  if (!/\S/.test(shownText)) return false;
  const made = (said: string): Shown => {
    const texts = { ...message.overlay?.texts, [at]: said };
    const by = { by: kind, ...(run === null ? {} : { run: run.id, turn: run.turn }), reason };
    const shown = { edit, ...by, texts, media, tokens: 0 };
    return { ...shown, tokens: draft.context.estimate(shownParts({ parts: message.parts, overlay: shown })) };
  };
  const trial = made(shownText);
  if (!isShorter(message, trial.tokens, trial, at)) return false;
  const final = typeof text === "function" ? made(cleanText(text(recallIdOf(draft, part)))) : trial;
  const changed: Message = { ...message, overlay: final };
  putChat(draft, chat.with(index, changed), final.tokens - shownTokens(message));
  return true;
};

/** Narrows a range to whole blocks by moving both edges to older messages; null if nothing is left. */
const snapToBlocks = (
  chat: readonly Message[],
  from: number,
  to: number,
): { readonly from: number; readonly to: number } | null => {
  const start = blockStart(chat, from);
  const end = blockEnd(chat, to) > to + 1 ? blockStart(chat, to) : to + 1;
  return start < end ? { from: start, to: end } : null;
};

const indexOfMessage = (chat: readonly Message[], id: string): number =>
  chat.findIndex((message) => message.id === id);

const isSameRange = (
  seen: readonly Message[],
  chat: readonly Message[],
  edges: Retire["retire"],
  from: number,
  to: number,
): boolean => {
  const start = indexOfMessage(seen, edges.from);
  if (start < 0 || indexOfMessage(seen, edges.to) - start !== to - from) return false;
  for (let index = from; index <= to; index++)
    if (seen[start + index - from]?.id !== chat[index]?.id) return false;
  return true;
};

const createSummary = (
  draft: ThreadDraft,
  text: string,
  place: number,
  summary: NonNullable<Message["summary"]>,
): Message => {
  const parts = [{ type: "text", text }] as const;
  const sender = summary.by;
  const message = { role: "user", origin: "system", sender, parts, place, summary } as const;
  return createMessage(draft, message);
};

/** Splits the whole blocks of a range into what leaves and what stays; null if nothing may leave. */
const rangeOf = (
  { chat, run }: Pick<Thread, "chat" | "run">,
  seen: readonly Message[],
  retire: Retire["retire"],
): { readonly from: number; readonly to: number; readonly gone: readonly Message[] } | null => {
  const [first, last] = [indexOfMessage(chat, retire.from), indexOfMessage(chat, retire.to)];
  if (first < 0 || last < first || !isSameRange(seen, chat, retire, first, last)) return null;
  const range = snapToBlocks(chat, first, Math.min(last, unfinishedReplyIndex({ chat, run }) - 1));
  if (range === null) return null;
  const gone = chat
    .slice(range.from, range.to)
    .filter((_, index) => !isBlockPinned(chat, range.from + index));
  return gone.length === 0 ? null : { ...range, gone };
};

/** Returns the first and last `pos` of messages; a summary stands for all of its own range. */
const spanOf = (gone: readonly Message[]): { readonly from: number; readonly to: number } => {
  const spans = gone.map(({ pos, summary }) => summary ?? { from: pos, to: pos });
  return {
    from: Math.min(...spans.map(({ from }) => from)),
    to: Math.max(...spans.map(({ to }) => to)),
  };
};

/** Returns how many messages left the view; 0 if the range is no longer there, changed, or must stay. */
const applyRetire = (draft: ThreadDraft, { kind, reason, seen }: Editor, { retire }: Retire): number => {
  const { thread } = draft;
  const { chat, nextPos } = thread;
  const range = rangeOf(thread, seen, retire);
  const oldest = range?.gone[0];
  if (range === null || oldest === undefined) return 0;
  const { from, to } = range;
  const gone = new Set(range.gone);
  const made = { edit: draft.state.nextEdit, by: kind, reason, ...spanOf(range.gone) };
  const text = cleanText(retire.summary ?? "");
  const summaries = /\S/.test(text) ? [createSummary(draft, text, viewPlaceOf(oldest), made)] : [];
  const shown = chat
    .slice(from, to)
    .flatMap((message) => (message === oldest ? summaries : gone.has(message) ? [] : [message]));
  const next = [...chat.slice(0, from), ...shown, ...chat.slice(to)];
  if (next[0]?.role !== "user") return 0;
  const before = sumShownTokens(range.gone);
  const after = summaries.reduce((sum, { tokens }) => sum + tokens, 0);
  retireMessages(draft, range.gone, { effect: kind, reason });
  if (summaries.length > 0) thread.nextPos = nextPos + 1;
  putChat(draft, next, after - before);
  for (const message of summaries) emit(draft, "message_added", { message, final: false });
  return range.gone.length;
};

const createNote = (kind: string, text: string, reason: string): NewMessage => ({
  role: "user",
  origin: "effect",
  sender: kind,
  reason,
  marks: ["note"],
  parts: [{ type: "text", text: cleanText(text) }],
});

/** Adds a note now, or after the results of the open calls: nothing may stand between a call and its result. */
const applyInject = (
  draft: ThreadDraft,
  { kind, reason, later }: Editor,
  { inject: { text } }: Inject,
): boolean => {
  if (!/\S/.test(cleanText(text))) return false;
  const newest = draft.thread.chat.at(-1);
  if (!later || newest === undefined || callsOf(newest).length === 0) {
    appendMessage(draft, createNote(kind, text, reason));
    return true;
  }
  const run = runOf(draft);
  run.notes = [...run.notes, { kind, text, reason }];
  return true;
};

/** Appends notes that waited for the results of their reply. */
export const appendPendingNotes = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  const { notes } = run;
  if (notes.length === 0) return;
  run.notes = [];
  for (const { kind, text, reason = kind } of notes) appendMessage(draft, createNote(kind, text, reason));
};

/** Applies edits in order; those that are not legal or would show more than now are dropped. */
export const applyEdits = (draft: ThreadDraft, editor: Editor, edits: readonly ChatEdit[]): EditCounts => {
  const overlays = edits.filter((edit): edit is OverlayEdit => "overlay" in edit);
  const counts = { injected: 0, overlaid: 0, retired: 0 };
  const number = draft.state.nextEdit;
  for (const edit of overlays) if (applyOverlay(draft, number, editor, edit)) counts.overlaid += 1;
  if (counts.overlaid > 0) takeEditNumber(draft);
  for (const edit of edits) {
    if ("retire" in edit) counts.retired += applyRetire(draft, editor, edit);
    else if ("inject" in edit && applyInject(draft, editor, edit)) counts.injected += 1;
  }
  return counts;
};
