import type { Json } from "../chat/message.ts";
import type { OnDependencyFailure } from "./board.ts";

/** Entries of the shared stores: rows of their own beside the live state, read when they are needed. */

/** Kinds of entries: values and notes of the session, and outputs of a task graph. */
export type EntryStore = "state" | "notes" | "graph";

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
