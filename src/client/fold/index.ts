import type { Delta, ItemKind, StoredEvent } from "../../agent/state/events.ts";
import type { TranscriptEntry } from "../transcript.ts";
import { callHandlers } from "./calls.ts";
import type { FoldDraft, FoldHandler, FoldState, ItemPlace } from "./draft.ts";
import { closeDraft, openDraft, ownEntries } from "./draft.ts";
import { messageHandlers, openItem } from "./messages.ts";
import { runHandlers } from "./runs.ts";
import { foldWhole } from "./whole.ts";
import type { WholeMessage } from "./whole.ts";
import { sessionHandlers, summariseSession } from "./session.ts";

/** This file folds what the server sends into a transcript. The fold is pure: the same frames give the same transcript. */

/** An open item with its text so far; it replaces what was shown of it. */
export interface ItemState {
  readonly type: "item_state";
  readonly item: string;
  readonly kind: ItemKind;
  readonly thread: string;
  readonly attempt: number;
  readonly text: string;
}

export type FoldFrame =
  | { readonly type: "event"; readonly event: StoredEvent }
  | Delta
  | ItemState
  | WholeMessage;

const handlers = new Map<string, FoldHandler[1][]>();
for (const [type, handle] of [...messageHandlers, ...callHandlers, ...runHandlers, ...sessionHandlers])
  handlers.set(type, [...(handlers.get(type) ?? []), handle]);

const foldEvent = (draft: FoldDraft, event: StoredEvent): void => {
  if (event.seq <= draft.seq) return;
  draft.seq = event.seq;
  draft.at = event.at;
  const { inputs } = draft;
  for (const handle of handlers.get(event.type) ?? []) handle(draft, event);
  // Which inputs wait, and in which order, the snapshot says itself.
  if (event.seq <= draft.counted) draft.inputs = inputs;
};

/** Changes the text of an open item. */
const growItem = (draft: FoldDraft, item: string, grow: (text: string) => string): void => {
  const place = draft.items.get(item);
  if (place === undefined) return;
  const entries = ownEntries(draft, place.thread) ?? [];
  const at = entries.findLastIndex(({ id }) => id === place.entry);
  const entry = entries[at];
  if (entry !== undefined) entries[at] = growEntry(entry, place.grows, grow);
};

const growEntry = (
  entry: TranscriptEntry,
  grows: ItemPlace["grows"],
  grow: (text: string) => string,
): TranscriptEntry => {
  if (entry.kind === "call" && typeof grows === "string") return { ...entry, [grows]: grow(entry[grows]) };
  if (entry.kind !== "message" || typeof grows === "string") return entry;
  const part = entry.parts[grows];
  if (part?.type !== "text" && part?.type !== "reasoning") return entry;
  return { ...entry, parts: entry.parts.with(grows, { ...part, text: grow(part.text) }) };
};

/** A piece takes the place of all from where it begins, as a call that runs again prints anew; behind a gap it is left out. */
const foldDelta = (draft: FoldDraft, { item, off, data }: Delta): void =>
  growItem(draft, item, (text) => (off > text.length ? text : text.slice(0, off) + data));

const foldItemState = (draft: FoldDraft, { item, kind, thread, text }: ItemState): void => {
  const known = draft.threads.get(thread);
  if (known !== undefined && (kind === "text" || kind === "reasoning")) {
    const { agent: name, prefix } = known;
    openItem(draft, { thread, agent: { name, prefix }, seq: draft.seq, at: draft.at }, item, kind);
  }
  growItem(draft, item, () => text);
};

/** Folds frames into a transcript. Events that it holds already are left out. */
export const foldFrames = (state: FoldState, frames: readonly FoldFrame[]): FoldState => {
  const draft = openDraft(state);
  for (const frame of frames) {
    if (frame.type === "event") foldEvent(draft, frame.event);
    else if (frame.type === "delta") foldDelta(draft, frame);
    else if (frame.type === "whole") foldWhole(draft, frame);
    else foldItemState(draft, frame);
  }
  if (draft.seq > state.transcript.seq) summariseSession(draft);
  return closeDraft(draft, state);
};

/** What an open item shows so far; null for what is no open item. */
const textOfItem = (
  entry: TranscriptEntry | undefined,
  grows: ItemPlace["grows"],
): Pick<ItemState, "kind" | "text"> | null => {
  if (entry?.kind === "call" && typeof grows === "string")
    return { kind: grows === "args" ? "tool_input" : "tool_output", text: entry[grows] };
  const part = entry?.kind === "message" && typeof grows === "number" ? entry.parts[grows] : undefined;
  return part?.type === "text" || part?.type === "reasoning" ? { kind: part.type, text: part.text } : null;
};

/** The open items of a fold with their text so far, for another fold of the same events. */
export const openItemsOf = ({ transcript, items }: FoldState): readonly ItemState[] =>
  [...items].flatMap(([item, { thread, entry: id, grows }]) => {
    const { entries = [] } = transcript.threads.find((each) => each.id === thread) ?? {};
    const found = textOfItem(
      entries.findLast((each) => each.id === id),
      grows,
    );
    return found === null ? [] : { type: "item_state" as const, item, thread, attempt: 0, ...found };
  });
