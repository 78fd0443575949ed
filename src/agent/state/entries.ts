import type { Json } from "../../chat/message.ts";
import type { OnDependencyFailure } from "./board.ts";

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
  /** Notes live outside the session: this one only tells of its writes. */
  readonly sharedNotes: boolean;
}
