import type { Json } from "../../chat/message.ts";
import type { OnDependencyFailure } from "./board.ts";

/**
 * Entries are values and notes of the session, outputs of a task graph, lessons of failed runs, inputs that are
 * remembered once their run has ended, rows on their way to the tenant's object, and files kept with the session.
 */
export type EntryStore = "state" | "notes" | "graph" | "reflections" | "inputs" | "outbox" | "files";

/** All of an entry but its value. */
export interface EntryHead {
  readonly key: string;
  /** The `seq` of the event that reports the entry, so it is never reused. */
  readonly revision: number;
  /** Size in bytes. */
  readonly size: number;
  /** Beginning of the value, as a list shows it. */
  readonly head: string;
}

/** Reads the stored entries. */
export interface EntryReader {
  readonly entry: (
    store: EntryStore,
    key: string,
  ) => { readonly revision: number; readonly value: Json } | null;
  /** Returns the heads sorted by key. */
  readonly heads: (store: EntryStore) => readonly EntryHead[];
}

/** Entry as a commit writes it; null removes it. */
export interface EntryChange extends EntryHead {
  readonly store: EntryStore;
  readonly json: string | null;
}

/** Rules for the stores, from the definition. */
export interface StoreRules {
  readonly onDependencyFailure: OnDependencyFailure;
  /** Whether notes live outside the session, which then only reports its writes to them. */
  readonly sharedNotes: boolean;
}
