import type { Json } from "../chat/message.ts";
import { utf8Length } from "../chat/tokens.ts";
import { firstLine } from "../tools/stores.ts";
import type { OnDependencyFailure } from "./board.ts";
import type { Draft } from "./draft.ts";

/** Entries of the shared stores: rows of their own beside the live state, read when they are needed. */

/**
 * Kinds of entries: values and notes of the session, outputs of a task graph, lessons of runs that failed, inputs to be
 * remembered once their run has ended, and what is on its way to the team's object.
 */
export type EntryStore = "state" | "notes" | "graph" | "reflections" | "inputs" | "outbox";

/** An entry without its value. */
export interface EntryHead {
  readonly key: string;
  /** `seq` of the event that tells of it: never the same twice. */
  readonly revision: number;
  /** Bytes. */
  readonly size: number;
  /** What a list shows of it. */
  readonly head: string;
}

/** The stored entries. */
export interface EntryReader {
  readonly entry: (
    store: EntryStore,
    key: string,
  ) => { readonly revision: number; readonly value: Json } | null;
  /** Sorted by key. */
  readonly heads: (store: EntryStore) => readonly EntryHead[];
}

/** An entry as a commit writes it; null removes it. */
export interface EntryChange extends EntryHead {
  readonly store: EntryStore;
  readonly json: string | null;
}

/** What the definition says about the stores. */
export interface StoreRules {
  readonly onDependencyFailure: OnDependencyFailure;
  /** Notes live outside the session: this one only tells of its writes (AG-47). */
  readonly sharedNotes: boolean;
}

/** An entry as this draft leaves it. */
export const entryOf = (draft: Draft, store: EntryStore, key: string): ReturnType<EntryReader["entry"]> => {
  const written = draft.entries.findLast((each) => each.store === store && each.key === key);
  if (written === undefined) return draft.moment.entries.entry(store, key);
  const { json, revision } = written;
  return json === null ? null : { value: JSON.parse(json) as Json, revision };
};

/** Writes an entry without a word; undefined removes it. */
export const entryWritten = (
  draft: Draft,
  store: EntryStore,
  key: string,
  value: Json | undefined,
  revision = 0,
): void => {
  const json = value === undefined ? null : JSON.stringify(value);
  const head = store === "notes" && typeof value === "string" ? firstLine(value) : "";
  draft.entries.push({ store, key, revision, size: json === null ? 0 : utf8Length(json), head, json });
};
