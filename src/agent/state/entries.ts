import type { Json } from "../../chat/message.ts";
import type { OnDependencyFailure } from "./board.ts";

/**
 * Entries are values and notes of the session, outputs of a task graph, lessons of failed runs, inputs that are
 * remembered once their run has ended, rows on their way to the tenant's object, and files kept with the session.
 */
export type EntryStore = "state" | "notes" | "graph" | "reflections" | "inputs" | "outbox" | "files";

/** The head of an entry is all of it but the value. */
export interface EntryHead {
  readonly key: string;
  /** The `seq` of the event that reports the entry, so it is never reused. */
  readonly revision: number;
  /** The size is in bytes. */
  readonly size: number;
  /** A list shows this beginning of the value. */
  readonly head: string;
}

/** Reads the stored entries. */
export interface EntryReader {
  readonly entry: (
    store: EntryStore,
    key: string,
  ) => { readonly revision: number; readonly value: Json } | null;
  /** The heads are sorted by key. */
  readonly heads: (store: EntryStore) => readonly EntryHead[];
}

/** A commit writes an entry in this form; null removes it. */
export interface EntryChange extends EntryHead {
  readonly store: EntryStore;
  readonly json: string | null;
}

/** The definition sets these rules for the stores. */
export interface StoreRules {
  readonly onDependencyFailure: OnDependencyFailure;
  /** Notes live outside the session, which only reports its writes to them. */
  readonly sharedNotes: boolean;
}
