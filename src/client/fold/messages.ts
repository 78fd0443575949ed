import type { ReportedMessage, StoredEvent } from "../../agent/state/events.ts";
import type { MessageEntry, TranscriptEntry } from "../transcript.ts";
import { pickDefined } from "../plain.ts";
import { placeResult, planCall } from "./calls.ts";
import type { EventPlace, FoldDraft, FoldHandler } from "./draft.ts";
import { addNote, entriesOf, on, placeOf } from "./draft.ts";

/** This file folds messages: replies while they are streamed, stored ones, and those that leave the conversation. */

type MessagePart = MessageEntry["parts"][number];

/** Removes what a thread shows of a reply that is not stored: its open message and the calls that it was writing. */
export const dropUnstored = (draft: FoldDraft, event: Pick<StoredEvent, "thread" | "agent">): void => {
  const isUnstored = (entry: TranscriptEntry): boolean =>
    (entry.kind === "message" && entry.open) || (entry.kind === "call" && entry.state === "preparing");
  const entries = entriesOf(draft, event);
  const kept = entries.filter((entry) => !isUnstored(entry));
  if (kept.length < entries.length) draft.entries.set(event.thread, kept);
  for (const [item, { thread, grows }] of draft.items)
    if (thread === event.thread && grows !== "live") draft.items.delete(item);
};

const findOpen = (entries: readonly TranscriptEntry[]): number =>
  entries.findLastIndex((entry) => entry.kind === "message" && entry.open);

/** An item of text or reasoning begins; the open message of its thread has a part more. */
export const openItem = (
  draft: FoldDraft,
  event: EventPlace,
  item: string,
  kind: "text" | "reasoning",
): void => {
  if (draft.items.has(item)) return;
  const part: MessagePart = kind === "text" ? { type: kind, text: "" } : { type: kind, text: "", model: "" };
  const entries = entriesOf(draft, event);
  const at = findOpen(entries);
  const known = entries[at];
  if (known?.kind === "message") {
    entries[at] = { ...known, parts: [...known.parts, part] };
    draft.items.set(item, { thread: event.thread, entry: known.id, grows: known.parts.length });
    return;
  }
  entries.push({
    ...placeOf(event),
    kind: "message",
    id: item,
    role: "assistant",
    origin: "agent",
    parts: [part],
    message: null,
    pos: null,
    open: true,
    final: false,
    summarised: false,
    truncated: false,
  });
  draft.items.set(item, { thread: event.thread, entry: item, grows: 0 });
};

const entryOfMessage = (
  event: StoredEvent,
  { id, pos, role, origin, parts, at, run, turn, sender, reason, marks, summary }: ReportedMessage,
  shown: Pick<MessageEntry, "final" | "truncated">,
): MessageEntry => ({
  kind: "message",
  id,
  ...placeOf({ seq: event.seq, at, run, turn }),
  role,
  origin,
  parts,
  ...pickDefined({ sender, reason, marks, summary }),
  message: id,
  pos,
  open: false,
  summarised: false,
  ...shown,
});

/** A message stands before the entry that this finds: later messages of its thread, and calls that it asks for. */
const placeAmong = (entries: readonly TranscriptEntry[], { pos, parts }: ReportedMessage): number => {
  const asked = new Set(parts.flatMap((part) => (part.type === "tool_call" ? part.id : [])));
  const at = entries.findIndex((entry) =>
    entry.kind === "message" ? entry.pos !== null && entry.pos > pos : asked.has(entry.id),
  );
  return at < 0 ? entries.length : at;
};

/** Puts a stored message in the place of its open entry, of the entry that it had before, or where its number says. */
const putMessage = (
  draft: FoldDraft,
  event: StoredEvent,
  message: ReportedMessage,
  entry: MessageEntry,
): void => {
  const entries = entriesOf(draft, event);
  const before = entries.findLastIndex((each) => each.kind === "message" && each.message === message.id);
  const open = message.role === "assistant" && message.origin === "agent" ? findOpen(entries) : -1;
  const at = Math.max(before, open);
  const known = entries[at];
  if (known === undefined) entries.splice(placeAmong(entries, message), 0, entry);
  else entries[at] = { ...entry, id: known.id, seq: known.seq };
};

const isPinned = ({ marks = [] }: MessageEntry): boolean => marks.includes("pinned");

/** A summary stands for these messages in what the model sees. */
const markSummarised = (
  entries: TranscriptEntry[],
  { from, to }: { readonly from: number; readonly to: number },
): void => {
  for (const [at, entry] of entries.entries())
    if (
      entry.kind === "message" &&
      entry.pos !== null &&
      entry.pos >= from &&
      entry.pos <= to &&
      !isPinned(entry)
    )
      entries[at] = { ...entry, summarised: true };
};

/** Removes messages with their calls; a rewind and a rollback take what happened among them along. */
const retireMessages = (
  draft: FoldDraft,
  event: Extract<StoredEvent, { readonly type: "messages_retired" }>,
): void => {
  const { messages, by } = event.data;
  const gone = new Set(messages);
  const entries = entriesOf(draft, event);
  const first = entries.findIndex((entry) => entry.kind === "message" && gone.has(entry.message ?? ""));
  const summaries = entries.flatMap((entry) =>
    entry.kind === "message" && gone.has(entry.message ?? "") ? (entry.summary ?? []) : [],
  );
  const isCovered = ({ pos }: MessageEntry): boolean =>
    by === "rewind" && pos !== null && summaries.some(({ from, to }) => pos >= from && pos <= to);
  const isGone = (entry: TranscriptEntry, at: number): boolean => {
    if (by === "clear") return true;
    if (entry.kind === "message") return gone.has(entry.message ?? "") || isCovered(entry);
    if (entry.kind === "call") return gone.has(entry.message ?? "");
    return by === "rewind" ? first >= 0 && at > first : by === "rollback" && entry.run === event.run;
  };
  draft.entries.set(
    event.thread,
    entries.filter((entry, at) => !isGone(entry, at)),
  );
};

export const messageHandlers: readonly FoldHandler[] = [
  on("llm_text", (draft, event) => openItem(draft, event, event.item ?? event.id, "text")),
  on("llm_reasoning", (draft, event) => openItem(draft, event, event.item ?? event.id, "reasoning")),
  on("message_added", (draft, event) => {
    const { message, final } = event.data;
    if (message.role === "tool") {
      for (const part of message.parts)
        if (part.type === "tool_result") placeResult(draft, event, message.pos, part);
      return;
    }
    const entry = entryOfMessage(event, message, { final, truncated: "truncated" in event.data });
    if (message.summary !== undefined) markSummarised(entriesOf(draft, event), message.summary);
    putMessage(draft, event, message, entry);
    for (const part of message.parts) if (part.type === "tool_call") planCall(draft, event, message.id, part);
    if (message.role === "assistant") dropUnstored(draft, event);
  }),
  on("messages_retired", (draft, event) => {
    retireMessages(draft, event);
    addNote(draft, event);
  }),
  on("attempt_aborted", (draft, event) => {
    dropUnstored(draft, event);
    addNote(draft, event);
  }),
];

/** A message is pinned or no longer pinned. */
export const pinMessage = (draft: FoldDraft, event: StoredEvent, id: string, pinned: boolean): void => {
  const entries = entriesOf(draft, event);
  const at = entries.findLastIndex((entry) => entry.kind === "message" && entry.message === id);
  const entry = entries[at];
  if (entry?.kind !== "message") return;
  const others = (entry.marks ?? []).filter((mark) => mark !== "pinned");
  entries[at] = { ...entry, marks: pinned ? [...others, "pinned"] : others };
};
